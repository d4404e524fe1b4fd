/** The controls of the family: a panel that is closed until it is asked for. */

import { el } from "./dom.ts";
import { TextField, type NumberSpec } from "./fields.ts";
import {
  changed,
  drawsLayers,
  familyText,
  headCount,
  headNumbers,
  headsKind,
  headsSeed,
  numberOf,
  tableOf,
  textOf,
  withHeads,
  type HeadsKind,
} from "./family.ts";
import { familySpecs, type FamilyNumber, type Limits } from "./number_specs.ts";
import type { Family, Scene } from "./state.ts";

/** What the panel needs of the controls. */
export interface FieldMaker {
  choice(
    name: string,
    label: string,
    title: string,
    choices: { [value: string]: string },
    get: (scene: Scene) => string,
    set: (value: string, scene: Scene) => Partial<Scene>,
    shown?: (scene: Scene) => boolean,
  ): HTMLElement;
  detail(
    spec: NumberSpec,
    get: (scene: Scene) => number | undefined,
    set: (value: number, scene: Scene) => Partial<Scene>,
    main?: boolean,
  ): HTMLElement;
  whenShown(show: (scene: Scene) => void): void;
  changeScene(part: (scene: Scene) => Partial<Scene>): void;
  showError(text: string): void;
}

const WEIGHTS = { softmax: "softmax", exponential: "exponential (USA)", hardmax: "hardmax" };
const POSITIONS = { none: "none", alibi: "ALiBi", rope: "RoPE" };
const HEADS = {
  same: "as above",
  betas: "a β each",
  factors: "V = c I, a c each",
  V: "random V",
  QKV: "random Q, K and V",
  own: "as given",
};
const NORMS = {
  post: "Post-LN",
  pre: "Pre-LN",
  mix: "Mix-LN",
  peri: "Peri-LN",
  ngpt: "nGPT",
  sqrt: "square-root scaling",
};
const KINDS = { gaussian: "Gaussian", symmetric: "symmetric", orthogonal: "orthogonal", uniform: "uniform" };
const LAYERS = {
  none: "none",
  same: "same in each",
  ...Object.fromEntries(Object.entries(KINDS).map(([kind, title]) => [kind, `random ${title}`])),
  own: "as given",
};
const ACTIVATIONS = { relu: "ReLU", gelu: "GELU", silu: "SiLU", tanh: "tanh", identity: "identity" };
const YES_NO = { no: "no", yes: "yes" };

/** Changes a part of the family. */
const part =
  (change: (family: Family) => Family) =>
  (scene: Scene): Partial<Scene> => ({ family: changed(scene.family, change(scene.family)) });

