/** This page with a run inside, as one file: where there is no server that could write it. */

import type { Live } from "./in_page.ts";
import type { Exported, RunRecord } from "./run_record.ts";

// As it came, before anything was put into it: modules run when all of it is there and nothing has begun.
const AS_IT_CAME = document.documentElement.outerHTML;
const RECORDING_PLACE = /(<script\b[^>]*\bid="recorded"[^>]*>)[^<]*(<\/script>)/;

/** Whether this page is a file of its own, which needs no server: only those carry their policy inside. */
export const standsAlone = (): boolean =>
  document.querySelector('meta[http-equiv="Content-Security-Policy"]') !== null;

export function pageWith(run: RunRecord, live: Live | null): string {
  // without "<" no tag inside can end the element
  const data = JSON.stringify({ ...recordingOf(run), ...(live === null ? {} : { live }) }).replaceAll(
    "<",
    "\\u003c",
  );
  const page = AS_IT_CAME.replace(RECORDING_PLACE, (_, open: string, close: string) => open + data + close);
  return `<!doctype html>\n${page}\n`;
}

/** What `fromExport` reads: positions as 32-bit floats, as `nucleate export` writes them. */
export function recordingOf(run: RunRecord): Exported {
  const { measured, frameCount, n } = run;
  const begun = { ...run.begun, recorded: true, frames: frameCount };
  if (run.trace !== null) return { begun, t: [], x: [] };
  const size = frameCount * n;
  return {
    begun,
    t: Array.from(run.t.subarray(0, frameCount)),
    x: base64(Float32Array.from(run.x.subarray(0, size * run.d))),
    measured:
      measured === null
        ? null
        : {
            labels: base64(measured.leader.slice(0, size)),
            clusters: Array.from(measured.clusters),
            consumed_renyi: measured.renyi && Array.from(measured.renyi),
            consumed_strong: measured.strong && Array.from(measured.strong),
            directions: measured.directions && Array.from(measured.directions),
            norms: measured.norms && base64(measured.norms.slice(0, size)),
          },
  };
}

const CHUNK_BYTES = 32_768; // so many arguments a function takes

export function base64(values: Float32Array | Float64Array | Int32Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES)));
  return btoa(parts.join(""));
}
