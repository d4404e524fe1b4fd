/**
 * The last frame held against the row of Table 1: as it says, not yet, against it, or no exact statement.
 *
 * A statement about t → ∞ is contradicted by a last frame only if the tokens have come to rest elsewhere for
 * good. That is claimed where every token hardly moves and is pushed back to its place at a rate well above
 * zero: then all nearby starts end there too. Clusters that wait for 10⁵⁰ units of time hardly move either,
 * but nothing pushes them back; so they are “not yet”.
 */

import { pretty } from "./axis.ts";

export const END_RADIANS = 0.01; // within this angle a token counts as being there
const REST_SPEED = 1e-4; // in units of the size of V
const RESTORING_RATE = 0.05; // in the same units; REST_SPEED over it is below END_RADIANS
const MOST_WORK = 2e8; // multiplications that the test of rest may take

export type VerdictKind = "agrees" | "not yet" | "contradicts" | "no statement";

export interface Verdict {
  kind: VerdictKind;
  badge: string; // a few words
  why: string; // sentences, with the tolerance
}

/** What is known of the end of a run. */
export interface End {
  n: number;
  d: number;
  t: number;
  x: Float64Array; // (n, d) in the last frame
  first: Float64Array; // (d,) token 1 at time 0
  row: number | null; // of Table 1
  status: string; // theorem, conjecture, outside the table
  why: string; // it is outside
  within: boolean; // V meets what the theorem or conjecture asks for
  L: number[][] | null; // orthonormal vectors, each (d,)
  point: number[] | null; // where rows 1 and 2 say that all end
  beta: number;
  Q: number[][];
  K: number[][];
  V: number[][];
}

type Vector = ArrayLike<number>;

const dot = (a: Vector, b: Vector): number => {
  let sum = 0;
  for (let c = 0; c < a.length; c++) sum += a[c] * b[c];
  return sum;
};

/** The angle between two unit vectors; exact also where it is small. */
export function angleBetween(a: Vector, b: Vector): number {
  let [apart, sum] = [0, 0];
  for (let c = 0; c < a.length; c++) {
    apart += (a[c] - b[c]) ** 2;
    sum += (a[c] + b[c]) ** 2;
  }
  return 2 * Math.atan2(Math.sqrt(apart), Math.sqrt(sum));
}

const degrees = (radians: number): string => `${pretty((180 * radians) / Math.PI)}°`;
const tokens = (count: number): string => `${count} ${count === 1 ? "token" : "tokens"}`;

export function endVerdict(end: End): Verdict {
  const { row, n, d, x } = end;
  if (row === null)
    return none(`Table 1 of the paper says nothing of this run${end.why === "" ? "" : `: ${end.why}`}.`);
  if (row > 3) return cloud(end);
  const targets = targetsOf(end);
  if (targets === null)
    return none("Where the tokens ought to end is not known here, so nothing is compared.");
  const said = statement(end);
  const theorem = end.status === "theorem";
  const word = theorem ? "the theorem says" : "conjectured";
  const token = (k: number): Float64Array => x.subarray(k * d, (k + 1) * d);
  if (row === 1) {
    const moved = angleBetween(token(0), end.first);
    if (moved > END_RADIANS)
      return {
        kind: "contradicts",
        badge: "contradicts the theorem",
        why: `${said} Token 1 itself ought to stay, but is ${degrees(moved)} from its start.`,
      };
  }
  const apart = Array.from({ length: n }, (_, k) =>
    Math.min(...targets.map((target) => angleBetween(token(k), target))),
  );
  const away = apart.filter((angle) => angle > END_RADIANS).length;
  const at = `At t = ${pretty(end.t)}`;
  if (away === 0)
    return {
      kind: "agrees",
      badge: `as ${word}`,
      why: `${said} ${at}, all ${tokens(n)} are within ${END_RADIANS} rad of there.`,
    };
  const far = degrees(Math.max(...apart));
  const are = `${away} of ${tokens(n)} ${away === 1 ? "is" : "are"}`;
  const seen = `${at}, ${are} farther than ${END_RADIANS} rad from there, the farthest ${far}.`;
  if (atRestForGood(end))
    return {
      kind: "contradicts",
      badge: `contradicts the ${theorem ? "theorem" : "conjecture"}`,
      why:
        `${said} ${seen} They have come to rest: none moves faster than ${REST_SPEED} times the size of ` +
        `V, and each, moved a little, is pushed back at ${RESTORING_RATE} times that size or more. So all ` +
        "starts nearby end here too.",
    };
  return {
    kind: "not yet",
    badge: "not there yet",
    why: `${said} ${seen} It is about t → ∞, and nothing shows that the tokens rest elsewhere for good.`,
  };
}

const none = (why: string): Verdict => ({ kind: "no statement", badge: "no theorem here", why });

function statement({ row, within, status }: End): string {
  if (row === 1)
    return "Theorem 4.1: where V = λI, λ > 0, every token ends at x₁(0), from almost every start.";
  const name = within ? `Conjecture ${row === 2 ? 2 : 1}` : `Table 1, row ${row} (${status})`;
  return row === 2
    ? `${name}: every token ends at one point of L, the one that token 1 goes to.`
    : `${name}: every token ends at ξ or at −ξ.`;
}

