import assert from "node:assert/strict";
import test from "node:test";
import { eigenspace, predictedEnds, spectralPoint } from "../src/dominant_space.ts";
import { RunRecord, type Begun } from "../src/run_record.ts";

const near = (a: number[], b: number[]): void =>
  a.forEach((value, c) => assert.ok(Math.abs(value - b[c]) < 1e-12, `${a.join()} is not ${b.join()}`));

// not normal: the eigenvector of −½ is (−7/15, −1/5, 1)
const V = [
  [1, 0, 0.7],
  [0, 1, 0.3],
  [0, 0, -0.5],
];

test("L is spanned by the eigenvectors of the largest eigenvalue", () => {
  const L = eigenspace(V, 1);
  assert.equal(L.length, 2);
  for (const vector of L) assert.ok(Math.abs(vector[2]) < 1e-12);
  const [xi] = eigenspace([[1, 0.5], [0, 0.2]], 1); // prettier-ignore
  near(xi, [1, 0]);
});

test("the point is the oblique projection, not the nearest point of L", () => {
  const x = [0.6, 0, 0.8];
  const y = [0.6 + (0.8 * 7) / 15, 0.8 / 5, 0];
  const length = Math.hypot(...y);
  near(spectralPoint(V, 1, x)!, y.map((value) => value / length)); // prettier-ignore
  near(
    spectralPoint(
      V,
      1,
      [-7, -3, 15].map((v) => v / Math.hypot(7, 3, 15)),
    ) ?? [0],
    [0],
  );
});

test("what the server tells is taken as it is", () => {
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
    V,
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
  assert.ok(predictedEnds(made(begun)).point![0] > 0.9);
  const told = { ...begun, spectrum: { ...spectrum, L: [[0, 1, 0]] } } as unknown as Begun;
  assert.deepEqual(predictedEnds(made(told)), { L: [[0, 1, 0]], point: [0, 1, 0] });
});
