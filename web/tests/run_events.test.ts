import assert from "node:assert/strict";
import test from "node:test";
import { RunRecord, type Begun } from "../src/run_record.ts";
import { interaction, strongestDistance } from "../src/story/interaction.ts";
import { lookedAfter, parkingText } from "../src/story/parking_tool.ts";
import {
  captionAt,
  consumptionCaptions,
  lostCenterCaptions,
  lostCenters,
  mergerCaptions,
  oneTokenCaptions,
  shareInClustersOf,
} from "../src/story/run_events.ts";

const BEGUN: Begun = {
  id: 1,
  scene: null,
  recorded: false,
  n: 4,
  d: 2,
  beta: 9,
  Q: [],
  K: [],
  V: [],
  frames: 4,
  delta: 0.5,
  radius: 0.1,
  centers: { renyi: [0, 2], strong: [0] },
  spectrum: null,
};

/** Four tokens, four frames; labels are planted. */
function planted(labels: number[][], begun: Partial<Begun> = {}): RunRecord {
  const run = new RunRecord({ ...BEGUN, frames: labels.length, ...begun });
  const t = Float64Array.from(labels, (_, i) => 10 ** i);
  run.addFrames(0, t, new Float64Array(labels.length * run.n * run.d).fill(Math.SQRT1_2));
  const clusters = labels.map((row) => Math.max(...row) + 1);
  run.addMeasurements(Int32Array.from(labels.flat()), Int32Array.from(clusters), null, null, null);
  run.status = "done";
  return run;
}

const LABELS = [
  [0, 1, 2, 3],
  [0, 1, 2, 2], // 4 merges into 3
  [0, 0, 2, 2], // 2 into 1
  [0, 0, 0, 0], // 3 into 1
];

test("captions name who merges into whom, in the frame in which it has happened", () => {
  const run = planted(LABELS);
  const captions = mergerCaptions(run);
  assert.match(captionAt(captions, 3), /^Now 3 merges into 1, at t = 1000\. One cluster is left\.$/);
  assert.match(captionAt(captions, 2), /^Now 2 merges into 1, at t = 100\. 2 clusters are left\.$/);
  assert.equal(captionAt(captions, 0), "");
});

test("other data, other captions: nothing is told that was not measured", () => {
  const still = planted([LABELS[0], LABELS[0]]);
  assert.deepEqual(mergerCaptions(still), []);
  assert.match(lostCenterCaptions(still)[0].text, /no center was lost/);
});

test("a center is lost once it is for good in one cluster with an earlier center, not with any token", () => {
  assert.deepEqual(lostCenters(planted(LABELS)), [{ frame: 3, lost: 2, into: 0 }]);
  const back = planted([LABELS[0], LABELS[3], LABELS[2], LABELS[3]]);
  assert.deepEqual(lostCenters(back), [{ frame: 3, lost: 2, into: 0 }]);
  assert.deepEqual(lostCenters(planted([LABELS[0], [0, 1, 1, 1]])), []); // token 2 is no center
  assert.match(captionAt(lostCenterCaptions(planted([...LABELS, LABELS[3]])), 3), /^Now 3 merges into 1/);
});

test("the share of consumed tokens counts those in one cluster with a center", () => {
  const run = planted(LABELS);
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => shareInClustersOf(run, i, [0, 2])),
    [0.5, 0.75, 1, 1],
  );
  assert.match(captionAt(consumptionCaptions(run), 1), /75 % .* Rényi center, 25 % in one with a strong/);
});

test("one token is told of by its own way to ξ or −ξ", () => {
  const angles = [1, 0.9, 0.4, 0.001];
  const spectrum = { eigenvalues: [], row: 3, name: "", verdict: "", lambda_max: [1, 0], L: [[-1, 0]] };
  const run = new RunRecord({ ...BEGUN, n: 1, spectrum: spectrum as unknown as Begun["spectrum"] });
  const x = Float64Array.from(angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]));
  run.addFrames(0, Float64Array.of(0, 1, 2, 3), x);
  const captions = oneTokenCaptions(run);
  assert.match(captionAt(captions, 0), /57\.3° from −ξ/);
  assert.match(captionAt(captions, 2), /Half of the way .* t = 2/);
  assert.match(captionAt(captions, 3), /Since t = 3 it is within 0\.01 rad of −ξ/);
});

test("the interaction function has its maximum where Lemma A.1 says", () => {
  for (const [beta, known] of [
    [10, 0.313535],
    [64, 0.124837],
    [9, 0.330172],
  ]) {
    const at = strongestDistance(beta);
    assert.ok(Math.abs(at - known) < 1e-6);
    assert.ok(interaction(beta, at) > interaction(beta, at * 1.01));
    assert.ok(interaction(beta, at) > interaction(beta, at * 0.99));
  }
});

test("parking takes token after token, lingers at centers, and says which kind they are", () => {
  const run = planted(LABELS);
  const { renyi } = run.begun.centers;
  let before = 0;
  for (let seconds = 0; seconds < 4; seconds += 0.01) {
    const looked = lookedAfter(seconds, run.n, renyi);
    assert.ok(looked >= before);
    before = looked;
  }
  assert.equal(before, 4);
  assert.equal(lookedAfter(0.9, 4, renyi), 1);
  assert.match(parkingText(1, run), /Token 1 has none before it/);
  assert.match(parkingText(3, run), /Token 3 .* not from every earlier token: a Rényi center\. 2 centers/);
  assert.match(parkingText(4, run), /2 Rényi centers, 1 of them strong/);
});
