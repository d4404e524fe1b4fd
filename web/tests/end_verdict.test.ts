import assert from "node:assert/strict";
import test from "node:test";
import { END_RADIANS, endVerdict, type End } from "../src/end_verdict.ts";

const I = [
  [1, 0],
  [0, 1],
];
const at = (...angles: number[]): Float64Array =>
  Float64Array.from(angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]));

/** Three tokens on the circle under V = I. */
const ROW_1: End = {
  n: 3,
  d: 2,
  t: 100,
  x: at(0.5, 0.5, 0.5),
  first: at(0.5),
  row: 1,
  status: "theorem",
  why: "",
  within: true,
  L: I,
  point: [Math.cos(0.5), Math.sin(0.5)],
  beta: 9,
  Q: I,
  K: I,
  V: I,
};

test("row 1: all at x₁(0) agrees, one outside the tolerance is not yet, and is named with it", () => {
  const close = endVerdict({ ...ROW_1, x: at(0.5, 0.5 + 0.9 * END_RADIANS, 0.5) });
  assert.equal(close.kind, "agrees");
  assert.equal(close.badge, "as the theorem says");
  const apart = endVerdict({ ...ROW_1, x: at(0.5, 0.5 + 1.1 * END_RADIANS, 0.5) });
  assert.equal(apart.kind, "not yet");
  assert.match(apart.why, /1 of 3 tokens is farther than 0\.01 rad/);
});

test("clusters that wait are not yet: nothing pushes them back, however little they move", () => {
  const waiting = endVerdict({ ...ROW_1, beta: 300, x: at(0.5, 0.5 + Math.PI - 0.1, 0.5 + Math.PI - 0.1) });
  assert.equal(waiting.kind, "not yet");
});

test("row 1: a first token that has moved contradicts the theorem", () => {
  assert.equal(endVerdict({ ...ROW_1, x: at(0.6, 0.6, 0.6) }).kind, "contradicts");
});

/** V = diag(1, .1): the tokens ought to end at (±1, 0). */
const ROW_3: End = {
  ...ROW_1,
  n: 2,
  x: at(0, Math.PI),
  first: at(0.3),
  row: 3,
  status: "conjecture",
  L: [[1, 0]],
  point: null,
  beta: 10,
  V: [
    [1, 0],
    [0, 0.1],
  ],
};
const MIRROR = [
  [-1, 0],
  [0, 1],
];

test("row 3: both ends agree; on the way it is not yet", () => {
  assert.equal(endVerdict(ROW_3).badge, "as conjectured");
  assert.equal(endVerdict({ ...ROW_3, x: at(0, Math.PI - 0.3) }).kind, "not yet");
});

test("row 3: the sink of K = diag(−1, 1), known by hand, contradicts; with K = I it is none", () => {
  const sink = Math.acos(-0.47081); // of token 2 while token 1 is at ξ
  const x = at(0, sink);
  const found = endVerdict({ ...ROW_3, K: MIRROR, x });
  assert.equal(found.kind, "contradicts");
  assert.equal(found.badge, "contradicts the conjecture");
  assert.equal(endVerdict({ ...ROW_3, x }).kind, "not yet");
});

test("row 2 asks for its one point: another point of L is not the end", () => {
  const V = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, -0.5],
  ];
  const row2: End = { ...ROW_1, n: 1, d: 3, V, Q: [], K: [], row: 2, status: "conjecture", L: V.slice(0, 2) };
  const here = {
    ...row2,
    point: [1, 0, 0],
    x: Float64Array.of(1, 0, 0),
    first: Float64Array.of(0.8, 0, 0.6),
  };
  assert.equal(endVerdict(here).kind, "agrees");
  assert.equal(endVerdict({ ...here, x: Float64Array.of(0, 1, 0) }).kind, "not yet");
  assert.equal(endVerdict({ ...here, point: null }).kind, "no statement");
});

test("where the table says nothing, or names no number, nothing is judged", () => {
  const outside = endVerdict({ ...ROW_1, row: null, why: "here every token sees all others" });
  assert.equal(outside.badge, "no theorem here");
  assert.match(outside.why, /sees all others/);
  const cloud = endVerdict({ ...ROW_3, row: 5, x: at(0.2, Math.PI + 0.2) });
  assert.equal(cloud.kind, "no statement");
  assert.match(cloud.why, /11\.5° from the line of ξ/);
});
