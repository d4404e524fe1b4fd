import assert from "node:assert/strict";
import test from "node:test";
import { arc } from "../src/views/arc.ts";

const place = (angle: number): number[] => [Math.cos(angle), Math.sin(angle), 0];

test("a long arc follows the great circle, in steps that look round", () => {
  const points = arc([...place(0), ...place(1.5)], 0, 3, true);
  let last = 0;
  for (let at = 0; at < points.length; at += 3) {
    const [x, y, z] = points.slice(at, at + 3);
    assert.ok(Math.abs(Math.hypot(x, y, z) - 1) < 1e-12); // a few roundings
    const angle = Math.atan2(y, x);
    assert.ok(angle > last && angle - last < 0.151);
    last = angle;
  }
  assert.deepEqual(points.slice(-3), place(1.5));
});

test("a short arc is one straight piece", () => {
  assert.deepEqual(arc([...place(0), ...place(0.1)], 0, 3, true), place(0.1));
  assert.deepEqual(arc([...place(0), ...place(0)], 0, 3, true), place(0));
});

test("where a token jumps no line is drawn through the ball", () => {
  assert.deepEqual(arc([...place(0), ...place(2.5)], 0, 3, true), []);
  assert.deepEqual(arc([...place(0), ...place(Math.PI)], 0, 3, true), []);
});

test("a shadow of a higher sphere moves straight", () => {
  assert.deepEqual(arc([0.1, 0, 0, -0.5, 0.5, 0], 0, 3, false), [-0.5, 0.5, 0]);
});
