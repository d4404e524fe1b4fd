import assert from "node:assert/strict";
import test from "node:test";
import { unpack } from "../src/connection.ts";

/** Writes a binary message byte by byte, as the contract says: the slow twin of unpack. */
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

test("a binary message is taken apart to the last bit, odd lengths included", () => {
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
