/**
 * The attention matrix of a head, as in the paper: row k divides exp(β⟨Q x_k, K x_j⟩) by its sum over the
 * tokens j that token k sees, frozen ones counted. ALiBi lowers scores by its slope per place, RoPE turns
 * queries and keys by their place; hardmax gives all to the highest score among the others.
 */

import type { Frozen } from "./run_record.ts";
import type { Mask } from "./state.ts";

/** One head; a matrix that is not there is the identity. */
export interface Head {
  beta: number;
  Q: number[][] | null;
  K: number[][] | null;
  mask: Mask;
  weights?: "softmax" | "exponential" | "hardmax"; // exponential ones are shown as shares of their sum
  alibi?: number | null; // slope
  rope?: number | null; // base
  frozen?: Frozen | null;
}

/** The tokens that token k sees: from `first` up to, not including, `end`. */
export function visibleRange(k: number, n: number, mask: Mask): [first: number, end: number] {
  if (mask === "full") return [0, n];
  return [mask === "causal" ? 0 : Math.max(0, k - mask.window + 1), k + 1];
}

function transformed(x: Float64Array, M: number[][] | null, n: number, d: number): Float64Array {
  if (M === null) return x;
  const out = new Float64Array(n * d); // (n, d)
  for (let k = 0; k < n; k++)
    for (let r = 0; r < d; r++) for (let c = 0; c < d; c++) out[k * d + r] += M[r][c] * x[k * d + c];
  return out;
}

/** R_k q_k: the planes of coordinates (2i, 2i+1) turned by k base^(−2i/d); (n, d). */
function turned(q: Float64Array, n: number, d: number, base: number): Float64Array {
  const out = new Float64Array(n * d);
  for (let k = 0; k < n; k++) {
    for (let c = 0; c < d; c += 2) {
      const angle = k * base ** (-c / d);
      const [even, odd, cos, sin] = [q[k * d + c], q[k * d + c + 1], Math.cos(angle), Math.sin(angle)];
      out[k * d + c] = even * cos - odd * sin;
      out[k * d + c + 1] = even * sin + odd * cos;
    }
  }
  return out;
}

export interface AttentionMatrix {
  tokens: Float64Array; // (n, n), row by row; NaN where token k does not see token j
  frozen: Float64Array; // (n,) what token k gives to all frozen tokens together
}

type RowFiller = (k: number, row: Float64Array) => number;

/** Fills row k, (n,), NaN where token k does not see, and gives the share of the frozen tokens, which are
 * seen by all and count `weight` times in the sum (Theorem 5.2). */
function rows(x: Float64Array, n: number, d: number, head: Head): RowFiller {
  const { beta, mask, alibi, rope, frozen } = head;
  let q = transformed(x, head.Q, n, d);
  let key = transformed(x, head.K, n, d);
  if (rope != null) [q, key] = [turned(q, n, d, rope), turned(key, n, d, rope)];
  const m = frozen?.x.length ?? 0;
  const still = transformed(Float64Array.from(frozen?.x.flat() ?? []), head.K, m, d); // (m, d)
  const score = (k: number, keys: Float64Array, j: number): number => {
    let s = 0;
    for (let c = 0; c < d; c++) s += q[k * d + c] * keys[j * d + c];
    return beta * s;
  };
  const scores = new Float64Array(m);
  return (k, row) => {
    row.fill(NaN);
    const [first, end] = visibleRange(k, n, mask);
    for (let j = first; j < end; j++) row[j] = score(k, key, j) - (alibi ?? 0) * Math.abs(k - j);
    if (head.weights === "hardmax") {
      hardmax(row.subarray(first, end), k - first);
      return 0;
    }
    let most = -Infinity; // taken out before exp, which would overflow from β about 709 on
    for (let j = first; j < end; j++) most = Math.max(most, row[j]);
    for (let j = 0; j < m; j++) most = Math.max(most, (scores[j] = score(k, still, j)));
    let Z = 0;
    for (let j = 0; j < m; j++) Z += frozen!.weight[j] * Math.exp(scores[j] - most);
    const share = Z;
    for (let j = first; j < end; j++) Z += row[j] = Math.exp(row[j] - most);
    for (let j = first; j < end; j++) row[j] /= Z;
    return share / Z;
  };
}

export function attentionMatrix(x: Float64Array, n: number, d: number, head: Head): AttentionMatrix {
  const fill = rows(x, n, d, head);
  const tokens = new Float64Array(n * n);
  const frozen = Float64Array.from({ length: n }, (_, k) => fill(k, tokens.subarray(k * n, (k + 1) * n)));
  return { tokens, frozen };
}

/** Row k alone, (n,), without room for the others. */
export function attentionRow(x: Float64Array, n: number, d: number, head: Head, k: number): Float64Array {
  const row = new Float64Array(n);
  rows(x, n, d, head)(k, row);
  return row;
}

/** In place of the scores of a row: 1 for the highest but token `own`, shared by equal ones; else 0. */
function hardmax(row: Float64Array, own: number): void {
  row[own] = -Infinity;
  const most = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const best = row.reduce((count, s) => count + (s === most && s > -Infinity ? 1 : 0), 0);
  row.forEach((s, j) => (row[j] = s === most && s > -Infinity ? 1 / best : 0));
}
