/**
 * The attention matrix, as in the paper: row k divides exp(β⟨Q x_k, K x_j⟩) by its sum over the tokens j that
 * token k sees, frozen ones counted.
 */

import type { Frozen } from "./run_record.ts";
import type { Mask } from "./state.ts";

/** The tokens that token k sees: from `first` up to, not including, `end`. */
export function visibleRange(k: number, n: number, mask: Mask): [first: number, end: number] {
  if (mask === "full") return [0, n];
  return [mask === "causal" ? 0 : Math.max(0, k - mask.window + 1), k + 1];
}

function transformed(x: Float64Array, M: number[][], n: number, d: number): Float64Array {
  const out = new Float64Array(n * d); // (n, d)
  for (let k = 0; k < n; k++)
    for (let r = 0; r < d; r++) for (let c = 0; c < d; c++) out[k * d + r] += M[r][c] * x[k * d + c];
  return out;
}

export interface AttentionMatrix {
  tokens: Float64Array; // (n, n), row by row; NaN where token k does not see token j
  frozen: Float64Array; // (n,) what token k gives to all frozen tokens together
}

/** Frozen tokens are seen by all, and count `weight` times in the sum (Theorem 5.2). */
export function attentionMatrix(
  x: Float64Array,
  n: number,
  d: number,
  beta: number,
  Q: number[][],
  K: number[][],
  mask: Mask,
  frozen: Frozen | null = null,
): AttentionMatrix {
  const q = transformed(x, Q, n, d);
  const key = transformed(x, K, n, d);
  const m = frozen?.x.length ?? 0;
  const still = transformed(Float64Array.from(frozen?.x.flat() ?? []), K, m, d); // (m, d)
  const score = (k: number, keys: Float64Array, j: number): number => {
    let s = 0;
    for (let c = 0; c < d; c++) s += q[k * d + c] * keys[j * d + c];
    return beta * s;
  };
  const a = new Float64Array(n * n).fill(NaN);
  const share = new Float64Array(n);
  const scores = new Float64Array(m);
  for (let k = 0; k < n; k++) {
    const [first, end] = visibleRange(k, n, mask);
    let most = -Infinity; // taken out before exp, which would overflow from β about 709 on
    for (let j = first; j < end; j++) most = Math.max(most, (a[k * n + j] = score(k, key, j)));
    for (let j = 0; j < m; j++) most = Math.max(most, (scores[j] = score(k, still, j)));
    let Z = 0;
    for (let j = 0; j < m; j++) Z += frozen!.weight[j] * Math.exp(scores[j] - most);
    share[k] = Z;
    for (let j = first; j < end; j++) Z += a[k * n + j] = Math.exp(a[k * n + j] - most);
    for (let j = first; j < end; j++) a[k * n + j] /= Z;
    share[k] /= Z;
  }
  return { tokens: a, frozen: share };
}
