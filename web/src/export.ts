/** What can be taken away: the data as a table, the link, the lines of Python. */

import type { RunRecord } from "./record.ts";

/** One line per frame and token: t, token (from 1), leader of its cluster, coordinates. Numbers are written so that they read back exactly. */
export function csv(run: RunRecord): string {
  const head = ["t", "token", "leader", ...Array.from({ length: run.d }, (_, c) => `x${c + 1}`)].join(",");
  const lines = [head];
  for (let i = 0; i < run.held; i++) {
    const leader = run.leadersAt(i);
    for (let k = 0; k < run.n; k++) lines.push([run.t[i], k + 1, leader === null ? "" : leader[k] + 1, ...run.token(i, k)].join(","));
  }
  return lines.join("\n") + "\n";
}

/** The address of this page without its secret: what one sends to a colleague. */
export function publicLink(page: Location, fragment: string): string {
  const address = new URL(page.href);
  address.searchParams.delete("token");
  address.hash = "";
  return address.href.replace(/#$/, "") + fragment;
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // some browsers allow it on https or after a click only; the text is shown for copying by hand
  }
}
