import assert from "node:assert/strict";
import test from "node:test";
import { CLUSTERS, hex, leaders, LIGHT, Palette, ranks } from "../src/colours.ts";

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
