import assert from "node:assert/strict";
import test from "node:test";
import { csv, dataText, shortestSingle } from "../src/export.ts";
import { fromExport, RunRecord, type Begun } from "../src/run_record.ts";

const BEGUN = { id: 1, scene: null, n: 1, d: 2, frames: 2, frames_before_thinning: 2 } as unknown as Begun;

/** Two frames of one token, as a page holds them: positions in base64. */
function exported(values: Float32Array | Float64Array, frames_before_thinning = 2): RunRecord {
  const x = btoa(String.fromCharCode(...new Uint8Array(values.buffer)));
  return fromExport({ begun: { ...BEGUN, frames_before_thinning }, t: [0, 0.1], x });
}

test("numbers of 32 bits are written with the digits they have, and read back", () => {
  assert.equal(shortestSingle(Math.fround(0.1)), "0.1");
  assert.equal(shortestSingle(-0.5), "-0.5");
  for (let i = 0, value = 0.7; i < 1000; i++, value = 3.9 * value * (1 - value)) {
    const single = Math.fround(value);
    const written = shortestSingle(single);
    assert.equal(Math.fround(Number(written)), single);
    assert.ok(written.replace(/^-?0\.0*/, "").length <= 9);
  }
});

test("the table of an exported page pretends no digits", () => {
  assert.equal(
    csv(exported(Float32Array.of(0.1, 0.2, 0.3, 0.4))),
    "t,token,leader,x1,x2\n0,1,,0.1,0.2\n0.1,1,,0.3,0.4\n",
  );
  const third = 1 / 3;
  assert.match(csv(exported(Float64Array.of(third, 0.2, 0.3, 0.4))), new RegExp(`,${third},`));
});

test("the words about the data are true", () => {
  assert.equal(
    dataText(exported(new Float32Array(4))),
    "The data: every frame, positions with 32 bits, about seven digits.",
  );
  assert.equal(dataText(exported(new Float64Array(4))), "The data: every frame, with full precision.");
  assert.match(
    dataText(exported(new Float32Array(4), 2500)),
    /2 of the 2,500 frames of the run, positions with 32 bits/,
  );
  assert.match(dataText(new RunRecord(BEGUN)), /the frames so far, with full precision/);
});

test("the table of a run reads back exactly", () => {
  const run = new RunRecord({
    id: 1,
    scene: null,
    recorded: false,
    n: 1,
    d: 2,
    beta: 1,
    Q: [],
    K: [],
    V: [],
    frames: 1,
    delta: 1,
    radius: 1,
    centers: { renyi: [], strong: [] },
    spectrum: null,
  });
  run.addFrames(0, Float64Array.of(0.1 + 0.2), Float64Array.of(1 / 3, -2 / 3));
  const [head, line] = csv(run).split("\n");
  assert.equal(head, "t,token,leader,x1,x2");
  assert.deepEqual(line.split(",").map(Number), [0.1 + 0.2, 1, 0, 1 / 3, -2 / 3]);
});
