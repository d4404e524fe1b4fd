/** What can be taken away: the data as a table, the link, the lines of Python. */

import type { RunRecord } from "./run_record.ts";
import type { Trace } from "./trace.ts";

/** The fewest digits that read back as the same number, for one that has 32 bits. */
export function shortestSingle(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const written = Number(value.toPrecision(digits));
    if (Math.fround(written) === value) return String(written);
  }
  return String(Number(value.toPrecision(9))); // always enough
}

/**
 * One line per frame and token: t, token (from 1), leader of its cluster, coordinates, the length where there
 * is one. Numbers are written so
 * that they read back exactly.
 */
export function csv(run: RunRecord): string {
  if (run.trace !== null) return traceCsv(run, run.trace);
  const norms = run.measured?.norms ?? null;
  const axes = Array.from({ length: run.d }, (_, c) => `x${c + 1}`);
  const head = ["t", "token", "leader", ...axes, ...(norms === null ? [] : ["length"])].join(",");
  const lines = [head];
  const written = run.singlePrecision ? shortestSingle : String;
  for (let i = 0; i < run.frameCount; i++) {
    const leader = run.leadersAt(i);
    for (let k = 0; k < run.n; k++) {
      const x = Array.from(run.token(i, k), written);
      const length = norms === null ? [] : [norms[i * run.n + k]];
      lines.push([run.t[i], k + 1, leader === null ? "" : leader[k] + 1, ...x, ...length].join(","));
    }
  }
  return lines.join("\n") + "\n";
}

/** One line per layer and token of a trace: word, norm, place in the picture, nearest earlier token. */
function traceCsv(run: RunRecord, trace: Trace): string {
  const lines = ["layer,token,word,norm,x1,x2,x3,nearest,cosine"];
  for (let i = 0; i < run.frameCount; i++)
    for (let k = 0; k < run.n; k++) {
      const near = trace.neighbours(i, k).at(0);
      const word = `"${trace.reading.words[k].replaceAll('"', '""')}"`;
      const nearest = near === undefined ? ["", ""] : [near.token + 1, shortestSingle(near.cosine)];
      const x = Array.from(run.token(i, k), shortestSingle);
      lines.push([run.t[i], k + 1, word, trace.normOf(i, k), ...x, ...nearest].join(","));
    }
  return lines.join("\n") + "\n";
}

/** What the data are, in words. */
export function dataText(run: RunRecord): string {
  if (run.trace !== null)
    return "CSV has what this page shows: words, norms, places, nearest tokens. NPZ has the whole trace.";
  const { frames_before_thinning = 0 } = run.begun;
  const all = run.capacity >= frames_before_thinning;
  const count = (frames: number): string => frames.toLocaleString("en");
  const some = all
    ? "every frame"
    : `${count(run.frameCount)} of the ${count(frames_before_thinning)} frames of the run`;
  const which = run.status === "running" ? "the frames so far" : some;
  const precision = run.singlePrecision
    ? "positions with 32 bits, about seven digits"
    : "with full precision";
  return `The data: ${which}, ${precision}.`;
}

/**
 * The address of this page without its secret: what one sends to a colleague. It has a # even where all is as
 * by default.
 */
export function publicLink(page: Location, fragment: string): string {
  const address = new URL(page.href);
  address.searchParams.delete("token");
  address.hash = "";
  return address.href.replace(/#$/, "") + (fragment || "#" + encodeURIComponent("{}"));
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // some browsers allow it on https or after a click only; the text is shown for copying by hand
    return false;
  }
}
