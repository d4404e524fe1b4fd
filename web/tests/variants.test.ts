import assert from "node:assert/strict";
import test from "node:test";
import { decode, encode, LOOK, sceneDifferences, SCENE } from "../src/state.ts";
import { gridCells, gridTokens, variant, whatDiffers } from "../src/variants.ts";

test("the other of two has one setting changed, and the same seed", () => {
  const full = variant(SCENE, "mask")!;
  assert.deepEqual(sceneDifferences(full, SCENE), { mask: "full" });
  assert.deepEqual(sceneDifferences(variant(full, "mask")!, full), { mask: "causal" });
  assert.deepEqual(sceneDifferences(variant(SCENE, "beta")!, SCENE), { beta: 256 });
  assert.equal(variant({ ...SCENE, beta: 0 }, "beta")!.beta, 1);
  assert.equal(variant(SCENE, ""), null);
  assert.equal(variant(SCENE, "pinned"), null);
});

test("what differs is said from the side that is named", () => {
  const other = { ...SCENE, beta: 9, mask: { window: 7 } };
  assert.equal(whatDiffers(other, SCENE), "β = 9, window of 7");
  assert.equal(whatDiffers(SCENE, other), "β = 64, causal mask");
  assert.equal(whatDiffers(SCENE, SCENE), "the same settings");
});

test("a comparison survives the address", () => {
  const view = { ...LOOK, side: "pinned" as const, pin: { beta: 9, n: 12 }, grid: "d" as const };
  const state = { scene: SCENE, open: null, at: 3, view };
  assert.deepEqual(decode(encode(state, SCENE), SCENE), state);
  const link = (part: unknown): string => "#" + encodeURIComponent(JSON.stringify({ view: part }));
  assert.throws(() => decode(link({ pin: { betta: 1 } }), SCENE), /pin/);
  assert.throws(() => decode(link({ pin: { beta: "1" } }), SCENE), /pin/);
  assert.throws(() => decode(link({ side: "left" }), SCENE), /side/);
});

test("cells of a grid differ from the scene in β and one number, and are small", () => {
  const scene = { ...SCENE, n: 5000, frames: 900, moved: { "3": [1, 0], "4999": [0, 1] } };
  for (const down of ["n", "d"] as const)
    for (const { scene: opened, small } of gridCells(scene, down).flat()) {
      const changed = Object.keys(sceneDifferences(opened, scene)).filter((key) => key !== "moved");
      assert.ok(changed.every((key) => ["beta", down].includes(key)));
      assert.ok(small.n <= 400 && small.frames <= 24);
      assert.ok(Object.entries(small.moved).every(([k, to]) => Number(k) < small.n && to.length === small.d));
    }
  assert.deepEqual(gridTokens(200), [50, 100, 200, 400]);
  assert.deepEqual(gridTokens(1), [1, 2, 4, 8]);
});

test("a matrix that is written out keeps its dimension in a grid", () => {
  const V = {
    matrix: [
      [1, 0],
      [0, 2],
    ],
  };
  const rows = gridCells({ ...SCENE, V }, "d");
  assert.deepEqual([...new Set(rows.flat().map(({ scene }) => scene.d))], [2]);
});
