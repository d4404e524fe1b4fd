import assert from "node:assert/strict";
import test from "node:test";
import { Connection, unpack, type Message } from "../src/connection.ts";
import { SessionToken } from "../src/session_token.ts";
import { SCENE } from "../src/state.ts";

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

test("a scene too large for the server is refused here, after send has returned", async () => {
  const sent: string[] = [];
  class OpenSocket {
    static readonly OPEN = 1;
    readonly readyState = 1;
    send(text: string): void {
      sent.push(text);
    }
  }
  globalThis.WebSocket = OpenSocket as unknown as typeof WebSocket; // each file of tests has a process
  const heard: Message[] = [];
  const nothing = (): void => undefined;
  const listener = {
    onMessage: (one: Message) => heard.push(one),
    onBinaryMessage: nothing,
    onLost: nothing,
  };
  const store = { read: () => null, write: () => false };
  const connection = new Connection(
    { protocol: "http:", host: "localhost" },
    new SessionToken("token", store, nothing),
    listener,
  );
  connection.connect();
  const matrix = Array.from({ length: 300 }, () => new Array<number>(300).fill(0.123456789012));
  const scene = { ...SCENE, d: 300, V: { matrix } };
  assert.equal(connection.send({ do: "run", id: 7, scene }), true);
  assert.deepEqual(heard, []); // or who asked would wait for an answer that has come already
  await Promise.resolve();
  assert.deepEqual([heard[0].say, heard[0].id], ["error", 7]);
  connection.send({ do: "python", scene });
  await Promise.resolve();
  assert.equal(heard[1].say, "refused");
  assert.deepEqual(sent, []);
  connection.send({ do: "run", id: 8, scene: SCENE });
  assert.equal(sent.length, 1);
});
