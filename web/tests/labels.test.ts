import assert from "node:assert/strict";
import test from "node:test";
import { placeLabels, type LabelDot } from "../src/views/labels.ts";

/** Dots in a crowd, the same ones every time. */
function crowd(count: number): LabelDot[] {
  let seed = 7;
  const next = (): number => (seed = (16807 * seed) % 2147483647) / 2147483647;
  return Array.from({ length: count }, (_, k) => ({ k, x: 100 + 60 * next(), y: 80 + 40 * next() }));
}

test("no word covers another, none leaves the box, and the first one always has its place", () => {
  const [box, width, height] = [{ width: 240, height: 200 }, 34, 14];
  const placed = placeLabels(
    crowd(60),
    () => width,
    box,
    () => 7,
    height,
  );
  assert.ok(placed.length > 5 && placed.length < 60);
  assert.equal(placed[0].k, 0);
  placed.forEach((a, i) => {
    assert.ok(a.x >= 0 && a.x + width <= box.width && a.y >= height / 2 && a.y + height / 2 <= box.height);
    for (const b of placed.slice(0, i))
      assert.ok(Math.abs(a.x - b.x) >= width || Math.abs(a.y - b.y) >= height, `${a.k} on ${b.k}`);
  });
});

test("dots far from each other all have their words", () => {
  const dots = Array.from({ length: 9 }, (_, k) => ({
    k,
    x: 60 + 80 * (k % 3),
    y: 40 + 50 * Math.floor(k / 3),
  }));
  assert.equal(placeLabels(dots, () => 40, { width: 300, height: 200 }).length, 9);
});
