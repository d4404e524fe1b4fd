import assert from "node:assert/strict";
import test from "node:test";
import {
  cursorAfter,
  Pacing,
  playSeconds,
  secondsAt,
  VISIBLE_RADIANS,
  WHOLE_RUN_SECONDS,
} from "../src/pacing.ts";
import { RunRecord, type Begun } from "../src/run_record.ts";
import { FIRST_LOOK, LIFE } from "./paced_runs.ts";

const RUNS = { FIRST_LOOK, LIFE };

for (const [name, run] of Object.entries(RUNS))
  test(`${name}: play goes only forward, ends at the end, and takes no longer than it says`, () => {
    const until = playSeconds(run);
    assert.equal(until.length, run.clusters.length);
    for (let i = 1; i < until.length; i++) assert.ok(until[i] > until[i - 1], `frame ${i}`);
    assert.ok(until.at(-1)! <= WHOLE_RUN_SECONDS + 1e-9);
    assert.equal(cursorAfter(until.at(-1)! + 1e-9, until), until.length - 1);
    for (const cursor of [0, 0.5, 17.25, until.length - 1])
      assert.ok(Math.abs(cursorAfter(secondsAt(cursor, until), until) - cursor) < 1e-6);
  });

test("a token has moved more than 2° within the first second of the page", () => {
  const until = playSeconds(FIRST_LOOK);
  assert.ok(until[FIRST_LOOK.departure] < 1, `${until[FIRST_LOOK.departure]} s`);
  // at an even pace it would take more than six of fifteen seconds
  assert.ok((15 * FIRST_LOOK.departure) / (until.length - 1) > 6);
});

test("the mergers of a whole life are spread over seconds", () => {
  const until = playSeconds(LIFE);
  const first = (count: number): number => LIFE.clusters.findIndex((clusters) => clusters <= count);
  const many = until[first(5)] - until[first(100)];
  assert.ok(many > 3, `from a hundred clusters to five: ${many} s`);
  for (const left of [4, 3, 2, 1]) {
    const frame = first(left);
    const own = until[Math.min(frame + 1, until.length - 1)] - until[Math.max(0, frame - 2)];
    assert.ok(own > 0.5, `the merger that leaves ${left} has ${own} s`);
  }
});

test("a merger has time of its own, where motion is everywhere the same", () => {
  const clusters = Array.from({ length: 21 }, (_, i) => (i <= 10 ? 2 : 1));
  const until = playSeconds({ motion: new Float64Array(20).fill(0.1), departure: 1, clusters });
  assert.ok(until[11] - until[10] > 5 * (until[6] - until[5]));
  assert.ok(until[12] - until[11] > 2 * (until[6] - until[5]), "and so has the moment after it");
});

test("a run in which nothing moves is over soon, and one that is still coming is paced by its share", () => {
  const still = { motion: new Float64Array(50), departure: 50, clusters: null };
  assert.ok(playSeconds(still).at(-1)! < 4);
  const half = playSeconds({ ...LIFE, clusters: null }, 0.5).at(-1)!;
  const whole = playSeconds({ ...LIFE, clusters: null }).at(-1)!;
  assert.ok(half < 0.75 * whole && half > 0.25 * whole);
  assert.deepEqual(Array.from(playSeconds({ motion: [], departure: 0, clusters: null })), [0]);
});

const BEGUN: Begun = {
  id: 1,
  scene: null,
  recorded: false,
  n: 1,
  d: 2,
  beta: 9,
  Q: [],
  K: [],
  V: [],
  frames: 11,
  delta: 1,
  radius: 0.1,
  centers: { renyi: [0], strong: [0] },
  spectrum: null,
};

test("the pace follows frames as they come: still ones pass at once, moving ones take their time", () => {
  const run = new RunRecord(BEGUN);
  const pacing = new Pacing();
  const angles = [0, 0, 0, 0, 0, 0, 0.5, 1, 1, 1, 1];
  const x = (from: number, to: number): Float64Array =>
    Float64Array.from(angles.slice(from, to).flatMap((angle) => [Math.cos(angle), Math.sin(angle)]));
  run.addFrames(0, Float64Array.from([0, 1, 2, 3]), x(0, 4));
  assert.equal(pacing.of(run).length, 4);
  run.addFrames(4, Float64Array.from([4, 5, 6, 7, 8, 9, 10]), x(4, 11));
  run.status = "done";
  const until = pacing.of(run);
  assert.equal(until.length, 11);
  assert.ok(until[6] - until[5] > 10 * (until[9] - until[8]));
  assert.ok(until[5] < 0.51, "the opening is short"); // in the next frame it has left its start
  assert.ok(pacing.advance(run, 0, 100) === 10);
  assert.ok(VISIBLE_RADIANS < 0.5);
});
