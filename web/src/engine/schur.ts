/** The complex Schur form of a small matrix: upper triangular, eigenvalues on the diagonal in any order. */

import { identity, type Rows } from "./linear.ts";

export interface Complex {
  re: number;
  im: number;
}

/** A square complex matrix, real and imaginary parts. */
export interface ComplexMatrix {
  re: Rows;
  im: Rows;
}

/** V = U T U^H: T upper triangular, U unitary. */
export interface SchurForm extends ComplexMatrix {
  U: ComplexMatrix;
}

const MAX_ITERATIONS = 400;

/** A unitary rotation in the plane of two axes: (a, b) goes to (r, 0), with c real. */
function rotation(a: Complex, b: Complex): { c: number; s: Complex } {
  const x = Math.hypot(a.re, a.im);
  const y = Math.hypot(b.re, b.im);
  const r = Math.hypot(x, y);
  if (y === 0) return { c: 1, s: { re: 0, im: 0 } };
  if (x === 0) return { c: 0, s: { re: b.re / y, im: -b.im / y } };
  // s = (a / |a|) conj(b) / r
  const u = { re: a.re / x, im: a.im / x };
  return { c: x / r, s: { re: (u.re * b.re + u.im * b.im) / r, im: (u.im * b.re - u.re * b.im) / r } };
}

/** T becomes G T G^H and U becomes U G^H, G = (c, s; -conj s, c) in rows i and j. */
function rotate({ re, im, U }: SchurForm, i: number, j: number, turn: ReturnType<typeof rotation>): void {
  const d = re.length;
  const { c, s } = turn;
  for (let k = 0; k < d; k++) {
    const [a, b, x, y] = [re[i][k], im[i][k], re[j][k], im[j][k]];
    re[i][k] = c * a + s.re * x - s.im * y;
    im[i][k] = c * b + s.re * y + s.im * x;
    re[j][k] = c * x - (s.re * a + s.im * b);
    im[j][k] = c * y - (s.re * b - s.im * a);
  }
  rotateColumns({ re, im }, i, j, turn);
  rotateColumns(U, i, j, turn);
}

function rotateColumns(
  { re, im }: ComplexMatrix,
  i: number,
  j: number,
  { c, s }: ReturnType<typeof rotation>,
): void {
  for (let k = 0; k < re.length; k++) {
    const [a, b, x, y] = [re[k][i], im[k][i], re[k][j], im[k][j]];
    re[k][i] = c * a + s.re * x + s.im * y;
    im[k][i] = c * b + s.re * y - s.im * x;
    re[k][j] = c * x - (s.re * a - s.im * b);
    im[k][j] = c * y - (s.re * b + s.im * a);
  }
}

const entry = ({ re, im }: ComplexMatrix, i: number, j: number): Complex => ({ re: re[i][j], im: im[i][j] });

/** The eigenvalue of the last 2 x 2 block down to `last` that is nearer to its corner. */
function shift(T: ComplexMatrix, last: number): Complex {
  const a = entry(T, last - 1, last - 1);
  const b = entry(T, last - 1, last);
  const c = entry(T, last, last - 1);
  const d = entry(T, last, last);
  const half = { re: (a.re - d.re) / 2, im: (a.im - d.im) / 2 };
  const bc = { re: b.re * c.re - b.im * c.im, im: b.re * c.im + b.im * c.re };
  const root = squareRoot({ re: half.re ** 2 - half.im ** 2 + bc.re, im: 2 * half.re * half.im + bc.im });
  const sign = half.re * root.re + half.im * root.im > 0 ? 1 : -1;
  const below = { re: half.re + sign * root.re, im: half.im + sign * root.im };
  const size = below.re ** 2 + below.im ** 2;
  if (size === 0) return d;
  return {
    re: d.re - (bc.re * below.re + bc.im * below.im) / size,
    im: d.im - (bc.im * below.re - bc.re * below.im) / size,
  };
}

function squareRoot({ re, im }: Complex): Complex {
  const size = Math.hypot(re, im);
  const x = Math.sqrt((size + Math.abs(re)) / 2);
  if (x === 0) return { re: 0, im: 0 };
  const y = im / (2 * x);
  return re >= 0 ? { re: x, im: y } : { re: Math.abs(y), im: im < 0 ? -x : x };
}

export function schurForm(V: Rows): SchurForm {
  const d = V.length;
  const zero = (): Rows => V.map((row) => row.map(() => 0));
  const T = { re: V.map((row) => row.slice()), im: zero(), U: { re: identity(d), im: zero() } };
  for (let c = 0; c < d - 2; c++)
    for (let r = d - 1; r > c + 1; r--) {
      if (T.re[r][c] === 0) continue;
      rotate(T, r - 1, r, rotation(entry(T, r - 1, c), entry(T, r, c)));
      T.re[r][c] = T.im[r][c] = 0;
    }
  let last = d - 1;
  let tries = 0;
  while (last > 0) {
    const small = (k: number): boolean => {
      const below = Math.hypot(T.re[k][k - 1], T.im[k][k - 1]);
      const beside = Math.hypot(T.re[k][k], T.im[k][k]) + Math.hypot(T.re[k - 1][k - 1], T.im[k - 1][k - 1]);
      if (below > 2 ** -53 * (beside || 1)) return false;
      T.re[k][k - 1] = T.im[k][k - 1] = 0;
      return true;
    };
    if (small(last)) {
      last -= 1;
      tries = 0;
      continue;
    }
    let first = last;
    while (first > 0 && !small(first)) first -= 1;
    tries += 1;
    if (tries > MAX_ITERATIONS) throw new Error("the eigenvalues of V were not found");
    let z = shift(T, last);
    if (tries % 11 === 10)
      z = { re: z.re + Math.hypot(T.re[last][last - 1], T.im[last][last - 1]), im: z.im };
    // the implicit step: the bulge is chased down
    let x = { re: T.re[first][first] - z.re, im: T.im[first][first] - z.im };
    let y = entry(T, first + 1, first);
    for (let k = first; k < last; k++) {
      rotate(T, k, k + 1, rotation(x, y));
      if (k > first) T.re[k + 1][k - 1] = T.im[k + 1][k - 1] = 0;
      if (k + 2 <= last) {
        x = entry(T, k + 1, k);
        y = entry(T, k + 2, k);
      }
    }
  }
  return T;
}

/** The same with these places of the diagonal first, in their order. */
export function reordered(T: SchurForm, members: number[]): SchurForm {
  const copy = ({ re, im }: ComplexMatrix): ComplexMatrix => ({
    re: re.map((row) => row.slice()),
    im: im.map((row) => row.slice()),
  });
  const out = { ...copy(T), U: copy(T.U) };
  const sorted = [...members].sort((a, b) => a - b);
  sorted.forEach((from, to) => {
    for (let k = from - 1; k >= to; k--) {
      const gap = { re: out.re[k + 1][k + 1] - out.re[k][k], im: out.im[k + 1][k + 1] - out.im[k][k] };
      rotate(out, k, k + 1, rotation(entry(out, k, k + 1), gap));
      out.re[k + 1][k] = out.im[k + 1][k] = 0;
    }
  });
  return out;
}
