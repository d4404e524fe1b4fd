import assert from "node:assert/strict";
import test from "node:test";
import { predictedEnds } from "../src/dominant_space.ts";
import { RunRecord, type Begun } from "../src/run_record.ts";

test("what the engine tells is taken as it is", () => {
  const spectrum = { eigenvalues: [], row: 2, name: "", verdict: "", lambda_max: [1, 0] };
  const begun = {
    id: 1,
    scene: null,
    recorded: false,
    n: 1,
    d: 3,
    beta: 1,
    Q: [],
    K: [],
    V: [],
    frames: 1,
    delta: 1,
    radius: 1,
    centers: { renyi: [], strong: [] },
    spectrum,
    predicted_point: [0, 1, 0],
  } as unknown as Begun;
  const made = (told: Begun): RunRecord => {
    const run = new RunRecord(told);
    run.addFrames(0, Float64Array.of(0), Float64Array.of(0.6, 0, 0.8));
    return run;
  };
  assert.deepEqual(predictedEnds(made({ ...begun, spectrum: null })), { L: null, point: null });
  const told = { ...begun, spectrum: { ...spectrum, L: [[0, 1, 0]] } } as unknown as Begun;
  assert.deepEqual(predictedEnds(made(told)), { L: [[0, 1, 0]], point: [0, 1, 0] });
});
