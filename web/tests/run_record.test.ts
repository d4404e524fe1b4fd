import assert from "node:assert/strict";
import test from "node:test";
import { fromExport, numbersOf, RunRecord, type Begun } from "../src/run_record.ts";

const BEGUN: Begun = {
  id: 1,
  scene: null,
  recorded: false,
  n: 2,
  d: 3,
  beta: 9,
  Q: [],
  K: [],
  V: [],
  frames: 3,
  delta: 1,
  radius: 0.1,
  centers: { renyi: [0], strong: [0] },
  spectrum: null,
};

test("frames are kept bit by bit, in their place, and a gap is refused", () => {
  const run = new RunRecord(BEGUN);
  const x = Float64Array.of(0.6, 0.8, 0, 0, 0, 1);
  run.addFrames(0, Float64Array.of(0), x);
  run.addFrames(2, Float64Array.of(2), x);
  assert.equal(run.frameCount, 1);
  run.addFrames(1, Float64Array.of(1, 2), Float64Array.of(...x, ...x.map((value) => -value)));
  assert.equal(run.frameCount, 3);
  assert.deepEqual(run.token(2, 0), Float64Array.of(-0.6, -0.8, -0));
});

test("between two frames tokens stay on the sphere", () => {
  const run = new RunRecord({ ...BEGUN, n: 1 });
  run.addFrames(0, Float64Array.of(0, 1), Float64Array.of(1, 0, 0, 0, 1, 0));
  const out = new Float32Array(3);
  run.positions(0.5, out);
  assert.ok(Math.abs(Math.hypot(...out) - 1) < 1e-6); // single precision
  assert.ok(Math.abs(out[0] - out[1]) < 1e-6 && out[0] > 0.7);
});

test("more than three dimensions are projected as a matrix product says", () => {
  const run = new RunRecord({ ...BEGUN, n: 1, d: 4, frames: 1 });
  const x = [0.1, 0.2, 0.3, 0.4];
  const w = [
    [1, 0, 2],
    [0, 1, 0],
    [3, 0, 1],
    [0, 0, 5],
  ];
  run.addFrames(0, Float64Array.of(0), Float64Array.from(x));
  run.addMeasurements(
    Int32Array.of(0),
    Int32Array.of(1),
    Float64Array.of(1),
    Float64Array.of(1),
    Float64Array.from(w.flat()),
  );
  const out = new Float32Array(3);
  run.positions(0, out);
  for (let c = 0; c < 3; c++)
    // single precision
    assert.ok(Math.abs(out[c] - x.reduce((sum, value, r) => sum + value * w[r][c], 0)) < 1e-6);
});

test("an exported record reads lists and base64 alike", () => {
  const x = Float32Array.of(1, 0, 0, 0, 1, 0);
  const base64 = (array: Float32Array | Int32Array): string =>
    btoa(String.fromCharCode(...new Uint8Array(array.buffer)));
  const measured = {
    labels: base64(Int32Array.of(4, 4)),
    clusters: [1],
    consumed_renyi: [1],
    consumed_strong: [0.5],
    directions: null,
  };
  const run = fromExport({ begun: { ...BEGUN, frames: 99 }, t: [0], x: base64(x), measured });
  assert.equal(run.frameCount, 1);
  assert.equal(run.capacity, 1);
  assert.deepEqual([...run.token(0, 1)], [0, 1, 0]);
  assert.deepEqual([...run.leadersAt(0)!], [0, 0]);
  assert.deepEqual(
    [
      ...numbersOf(
        [
          [1, 2],
          [3, 4],
        ],
        Float64Array,
      ),
    ],
    [1, 2, 3, 4],
  );
});

test("an exported run that ended early says so", () => {
  const recorded = { begun: BEGUN, t: [0], x: [1, 0, 0, 0, 1, 0] };
  assert.equal(fromExport({ ...recorded, ended: { status: "time limit" } }).status, "time limit");
  assert.equal(fromExport(recorded).status, "done");
});
