/**
 * How long each stretch of a run takes to play: as long as something happens in it. Time on the axis stays
 * what it is; only the speed of the cursor follows motion and mergers.
 */

import type { RunRecord } from "./run_record.ts";

export const WHOLE_RUN_SECONDS = 15; // at most, that a run takes to play when no speed is chosen
const EVEN_SECONDS = 3; // of these, shared evenly by all frames, so that waiting is seen to pass
const MERGER_SHARE = 2 / 3; // of the rest, where there are mergers; motion has what is left
const FEW_CLUSTERS = 8; // from here on each merger is told of by itself,
const FEW_BONUS = 0.3; // and weighs so much more
const OPENING_SECONDS = 0.5; // at most, until a token has visibly left its start
export const VISIBLE_RADIANS = (2 * Math.PI) / 180;
const COUNTED_TOKENS = 1000; // of more, evenly chosen ones stand for all

/** What of a run sets its pace; m frames. */
export interface Happenings {
  motion: ArrayLike<number>; // (m − 1,) the farthest that any token goes between two frames, radians
  departure: number; // the first frame in which some token is visibly away from its start; m − 1 if none
  clusters: ArrayLike<number> | null; // (m,) once they are counted
}

/** Seconds of play until each frame, (m,); `share`: of a run that is still coming, how much is there. */
export function playSeconds({ motion, departure, clusters }: Happenings, share = 1): Float64Array {
  const intervals = motion.length;
  const seconds = new Float64Array(intervals).fill(EVEN_SECONDS / Math.max(1, intervals));
  const mergers = clusters === null ? null : mergerWeights(clusters, intervals);
  const busy = WHOLE_RUN_SECONDS - EVEN_SECONDS;
  const forMergers = mergers === null ? 0 : busy * MERGER_SHARE;
  let moved = 0;
  for (let i = 0; i < intervals; i++) moved += motion[i];
  for (let i = 0; i < intervals; i++) {
    if (moved > 0) seconds[i] += ((busy - forMergers) * motion[i]) / moved;
    if (mergers !== null) seconds[i] += forMergers * mergers[i];
    seconds[i] *= share;
  }
  const quiet = departure < intervals ? departure - 1 : 0; // stretches in which nothing is seen to move
  let opening = 0;
  for (let i = 0; i < quiet; i++) opening += seconds[i];
  const hurry = Math.min(1, OPENING_SECONDS / Math.max(opening, 1e-12));
  const until = new Float64Array(intervals + 1);
  for (let i = 0; i < intervals; i++) until[i + 1] = until[i] + seconds[i] * (i < quiet ? hurry : 1);
  return until;
}

/**
 * Each merger counts by the factor by which it lowers the number of clusters, so that from two to one weighs
 * as much as from sixty to thirty, and the last few some more; a quarter of it goes to the stretch before, a
 * quarter to the one after. They sum to 1; null where there is none.
 */
function mergerWeights(clusters: ArrayLike<number>, intervals: number): Float64Array | null {
  const weights = new Float64Array(intervals);
  let sum = 0;
  for (let i = 0; i < Math.min(intervals, clusters.length - 1); i++) {
    const [before, after] = [Math.max(1, clusters[i]), Math.max(1, clusters[i + 1])];
    if (before <= after) continue;
    const few = Math.max(0, Math.min(before, FEW_CLUSTERS) - after);
    const fall = Math.log(before / after) + FEW_BONUS * few;
    sum += fall;
    weights[Math.max(0, i - 1)] += fall / 4;
    weights[i] += fall / 2;
    weights[Math.min(intervals - 1, i + 1)] += fall / 4;
  }
  return sum > 0 ? weights.map((weight) => weight / sum) : null;
}

/** The cursor (frames, with a fraction) after so many seconds of play, and back. */
export function cursorAfter(seconds: number, until: Float64Array): number {
  let [low, high] = [0, until.length - 1];
  if (high <= 0 || seconds <= 0) return 0;
  if (seconds >= until[high]) return high;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (until[middle] <= seconds) low = middle;
    else high = middle;
  }
  return low + (seconds - until[low]) / (until[high] - until[low]);
}

export function secondsAt(cursor: number, until: Float64Array): number {
  const low = Math.max(0, Math.min(Math.floor(cursor), until.length - 1));
  const high = Math.min(low + 1, until.length - 1);
  return until[low] + (cursor - low) * (until[high] - until[low]);
}

/** The pace of the run that is shown; what was found is kept while frames come. */
export class Pacing {
  private run: RunRecord | null = null;
  private motion = new Float64Array(0);
  private known = 0; // frames that were looked at
  private departure = Infinity;
  private until: Float64Array = new Float64Array(1);
  private key = "";

  /** Where the cursor is after so many more seconds of play. */
  advance(run: RunRecord, cursor: number, seconds: number): number {
    const until = this.of(run);
    return cursorAfter(secondsAt(cursor, until) + seconds, until);
  }

  of(run: RunRecord): Float64Array {
    if (run !== this.run) {
      this.run = run;
      this.motion = new Float64Array(Math.max(0, run.capacity - 1));
      [this.known, this.departure, this.key] = [1, Infinity, ""];
    }
    const ended = run.status !== "running";
    const key = `${run.frameCount}/${ended}/${run.measured !== null}`;
    if (key === this.key) return this.until;
    this.key = key;
    const last = Math.max(0, run.frameCount - 1);
    for (let i = Math.max(1, this.known); i <= last; i++) {
      this.motion[i - 1] = farthest(run, i - 1, i);
      if (i < this.departure && farthest(run, 0, i) > VISIBLE_RADIANS) this.departure = i;
    }
    this.known = last + 1;
    this.until = playSeconds(
      {
        motion: this.motion.subarray(0, last),
        departure: Math.min(this.departure, last),
        clusters: run.measured?.clusters ?? null,
      },
      ended ? 1 : last / Math.max(1, run.capacity - 1),
    );
    return this.until;
  }
}

/** The farthest that any token goes from frame i to frame j, radians. */
function farthest(run: RunRecord, i: number, j: number): number {
  const { n, coordinates: d, x } = run;
  const step = Math.max(1, n / COUNTED_TOKENS);
  let most = 0; // of squared chords
  for (let pick = 0; pick < n; pick += step) {
    const k = Math.floor(pick);
    const [a, b] = [(i * n + k) * d, (j * n + k) * d];
    let chord = 0;
    for (let c = 0; c < d; c++) chord += (x[a + c] - x[b + c]) ** 2;
    if (chord > most) most = chord;
  }
  return 2 * Math.asin(Math.min(1, Math.sqrt(most) / 2));
}
