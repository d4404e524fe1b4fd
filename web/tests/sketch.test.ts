import assert from "node:assert/strict";
import test from "node:test";
import { matches } from "../src/gallery.ts";
import { sketchOfThumbnail } from "../src/sketch.ts";

const base64 = (bytes: number[]): string => btoa(String.fromCharCode(...bytes.map((byte) => byte & 255)));

test("a thumbnail of a circle holds angles, one of a sphere three coordinates", () => {
  const flat = sketchOfThumbnail({
    flat: true,
    tokens: 2,
    frames: 1,
    places: base64([64, 128]),
    colours: base64([-1, 3]),
  });
  assert.deepEqual(
    [...flat.places].map((value) => Math.round(value)),
    [0, 1, 0, -1, 0, 0],
  );
  assert.deepEqual([...flat.colours], [-1, 3]);
  const ball = sketchOfThumbnail({
    flat: false,
    tokens: 1,
    frames: 1,
    places: base64([127, -127, 0]),
    colours: base64([0]),
  });
  assert.deepEqual([...ball.places], [1, -1, 0]);
});

test("a search finds words of title and text in any order, whatever their accents", () => {
  const entry = { name: "figure2", title: "Figure 2: tokens gather", explain: "Rényi centers hold." };
  assert.ok(matches(entry, "gather renyi"));
  assert.ok(matches(entry, ""));
  assert.ok(!matches(entry, "gather noise"));
});
