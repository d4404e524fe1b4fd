/** Runs the scenes that come on the standard input, for `tests/support/engine_cases.py compare`. */

import { readFileSync } from "node:fs";
import { Drift } from "../src/engine/equation.ts";
import { Integration } from "../src/engine/integrate.ts";
import { prepare } from "../src/engine/scene.ts";
import type { Scene } from "../src/state.ts";

const scenes = JSON.parse(readFileSync(0, "utf8")) as Scene[];
const results = scenes.map((scene) => {
  const { head, x0, times } = prepare(scene, 0);
  const began = performance.now();
  const tolerance = scene.tolerance + scene.tolerance / 100;
  const run = new Integration(new Drift(head, scene.n, scene.d), x0, times, scene.t, tolerance, 1e6);
  while (run.status === "running") run.step();
  const { status, steps, frames } = run;
  return { status, steps, seconds: (performance.now() - began) / 1000, x: Array.from(frames) };
});
console.log(JSON.stringify(results));
