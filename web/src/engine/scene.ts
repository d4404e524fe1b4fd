/** What this page computes, and the run that a scene describes; what is outside is refused in words. */

import type { Begun } from "../run_record.ts";
import type { Scene } from "../state.ts";
import type { Head } from "./equation.ts";
import { InputError, OutsideError } from "./errors.ts";
import { general } from "./format.ts";
import { chosenMatrix } from "./matrices.ts";
import { lengthScales, renyiCenters } from "./measure.ts";
import { predictedPoint, spectrumFacts } from "./spectrum.ts";
import { startPositions } from "./starts.ts";

export const MAX_TOKENS = 500;
export const MAX_DIMENSION = 8;
export const MAX_TIME = 1e5; // beyond, explicit steps are too many
export const FIRST_LOG_TIME = 1e-2;
const MAX_INTEGER = 2 ** 53;

function number(name: string, value: number, least: number, most: number): void {
  if (!Number.isFinite(value)) throw new InputError(`${name} must be a finite number, but is ${value}.`);
  if (value < least) throw new InputError(`${name} must be at least ${least}, but is ${value}.`);
  if (value > most) throw new InputError(`${name} must be at most ${most}, but is ${value}.`);
}

function whole(name: string, value: number, least: number, most: number): void {
  number(name, value, least, most);
  if (!Number.isInteger(value)) throw new InputError(`${name} must be a whole number, but is ${value}.`);
}

/** Refuses a scene that this page cannot compute, and one that nobody can; `write`: only lines of Python. */
export function checkScene(scene: Scene, write = false): void {
  const { n, d, t, mask, start, moved, family } = scene;
  whole("n", n, 1, MAX_INTEGER);
  whole("d", d, 2, MAX_INTEGER);
  if (Object.keys(family).length > 0)
    throw new OutsideError(
      `This page computes one softmax head, but this scene has ${Object.keys(family).join(", ")}.`,
    );
  if (n > MAX_TOKENS && !write)
    throw new OutsideError(
      `This page computes at most ${MAX_TOKENS} tokens, but n is ${n.toLocaleString("en")}.`,
    );
  if (d > MAX_DIMENSION && !write)
    throw new OutsideError(`This page computes at most ${MAX_DIMENSION} dimensions, but d is ${d}.`);
  number("t", t, 1e-6, 1e300);
  if (t > MAX_TIME && !write)
    throw new OutsideError(
      `This page computes times up to ${MAX_TIME.toLocaleString("en")}, but the end is ${general(t)}.` +
        " Longer ones need the implicit solver.",
    );
  number("beta", scene.beta, 0, 1e6);
  whole("frames", scene.frames, 3, 1000);
  whole("seed", scene.seed, 0, MAX_INTEGER);
  number("c", scene.c, 1e-3, 1000);
  number("tolerance", scene.tolerance, 1e-12, 1e-2);
  if (typeof mask === "object") whole("window", mask.window, 1, 10_000);
  if (start.kind === "cap") number("angle", start.angle, 1e-3, Math.PI);
  if (start.kind === "planted") {
    whole("clusters", start.clusters, 1, n);
    number("spread", start.spread, 0, 3);
  }
  for (const [token, place] of Object.entries(moved)) {
    if (!/^(0|[1-9][0-9]{0,5})$/.test(token) || Number(token) >= n)
      throw new InputError(
        `moved names token ${token.slice(0, 40)}, but tokens are numbered from 0 to ${n - 1}.`,
      );
    if (place.length !== d || !place.every(Number.isFinite) || !place.some((value) => value !== 0))
      throw new InputError(`moved ${token} must hold ${d} numbers that are not all 0, as d is ${d}.`);
  }
}

export interface Prepared {
  scene: Scene;
  head: Head;
  x0: Float64Array; // (n, d)
  times: Float64Array; // (frames,)
  begun: Begun;
}

export function prepare(given: Scene, id: number): Prepared {
  checkScene(given);
  const { n, d, beta, mask, c } = given;
  const [Q, K, V] = (["Q", "K", "V"] as const).map((name) => chosenMatrix(name, given[name], d));
  const head = { beta, Q, K, V, mask };
  const x0 = startPositions(given);
  const moved = Object.fromEntries(
    Object.keys(given.moved)
      .sort((a, b) => Number(a) - Number(b))
      .map((token) => [token, Array.from(x0.subarray(Number(token) * d, (Number(token) + 1) * d))]),
  );
  const scene = { ...given, moved };
  const times = saveTimes(given.t, given.frames, given.clock);
  const { delta, radius } = lengthScales(beta, c);
  const spectrum = spectrumFacts(head, n);
  const seen = typeof mask === "object" ? `window ${mask.window}` : mask;
  const begun: Begun & { say: string; rest?: unknown } = {
    say: "begun",
    id,
    scene,
    recorded: false,
    title: null,
    file: "nucleate-run",
    known: null,
    python: null,
    n,
    d,
    frames: times.length,
    frames_before_thinning: times.length,
    dt: null,
    band: null,
    family: {},
    beta,
    Q,
    K,
    V,
    mask,
    frozen: null,
    model: `β = ${general(beta)}, ${seen}`,
    lengths: false,
    layer_dt: null,
    blocks: null,
    spectrum,
    missing: {},
    predicted_point: predictedPoint(spectrum.row, V, Array.from(x0.subarray(0, d))),
    delta,
    radius,
    centers: { renyi: renyiCenters(x0, d, delta, false), strong: renyiCenters(x0, d, delta, true) },
  };
  return { scene, head, x0, times, begun };
}

/** 0, and times up to t that are evenly spaced; by a logarithmic clock, by logarithm. */
export function saveTimes(t: number, frames: number, clock: Scene["clock"]): Float64Array {
  if (clock === "linear") {
    const step = t / (frames - 1);
    return Float64Array.from({ length: frames }, (_, i) => (i === frames - 1 ? t : i * step));
  }
  const first = Math.min(FIRST_LOG_TIME, t / 100);
  const [from, to] = [Math.log10(first), Math.log10(t)];
  const step = (to - from) / (frames - 2);
  return Float64Array.from({ length: frames }, (_, i) =>
    i === 0 ? 0 : i === 1 ? first : i === frames - 1 ? t : 10 ** ((i - 1) * step + from),
  );
}
