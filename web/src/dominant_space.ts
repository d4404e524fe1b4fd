/** Where tokens ought to end, as the engine has told it: the space L, and the point in it. */

import type { RunRecord } from "./run_record.ts";

export interface PredictedEnds {
  L: number[][] | null; // orthonormal vectors, each (d,)
  point: number[] | null; // of rows 1 and 2 of Table 1
}

export function predictedEnds({ begun: { spectrum, predicted_point: point } }: RunRecord): PredictedEnds {
  return spectrum === null ? { L: null, point: null } : { L: spectrum.L ?? null, point: point ?? null };
}
