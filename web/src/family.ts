/**
 * The table that makes a model more than one softmax head, with the keys of study files: how its parts are
 * read and changed, and what it is in words.
 */

import type { Family } from "./state.ts";

/** What a key is when it is left out; a value like that is not written. */
const DEFAULTS: Family = { weights: "softmax", heads: 1, norm: "post", exclude_self: false };

/** The family with some keys changed; undefined takes one away. */
export function changed(family: Family, part: Family): Family {
  const all = Object.entries({ ...family, ...part });
  return Object.fromEntries(all.filter(([key, value]) => value !== undefined && value !== DEFAULTS[key]));
}

export const numberOf = (family: Family, key: string): number | undefined =>
  typeof family[key] === "number" ? family[key] : undefined;

export const textOf = (family: Family | undefined, key: string, unsaid: string): string => {
  const found = family?.[key];
  return typeof found === "string" ? found : unsaid;
};

export const tableOf = (family: Family, key: string): Family | undefined =>
  typeof family[key] === "object" && family[key] !== null ? (family[key] as Family) : undefined;

// Heads: a number of equal ones, or a table for each

export type HeadsKind = "same" | "betas" | "factors" | "V" | "QKV" | "own";

const gaussianSeed = (value: unknown): number | undefined => {
  const found = typeof value === "string" ? /^gaussian\((\d+)\)$/.exec(value) : null;
  return found === null ? undefined : Number(found[1]);
};

export function headCount(family: Family): number {
  const { heads = 1 } = family;
  return Array.isArray(heads) ? heads.length : Number(heads);
}

/** The tables of random heads: gaussian matrices with seeds that follow each other. */
export function randomHeads(kind: "V" | "QKV", count: number, seed: number): Family[] {
  const letters = kind === "V" ? ["V"] : ["Q", "K", "V"];
  return Array.from({ length: count }, (_, h) =>
    Object.fromEntries(letters.map((name, i) => [name, `gaussian(${seed + h * letters.length + i})`])),
  );
}

export function headsKind(family: Family): HeadsKind {
  const { heads = 1 } = family;
  if (!Array.isArray(heads)) return "same";
  const tables = heads as Family[];
  for (const [kind, key] of [
    ["betas", "beta"],
    ["factors", "V"],
  ] as const)
    if (tables.every((head) => Object.keys(head).join() === key && typeof head[key] === "number"))
      return kind;
  const seed = headsSeed(family);
  for (const kind of ["V", "QKV"] as const)
    if (JSON.stringify(tables) === JSON.stringify(randomHeads(kind, tables.length, seed))) return kind;
  return "own";
}

export function headsSeed(family: Family): number {
  const first = Array.isArray(family.heads) ? (family.heads[0] as Family) : {};
  return gaussianSeed(first.Q ?? first.V) ?? 0;
}

/** The number that every head has under this key: its β, or c where V is c times the identity. */
export const headNumbers = (family: Family, key: "beta" | "V"): number[] =>
  Array.isArray(family.heads) ? (family.heads as Family[]).map((head) => Number(head[key])) : [];

/** The family with so many heads of this kind. */
export function withHeads(family: Family, count: number, kind: HeadsKind, seed: number): Family {
  const tables = Array.isArray(family.heads) ? (family.heads as Family[]) : [];
  if (kind === "same" || count === 0) return changed(family, { heads: count });
  if (kind === "V" || kind === "QKV") return changed(family, { heads: randomHeads(kind, count, seed) });
  const fresh: Family = kind === "factors" ? { V: 1 } : kind === "betas" ? { beta: 1 } : {};
  const old = kind === headsKind(family) ? tables : [];
  return changed(family, { heads: Array.from({ length: count }, (_, h) => old[h] ?? fresh) });
}

// Layers

/** When the last layer ends; infinity without layers. */
export function depth(family: Family): number {
  const layers = tableOf(family, "layers");
  if (layers === undefined) return Infinity;
  const count = Array.isArray(layers.blocks) ? layers.blocks.length : Number(layers.count);
  return count * Number(layers.dt ?? 1);
}

/** The last time up to t that the layers reach: where they are discrete, the end of one. */
export function reachedTime(family: Family, t: number): number {
  const layers = tableOf(family, "layers");
  const last = Math.min(t, depth(family));
  if (layers?.discrete !== true) return last;
  const dt = Number(layers.dt ?? 1);
  return dt * Math.max(1, Math.round(last / dt));
}

/** Whether each layer has random Q, K and V of its own. */
export const drawsLayers = (family: Family): boolean => typeof tableOf(family, "layers")?.redraw === "string";

/** Whether steps are fixed, by noise or by layers, so that no tolerance has a say. */
export const hasFixedSteps = (family: Family): boolean =>
  family.noise !== undefined || tableOf(family, "layers")?.discrete === true;

/** In a few words; "one softmax head" where there is nothing else. */
export function familyText(family: Family): string {
  const { mlp, noise, exclude_self, alibi, rope } = family;
  const norm = textOf(family, "norm", "");
  const [heads, layers] = [headCount(family), tableOf(family, "layers")];
  const words = [
    layers === undefined ? "" : `${depth(family) / Number(layers.dt ?? 1)} layers`,
    heads === 1 ? "" : `${heads} heads`,
    textOf(family, "weights", ""),
    alibi === undefined ? "" : "ALiBi",
    rope === undefined ? "" : "RoPE",
    norm === "" ? "" : `${norm} norm`,
    mlp === undefined ? "" : "MLP",
    exclude_self === undefined ? "" : "XSA",
    noise === undefined ? "" : "noise",
  ];
  return words.filter(Boolean).join(", ") || "one softmax head";
}
