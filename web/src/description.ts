/** What happened in a run, in words, from what was measured: for the disclosure and for screen readers. */

import { pretty } from "./axis.ts";
import { mergersBetween, type Merger } from "./mergers.ts";
import type { RunRecord } from "./run_record.ts";

const MAX_LISTED_MERGERS = 6; // the last ones, which wait longest

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** What is said aloud of mergers that were passed, the clusters there are then, and the end. */
export function announcement(run: RunRecord, mergers: Merger[], frame: number, atEnd: boolean): string {
  const clusters = run.measured?.clusters[frame];
  const now = clusters === undefined ? "" : counted(clusters, "cluster");
  const at = run.trace === null ? `t = ${pretty(run.t[frame])}` : layerText(run.t[frame]);
  const joined =
    mergers.length === 0
      ? ""
      : mergers.length === 1
        ? `The cluster of token ${mergers[0].lost + 1} has joined that of token ${mergers[0].into + 1}.`
        : `${counted(mergers.length, "cluster")} have joined others.`;
  const where = now === "" ? `${at}.` : `${now} at ${at}.`;
  return [atEnd ? "The end." : "", joined, where].filter(Boolean).join(" ");
}

const layerText = (layer: number): string => (layer === 0 ? "the embedding" : `block ${layer}`);

/** The run in sentences, each true for the frames that are there. */
export function describeRun(run: RunRecord): string[] {
  if (run.frameCount === 0) return [];
  return run.trace === null ? [settingText(run), ...clusterTexts(run), ...centerTexts(run)] : traceTexts(run);
}

function settingText(run: RunRecord): string {
  const { begun } = run;
  const place = run.d === 2 ? "on the circle" : `on the unit sphere in ${run.d} dimensions`;
  const model = begun.model === undefined ? `β = ${pretty(begun.beta)}` : begun.model;
  const end = `to t = ${pretty(run.t[run.frameCount - 1])}, ${counted(run.frameCount, "frame")}`;
  const early = run.status === "running" ? " so far" : ` (${run.status.replaceAll("_", " ")})`;
  const status = run.status === "done" ? "" : early;
  return `${counted(run.n, "token")} ${place}, ${model}, from t = ${pretty(run.t[0])} ${end}${status}.`;
}

function clusterTexts(run: RunRecord): string[] {
  const { measured } = run;
  if (measured === null) return ["The clusters are not counted yet."];
  const last = Math.min(run.frameCount, measured.clusters.length) - 1;
  const [first, end] = [measured.clusters[0], measured.clusters[last]];
  const joined = `tokens count as one cluster where steps of at most ${pretty(run.begun.radius)} join them`;
  const texts = [
    `Clusters at first: ${first.toLocaleString("en")}; in the last frame: ${end.toLocaleString("en")}; ` +
      `${joined}.`,
  ];
  const most = measured.clusters.subarray(0, last + 1).reduce((a, b) => Math.max(a, b), 0);
  if (most > Math.max(first, end)) texts.push(`In between there are up to ${counted(most, "cluster")}.`);
  const leader = run.leadersAt(last);
  if (leader !== null) texts.push(largestText(leader, run.n));
  const mergers = mergersBetween(run.mergers, 0, last);
  if (mergers.length === 0) return [...texts, "No two clusters merge."];
  const half = mergers[Math.ceil(mergers.length / 2) - 1];
  const when = (frame: number): string => `t = ${pretty(run.t[frame])}`;
  texts.push(`${counted(mergers.length, "merger")}, half of them by ${when(half.frame)}.`);
  const listed = mergers.slice(-MAX_LISTED_MERGERS);
  if (listed.length < mergers.length) texts.push(`The last ${listed.length}:`);
  for (const { lost, into, frame } of listed)
    texts.push(
      `Between ${twoTimes(run.t[frame - 1], run.t[frame])} the cluster of token ${lost + 1} joins that of ` +
        `token ${into + 1}.`,
    );
  return texts;
}

/** Two times with as many digits as tell them apart. */
function twoTimes(from: number, to: number): string {
  let digits = 3;
  while (digits < 15 && pretty(from, digits) === pretty(to, digits)) digits++;
  return `t = ${pretty(from, digits)} and t = ${pretty(to, digits)}`;
}

function largestText(leader: Int32Array, n: number): string {
  const size = new Int32Array(n);
  for (const k of leader) size[k]++;
  const biggest = size.indexOf(Math.max(...size));
  const holds = counted(size[biggest], "token");
  return `The largest then holds ${holds} (${percent(size[biggest] / n)}), token ${biggest + 1} first.`;
}

function centerTexts(run: RunRecord): string[] {
  const { centers, delta } = run.begun;
  if (centers.renyi.length === 0) return [];
  const strong = centers.strong.length;
  const many = counted(centers.renyi.length, "Rényi center");
  const texts = [`${many} among the tokens at time 0, with δ = ${pretty(delta)}; ${strong} of them strong.`];
  const renyi = run.measured?.renyi?.at(-1);
  const near = run.measured?.strong?.at(-1);
  if (renyi !== undefined && near !== undefined)
    texts.push(
      `In the last frame ${percent(renyi)} of the tokens lie within δ of a Rényi center, ` +
        `${percent(near)} within δ of a strong one.`,
    );
  return texts;
}

function traceTexts(run: RunRecord): string[] {
  const trace = run.trace!;
  const last = run.frameCount - 1;
  const blocks = counted(last, "block");
  const texts = [
    `${counted(run.n, "token")} of a text, as directions in ${run.d} dimensions, through ${blocks}.`,
  ];
  for (const [name, words] of Object.entries(CURVES)) {
    const curve = trace.reading.curves[name];
    const [first, end] = [curve?.at(0), curve?.at(last)];
    if (typeof first === "number" && typeof end === "number")
      texts.push(`${words}: ${pretty(first)} at the embedding, ${pretty(end)} after the last block.`);
  }
  const lost = percent(trace.lostAt(last));
  texts.push(
    `The picture shows three directions, which lose ${lost} of squared length after the last block.`,
  );
  return texts;
}

const CURVES = { cosine: "Mean cosine of two tokens", rank: "Effective rank of the directions" };
