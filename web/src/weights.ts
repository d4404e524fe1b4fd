/** The attention matrix, as in the paper: row k divides exp(β⟨Q x_k, K x_j⟩) by its sum over the tokens j that token k sees. */

import type { Mask } from "./state.ts";

/** The tokens that token k sees: from `first` up to, not including, `end`. */
export function seen(k: number, n: number, mask: Mask): [first: number, end: number] {
  if (mask === "full") return [0, n];
  return [mask === "causal" ? 0 : Math.max(0, k - mask.window + 1), k + 1];
}

function turned(x: Float64Array, M: number[][], n: number, d: number): Float64Array {
  const out = new Float64Array(n * d); // (n, d)
  for (let k = 0; k < n; k++) for (let r = 0; r < d; r++) for (let c = 0; c < d; c++) out[k * d + r] += M[r][c] * x[k * d + c];
  return out;
}

/** (n, n), row by row; NaN where token k does not see token j. */
export function attention(x: Float64Array, n: number, d: number, beta: number, Q: number[][], K: number[][], mask: Mask): Float64Array {
  const q = turned(x, Q, n, d);
  const key = turned(x, K, n, d);
  const a = new Float64Array(n * n).fill(NaN);
  for (let k = 0; k < n; k++) {
    const [first, end] = seen(k, n, mask);
    let most = -Infinity; // taken out before exp, which would overflow from β about 709 on
    for (let j = first; j < end; j++) {
      let s = 0;
      for (let c = 0; c < d; c++) s += q[k * d + c] * key[j * d + c];
      a[k * n + j] = beta * s;
      if (beta * s > most) most = beta * s;
    }
    let Z = 0;
    for (let j = first; j < end; j++) Z += a[k * n + j] = Math.exp(a[k * n + j] - most);
    for (let j = first; j < end; j++) a[k * n + j] /= Z;
  }
  return a;
}
