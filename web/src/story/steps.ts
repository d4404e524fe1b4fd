/** The story, step by step: what is run, what is looked at, and where its captions come from. */

import { verdictOf } from "../end_badge.ts";
import type { RunRecord } from "../run_record.ts";
import type { Look, Scene } from "../state.ts";
import {
  consumptionCaptions,
  lifeCaptions,
  lostCenterCaptions,
  lostCenters,
  oneTokenCaptions,
  endCaptions,
  twoTokenCaptions,
  type Caption,
} from "./run_events.ts";

export interface Step {
  title: string;
  text: string;
  scene: Partial<Scene>;
  look: Partial<Look>;
  views: string[]; // that are told of
  captions(run: RunRecord): Caption[];
  extra?: "interaction" | "parking" | "matrices";
  /** The frame to begin at, by what was measured; the first if left out. */
  from?(run: RunRecord): number;
  /** The token to point at in a frame. */
  point?(run: RunRecord, frame: number): number | null;
  /** What is run where the engine refuses the scene, and what to say then. */
  instead?: { scene: Partial<Scene>; text: string };
}

const CIRCLE: Partial<Scene> = { n: 200, d: 2, beta: 64, seed: 3, frames: 240 }; // as in Figure 2
const GATHERS: Partial<Scene> = { ...CIRCLE, t: 150 };
const LOSES: Partial<Scene> = { ...CIRCLE, t: 1000 };
const diagonal = (...values: number[]): Scene["V"] => ({
  matrix: values.map((value, r) => values.map((_, c) => (r === c ? value : 0))),
});
const WITH_V: Partial<Scene> = { n: 32, d: 3, beta: 9, seed: 0, t: 200, frames: 200 };

/** Matrices to choose from in the last step, one for each row of Table 1. */
export const VALUE_MATRICES: { name: string; V: Scene["V"] }[] = [
  { name: "V = I", V: { preset: "identity" } },
  { name: "two lead", V: diagonal(1, 1, -0.5) },
  { name: "one leads", V: diagonal(1, 0.4, 0.1) },
  { name: "negative, two", V: diagonal(-0.2, -0.2, -1) },
  { name: "negative, one", V: diagonal(-0.2, -0.6, -1) },
];
export const sceneWithV = (V: Scene["V"]): Partial<Scene> => ({ ...WITH_V, V });

export const STEPS: Step[] = [
  {
    title: "One token",
    text:
      "A transformer carries a vector for every token through its layers and normalises it: a point " +
      "on a sphere. Depth is time. A token that sees only itself moves by V alone, to the directions " +
      "that V stretches most: here to ξ or −ξ. With V = I it would stand still.",
    scene: { n: 1, d: 3, beta: 1, seed: 0, t: 20, frames: 120, V: diagonal(1, 0.4, 0.1) },
    look: { trails: true },
    views: ["sphere", "spectrum"],
    captions: oneTokenCaptions,
  },
  {
    title: "Two tokens attract",
    text:
      "From here on Q = K = V = I. Token 2 hears token 1 and moves towards it; token 1 hears only " +
      "itself and stays. The pull at distance x is h(x) = e^(β(cos x − 1)) sin x: strongest near " +
      "β^(−1/2), and almost nothing far away.",
    scene: {
      n: 2,
      d: 2,
      beta: 10,
      seed: 0,
      t: 1000,
      frames: 160,
      c: 1,
      moved: { "0": [1, 0], "1": [0.3623577544766736, 0.9320390859672263] },
    },
    look: { trails: true },
    views: ["circle", "angles"],
    captions: twoTokenCaptions,
    extra: "interaction",
  },
  {
    title: "Who becomes a center",
    text:
      "200 tokens, before anything moves. Take them in their order. A token farther than δ from every " +
      "earlier center becomes a Rényi center and keeps an arc of δ to each side; cars park so. Red: a " +
      "strong center, farther than δ from every earlier token.",
    scene: GATHERS,
    look: { trails: true },
    views: ["circle"],
    captions: () => [],
    extra: "parking",
  },
  {
    title: "Centers consume the others",
    text:
      "Now let them move. Tokens fall to what is near and early, and soon most " +
      "are in the clusters of Rényi centers. Strong centers take fewer. The curve of Consumption " +
      "counts by distance: the tokens within δ of a center.",
    scene: GATHERS,
    look: { trails: true },
    views: ["circle", "clusters", "consumption"],
    captions: consumptionCaptions,
  },
  {
    title: "Why the later center is lost",
    text:
      "Under the causal mask nothing flows back: a token never hears those after it. So of two " +
      "centers only the later one feels a pull, and it is the one that moves and is lost. The lines " +
      "show whom the marked center listens to.",
    scene: LOSES,
    look: { trails: true },
    views: ["circle", "angles", "clusters"],
    captions: lostCenterCaptions,
    from: (run) => {
      const first = lostCenters(run).at(0);
      return first === undefined ? 0 : Math.floor(first.frame * 0.85);
    },
    point: (run, frame) => lostCenters(run).find((one) => one.frame > frame)?.lost ?? null,
  },
  {
    title: "To 10⁶⁰",
    text:
      "Clusters an angle Δ apart attract like e^(−β(1 − cos Δ)), at β = 64 down to e^(−128). They " +
      "seem to rest; they do not. One by one they merge, over tens of powers of ten of time, until " +
      "all are at x₁(0), where token 1 began. Theorem 4.1 says so.",
    scene: { ...CIRCLE, t: 1e60, frames: 400 },
    look: { trails: true },
    views: ["circle", "angles", "clusters"],
    captions: lifeCaptions,
    instead: {
      scene: { ...CIRCLE, t: 1e4, frames: 240 },
      text:
        "Times like 10⁶⁰ need the causal solver of the package, which this page does not have: start " +
        "“nucleate explore” to see them. Here the same start is run to t = 10⁴.",
    },
  },
  {
    title: "Change V",
    text:
      "V decides where tokens end: by its eigenvalues with the largest real part, and how many there " +
      "are. Choose one. The signs show where Table 1 says that tokens end, and the badge holds the " +
      "last frame against it. Then drag β, or a token at time 0: the page is yours.",
    scene: sceneWithV(diagonal(1, 0.4, 0.1)),
    look: { trails: true },
    views: ["sphere", "spectrum"],
    captions: (run) => endCaptions(run, verdictOf(run)?.why ?? ""),
    extra: "matrices",
  },
];
