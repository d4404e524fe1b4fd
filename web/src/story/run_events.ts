/** What happened in a run, by what was measured on it: the captions of the story come from here alone. */

import { pretty } from "../axis.ts";
import { predictedEnds } from "../dominant_space.ts";
import { angleBetween, END_RADIANS } from "../end_verdict.ts";
import { notedSize, type Merger } from "../mergers.ts";
import type { RunRecord } from "../run_record.ts";
import { VISIBLE_RADIANS } from "../pacing.ts";
import { TABLE_1 } from "../text.ts";
import { strongestDistance } from "./interaction.ts";

export interface Caption {
  frame: number; // from here on
  text: string;
}

const degrees = (radians: number): string => `${pretty((180 * radians) / Math.PI)}°`;
const percent = (share: number): string => `${Math.round(100 * share)} %`;
const clusters = (count: number): string =>
  count === 1 ? "One cluster is left" : `${count} clusters are left`;

function sizes(leader: Int32Array, n: number): Int32Array {
  const size = new Int32Array(n);
  for (const k of leader) size[k]++;
  return size;
}

/** “Now 3 merges into 1”; several in one frame in one sentence. */
export function mergerCaptions(run: RunRecord): Caption[] {
  const byFrame = new Map<number, Merger[]>();
  for (const merger of run.mergers?.mergers.filter(({ ofNote }) => ofNote) ?? [])
    byFrame.set(merger.frame, [...(byFrame.get(merger.frame) ?? []), merger]);
  return [...byFrame].map(([frame, together]) => {
    const shown = together.slice(0, 3).map(({ lost, into }) => `${lost + 1} merges into ${into + 1}`);
    const more = together.length > 3 ? `, and ${together.length - 3} more do` : "";
    return {
      frame,
      text: `Now ${shown.join(", ")}${more}, at t = ${pretty(run.t[frame])}. ${clusters(together[0].left)}.`,
    };
  });
}

function firstFrame(run: RunRecord, happened: (frame: number) => boolean): number | null {
  for (let i = 0; i < run.frameCount; i++) if (happened(i)) return i;
  return null;
}

/** One token: how far it is from the ends of the dominant eigenvector, or how far it went. */
export function oneTokenCaptions(run: RunRecord): Caption[] {
  const { L } = predictedEnds(run);
  const xi = L?.length === 1 ? L[0] : null;
  const moved = (i: number): number => angleBetween(run.token(0, 0), run.token(i, 0));
  const captions: Caption[] = [];
  const add = (frame: number | null, text: (frame: number) => string): void => {
    if (frame !== null) captions.push({ frame, text: text(frame) });
  };
  const leaves = firstFrame(run, (i) => moved(i) > VISIBLE_RADIANS);
  if (xi === null) {
    add(0, () => "The token is at its start.");
    add(leaves, (i) => `It has left its start, at t = ${pretty(run.t[i])}.`);
    add(run.frameCount - 1, (i) => `It went ${degrees(moved(i))} in all.`);
    return captions;
  }
  const minus = xi.map((value) => -value);
  const last = run.token(run.frameCount - 1, 0);
  const [end, name] = angleBetween(last, xi) <= angleBetween(last, minus) ? [xi, "ξ"] : [minus, "−ξ"];
  const apart = (i: number): number => angleBetween(run.token(i, 0), end);
  add(0, () => `At t = 0 the token is ${degrees(apart(0))} from ${name}.`);
  add(leaves, (i) => `It has left its start, at t = ${pretty(run.t[i])}.`);
  add(
    firstFrame(run, (i) => apart(i) < apart(0) / 2),
    (i) => `Half of the way is done, at t = ${pretty(run.t[i])}.`,
  );
  add(
    firstFrame(run, (i) => apart(i) < END_RADIANS),
    (i) => `Since t = ${pretty(run.t[i])} it is within ${END_RADIANS} rad of ${name}.`,
  );
  return captions;
}

