/**
 * THE EQUATION, `nucleate.attention` with one softmax head:
 *
 *     dx_k/dt = P_{x_k}( (1/Z_k) sum_j exp(beta <Q x_k, K x_j>) V x_j ),  j among the tokens that k sees.
 *
 * The state is flat: angles on the circle (d = 2), coordinates elsewhere, which are made unit first.
 */

import type { Mask } from "../state.ts";
import { isIdentity, type Rows } from "./linear.ts";

export interface Head {
  beta: number;
  Q: Rows;
  K: Rows;
  V: Rows;
  mask: Mask;
}

/**
 * A weight below e^-100 of the largest is left out: in all the time that this page computes, 10^5, it moves a
 * token by less than 10^-35.
 */
const SMALLEST_EXPONENT = -100;

export class Drift {
  readonly width: number; // numbers per token in the state
  private readonly x: Float64Array; // (n, d) unit
  private readonly keys: Float64Array; // (n, d) K x
  private readonly query: Float64Array; // (d,) beta Q x_k
  private readonly scores: Float64Array; // (n,)
  private readonly sum: Float64Array; // (d,)
  private readonly moved: Float64Array; // (d,) V sum
  private readonly same: { Q: boolean; K: boolean }; // which are the identity
  private readonly Q: Float64Array;
  private readonly K: Float64Array;
  private readonly V: Float64Array;

  constructor(
    readonly head: Head,
    readonly n: number,
    readonly d: number,
  ) {
    this.width = d === 2 ? 1 : d;
    this.x = new Float64Array(n * d);
    this.query = new Float64Array(d);
    this.scores = new Float64Array(n);
    this.sum = new Float64Array(d);
    this.moved = isIdentity(head.V) ? this.sum : new Float64Array(d);
    this.same = { Q: isIdentity(head.Q), K: isIdentity(head.K) };
    this.keys = this.same.K ? this.x : new Float64Array(n * d);
    [this.Q, this.K, this.V] = [head.Q, head.K, head.V].map((M) => Float64Array.from(M.flat()));
  }

  /** The velocity of every token in the state y, both (n * width). */
  into(y: Float64Array, out: Float64Array): void {
    const { n, d, x } = this;
    this.place(y);
    if (!this.same.K) for (let k = 0; k < n; k++) multiply(this.K, d, x, k * d, this.keys, k * d);
    const { mask } = this.head;
    const plain = this.same.Q && this.same.K;
    for (let k = 0; k < n; k++) {
      const from = typeof mask === "object" ? Math.max(0, k - mask.window + 1) : 0;
      const to = mask === "full" ? n : k + 1;
      if (plain && d === 2) this.attendPlain2(k, from, to);
      else if (plain && d === 3) this.attendPlain3(k, from, to);
      else this.attend(k, from, to);
      this.write(k, out);
    }
  }

  /** Unit vectors of the state. */
  private place(y: Float64Array): void {
    const { n, d, x } = this;
    if (d === 2) {
      for (let k = 0; k < n; k++) {
        x[2 * k] = Math.cos(y[k]);
        x[2 * k + 1] = Math.sin(y[k]);
      }
      return;
    }
    for (let at = 0; at < n * d; at += d) {
      let square = 0;
      for (let c = 0; c < d; c++) square += y[at + c] * y[at + c];
      const inverse = 1 / Math.sqrt(square);
      for (let c = 0; c < d; c++) x[at + c] = y[at + c] * inverse;
    }
  }

  /** The mean of the tokens that k sees, by weight, into `sum`. With Q = K = I none weighs more than k. */
  private attendPlain2(k: number, from: number, to: number): void {
    const { x, sum } = this;
    const { beta } = this.head;
    const a = x[2 * k];
    const b = x[2 * k + 1];
    let p = 0;
    let q = 0;
    let total = 0;
    for (let j = from; j < to; j++) {
      const u = x[2 * j];
      const v = x[2 * j + 1];
      const e = beta * (a * u + b * v - 1);
      if (e < SMALLEST_EXPONENT) continue;
      const w = Math.exp(e);
      total += w;
      p += w * u;
      q += w * v;
    }
    sum[0] = p / total;
    sum[1] = q / total;
  }

  private attendPlain3(k: number, from: number, to: number): void {
    const { x, sum } = this;
    const { beta } = this.head;
    const a = x[3 * k];
    const b = x[3 * k + 1];
    const c = x[3 * k + 2];
    let p = 0;
    let q = 0;
    let r = 0;
    let total = 0;
    for (let i = 3 * from; i < 3 * to; i += 3) {
      const u = x[i];
      const v = x[i + 1];
      const z = x[i + 2];
      const e = beta * (a * u + b * v + c * z - 1);
      if (e < SMALLEST_EXPONENT) continue;
      const w = Math.exp(e);
      total += w;
      p += w * u;
      q += w * v;
      r += w * z;
    }
    sum[0] = p / total;
    sum[1] = q / total;
    sum[2] = r / total;
  }

  private attend(k: number, from: number, to: number): void {
    const { d, x, keys, query, scores, sum } = this;
    const { beta } = this.head;
    if (this.same.Q) for (let c = 0; c < d; c++) query[c] = x[k * d + c];
    else multiply(this.Q, d, x, k * d, query, 0);
    let largest = -Infinity;
    for (let j = from; j < to; j++) {
      let s = 0;
      for (let c = 0, at = j * d; c < d; c++) s += query[c] * keys[at + c];
      s *= beta;
      scores[j] = s;
      if (!(s <= largest)) largest = s; // NaN passes
    }
    sum.fill(0);
    let total = 0;
    for (let j = from; j < to; j++) {
      const e = scores[j] - largest;
      if (e < SMALLEST_EXPONENT) continue;
      const w = Math.exp(e);
      total += w;
      for (let c = 0, at = j * d; c < d; c++) sum[c] += w * x[at + c];
    }
    for (let c = 0; c < d; c++) sum[c] /= total;
  }

  /** The part of V sum that is tangent at token k. */
  private write(k: number, out: Float64Array): void {
    const { d, x, sum, moved } = this;
    const at = k * d;
    if (moved !== sum) multiply(this.V, d, sum, 0, moved, 0);
    if (d === 2) {
      out[k] = x[at] * moved[1] - x[at + 1] * moved[0];
      return;
    }
    let along = 0;
    for (let c = 0; c < d; c++) along += x[at + c] * moved[c];
    for (let c = 0; c < d; c++) out[at + c] = moved[c] - along * x[at + c];
  }
}

/** out = M x, for one vector. */
function multiply(
  M: Float64Array,
  d: number,
  x: Float64Array,
  at: number,
  out: Float64Array,
  to: number,
): void {
  for (let r = 0; r < d; r++) {
    let s = 0;
    for (let c = 0; c < d; c++) s += M[r * d + c] * x[at + c];
    out[to + r] = s;
  }
}
