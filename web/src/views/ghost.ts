/** The other run that is compared with: where its tokens are at the time of the cursor, and who may draw it. */

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

/** The tokens whose lines are drawn. */
export function ghostTokens(ghost: RunRecord): number[] {
  const count = Math.min(ghost.n, MAX_GHOST_LINES);
  return Array.from({ length: count }, (_, i) => Math.floor((i * ghost.n) / count));
}

/** Names it in the key of a layer. */
export const ghostKey = (ghost: RunRecord | null): string => (ghost === null ? "" : String(ghost.begun.id));
