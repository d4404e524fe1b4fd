import assert from "node:assert/strict";
import test from "node:test";
import { addLine } from "../src/views/unwrapped.ts";

const line = (shares: number[], periodic: boolean): number[] => {
  const into: number[] = [];
  addLine(shares, [0, 10, 20], 0, shares.length - 1, periodic, (share) => share, into);
  return into;
};

test("a line that leaves at one edge is drawn to it, and comes back at the other at the same time", () => {
  const points = line([0.9, 0.2], true);
  // from 0.9 up by 0.1 to the edge, then from 0 up by 0.2: a third of the way in time
  const at = 10 / 3;
  assert.deepEqual(
    points.map((value) => Number(value.toFixed(9))),
    [NaN, NaN, 0, 0.9, at, 1, NaN, NaN, at, 0, 10, 0.2].map((value) => Number(value.toFixed(9))),
  );
});

test("downwards it leaves at the lower edge", () => {
  assert.deepEqual(line([0.125, 0.875], true).slice(2), [0, 0.125, 5, 0, NaN, NaN, 5, 1, 10, 0.875]);
});

test("small steps, and axes with two ends, are drawn as they are", () => {
  assert.deepEqual(line([0.4, 0.6, 0.5], true), [NaN, NaN, 0, 0.4, 10, 0.6, 20, 0.5]);
  assert.deepEqual(line([0.9, 0.1], false), [NaN, NaN, 0, 0.9, 10, 0.1]);
});
