import assert from "node:assert/strict";
import test from "node:test";
import { ColourTable, compressed, GifWriter } from "../src/gif.ts";

/** The slow twin: reads what `compressed` wrote, as the format says. */
function unpacked(data: number[]): number[] {
  const bytes: number[] = [];
  let at = 1; // behind the bits of a pixel
  for (; data[at] > 0; at += data[at] + 1) bytes.push(...data.slice(at + 1, at + 1 + data[at]));
  assert.equal(at, data.length - 1);
  const bit = (i: number): number => (bytes[i >> 3] >> (i & 7)) & 1;
  let [place, width] = [0, 9];
  const code = (): number => {
    let value = 0;
    for (let i = 0; i < width; i++) value |= bit(place++) << i;
    return value;
  };
  const out: number[] = [];
  let table: number[][] = [];
  let last: number[] | null = null;
  for (;;) {
    const next = code();
    if (next === 257) return out;
    if (next === 256) {
      table = Array.from({ length: 258 }, (_, i) => [i]);
      width = 9;
      last = null;
      continue;
    }
    const entry: number[] = next < table.length ? table[next] : [...last!, last![0]];
    if (last !== null && table.length < 4096) table.push([...last, entry[0]]);
    if (table.length === 1 << width && width < 12) width++;
    out.push(...entry);
    last = entry;
  }
}

test("what is packed unpacks to the same, also beyond 4096 codes", () => {
  for (const [length, colours] of [
    [1, 256],
    [5, 2],
    [3000, 3],
    [60_000, 256],
    [60_000, 7],
  ]) {
    let value = 1;
    const pixels = Uint8Array.from({ length }, () => (value = (value * 16807) % 2147483647) % colours);
    const packed: number[] = [];
    compressed(pixels, packed);
    assert.deepEqual(unpacked(packed), [...pixels]);
  }
});

test("colours that most pixels have are kept exactly", () => {
  const rgba = new Uint8ClampedArray(4 * 100);
  for (let i = 0; i < 100; i++)
    rgba.set(i < 60 ? [255, 255, 255, 255] : i < 70 ? [250, 251, 252, 255] : [8, 54, 185, 255], 4 * i);
  const table = new ColourTable([rgba]);
  assert.deepEqual([...table.colours.subarray(0, 9)], [255, 255, 255, 8, 54, 185, 250, 251, 252]);
  assert.equal(table.nearest(255, 255, 255), 0);
  assert.equal(table.nearest(8, 54, 185), 1);
  assert.equal(table.nearest(250, 251, 252), 2);
});

test("soft shades are kept beside many unlike colours", () => {
  const shades = Array.from({ length: 40 }, (_, i) => 215 + i);
  const rgba = new Uint8ClampedArray(4 * 60 * 640);
  for (let i = 0; i < 60 * 640; i++) {
    const grey = shades[i % 40];
    const k = (i * 7919) % 512; // one pixel in ten has one of 512 colours
    rgba.set(
      i % 10 > 0 ? [grey, grey, grey, 255] : [32 * (k & 7), 32 * ((k >> 3) & 7), 32 * (k >> 6), 255],
      4 * i,
    );
  }
  const table = new ColourTable([rgba]);
  for (const grey of shades)
    assert.ok(Math.abs(table.colours[3 * table.nearest(grey, grey, grey)] - grey) <= 2, `${grey}`);
  assert.ok(table.colours[3 * table.nearest(224, 0, 0)] > 150, "a rare red stays red");
});

test("a film has a head, a picture for each frame, and an end", () => {
  const rgba = new Uint8ClampedArray(4 * 6).fill(255);
  const writer = new GifWriter(3, 2, new ColourTable([rgba]));
  writer.add(rgba, 0.1);
  writer.add(rgba, 0.1);
  const bytes = writer.bytes();
  assert.equal(String.fromCharCode(...bytes.subarray(0, 6)), "GIF89a");
  assert.deepEqual([...bytes.subarray(6, 10)], [3, 0, 2, 0]);
  assert.equal(bytes.filter((value, i) => value === 0x21 && bytes[i + 1] === 0xf9).length, 2);
  assert.equal(bytes.at(-1), 0x3b);
});