export function familyPanel(maker: FieldMaker, limits: Limits): HTMLElement {
  const specs = familySpecs(limits);
  const number: MakeNumber = (name, get, set) =>
    maker.detail(
      specs[name],
      ({ family }) => get(family),
      (value, scene) => part((family) => set(value, family))(scene),
      name === "heads",
    );
  const choice: MakeChoice = (name, label, title, choices, get, set, shown) =>
    maker.choice(
      `family-${name}`,
      label,
      title,
      choices,
      ({ family }) => get(family),
      (value, scene) => part((family) => set(value, family))(scene),
      shown && (({ family }) => shown(family)),
    );
  /** A number that is a key of its own. */
  const plain = (name: "alibi" | "rope" | "tau" | "alpha" | "radius"): HTMLElement =>
    number(
      name,
      (family) => numberOf(family, name) ?? unsaid(name, family),
      (value) => ({ [name]: value }),
    );
  const words = el("span", { class: "soft" });
  maker.whenShown(({ family }) => (words.textContent = familyText(family)));
  return el(
    "details",
    { class: "family", "data-group": "family" },
    el("summary", {}, el("span", { class: "name" }, "The family"), words),
    choice(
      "weights",
      "Weights",
      "What scores are made into",
      WEIGHTS,
      (family) => textOf(family, "weights", "softmax"),
      (weights) => ({ weights }),
    ),
    choice(
      "position",
      "Position",
      "Whether the place in the sequence counts in the scores",
      POSITIONS,
      ({ alibi, rope }) => (alibi !== undefined ? "alibi" : rope !== undefined ? "rope" : "none"),
      (kind) => ({
        alibi: kind === "alibi" ? 0.1 : undefined,
        rope: kind === "rope" ? 10_000 : undefined,
      }),
    ),
    plain("alibi"),
    plain("rope"),
    ...headFields(maker, number, choice),
    choice(
      "norm",
      "Norm",
      "Where tokens are normalised; with Pre-, Peri- and Mix-LN they have lengths",
      NORMS,
      (family) => textOf(family, "norm", "post"),
      (norm) => ({
        norm,
        tau: norm === "mix" ? 5 : undefined,
        alpha: undefined,
        radius: undefined,
      }),
    ),
    plain("tau"),
    plain("alpha"),
    plain("radius"),
    ...mlpFields(number, choice),
    choice(
      "exclude_self",
      "Exclude self",
      "Whether each head's output loses its part along the token's own value (XSA)",
      YES_NO,
      ({ exclude_self }) => (exclude_self === true ? "yes" : "no"),
      (value) => ({ exclude_self: value === "yes" }),
    ),
    choice(
      "noisy",
      "Noise",
      "Brownian motion on the sphere; its path comes from the seed above",
      YES_NO,
      ({ noise }) => (noise === undefined ? "no" : "yes"),
      (value) => ({ noise: value === "yes" ? 10 : undefined }),
    ),
    number(
      "noise",
      (family) => numberOf(family, "noise"),
      (noise) => ({ noise }),
    ),
    maker.detail(
      specs.dt,
      ({ family, dt }) => (family.noise === undefined ? undefined : dt),
      (dt) => ({ dt }),
    ),
    ...layerFields(number, choice),
  );
}

/** A number of a norm that is as by default. */
function unsaid(name: string, { norm }: Family): number | undefined {
  if (name === "alpha") return norm === "ngpt" ? 1 : undefined;
  if (name === "radius") return norm === "pre" || norm === "peri" ? 1 : undefined;
  return undefined;
}

type MakeNumber = (
  name: FamilyNumber,
  get: (family: Family) => number | undefined,
  set: (value: number, family: Family) => Family,
) => HTMLElement;
type MakeChoice = (
  name: string,
  label: string,
  title: string,
  choices: { [value: string]: string },
  get: (family: Family) => string,
  set: (value: string, family: Family) => Family,
  shown?: (family: Family) => boolean,
) => HTMLElement;

function headFields(maker: FieldMaker, number: MakeNumber, choice: MakeChoice): HTMLElement[] {
  const list = (kind: "betas" | "factors", key: "beta" | "V", letter: string): HTMLElement => {
    const field = new TextField(
      `family-${kind}`,
      `${letter} of each`,
      "Numbers with commas between them, one for each head",
      (text) => {
        const words = text.split(/[\s,;]+/).filter((word) => word !== "");
        const numbers = words.map(Number);
        if (numbers.length === 0 || !numbers.every(Number.isFinite))
          return maker.showError(`${letter} must be numbers with commas between them, but is “${text}”.`);
        maker.changeScene(part(() => ({ heads: numbers.map((value) => ({ [key]: value })) })));
      },
    );
    maker.whenShown(({ family }) => {
      field.element.hidden = headsKind(family) !== kind;
      field.show(headNumbers(family, key).join(", "));
    });
    return field.element;
  };
  const random = (family: Family): boolean => ["V", "QKV"].includes(headsKind(family));
  return [
    number("heads", headCount, (count, family) =>
      withHeads(family, count, headsKind(family), headsSeed(family)),
    ),
    choice(
      "matrices",
      "They have",
      "What the heads have of their own",
      HEADS,
      headsKind,
      (kind, family) => withHeads(family, headCount(family), kind as HeadsKind, 0),
      (family) => !drawsLayers(family) && (headCount(family) > 1 || headsKind(family) !== "same"),
    ),
    list("betas", "beta", "β"),
    list("factors", "V", "c"),
    number(
      "heads_seed",
      (family) => (random(family) ? headsSeed(family) : undefined),
      (seed, family) => withHeads(family, headCount(family), headsKind(family), seed),
    ),
  ];
}