/** Two tokens: their distance, where the pull is strongest, and when they are one cluster. */
export function twoTokenCaptions(run: RunRecord): Caption[] {
  const apart = (i: number): number => angleBetween(run.token(i, 0), run.token(i, 1));
  const peak = strongestDistance(run.begun.beta);
  const captions: Caption[] = [{ frame: 0, text: `They start ${pretty(apart(0))} rad apart.` }];
  const half = firstFrame(run, (i) => apart(i) < (apart(0) + peak) / 2);
  if (half !== null && apart(0) > peak)
    captions.push({
      frame: half,
      text: `At t = ${pretty(run.t[half])} they are ${pretty(apart(half))} apart: token 2 creeps nearer.`,
    });
  const strongest = firstFrame(run, (i) => apart(i) <= peak);
  if (strongest !== null && strongest > 0)
    captions.push({
      frame: strongest,
      text: `At t = ${pretty(run.t[strongest])} the pull is at its strongest: token 2 falls to token 1.`,
    });
  captions.push(...mergerCaptions(run));
  const end = run.frameCount - 1;
  const went = (k: number): string => degrees(angleBetween(run.token(0, k), run.token(end, k)));
  captions.push({
    frame: end,
    text: `Token 1 has moved by ${went(0)}, token 2 by ${went(1)}.`,
  });
  return ordered(captions);
}

/** The share of tokens that are in one cluster with one of these centers, in frame i. */
export function shareInClustersOf(run: RunRecord, i: number, centers: readonly number[]): number {
  const leader = run.leadersAt(i);
  if (leader === null) return NaN;
  const led = new Set(centers.map((k) => leader[k]));
  return leader.reduce((count, k) => count + (led.has(k) ? 1 : 0), 0) / run.n;
}

/** How the clusters of the centers take the other tokens. */
export function consumptionCaptions(run: RunRecord): Caption[] {
  const { renyi, strong } = run.begun.centers;
  const share = (i: number): number => shareInClustersOf(run, i, renyi);
  const both = (i: number): string =>
    `${percent(share(i))} of the tokens are in a cluster with a Rényi center, ` +
    `${percent(shareInClustersOf(run, i, strong))} in one with a strong center`;
  const captions: Caption[] = [
    {
      frame: 0,
      text: "At t = 0 every token is within δ of a Rényi center: one that was not would be a center itself.",
    },
  ];
  for (const part of [0.25, 0.5, 0.75, 0.95]) {
    const frame = firstFrame(run, (i) => share(i) >= part);
    if (frame !== null && frame > 0)
      captions.push({ frame, text: `At t = ${pretty(run.t[frame])}, ${both(frame)}.` });
  }
  const end = run.frameCount - 1;
  captions.push({ frame: end, text: `At the end, t = ${pretty(run.t[end])}, ${both(end)}.` });
  return ordered(captions);
}

/** A Rényi center that has come, for good, into one cluster with an earlier one. */
export interface LostCenter {
  frame: number; // the first in which it is so
  lost: number; // from 0
  into: number; // the first center of that cluster
}

export function lostCenters(run: RunRecord): LostCenter[] {
  const { renyi } = run.begun.centers;
  const together = (i: number, c: number): number | undefined => {
    const leader = run.leadersAt(i);
    return leader === null ? undefined : renyi.find((other) => other < c && leader[other] === leader[c]);
  };
  const found: LostCenter[] = [];
  for (const lost of renyi) {
    let frame = run.frameCount;
    while (frame > 0 && together(frame - 1, lost) !== undefined) frame--;
    if (frame > 0 && frame < run.frameCount) found.push({ frame, lost, into: together(frame, lost)! });
  }
  return found.sort((a, b) => a.frame - b.frame);
}

export function lostCenterCaptions(run: RunRecord): Caption[] {
  const lost = lostCenters(run);
  const end = run.frameCount - 1;
  const name = (k: number): string => `center ${k + 1}`;
  if (lost.length === 0)
    return [
      {
        frame: 0,
        text: `Up to t = ${pretty(run.t[end])} no center was lost in this run.`,
      },
    ];
  const hears = ({ lost: center, into }: LostCenter): string =>
    `Watch ${name(center)}: it hears ${name(into)}, which does not hear it.`;
  const captions: Caption[] = [{ frame: 0, text: hears(lost[0]) }];
  lost.forEach((one, i) => {
    const now = `Now ${one.lost + 1} merges into ${one.into + 1}, at t = ${pretty(run.t[one.frame])}.`;
    captions.push({ frame: one.frame, text: i + 1 < lost.length ? `${now} ${hears(lost[i + 1])}` : now });
  });
  const last = lost.at(-1)!;
  const went = (k: number): string => degrees(angleBetween(run.token(0, k), run.token(end, k)));
  captions.push({
    frame: end,
    text:
      `${lost.length} of ${run.begun.centers.renyi.length} Rényi centers were lost. ` +
      `The last, ${name(last.lost)}, went ${went(last.lost)}; ${name(last.into)} went ${went(last.into)}.`,
  });
  return ordered(captions);
}

