/** A sentence for runs in which nothing moves: why, and what to change. */

import { pretty } from "./axis.ts";
import type { RunRecord } from "./run_record.ts";

const STILL_RADIANS = Math.PI / 60; // three degrees, hardly to be seen
const MOST_MOVED = 0.1; // of the tokens: if more move, there is something to be seen
const FAR = 4; // β(1 − cos) to the nearest token, above which it hardly counts: e^−4 is 2 %
const NEAR = 2; // at which it does
const MAX_TOKENS = 2000; // whose distances are worked out here

/** The hint, or null where something moves or the reason is another. */
export function stillHint(run: RunRecord): string | null {
  const { n, d, frameCount, begun } = run;
  const plain = (begun.blocks ?? null) === null && isIdentity(begun.Q) && isIdentity(begun.K);
  if (frameCount < 2 || n < 2 || n > MAX_TOKENS || run.trace !== null || !plain) return null;
  const moves = allMoves(run);
  const moved = moves.filter((angle) => angle > STILL_RADIANS).length;
  const apart = 1 - medianNearest(run.frame(0), n, d);
  if (moved > MOST_MOVED * n || !(begun.beta * apart > FAR)) return null;
  const better = Number((NEAR / apart).toPrecision(1));
  const degrees = pretty((Math.max(...moves) * 180) / Math.PI, 2);
  const end = pretty(run.t[frameCount - 1]);
  return (
    (moved === 0 ? `No token moves by more than ${degrees}°` : `Only ${moved} of ${n} tokens move by 3°`) +
    ` up to t = ${end}: with β = ${pretty(begun.beta)} in ` +
    `${d} dimensions they are too far apart to attend to each other. Try β = ${better}, or a later end.`
  );
}

const isIdentity = (M: number[][]): boolean =>
  M.every((row, r) => row.every((value, c) => value === (r === c ? 1 : 0)));

/** The angle between each token in the first frame and in the last. */
function allMoves(run: RunRecord): number[] {
  return Array.from({ length: run.n }, (_, k) => {
    const [from, to] = [run.token(0, k), run.token(run.frameCount - 1, k)];
    return 2 * Math.asin(Math.min(1, Math.hypot(...from.map((value, c) => value - to[c])) / 2));
  });
}

/** The median over all tokens x (n, d) of the cosine with the nearest other. */
function medianNearest(x: Float64Array, n: number, d: number): number {
  const nearest = new Float64Array(n).fill(-1);
  for (let k = 0; k < n; k++)
    for (let j = 0; j < k; j++) {
      let cosine = 0;
      for (let c = 0; c < d; c++) cosine += x[k * d + c] * x[j * d + c];
      if (cosine > nearest[k]) nearest[k] = cosine;
      if (cosine > nearest[j]) nearest[j] = cosine;
    }
  return nearest.sort()[n >> 1];
}
