import assert from "node:assert/strict";
import test from "node:test";
import { LIGHT, Palette } from "../src/colours.ts";
import { RunRecord } from "../src/run_record.ts";
import { visitStretches } from "../src/views/coloured_paths.ts";

// four tokens, three frames: all alone, then two pairs, then one cluster
const LEADER = Int32Array.of(0, 1, 2, 3, 0, 0, 2, 2, 0, 0, 0, 0);
const palette = new Palette();
palette.begin(4);
palette.learn(LEADER, 4);

test("a piece of a trail has the colour of its leader then, and keeps it when that one is lost", () => {
  palette.fill(LEADER.subarray(8), "cluster", LIGHT);
  assert.equal(palette.of(3), palette.ownOf(0), "a dot has the colour of its leader now");
  assert.deepEqual([...palette.trailLeaders(LEADER, 3, 3)], [3, 2, 0]);
  assert.ok(palette.ownOf(2) !== palette.ownOf(0));
});

test("before a token follows a leader of note its trail has the colour of the first one it follows", () => {
  const many = new Palette();
  const n = 100;
  const alone = Int32Array.from({ length: n }, (_, k) => k);
  const joined = alone.map((k) => (k < 50 ? 0 : 50));
  many.begin(n);
  many.learn(Int32Array.of(...alone, ...joined), n);
  assert.deepEqual([...many.trailLeaders(Int32Array.of(...alone, ...joined), 2, 77)], [50, 50]);
});

test("in the order of the sequence every trail has the colour of its token", () => {
  palette.fill(LEADER.subarray(8), "order", LIGHT);
  assert.deepEqual([...palette.trailLeaders(LEADER, 3, 3)], [3, 3, 3]);
});

test("who is not looked at is dimmed, and trails are painted anew", () => {
  palette.fill(LEADER.subarray(8), "cluster", LIGHT);
  const before = palette.trailVersion;
  palette.fill(LEADER.subarray(8), "cluster", LIGHT, Uint8Array.of(0, 0, 1, 1));
  assert.ok(palette.isDimmed(0) && !palette.isDimmed(2));
  assert.ok(palette.trailVersion > before);
});

test("the stretches of a line cover all its frames, each beginning where the last ends", () => {
  const run = new RunRecord({
    id: 1,
    scene: null,
    recorded: false,
    n: 4,
    d: 2,
    beta: 1,
    Q: [],
    K: [],
    V: [],
    frames: 3,
    delta: 1,
    radius: 0.1,
    centers: { renyi: [], strong: [] },
    spectrum: null,
  });
  run.addFrames(0, Float64Array.of(0, 1, 2), new Float64Array(24));
  run.addMeasurements(LEADER, Int32Array.of(4, 2, 1), null, null, null);
  palette.fill(LEADER.subarray(8), "cluster", LIGHT);
  const seen: [string, number, number][] = [];
  visitStretches(run, palette, 3, (...stretch) => seen.push(stretch));
  assert.deepEqual(seen, [
    [palette.ownOf(3), 0, 1],
    [palette.ownOf(2), 1, 2],
  ]);
});
