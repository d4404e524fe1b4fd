/** Where tokens start, (n, d) in one array: what `nucleate.sphere` and `explorer.start_positions` draw. */

import type { Scene } from "../state.ts";
import { Generator } from "./random.ts";

/** Each row of x divided by its length, in NumPy's order of additions. */
export function retract(x: Float64Array, d: number): Float64Array {
  const square = (at: number): number => {
    if (d !== 8) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += x[at + c] * x[at + c];
      return sum;
    }
    const p = Array.from({ length: 8 }, (_, c) => x[at + c] * x[at + c]);
    return p[0] + p[1] + (p[2] + p[3]) + (p[4] + p[5] + (p[6] + p[7]));
  };
  for (let at = 0; at < x.length; at += d) {
    let largest = 2 ** -1022;
    for (let c = 0; c < d; c++) largest = Math.max(largest, Math.abs(x[at + c]));
    for (let c = 0; c < d; c++) x[at + c] /= largest;
    const length = Math.sqrt(square(at));
    for (let c = 0; c < d; c++) x[at + c] /= length;
  }
  return x;
}

/**
 * I_x(a, a), the share of a sphere within the angle theta, x = sin^2(theta / 2), a = (d - 1) / 2; by the
 * series for x <= 1/2, all of whose terms are positive.
 */
export function capShare(theta: number, d: number): number {
  if (d === 2) return theta / Math.PI;
  const x = Math.sin(theta / 2) ** 2;
  if (d === 3) return x;
  if (x > 0.5) return 1 - capShare(Math.PI - theta, d);
  const a = (d - 1) / 2;
  let term = 1;
  let sum = 1;
  for (let k = 1; term > 1e-18 * sum; k++) {
    term *= (x * (2 * a + k - 1)) / (a + k);
    sum += term;
  }
  return (Math.pow(x * (1 - x), a) * sum) / (a * symmetricBeta(a));
}

/** B(a, a) for a = 3/2, 2, ...: the integral of sin^(2a-1) over 2^(2a-1) half circles. */
function symmetricBeta(a: number): number {
  let wallis = Number.isInteger(a) ? 2 : Math.PI; // the integral of sin^m over (0, pi), m = 1 or 0
  for (let m = Number.isInteger(a) ? 3 : 2; m <= 2 * a - 1; m += 2) wallis *= (m - 1) / m;
  return wallis / 2 ** (2 * a - 1);
}

/** The angle whose cap has this share: Newton's steps within a bracket. */
export function capAngle(share: number, d: number): number {
  if (share <= 0) return 0;
  if (d === 2) return Math.PI * share;
  if (d === 3) return 2 * Math.asin(Math.sqrt(share));
  let low = 0;
  let high = Math.PI;
  let theta = Math.min(2.5, Math.max(1e-4, share ** (1 / (d - 1))));
  const a = (d - 1) / 2;
  const density = 2 ** (2 * a - 1) * symmetricBeta(a); // of sin^(d - 2)
  for (let i = 0; i < 200; i++) {
    const error = capShare(theta, d) - share;
    if (error > 0) high = theta;
    else low = theta;
    let next = theta - (error * density) / Math.sin(theta) ** (d - 2);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (Math.abs(next - theta) <= 2e-16 * theta) return next;
    theta = next;
  }
  return theta;
}

function cap(n: number, d: number, angle: number, seed: number): Float64Array {
  const rng = new Generator(seed);
  const whole = capShare(angle, d);
  const theta = Array.from({ length: n }, () => rng.random()).map((share) => capAngle(share * whole, d));
  const around = retract(rng.normals(n * (d - 1)), d - 1);
  const x = new Float64Array(n * d);
  for (let k = 0; k < n; k++) {
    x[k * d] = Math.cos(theta[k]);
    for (let c = 1; c < d; c++) x[k * d + c] = Math.sin(theta[k]) * around[k * (d - 1) + c - 1];
  }
  return retract(x, d);
}

function planted(n: number, d: number, clusters: number, spread: number, seed: number): Float64Array {
  const rng = new Generator(seed);
  const centers = retract(rng.normals(clusters * d), d);
  const root = Math.sqrt(d);
  const x = rng.normals(n * d).map((value, i) => {
    const [k, c] = [Math.floor(i / d), i % d];
    return centers[(k % clusters) * d + c] + (spread * value) / root;
  });
  return retract(x, d);
}

export function startPositions({ n, d, seed, start, moved }: Scene): Float64Array {
  const x =
    start.kind === "cap"
      ? cap(n, d, start.angle, seed)
      : start.kind === "planted"
        ? planted(n, d, start.clusters, start.spread, seed)
        : retract(new Generator(seed).normals(n * d), d);
  for (const [token, place] of Object.entries(moved))
    x.set(retract(Float64Array.from(place), d), Number(token) * d);
  return x;
}
