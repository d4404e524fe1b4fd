/** Every number of a scene: what it is called, what it means, how far it may go. */

import type { NumberSpec } from "./fields.ts";

/** What the server allows. */
export interface Limits {
  n?: number;
  d?: number;
  frames?: number;
  t?: number;
  numbers?: number;
  heads?: number;
  layers?: number;
  hidden?: number;
  sliders?: { n: number; d: number; t: number }; // where sliders end, if before the limit
}

export type NumberName = "n" | "d" | "beta" | "t" | "frames" | "c" | "tolerance";

type Slider = NonNullable<NumberSpec["slider"]>;
const log = (from: number, to: number): Slider => ({ from, to, log: true });
const even = (from: number, to: number): Slider => ({ from, to, log: false });

export function numberSpecs({ n = 10_000, d = 64, t = 1e300, frames = 1000, sliders }: Limits): {
  [name in NumberName]: NumberSpec;
} {
  const spec = (
    name: string,
    label: string,
    title: string,
    min: number,
    max: number,
    rest: Partial<NumberSpec>,
  ): NumberSpec => ({
    name,
    label,
    title,
    min,
    max,
    ...rest,
  });
  return {
    n: spec("n", "Tokens n", "How many tokens, at most 10,000", 1, n, {
      whole: true,
      slider: log(2, sliders?.n ?? 10_000),
    }),
    d: spec("d", "Dimension d", "2 is the circle, 3 the sphere", 2, d, {
      whole: true,
      slider: even(2, sliders?.d ?? 16),
    }),
    beta: spec("beta", "Sharpness β", "Inverse temperature: how sharply a token prefers close ones", 0, 1e6, {
      slider: log(0.1, 10_000),
    }),
    t: spec("t", "End time", "The run ends here; time is depth in the transformer", 1e-6, t, {
      slider: log(0.1, sliders?.t ?? 1e60),
    }),
    frames: spec("frames", "Frames", "How many moments are kept", 3, frames, { whole: true }),
    c: spec(
      "c",
      "Factor c",
      "Centers are farther apart than δ = c β^(−1/2); the figures use 4",
      0.001,
      1000,
      { slider: even(0.5, 8) },
    ),
    tolerance: spec(
      "tolerance",
      "Tolerance",
      "Relative error the solver allows itself in a step",
      1e-12,
      1e-2,
      { slider: log(1e-12, 1e-2) },
    ),
  };
}

/** Numbers that belong to one kind of start or mask. */
export const DETAIL_SPECS: { [name in "seed" | "angle" | "clusters" | "spread" | "window"]: NumberSpec } = {
  seed: {
    name: "seed",
    label: "Seed",
    title: "The same seed gives the same start",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    whole: true,
  },
  angle: {
    name: "angle",
    label: "Cap angle",
    title: "Radius of the cap in radians",
    min: 0.001,
    max: Math.PI,
    slider: even(0.05, 3.14),
  },
  clusters: {
    name: "clusters",
    label: "Clusters",
    title: "How many clusters are planted",
    min: 1,
    max: 10_000,
    whole: true,
    slider: even(1, 24),
  },
  spread: {
    name: "spread",
    label: "Spread",
    title: "How far tokens lie from the middle of their cluster",
    min: 0,
    max: 3,
    slider: log(0.01, 1),
  },
  window: {
    name: "window",
    label: "Window w",
    title: "How many tokens it sees, itself among them",
    min: 1,
    max: 10_000,
    whole: true,
    slider: log(1, 1000),
  },
};

export type FamilyNumber =
  | "alibi"
  | "rope"
  | "heads"
  | "heads_seed"
  | "tau"
  | "alpha"
  | "radius"
  | "hidden"
  | "mlp_seed"
  | "noise"
  | "dt"
  | "count"
  | "layer_dt"
  | "layers_seed";

/** Numbers of the family. */
export function familySpecs({ heads = 64, layers = 1000, hidden = 1024 }: Limits): {
  [name in FamilyNumber]: NumberSpec;
} {
  const most = Number.MAX_SAFE_INTEGER;
  const spec = (
    name: FamilyNumber,
    label: string,
    title: string,
    min: number,
    max: number,
    slider?: Slider,
    whole = false,
  ): NumberSpec => ({ name: `family-${name}`, label, title, min, max, whole, ...(slider && { slider }) });
  return {
    alibi: spec("alibi", "Slope", "By how much scores fall per place", 0, 1e6, log(0.001, 10)),
    rope: spec("rope", "Base", "Plane i of d/2 turns by base^(−2i/d) per place", 1e-6, 1e12, log(1, 1e6)),
    heads: spec("heads", "Heads", "How many; 0 with an MLP alone", 0, heads, even(1, 16), true),
    heads_seed: spec("heads_seed", "Their seed", "Of the random matrices", 0, 1e9, undefined, true),
    tau: spec("tau", "From τ on pre", "The time at which Mix-LN changes", 0, 1e6, log(0.1, 1000)),
    alpha: spec("alpha", "Step α", "How far nGPT goes towards its target", 1e-6, 1e6, log(0.01, 10)),
    radius: spec("radius", "Length at 0", "With which the tokens start", 1e-6, 1e6, log(0.1, 100)),
    hidden: spec("hidden", "Hidden units", "Of the MLP", 1, hidden, log(1, hidden), true),
    mlp_seed: spec("mlp_seed", "Its seed", "Of the random weights", 0, most, undefined, true),
    noise: spec("noise", "κ", "Inverse strength: larger is quieter", 1e-3, 1e9, log(0.1, 1000)),
    dt: spec("dt", "Step dt", "At most; the end time is a whole number of steps", 1e-9, 1e300, log(1e-4, 1)),
    count: spec("count", "How many", "Layers, one after the other", 1, layers, log(1, layers), true),
    layer_dt: spec("layer_dt", "Layer time", "How long each layer acts", 1e-6, 1e9, log(0.01, 100)),
    layers_seed: spec("layers_seed", "Their seed", "Of the random weights", 0, most, undefined, true),
  };
}
