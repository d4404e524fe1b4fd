import assert from "node:assert/strict";
import test from "node:test";
import { pretty, TimeScale } from "../src/axis.ts";
import { CLUSTERS, hex, leaders, LIGHT, Palette, ranks } from "../src/colours.ts";
import { readMatrix } from "../src/matrix.ts";
import { csv } from "../src/export.ts";
import { RunRecord } from "../src/record.ts";

test("the leader of a cluster is its first token, whatever the labels are called", () => {
  const out = new Int32Array(6);
  leaders([7, -3, 7, 7, -3, 0], out);
  assert.deepEqual([...out], [0, 1, 0, 0, 1, 5]);
});

test("leaders that hold most tokens longest have colours of their own", () => {
  const frames = [
    [0, 1, 2, 3, 4, 5],
    [0, 1, 1, 1, 4, 4],
    [0, 1, 1, 1, 4, 4],
  ];
  assert.deepEqual([...ranks(Int32Array.from(frames.flat()), 6)], [2, 0, -1, -1, 1, -1]);
});

test("a leader of many that is lost before the end keeps its colour, one of few has none", () => {
  const frames = [
    [0, 1, 1, 1, 4, 4],
    [0, 0, 0, 0, 0, 0],
  ];
  assert.deepEqual([...ranks(Int32Array.from(frames.flat()), 6)], [0, 1, -1, -1, -1, -1]);
});

test("when very many lead in the end, being one of them is not worth a colour", () => {
  const n = 100;
  const leader = Int32Array.from({ length: n }, (_, k) => (k < 10 ? 0 : k));
  assert.deepEqual(
    [...ranks(leader, n)].filter((rank) => rank >= 0),
    [0],
  );
});

test("a token wears the colour of its leader", () => {
  const palette = new Palette();
  palette.begin(3);
  const leader = Int32Array.of(0, 1, 1);
  palette.learn(leader, 3);
  palette.fill(leader, "cluster", LIGHT);
  assert.equal(palette.of(1), palette.of(2));
  assert.equal(palette.of(1), CLUSTERS[0]);
  assert.equal(palette.of(0), CLUSTERS[1]);
  assert.equal(hex([1, 171, 255]), "#01abff");
});

test("on the time axis place and cursor undo each other, over sixty decades", () => {
  const t = Float64Array.from({ length: 160 }, (_, i) => (i === 0 ? 0 : 10 ** (-2 + (62 * (i - 1)) / 158)));
  const scale = TimeScale.of(t, 160, 0, "log");
  assert.equal(scale.place(0), 0);
  assert.ok(Math.abs(scale.place(t[159]) - 1) < 1e-12);
  for (const cursor of [0, 0.5, 1, 17.25, 100, 158.75, 159]) {
    // differences of places near 1/160
    assert.ok(Math.abs(scale.cursor(scale.placeOf(cursor, t, 160), t, 160) - cursor) < 1e-6);
  }
});

test("times of a recording choose their own axis", () => {
  assert.ok(
    !TimeScale.of(
      Float64Array.from({ length: 50 }, (_, i) => i),
      50,
      0,
      null,
    ).log,
  );
  assert.ok(!TimeScale.of(Float64Array.of(0, 1, 1.5, 2, 20), 5, 0, null).log); // too short for decades
  assert.ok(
    TimeScale.of(
      Float64Array.from({ length: 50 }, (_, i) => (i === 0 ? 0 : 10 ** (i / 10))),
      50,
      0,
      null,
    ).log,
  );
});

test("numbers for people", () => {
  assert.deepEqual(
    [0, 0.25, 150, 123456, -1.5, 6.15e36].map((value) => pretty(value)),
    ["0", "0.25", "150", "1.23 × 10⁵", "−1.5", "6.15 × 10³⁶"],
  );
});

test("a matrix is read from rows of numbers, and complaints are in words", () => {
  assert.deepEqual(readMatrix("1 0\n0, -2.5", 2), [
    [1, 0],
    [0, -2.5],
  ]);
  assert.throws(() => readMatrix("1 0", 2), /2 rows of 2 numbers/);
  assert.throws(() => readMatrix("1 0\n0 x", 2), /not a number/);
});

test("the table of a run reads back exactly", () => {
  const run = new RunRecord({
    id: 1,
    scene: null,
    recorded: false,
    n: 1,
    d: 2,
    beta: 1,
    Q: [],
    K: [],
    V: [],
    frames: 1,
    delta: 1,
    radius: 1,
    centers: { renyi: [], strong: [] },
    spectrum: null,
  });
  run.take(0, Float64Array.of(0.1 + 0.2), Float64Array.of(1 / 3, -2 / 3));
  const [head, line] = csv(run).split("\n");
  assert.equal(head, "t,token,leader,x1,x2");
  assert.deepEqual(line.split(",").map(Number), [0.1 + 0.2, 1, 0, 1 / 3, -2 / 3]);
});
