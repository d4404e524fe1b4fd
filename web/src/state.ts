/**
 * What is being looked at: the scene a run is made from, the cursor, and how it is shown. All of it fits in
 * the address.
 */

import type { Side } from "./variants.ts";

export type MatrixChoice = { preset: string; seed?: number } | { matrix: number[][] };
export type Start =
  | { kind: "uniform" }
  | { kind: "cap"; angle: number }
  | { kind: "planted"; clusters: number; spread: number };
export type Mask = "causal" | "full" | { window: number };

/** What makes a model more than one softmax head: keys as in study files, such as weights, norm, layers. */
export type Family = { [key: string]: unknown };

export interface Scene {
  n: number;
  d: number;
  beta: number;
  t: number;
  frames: number;
  clock: "log" | "linear";
  seed: number;
  mask: Mask;
  start: Start;
  moved: { [token: string]: number[] };
  V: MatrixChoice;
  Q: MatrixChoice;
  K: MatrixChoice;
  c: number;
  tolerance: number;
  family: Family;
  dt: number; // of noise
}

export interface Look {
  colour: "cluster" | "order";
  angle: "distance" | "longitude";
  order: "sequence" | "cluster";
  trails: boolean;
  camera: number[]; // azimuth, height, distance
  speed: number; // decades of time per second; 0: paced by motion and mergers
  theme: "auto" | "light" | "dark";
  explain: "auto" | "yes" | "no";
  reading: string; // of a trace: the text, or one of its controls
  frame: "all" | "own"; // of a trace: three directions of all layers together, or of each
  side: Side; // what is seen beside the run
  pin: Partial<Scene> | null; // the scene of the pinned run, as far as it differs from the defaults
  grid: "" | "n" | "d"; // a grid of small runs is open: β against this
  story: number; // the step of the story that is told, from 1; 0: none
}

/** A recording of the folder that was opened. */
export interface Recording {
  name: string;
  run: number;
}

export interface State {
  scene: Scene;
  open: Recording | null; // instead of the scene
  at: number | null; // frame; null: wherever a fresh run begins
  view: Look;
}

export const LOOK: Look = {
  colour: "cluster",
  angle: "distance",
  order: "sequence",
  trails: true,
  camera: [0.6, 0.35, 3.4],
  speed: 0,
  theme: "auto",
  explain: "auto",
  reading: "text",
  frame: "all",
  side: "",
  pin: null,
  grid: "",
  story: 0,
};

/** The defaults until the server says its own. */
export const SCENE: Scene = {
  n: 200,
  d: 2,
  beta: 64,
  t: 150,
  frames: 160,
  clock: "log",
  seed: 1,
  mask: "causal",
  start: { kind: "uniform" },
  moved: {},
  V: { preset: "identity" },
  Q: { preset: "identity" },
  K: { preset: "identity" },
  c: 4,
  tolerance: 1e-6,
  family: {},
  dt: 0.01,
};

type Check = (value: unknown) => boolean;
const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const numbers: Check = (value) => Array.isArray(value) && value.every(number);
const oneOf =
  (...names: unknown[]): Check =>
  (value) =>
    names.includes(value);
const matrix: Check = (value) =>
  isObject(value) &&
  (typeof value.preset === "string" || (Array.isArray(value.matrix) && value.matrix.every(numbers)));
const mask: Check = (value) =>
  value === "causal" || value === "full" || (isObject(value) && number(value.window));
const start: Check = (value) =>
  isObject(value) &&
  (value.kind === "uniform" ||
    (value.kind === "cap" && number(value.angle)) ||
    (value.kind === "planted" && number(value.clusters) && number(value.spread)));

const SCENE_CHECKS: { [key in keyof Scene]: Check } = {
  n: number,
  d: number,
  beta: number,
  t: number,
  frames: number,
  clock: oneOf("log", "linear"),
  seed: number,
  mask,
  start,
  moved: (value) => isObject(value) && Object.values(value).every(numbers),
  V: matrix,
  Q: matrix,
  K: matrix,
  c: number,
  tolerance: number,
  family: isObject, // the server knows its keys
  dt: number,
};
const LOOK_CHECKS: { [key in keyof Look]: Check } = {
  colour: oneOf("cluster", "order"),
  angle: oneOf("distance", "longitude"),
  order: oneOf("sequence", "cluster"),
  trails: oneOf(true, false),
  camera: (value) => numbers(value) && (value as number[]).length === 3,
  speed: (value) => number(value) && (value as number) >= 0,
  theme: oneOf("auto", "light", "dark"),
  explain: oneOf("auto", "yes", "no"),
  reading: (value) => typeof value === "string",
  frame: oneOf("all", "own"),
  side: oneOf("", "mask", "beta", "pinned"),
  pin: (value) =>
    value === null ||
    (isObject(value) &&
      Object.entries(value).every(
        ([key, part]) => Object.hasOwn(SCENE_CHECKS, key) && SCENE_CHECKS[key as keyof Scene](part),
      )),
  grid: oneOf("", "n", "d"),
  story: (value) => number(value) && (value as number) >= 0,
};

