import assert from "node:assert/strict";
import test from "node:test";
import { pretty, TimeScale } from "../src/axis.ts";

test("on the time axis place and cursor undo each other, over sixty decades", () => {
  const t = Float64Array.from({ length: 160 }, (_, i) => (i === 0 ? 0 : 10 ** (-2 + (62 * (i - 1)) / 158)));
  const scale = TimeScale.of(t, 160, 0, "log");
  assert.equal(scale.place(0), 0);
  assert.ok(Math.abs(scale.place(t[159]) - 1) < 1e-12);
  for (const cursor of [0, 0.5, 1, 17.25, 100, 158.75, 159]) {
    // differences of places near 1/160
    assert.ok(Math.abs(scale.cursor(scale.placeOf(cursor, t, 160), t, 160) - cursor) < 1e-6);
  }
});

test("times of a recording choose their own axis", () => {
  assert.ok(
    !TimeScale.of(
      Float64Array.from({ length: 50 }, (_, i) => i),
      50,
      0,
      null,
    ).log,
  );
  assert.ok(!TimeScale.of(Float64Array.of(0, 1, 1.5, 2, 20), 5, 0, null).log); // too short for decades
  assert.ok(
    TimeScale.of(
      Float64Array.from({ length: 50 }, (_, i) => (i === 0 ? 0 : 10 ** (i / 10))),
      50,
      0,
      null,
    ).log,
  );
});

test("numbers for people", () => {
  assert.deepEqual(
    [0, 0.25, 150, 123456, -1.5, 6.15e36].map((value) => pretty(value)),
    ["0", "0.25", "150", "1.23 × 10⁵", "−1.5", "6.15 × 10³⁶"],
  );
});