function targetsOf({ row, first, point, L }: End): Vector[] | null {
  if (row === 1) return [first];
  if (row === 2) return point === null ? null : [point];
  return L === null || L.length !== 1 ? null : [L[0], L[0].map((value) => -value)];
}

/** Rows 4 and 5 say “a cloud around”, without a number: the page measures and does not judge. */
function cloud({ row, L, n, d, x }: End): Verdict {
  const around = row === 4 ? "a cloud around L" : "two clouds around ±ξ";
  if (L === null) return none(`Table 1 says ${around}, without a number to compare with.`);
  let sum = 0;
  for (let k = 0; k < n; k++) {
    const along = Math.hypot(...L.map((vector) => dot(vector, x.subarray(k * d, (k + 1) * d))));
    sum += Math.acos(Math.min(1, along)) / n;
  }
  return none(
    `Table 1 says ${around} (a conjecture), without a number to compare with. In the last frame the ` +
      `tokens are ${degrees(sum)} from ${row === 4 ? "L" : "the line of ξ"} on average.`,
  );
}

/** Every token hardly moves, and is pushed back where it is moved a little, all others held. */
export function atRestForGood({ n, d, x, beta, Q, K, V }: End): boolean {
  if (2 * n * n * d * d > MOST_WORK) return false; // not known
  const times = (M: number[][], y: Vector): Float64Array =>
    M.length === 0 ? Float64Array.from(y) : Float64Array.from(M, (row) => dot(row, y));
  const token = (k: number): Float64Array => x.subarray(k * d, (k + 1) * d);
  const keys = Array.from({ length: n }, (_, k) => times(K, token(k)));
  const values = Array.from({ length: n }, (_, k) => times(V, token(k)));
  /** The velocity of token k if it were at y. */
  const drift = (k: number, y: Float64Array): Float64Array => {
    const q = times(Q, y);
    const [ownKey, ownValue] = [times(K, y), times(V, y)];
    const scores = Float64Array.from({ length: k + 1 }, (_, j) => beta * dot(q, j === k ? ownKey : keys[j]));
    const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    const mean = new Float64Array(d);
    let Z = 0;
    for (let j = 0; j <= k; j++) {
      const weight = Math.exp(scores[j] - most);
      Z += weight;
      const value = j === k ? ownValue : values[j];
      for (let c = 0; c < d; c++) mean[c] += weight * value[c];
    }
    const along = dot(mean, y) / Z;
    return mean.map((value, c) => value / Z - along * y[c]);
  };
  const size = Math.max(1e-300, Math.sqrt(V.flat().reduce((sum, value) => sum + value * value, 0)));
  for (let k = 0; k < n; k++) if (Math.hypot(...drift(k, token(k))) > REST_SPEED * size) return false;
  for (let k = 0; k < n; k++)
    if (!pushedBack(token(k), (y) => drift(k, y), RESTORING_RATE * size)) return false;
  return true;
}

/** Whether moving y by a little in any tangent direction brings a velocity back of at least this rate. */
function pushedBack(y: Float64Array, drift: (y: Float64Array) => Float64Array, rate: number): boolean {
  const basis = tangentBasis(y);
  const step = 1e-5;
  const moved = (direction: Float64Array, by: number): Float64Array => {
    const at = y.map((value, c) => value + by * direction[c]);
    const length = Math.hypot(...at);
    return at.map((value) => value / length);
  };
  const slopes = basis.map((direction) => {
    const [ahead, behind] = [drift(moved(direction, step)), drift(moved(direction, -step))];
    return ahead.map((value, c) => (value - behind[c]) / (2 * step));
  });
  // minus the symmetric part of the Jacobian, less the rate, is positive definite: its Cholesky factor exists
  const m = basis.length;
  const A = basis.map((a, r) =>
    basis.map((b, c) => -(dot(a, slopes[c]) + dot(b, slopes[r])) / 2 - (r === c ? rate : 0)),
  );
  for (let c = 0; c < m; c++) {
    for (let r = c; r < m; r++) {
      let sum = A[r][c];
      for (let i = 0; i < c; i++) sum -= A[r][i] * A[c][i];
      if (r === c && !(sum > 0)) return false;
      A[r][c] = r === c ? Math.sqrt(sum) : sum / A[c][c];
    }
  }
  return true;
}

/** d − 1 orthonormal vectors that are orthogonal to y. */
function tangentBasis(y: Float64Array): Float64Array[] {
  const d = y.length;
  const found: Float64Array[] = [y];
  const axes = Array.from({ length: d }, (_, c) => c).sort((a, b) => Math.abs(y[a]) - Math.abs(y[b]));
  for (const axis of axes.slice(0, d - 1)) {
    const v = Float64Array.from({ length: d }, (_, c) => (c === axis ? 1 : 0));
    for (let twice = 0; twice < 2; twice++)
      for (const other of found) {
        const along = dot(v, other);
        for (let c = 0; c < d; c++) v[c] -= along * other[c];
      }
    const length = Math.hypot(...v);
    found.push(v.map((value) => value / length));
  }
  return found.slice(1);
}
