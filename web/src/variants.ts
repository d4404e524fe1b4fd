/** Two settings to be compared, and what differs between them, in words. */

import { pretty } from "./axis.ts";
import { same, type MatrixChoice, type Scene } from "./state.ts";

export type Side = "" | "mask" | "beta" | "pinned";

export const SIDES: { [side in Side]: string } = {
  "": "off",
  mask: "causal and full",
  beta: "β and 4β",
  pinned: "now and pinned",
};

const MAX_BETA = 1e6; // of the server

/** The scene to be seen beside this one, with the same seed and times; null: there is none. */
export function variant(scene: Scene, side: Side): Scene | null {
  if (side === "mask") return { ...scene, mask: scene.mask === "full" ? "causal" : "full" };
  if (side === "beta") return { ...scene, beta: scene.beta > 0 ? Math.min(MAX_BETA, 4 * scene.beta) : 1 };
  return null;
}

const maskWords = ({ mask }: Scene): string =>
  typeof mask === "string" ? `${mask} mask` : `window of ${mask.window}`;
const matrixWords = (name: string, choice: MatrixChoice): string =>
  "preset" in choice ? `${name} ${choice.preset}` : `own ${name}`;

const WORDS: { [key in keyof Scene]?: (scene: Scene) => string } = {
  beta: ({ beta }) => `β = ${pretty(beta)}`,
  mask: maskWords,
  n: ({ n }) => `n = ${n}`,
  d: ({ d }) => `d = ${d}`,
  seed: ({ seed }) => `seed ${seed}`,
  t: ({ t }) => `to t = ${pretty(t)}`,
  V: ({ V }) => matrixWords("V", V),
  Q: ({ Q }) => matrixWords("Q", Q),
  K: ({ K }) => matrixWords("K", K),
  start: ({ start }) => (start.kind === "uniform" ? "uniform start" : `start: ${start.kind}`),
  moved: ({ moved }) => (Object.keys(moved).length === 0 ? "no token moved" : "tokens moved"),
  family: ({ family }) => (Object.keys(family).length === 0 ? "one softmax head" : "another model"),
};

/** What `scene` has that `other` has not, in a few words. */
export function whatDiffers(scene: Scene, other: Scene): string {
  const keys = (Object.keys(WORDS) as (keyof Scene)[]).filter((key) => !same(scene[key], other[key]));
  return keys.map((key) => WORDS[key]!(scene)).join(", ") || "the same settings";
}

/** The values of a grid: around what is set, each once, in order. */
export function gridBetas(beta: number): number[] {
  const middle = beta > 0 ? beta : 1;
  return [middle / 16, middle / 4, middle, middle * 4].map((value) => Math.min(MAX_BETA, value));
}

const MAX_GRID_TOKENS = 400;
const GRID_FRAMES = 24;
const GRID_DIMENSIONS = [2, 3, 4, 8];

export function gridTokens(n: number): number[] {
  const middle = Math.max(4, Math.min(n, MAX_GRID_TOKENS / 2));
  const values = [middle / 4, middle / 2, middle, middle * 2].map((value) => Math.max(1, Math.round(value)));
  return [...new Set(values)];
}

export interface Cell {
  scene: Scene; // to be opened
  small: Scene; // to be run for the picture: fewer frames, at most so many tokens
  title: string;
}

/** Rows of cells: β across, n or d down. Matrices that are written out have one dimension only. */
export function gridCells(scene: Scene, down: "n" | "d"): Cell[][] {
  const fixed = (["V", "Q", "K"] as const).some((name) => "matrix" in scene[name]);
  const dimensions = fixed ? [scene.d] : [...new Set([...GRID_DIMENSIONS, scene.d])].sort((a, b) => a - b);
  const values = down === "n" ? gridTokens(scene.n) : dimensions;
  return values.map((value) =>
    gridBetas(scene.beta).map((beta) => {
      const next = { ...scene, beta, [down]: value };
      const kept = Object.entries(next.moved).filter(([k, to]) => Number(k) < next.n && to.length === next.d);
      next.moved = Object.fromEntries(kept);
      if (next.start.kind === "planted")
        next.start = { ...next.start, clusters: Math.min(next.start.clusters, next.n) };
      const small = {
        ...next,
        n: Math.min(next.n, MAX_GRID_TOKENS),
        frames: Math.min(next.frames, GRID_FRAMES),
        tolerance: Math.max(next.tolerance, 1e-6),
      };
      small.moved = Object.fromEntries(kept.filter(([k]) => Number(k) < small.n));
      return { scene: next, small, title: `β = ${pretty(beta)}, ${down} = ${value}` };
    }),
  );
}
