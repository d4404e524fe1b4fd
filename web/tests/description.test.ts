import assert from "node:assert/strict";
import test from "node:test";
import { announcement, describeRun } from "../src/description.ts";
import { mergersBetween } from "../src/mergers.ts";
import { RunRecord, type Begun } from "../src/run_record.ts";

const BEGUN = {
  id: 1,
  scene: null,
  n: 4,
  d: 2,
  beta: 9,
  radius: 0.1,
  delta: 0.5,
  frames: 4,
  model: "β = 9, causal",
  centers: { renyi: [0, 2], strong: [0] },
} as unknown as Begun;

/** Four tokens in four frames; the clusters are given, the places have no meaning. */
function made(frames: number[][], times = [0, 1, 10, 100]): RunRecord {
  const run = new RunRecord(BEGUN);
  run.addFrames(0, Float64Array.from(times), new Float64Array(32));
  const counts = frames.map((labels) => new Set(labels).size);
  const share = Float64Array.of(0.5, 0.5, 0.75, 1);
  run.addMeasurements(Int32Array.from(frames.flat()), Int32Array.from(counts), share, share, null);
  run.status = "done";
  return run;
}

const MERGING = [
  [0, 1, 2, 3],
  [0, 1, 2, 2],
  [0, 0, 2, 2],
  [0, 0, 0, 0],
];

test("a run is told in sentences that follow from its clusters", () => {
  const text = describeRun(made(MERGING)).join(" ");
  assert.match(text, /4 tokens on the circle, β = 9, causal, from t = 0 to t = 100, 4 frames\./);
  assert.match(text, /Clusters at first: 4; in the last frame: 1;/);
  assert.match(text, /holds 4 tokens \(100 %\), token 1 first/);
  assert.match(text, /3 mergers, half of them by t = 10\./);
  assert.match(text, /Between t = 10 and t = 100 the cluster of token 3 joins that of token 1\./);
  assert.match(text, /2 Rényi centers among the tokens at time 0, with δ = 0\.5; 1 of them strong\./);
  assert.match(text, /In the last frame 100 % of the tokens lie within δ of a Rényi center/);
});

test("two times that are close have as many digits as tell them apart", () => {
  const text = describeRun(made(MERGING, [0, 1, 10.411, 10.4401])).join(" ");
  assert.match(text, /Between t = 10\.41 and t = 10\.44 the cluster of token 3 joins that of token 1\./);
});

test("where nothing merges, or clusters split, that is what is told", () => {
  const still = describeRun(made([MERGING[1], MERGING[1], MERGING[1], MERGING[1]])).join(" ");
  assert.match(still, /No two clusters merge\./);
  const split = describeRun(made([MERGING[2], MERGING[0], MERGING[2], MERGING[2]])).join(" ");
  assert.match(split, /In between there are up to 4 clusters\./);
});

test("one merger is told by its tokens, several by their number, and the end as the end", () => {
  const run = made(MERGING);
  const all = mergersBetween(run.mergers, 0, 3);
  assert.equal(
    announcement(run, all.slice(0, 1), 1, false),
    "The cluster of token 4 has joined that of token 3. 3 clusters at t = 1.",
  );
  assert.equal(
    announcement(run, all, 3, true),
    "The end. 3 clusters have joined others. 1 cluster at t = 100.",
  );
});
