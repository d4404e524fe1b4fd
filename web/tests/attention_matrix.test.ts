import assert from "node:assert/strict";
import test from "node:test";
import type { Mask } from "../src/state.ts";
import { attentionMatrix } from "../src/attention_matrix.ts";

/** A small generator, so that every run of the tests sees the same numbers. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16807) % 2147483647) / 2147483647 - 0.5;
}

/** The definition word by word, with every product written out: the slow twin. */
function twin(
  x: number[][],
  beta: number,
  Q: number[][],
  K: number[][],
  sees: (k: number, j: number) => boolean,
): number[][] {
  const times = (M: number[][], v: number[]): number[] =>
    M.map((row) => row.reduce((sum, value, c) => sum + value * v[c], 0));
  const dot = (a: number[], b: number[]): number => a.reduce((sum, value, c) => sum + value * b[c], 0);
  return x.map((xk, k) => {
    const weights = x.map((xj, j) => (sees(k, j) ? Math.exp(beta * dot(times(Q, xk), times(K, xj))) : 0));
    const Z = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / Z);
  });
}

const n = 23;
const d = 3;
const next = random(5);
const matrix = (rows: number): number[][] =>
  Array.from({ length: rows }, () => Array.from({ length: d }, next));
const x = matrix(n);
const flat = Float64Array.from(x.flat());
const [Q, K] = [matrix(d), matrix(d)];

for (const [name, mask, sees] of [
  ["causal", "causal", (k: number, j: number) => j <= k],
  ["full", "full", () => true],
  ["window", { window: 4 }, (k: number, j: number) => j <= k && j > k - 4],
] as [string, Mask, (k: number, j: number) => boolean][]) {
  test(`the ${name} matrix equals the definition`, () => {
    const a = attentionMatrix(flat, n, d, { beta: 7, Q, K, mask }).tokens;
    const slow = twin(x, 7, Q, K, sees);
    for (let k = 0; k < n; k++) {
      for (let j = 0; j < n; j++) {
        if (!sees(k, j)) assert.ok(Number.isNaN(a[k * n + j]));
        // a few roundings of numbers below 1
        else assert.ok(Math.abs(a[k * n + j] - slow[k][j]) < 1e-13, `row ${k}, column ${j}`);
      }
    }
  });
}

test("frozen tokens are part of every sum, with their weights", () => {
  const frozen = { x: matrix(4), weight: [1, 2.5, 0.5, 30] };
  const found = attentionMatrix(flat, n, d, { beta: 7, Q, K, mask: "causal", frozen });
  const times = (M: number[][], v: number[]): number[] =>
    M.map((row) => row.reduce((sum, value, c) => sum + value * v[c], 0));
  const weight = (a: number[], b: number[]): number =>
    Math.exp(7 * times(Q, a).reduce((sum, value, c) => sum + value * times(K, b)[c], 0));
  for (let k = 0; k < n; k++) {
    const still = frozen.x.reduce((sum, y, j) => sum + frozen.weight[j] * weight(x[k], y), 0);
    const Z = still + x.slice(0, k + 1).reduce((sum, y) => sum + weight(x[k], y), 0);
    assert.ok(Math.abs(found.frozen[k] - still / Z) < 1e-13); // a few roundings of numbers below 1
    for (let j = 0; j <= k; j++)
      assert.ok(Math.abs(found.tokens[k * n + j] - weight(x[k], x[j]) / Z) < 1e-13);
  }
  assert.ok(found.frozen.every((share) => share > 0 && share < 1));
  assert.ok(
    attentionMatrix(flat, n, d, { beta: 7, Q, K, mask: "causal" }).frozen.every((share) => share === 0),
  );
});

test("β = 10,000 overflows nothing: every row still sums to one", () => {
  const one = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  const x = flat.map((value) => 4 * value); // long enough for exponents of thousands, of both signs
  const a = attentionMatrix(x, n, d, { beta: 1e4, Q: one, K: one, mask: "causal" }).tokens;
  for (let k = 0; k < n; k++) {
    let sum = 0;
    for (let j = 0; j <= k; j++) sum += a[k * n + j];
    assert.ok(Math.abs(sum - 1) < 1e-12); // n roundings
  }
});

test("later tokens do not change earlier rows under a causal mask", () => {
  const part = attentionMatrix(flat.slice(0, 9 * d), 9, d, { beta: 7, Q, K, mask: "causal" }).tokens;
  const whole = attentionMatrix(flat, n, d, { beta: 7, Q, K, mask: "causal" }).tokens;
  for (let k = 0; k < 9; k++) for (let j = 0; j <= k; j++) assert.equal(part[k * 9 + j], whole[k * n + j]);
});

test("places count with ALiBi and RoPE as in their papers; exponential weights are shown as shares", () => {
  const even = 4; // RoPE turns planes
  const y = Array.from({ length: n }, () => Array.from({ length: even }, next));
  const given = Float64Array.from(y.flat());
  const turn = (v: number[], k: number): number[] =>
    v.map((value, c) => {
      const angle = k * 100 ** (-(c - (c % 2)) / even);
      const other = c % 2 === 0 ? -v[c + 1] : v[c - 1];
      return value * Math.cos(angle) + other * Math.sin(angle);
    });
  const dot = (a: number[], b: number[]): number => a.reduce((sum, value, c) => sum + value * b[c], 0);
  const scores: [object, (k: number, j: number) => number][] = [
    [{ rope: 100 }, (k, j) => 7 * dot(turn(y[k], k), turn(y[j], j))],
    [{ alibi: 0.3, weights: "exponential" }, (k, j) => 7 * dot(y[k], y[j]) - 0.3 * (k - j)],
  ];
  for (const [kind, score] of scores) {
    const head = { beta: 7, Q: null, K: null, mask: "causal" as Mask, ...kind };
    const a = attentionMatrix(given, n, even, head).tokens;
    for (let k = 0; k < n; k++) {
      const weights = y.map((_, j) => (j <= k ? Math.exp(score(k, j)) : 0));
      const Z = weights.reduce((sum, weight) => sum + weight, 0);
      for (let j = 0; j <= k; j++) assert.ok(Math.abs(a[k * n + j] - weights[j] / Z) < 1e-12);
    }
  }
});

test("hardmax gives all to the nearest other token, and equal ones share", () => {
  const places = Float64Array.of(1, 0, 0, 1, 0.6, 0.8, -0.6, 0.8); // tokens 2 and 3 are as near to token 1
  const head = { beta: 1, Q: null, K: null, mask: "full" as Mask, weights: "hardmax" as const };
  const a = attentionMatrix(places, 4, 2, head).tokens;
  assert.deepEqual([...a.subarray(0, 4)], [0, 0, 1, 0]);
  assert.deepEqual([...a.subarray(4, 8)], [0, 0, 0.5, 0.5]);
  const first = attentionMatrix(places, 4, 2, { ...head, mask: "causal" }).tokens[0];
  assert.equal(first, 0); // the first token sees no other
});
