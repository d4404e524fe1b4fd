/** Whom a token listens to at the cursor: the largest shares of its attention. */

import { attentionRow } from "./attention_matrix.ts";
import type { RunRecord } from "./run_record.ts";

export interface Heard {
  token: number; // from 0
  share: number; // of the attention, mean over heads
}

const SMALLEST_SHARE = 0.01;
const MOST_SHOWN = 24;

let kept: { run: RunRecord; frame: number; token: number; heard: Heard[] } | null = null;

/** The largest first, itself among them; empty where no head is known. */
export function listensTo(run: RunRecord, frame: number, token: number): Heard[] {
  if (kept?.run === run && kept.frame === frame && kept.token === token) return kept.heard;
  const heard = found(run, frame, token);
  kept = { run, frame, token, heard };
  return heard;
}

function found(run: RunRecord, frame: number, token: number): Heard[] {
  if (run.trace !== null || run.begun.missing?.attention !== undefined) return [];
  const heads = run.headsAt(frame);
  const share = new Float64Array(run.n);
  for (const head of heads) {
    const row = attentionRow(run.frame(frame), run.n, run.d, head, token);
    for (let j = 0; j < run.n; j++) if (row[j] > 0) share[j] += row[j] / heads.length; // NaN is not
  }
  return Array.from(share, (value, j) => ({ token: j, share: value }))
    .filter((one) => one.share >= SMALLEST_SHARE)
    .sort((a, b) => b.share - a.share || a.token - b.token)
    .slice(0, MOST_SHOWN);
}

/** In words: “listens to token 3 (41 %), itself (12 %)”; the first few. */
export function listeningText(run: RunRecord, frame: number, token: number): string {
  const heard = listensTo(run, frame, token).slice(0, 3);
  if (heard.length === 0) return "";
  const who = (one: Heard): string => (one.token === token ? "itself" : `token ${one.token + 1}`);
  return `; listens to ${heard.map((one) => `${who(one)} (${Math.round(100 * one.share)} %)`).join(", ")}`;
}