/** Whether two JSON values say the same, whatever the order of their keys. */
export function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, i) => same(value, b[i]));
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
    );
  }
  return Object.is(a, b) || a === b;
}

function differences<T extends object>(value: T, base: T): Partial<T> {
  const keys = (Object.keys(value) as (keyof T)[]).filter((key) => !same(value[key], base[key]));
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Partial<T>;
}

/** The part of a scene that differs from the defaults. */
export const sceneDifferences = (scene: Scene, defaults: Scene): Partial<Scene> =>
  structuredClone(differences(scene, defaults));

function checked<T extends object>(
  given: unknown,
  base: T,
  checks: { [key in keyof T]: Check },
  what: string,
): T {
  if (!isObject(given))
    throw new Error(`The ${what} in this link is not a list of settings. Copy the whole link again.`);
  const result: { [key: string]: unknown } = { ...(base as { [key: string]: unknown }) };
  for (const [key, value] of Object.entries(given)) {
    const check = Object.hasOwn(checks, key) ? checks[key as keyof T] : undefined;
    if (check === undefined)
      throw new Error(`The ${what} in this link has a setting “${key}” that this version does not know.`);
    if (!check(value))
      throw new Error(`The setting “${key}” in this link cannot be ${JSON.stringify(value).slice(0, 60)}.`);
    result[key] = value;
  }
  return structuredClone(result) as T;
}

/** A scene from part of one; what is missing comes from `base`. */
export const completeScene = (given: unknown, base: Scene): Scene =>
  checked(given, base, SCENE_CHECKS, "scene");

/** The fragment of the address: only what differs from the defaults. */
export function encode(state: State, defaults: Scene): string {
  const parts: { [key: string]: unknown } = {};
  const scene = differences(state.scene, defaults);
  const view = differences(state.view, LOOK);
  if (state.open !== null) parts.open = state.open;
  else if (Object.keys(scene).length > 0) parts.scene = scene;
  if (state.at !== null) parts.at = state.at;
  if (Object.keys(view).length > 0) parts.view = view;
  return Object.keys(parts).length > 0 ? "#" + encodeURIComponent(JSON.stringify(parts)) : "";
}

/** The state that an address, a fragment or an object names. Throws an Error in words when it names none. */
export function decode(link: unknown, defaults: Scene): State {
  const given = typeof link === "string" ? parse(link) : (link ?? {});
  if (!isObject(given)) throw new Error("This link holds no settings. Copy the whole link again.");
  const unknown = Object.keys(given).find((key) => !["scene", "open", "at", "view"].includes(key));
  if (unknown !== undefined)
    throw new Error(`This link has a part “${unknown}” that this version does not know.`);
  if (given.at !== undefined && given.at !== null && !number(given.at))
    throw new Error("The frame in this link is not a number.");
  const { open = null } = given;
  if (open !== null && !(isObject(open) && typeof open.name === "string" && number(open.run)))
    throw new Error("The recording in this link has no name.");
  return {
    scene: completeScene(given.scene ?? {}, defaults),
    open: open === null ? null : { name: String(open.name), run: Number(open.run) },
    at: typeof given.at === "number" ? Math.max(0, given.at) : null,
    view: checked(given.view ?? {}, LOOK, LOOK_CHECKS, "view"),
  };
}

function parse(link: string): unknown {
  if (link === "") return {}; // the page's own address, when nothing differs from the defaults
  const from = link.indexOf("#");
  const text = from >= 0 ? link.slice(from + 1) : /^[{%]/.test(link) ? link : "";
  if (text === "") throw new Error("This is no link of the explorer: nothing follows its #.");
  try {
    return JSON.parse(decodeURIComponent(text));
  } catch {
    throw new Error("This link is damaged: what follows # cannot be read. Copy the whole link again.");
  }
}
