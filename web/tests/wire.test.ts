import assert from "node:assert/strict";
import test from "node:test";
import { fromExport, numbersOf, RunRecord, type Begun } from "../src/record.ts";
import { unpack } from "../src/wire.ts";

/** Writes a parcel byte by byte, as the contract says: the slow twin of unpack. */
function pack(header: object, arrays: (Float64Array | Int32Array | Uint8Array)[]): ArrayBuffer {
  let text = JSON.stringify(header);
  while ((4 + text.length) % 8 !== 0) text += " ";
  const bytes: number[] = [];
  const put = (view: Uint8Array): void => void bytes.push(...view);
  put(new Uint8Array(Uint32Array.of(text.length).buffer));
  put(new TextEncoder().encode(text));
  for (const array of arrays) {
    put(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    while (bytes.length % 8 !== 0) bytes.push(0);
  }
  return Uint8Array.from(bytes).buffer;
}

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

test("a parcel is taken apart to the last bit, odd lengths included", () => {
  const t = Float64Array.of(0, 0.1 + 0.2, 1e300);
  const labels = Int32Array.of(0, -1, 2147483647);
  const bytes = Uint8Array.of(7, 0, 255);
  const header = {
    say: "frames",
    id: 7,
    first: 3,
    arrays: [
      { name: "t", dtype: "f8", shape: [3] },
      { name: "labels", dtype: "i4", shape: [1, 3] },
      { name: "bytes", dtype: "u1", shape: [3] },
      { name: "x", dtype: "f8", shape: [3] },
    ],
  };
  const got = unpack(pack(header, [t, labels, bytes, t]));
  assert.equal(got.header.first, 3);
  assert.deepEqual(got.arrays.t.values, t);
  assert.deepEqual(got.arrays.labels.values, labels);
  assert.deepEqual(got.arrays.labels.shape, [1, 3]);
  assert.deepEqual(got.arrays.bytes.values, bytes);
  assert.deepEqual(got.arrays.x.values, t);
});

test("frames are kept bit by bit, in their place, and a gap is refused", () => {
  const run = new RunRecord(BEGUN);
  const x = Float64Array.of(0.6, 0.8, 0, 0, 0, 1);
  run.take(0, Float64Array.of(0), x);
  run.take(2, Float64Array.of(2), x);
  assert.equal(run.held, 1);
  run.take(1, Float64Array.of(1, 2), Float64Array.of(...x, ...x.map((value) => -value)));
  assert.equal(run.held, 3);
  assert.deepEqual(run.token(2, 0), Float64Array.of(-0.6, -0.8, -0));
});

test("between two frames tokens stay on the sphere", () => {
  const run = new RunRecord({ ...BEGUN, n: 1 });
  run.take(0, Float64Array.of(0, 1), Float64Array.of(1, 0, 0, 0, 1, 0));
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
  run.take(0, Float64Array.of(0), Float64Array.from(x));
  run.measure(
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
  assert.equal(run.held, 1);
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