function mlpFields(number: MakeNumber, choice: MakeChoice): HTMLElement[] {
  const mlp = (family: Family): Family | undefined => tableOf(family, "mlp");
  const random = (family: Family): boolean => mlp(family)?.hidden !== undefined;
  const own = (name: "hidden" | "mlp_seed", key: string, unsaid: number): HTMLElement =>
    number(
      name,
      (family) => (random(family) ? (numberOf(mlp(family)!, key) ?? unsaid) : undefined),
      (value, family) => ({ mlp: { ...mlp(family), [key]: value } }),
    );
  return [
    choice(
      "mlp",
      "MLP",
      "What acts on each token by itself, beside attention",
      { none: "none", random: "random weights", own: "as given" },
      (family) => (mlp(family) === undefined ? "none" : random(family) ? "random" : "own"),
      (kind, family) => ({
        mlp: kind === "random" ? { hidden: 64, seed: 0 } : kind === "own" ? mlp(family) : undefined,
      }),
    ),
    own("hidden", "hidden", 64),
    own("mlp_seed", "seed", 0),
    choice(
      "activation",
      "Activation",
      "σ of the MLP",
      ACTIVATIONS,
      (family) => textOf(mlp(family), "activation", "relu"),
      (activation, family) => ({ mlp: { ...mlp(family), activation } }),
      (family) => mlp(family) !== undefined,
    ),
  ];
}

function layerFields(number: MakeNumber, choice: MakeChoice): HTMLElement[] {
  const layers = (family: Family): Family | undefined => tableOf(family, "layers");
  const kind = (family: Family): string => {
    const table = layers(family);
    if (table === undefined) return "none";
    return table.blocks !== undefined ? "own" : typeof table.redraw === "string" ? table.redraw : "same";
  };
  const random = (family: Family): boolean => kind(family) in KINDS;
  const own = (
    name: FamilyNumber,
    key: string,
    unsaid: number,
    shown: (family: Family) => boolean,
  ): HTMLElement =>
    number(
      name,
      (family) => (shown(family) ? (numberOf(layers(family)!, key) ?? unsaid) : undefined),
      (value, family) => ({ layers: { ...layers(family), [key]: value } }),
    );
  const there = (family: Family): boolean => layers(family) !== undefined;
  return [
    choice(
      "layers",
      "Layers",
      "Weights that change with depth: each layer acts for a time of its own",
      LAYERS,
      kind,
      (value, family) => {
        if (value === "none") return { layers: undefined };
        const { count = 12, dt, discrete } = layers(family) ?? {};
        const drawn = value in KINDS ? { redraw: value, seed: 0 } : {};
        return { layers: changed({}, { count, dt, discrete, ...drawn }) };
      },
    ),
    own("count", "count", 12, (family) => there(family) && kind(family) !== "own"),
    own("layer_dt", "dt", 1, there),
    own("layers_seed", "seed", 0, random),
    choice(
      "value",
      "Their V",
      "The kind of V, where it is another",
      { like: "as Q and K", ...KINDS, identity: "identity" },
      (family) => textOf(layers(family), "value", "like"),
      (value, family) => ({
        layers: changed(layers(family)!, { value: value === "like" ? undefined : value }),
      }),
      random,
    ),
    choice(
      "discrete",
      "Discrete",
      "One step per layer, as in a transformer",
      YES_NO,
      (family) => (layers(family)?.discrete === true ? "yes" : "no"),
      (value, family) => ({
        layers: changed(layers(family)!, { discrete: value === "yes" ? true : undefined }),
      }),
      there,
    ),
  ];
}