/** A whole life: how many clusters wait, and every merger. */
export function lifeCaptions(run: RunRecord): Caption[] {
  const formed = firstFrame(run, (i) => {
    const leader = run.leadersAt(i);
    if (leader === null) return false;
    const big = sizes(leader, run.n).filter((size) => size >= notedSize(run.n));
    return big.reduce((a, b) => a + b, 0) >= 0.9 * run.n;
  });
  const captions: Caption[] = [
    { frame: 0, text: `At t = 0 there are ${run.n} tokens.` },
    ...mergerCaptions(run).filter(({ frame }) => formed !== null && frame > formed),
  ];
  if (formed !== null) {
    const count = sizes(run.leadersAt(formed)!, run.n).filter((size) => size >= notedSize(run.n)).length;
    captions.push({
      frame: formed,
      text: `At t = ${pretty(run.t[formed])} nine in ten tokens are in ${count} clusters of note.`,
    });
  }
  const end = run.frameCount - 1;
  const away = Array.from({ length: run.n }, (_, k) => angleBetween(run.token(end, k), run.token(0, 0)));
  const farthest = Math.max(...away);
  captions.push({
    frame: end,
    text:
      farthest <= END_RADIANS
        ? `At t = ${pretty(run.t[end])} all ${run.n} tokens are within ${END_RADIANS} rad of x₁(0).`
        : `At t = ${pretty(run.t[end])} the farthest token is ${degrees(farthest)} from x₁(0).`,
  });
  return ordered(captions);
}

/** Another V: how many tokens have come to where the row of Table 1 says. */
export function endCaptions(run: RunRecord, verdict: string): Caption[] {
  const { spectrum } = run.begun;
  const { L, point } = predictedEnds(run);
  const targets =
    spectrum?.row === 1
      ? [run.token(0, 0)]
      : spectrum?.row === 2 && point !== null
        ? [point]
        : L?.length === 1
          ? [L[0], L[0].map((value) => -value)]
          : [];
  const row = spectrum?.row ?? null;
  const said = row === null ? "Table 1 says nothing here." : `Table 1, row ${row}: ${TABLE_1[row - 1][2]}.`;
  const captions: Caption[] = [
    { frame: 0, text: said },
    { frame: run.frameCount - 1, text: verdict },
  ];
  if (targets.length === 0 || (spectrum?.row ?? 4) > 3) return captions;
  const near = (i: number): number => {
    let count = 0;
    for (let k = 0; k < run.n; k++)
      if (targets.some((target) => angleBetween(run.token(i, k), target) < 0.1)) count++;
    return count;
  };
  for (const share of [0.25, 0.5, 0.9, 1]) {
    const frame = firstFrame(run, (i) => near(i) >= share * run.n);
    if (frame !== null && frame > 0)
      captions.push({
        frame,
        text:
          `At t = ${pretty(run.t[frame])}, ${near(frame)} of ${run.n} tokens are within 0.1 rad ` +
          "of where Table 1 says.",
      });
  }
  return ordered(captions);
}

/** By frame; of several in one frame the last one given stays last. */
const ordered = (captions: Caption[]): Caption[] =>
  captions
    .map((caption, i) => ({ caption, i }))
    .sort((a, b) => a.caption.frame - b.caption.frame || a.i - b.i)
    .map(({ caption }) => caption);

/** The caption at a cursor: the last that has happened. */
export function captionAt(captions: Caption[], frame: number): string {
  let text = "";
  for (const caption of captions) if (caption.frame <= frame) text = caption.text;
  return text;
}
