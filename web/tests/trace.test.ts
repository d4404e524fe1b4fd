import assert from "node:assert/strict";
import test from "node:test";
import { csv } from "../src/export.ts";
import { fromExport, RunRecord, type Begun } from "../src/run_record.ts";
import { cosineText, shownWord, spaces, type Reading } from "../src/trace.ts";

const base64 = (numbers: Float32Array | Float64Array | Int32Array): string =>
  btoa(String.fromCharCode(...new Uint8Array(numbers.buffer)));

/** Two layers of three tokens. */
function reading(name: string, words: string[], first: number): Reading {
  const places = Float32Array.from({ length: 18 }, (_, i) => first + i / 32);
  const nearest = [-1, -1, -1, 0, -1, -1, 1, 0, -1];
  const cosines = [0, 0, 0, 0.5, 0, 0, 0.75, -0.25, 0];
  return {
    name,
    words,
    places: { all: base64(places), own: base64(places.map((value) => -value)) },
    lost: { all: [0.5, 0.25], own: [0.125, 0] },
    norms: base64(Float64Array.of(1, 2, 3, 40, 5, 6)),
    nearest: base64(Int32Array.of(...nearest, ...nearest)),
    cosines: base64(Float32Array.of(...cosines, ...cosines)),
    delta: 1.25,
    centers: { renyi: [0, 1], strong: [0] },
    curves: { cosine: [0.1, null] },
  };
}
const BEGUN = {
  id: 3,
  scene: null,
  recorded: true,
  n: 3,
  d: 576,
  frames: 2,
  trace: {
    facts: [["Model", "made up"]],
    layers: [0, 1],
    readings: [reading("text", ["The", " cat", ' "'], 0), reading("shuffled", [" cat", "The", ' "'], 1)],
  },
} as unknown as Begun;

test("a trace comes whole, with three coordinates and without a head of ours", () => {
  const run = fromExport({ begun: BEGUN, t: null, x: null });
  assert.deepEqual([run.frameCount, run.d, run.coordinates, run.status], [2, 576, 3, "done"]);
  assert.deepEqual(Array.from(run.token(1, 2)), [15 / 32, 16 / 32, 17 / 32]);
  assert.deepEqual(run.begun.centers, { renyi: [0, 1], strong: [0] });
  assert.equal(run.measured?.norms?.[3], 40);
});

test("another reading has its own words and places, other directions other places", () => {
  const run = new RunRecord(BEGUN, { reading: "shuffled", frame: "own" });
  assert.deepEqual(run.trace?.words, ["cat", "The", '"']);
  assert.deepEqual(Array.from(run.token(0, 0)), [-1, -33 / 32, -34 / 32]);
  assert.equal(run.trace?.lostAt(0), 0.125);
  assert.equal(new RunRecord(BEGUN, { reading: "unknown", frame: "all" }).trace?.reading.name, "text");
});

test("a token is told with its word, place, norm and nearest earlier tokens", () => {
  const { trace } = new RunRecord(BEGUN);
  assert.equal(trace?.describe(1, 2), '“"” · token 3 of 3 · norm 6 · nearest earlier “cat” .75, “The” −.25');
  assert.equal(trace?.describe(0, 0), "“The” · token 1 of 3, strong center · norm 1 · no earlier token");
  assert.deepEqual([trace?.medianNorm(1), cosineText(1), cosineText(0.004)], [6, "1.00", ".00"]);
});

test("the table of a trace has words in quotes and one line per layer and token", () => {
  const lines = csv(new RunRecord(BEGUN)).trim().split("\n");
  assert.equal(lines.length, 7);
  assert.equal(lines[0], "layer,token,word,norm,x1,x2,x3,nearest,cosine");
  assert.equal(lines[3], '0,3," """,3,0.1875,0.21875,0.25,2,0.75');
  assert.equal(lines[4], '1,1,"The",40,0.28125,0.3125,0.34375,,');
});

test("words are shown without the space before them, and what cannot be seen is made visible", () => {
  assert.deepEqual(["▁the", "Ġcat", " sat", "\n", " ", "##ing"].map(shownWord), [
    "the",
    "cat",
    "sat",
    "⏎",
    "␣",
    "##ing",
  ]);
  assert.deepEqual(spaces(["The", " a", "▁a", "a", "Ġa"]), [false, true, true, false, true]);
  assert.deepEqual(spaces(["the", "cat", "##s", ",", "sat"]), [false, true, false, false, true]);
});
