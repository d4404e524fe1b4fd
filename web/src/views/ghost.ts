/** The other run that is compared with: who may draw it, and where its tokens are then. */

import type { RunRecord } from "../run_record.ts";
import type { ViewContext } from "../view_context.ts";

const MAX_GHOST_LINES = 80; // of tokens; more would hide the run

/** The pinned run, where it is drawn over this one: not where two runs are side by side. */
export function ghostOf(
  { ghost, look, run }: ViewContext,
  fits: (ghost: RunRecord) => boolean,
): RunRecord | null {
  if (ghost === null || run === null || run.trace !== null || look.side !== "" || ghost.frameCount === 0)
    return null;
  return fits(ghost) ? ghost : null;
}

/** Its places (n, 3) at the time of the cursor. */
export function ghostPlaces({ run, scale, cursor }: ViewContext, ghost: RunRecord): Float32Array {
  const place = scale.placeOf(cursor, run!.t, run!.frameCount);
  const places = new Float32Array(ghost.n * 3);
  ghost.positions(scale.cursor(place, ghost.t, ghost.frameCount), places);
  return places;
}

/** Whose lines are drawn, and up to which frame: that in which a token has joined the cluster of another. */
export function ghostLines(ghost: RunRecord): { token: number; last: number }[] {
  const count = Math.min(ghost.n, MAX_GHOST_LINES);
  const tokens = new Set(Array.from({ length: count }, (_, i) => Math.floor((i * ghost.n) / count)));
  for (const { leader, ofNote } of ghost.mergers?.branches ?? []) if (ofNote) tokens.add(leader);
  const end = ghost.frameCount - 1;
  return [...tokens].map((token) => {
    let last = end;
    while (last > 0 && (ghost.leadersAt(last)?.[token] ?? token) !== token) last--;
    return { token, last: Math.min(end, last + 1) };
  });
}

/** Names it in the key of a layer, with how much of it is there: it may be drawn while it still comes. */
export const ghostKey = (ghost: RunRecord | null): string =>
  ghost === null ? "" : `${ghost.begun.id}/${ghost.frameCount}/${ghost.measured !== null}`;
