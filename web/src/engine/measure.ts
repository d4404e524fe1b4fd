/** What the page shows beside the tokens, as `nucleate.observe` measures it. */

import { symmetricEigen, type Rows } from "./linear.ts";

const RADIUS_IN_WIDTHS = 0.1;

/** delta = c beta^(-1/2), at most pi, and the radius that joins tokens into clusters. */
export function lengthScales(beta: number, c: number): { delta: number; radius: number } {
  const delta = beta > 0 ? Math.min(c / Math.sqrt(beta), Math.PI) : Math.PI;
  const width = Math.min(1 / Math.sqrt(Math.max(beta, 1e-300)), Math.PI / 2);
  return { delta, radius: Math.min(RADIUS_IN_WIDTHS * width, Math.PI) };
}

/** Geodesic distance of two tokens of x (n, d), accurate for close and for antipodal points. */
function distance(x: Float64Array, d: number, i: number, j: number): number {
  let near = 0;
  let far = 0;
  for (let c = 0; c < d; c++) {
    near += (x[i * d + c] - x[j * d + c]) ** 2;
    far += (x[i * d + c] + x[j * d + c]) ** 2;
  }
  return 2 * Math.atan2(Math.sqrt(near), Math.sqrt(far));
}

/** Rényi centers of x (n, d): farther than delta from every earlier center; strong: from every token. */
export function renyiCenters(x: Float64Array, d: number, delta: number, strong: boolean): number[] {
  const centers: number[] = [];
  for (let k = 0; k < x.length / d; k++) {
    let free = true;
    if (strong) for (let j = 0; j < k && free; j++) free = distance(x, d, k, j) > delta;
    else for (const j of centers) if (!(free = distance(x, d, k, j) > delta)) break;
    if (free) centers.push(k);
  }
  return centers;
}

/** The cluster of every token of a frame x (n, d), counted by first members; how many there are. */
export function clusters(x: Float64Array, d: number, radius: number, labels: Int32Array): number {
  return d === 2 ? onCircle(x, radius, labels) : onSphere(x, d, 2 * Math.sin(radius / 2), labels);
}

function inOrder(raw: Int32Array, labels: Int32Array): number {
  const name = new Int32Array(raw.length + 1).fill(-1);
  let count = 0;
  for (let k = 0; k < raw.length; k++) {
    if (name[raw[k]] < 0) name[raw[k]] = count++;
    labels[k] = name[raw[k]];
  }
  return count;
}

/** A gap wider than the radius parts two clusters. */
function onCircle(x: Float64Array, radius: number, labels: Int32Array): number {
  const n = x.length / 2;
  const angle = Float64Array.from({ length: n }, (_, k) => Math.atan2(x[2 * k + 1], x[2 * k]));
  const order = Array.from({ length: n }, (_, k) => k).sort((a, b) => angle[a] - angle[b] || a - b);
  const raw = new Int32Array(n);
  let gaps = 0;
  order.forEach((k, place) => {
    raw[k] = gaps;
    if (place < n - 1 && angle[order[place + 1]] - angle[k] > radius) gaps += 1;
  });
  const closed = !(angle[order[0]] + 2 * Math.PI - angle[order[n - 1]] > radius);
  if (closed) for (let k = 0; k < n; k++) if (raw[k] === gaps) raw[k] = 0;
  return inOrder(raw, labels);
}

/** Tokens with chords of at most `reach` are joined. */
function onSphere(x: Float64Array, d: number, reach: number, labels: Int32Array): number {
  const n = x.length / d;
  const root = new Int32Array(n).map((_, k) => k);
  const find = (k: number): number => {
    while (root[k] !== k) k = root[k] = root[root[k]];
    return k;
  };
  const near = reach * reach;
  for (let k = 1; k < n; k++)
    for (let j = 0; j < k; j++) {
      let square = 0;
      for (let c = 0; c < d && square <= near; c++) square += (x[k * d + c] - x[j * d + c]) ** 2;
      if (square <= near) root[find(k)] = find(j);
    }
  return inOrder(
    root.map((_, k) => find(k)),
    labels,
  );
}

/** The share of the tokens x (n, d) within delta of one of the centers. */
export function consumed(x: Float64Array, d: number, centers: number[], delta: number): number {
  const n = x.length / d;
  const limit = (2 * Math.sin(delta / 2)) ** 2;
  let count = 0;
  for (let k = 0; k < n; k++)
    for (const center of centers) {
      let square = 0;
      for (let c = 0; c < d; c++) square += (x[k * d + c] - x[center * d + c]) ** 2;
      if (square <= limit) {
        count += 1;
        break;
      }
    }
  return count / n;
}

/** Three directions (d, 3) in which the tokens of all frames reach farthest; signs by the largest entry. */
export function principalDirections(x: Float64Array, d: number): Float64Array {
  const M: Rows = Array.from({ length: d }, () => new Array<number>(d).fill(0));
  for (let at = 0; at < x.length; at += d)
    for (let r = 0; r < d; r++) for (let c = 0; c <= r; c++) M[r][c] += x[at + r] * x[at + c];
  for (let r = 0; r < d; r++) for (let c = 0; c < r; c++) M[c][r] = M[r][c];
  const { vectors } = symmetricEigen(M);
  const out = new Float64Array(3 * d);
  for (let p = 0; p < 3; p++) {
    let largest = 0;
    for (let c = 0; c < d; c++) if (Math.abs(vectors[c][p]) > Math.abs(largest)) largest = vectors[c][p];
    for (let c = 0; c < d; c++) out[3 * c + p] = vectors[c][p] * (largest < 0 ? -1 : 1);
  }
  return out;
}
