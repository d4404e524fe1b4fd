/**
 * The dominant eigenvalues of V and what Table 1 says of them: `nucleate.theory.atlas` in brief. V is taken
 * as known up to tol |V|; what a change of that size could make equal counts as equal.
 */

import type { Mask } from "../state.ts";
import type { Head } from "./equation.ts";
import { general } from "./format.ts";
import { product, singular, size, solved, symmetricEigen, transpose, type Rows } from "./linear.ts";
import { reordered, schurForm, type Complex, type ComplexMatrix, type SchurForm } from "./schur.ts";

const TOLERANCE = 1e-10;
const REAL_BELOW = 1e-12; // of |V|: an imaginary part that rounding makes
const MOMENTS = [2, 3, 4];
const MOMENT_SLACK = 10;

const TABLE_1 = [
  "",
  "lambda_max > 0, multiplicity d: every token ends at the first one, x_1(0)",
  "lambda_max > 0, multiplicity 2 or more: every token ends at one point of L",
  "lambda_max > 0, multiplicity 1: the tokens end at two points, xi and -xi",
  "lambda_max < 0, multiplicity 2 or more: the tokens end as a cloud around L",
  "lambda_max < 0, multiplicity 1: the tokens end as two clouds, around xi and -xi",
];

const CONJECTURE_1_ROW = 3;
const DOUBT =
  "It is false for some Q, K and V, where tokens come to rest elsewhere, and proved only for symmetric V" +
  " with KᵀQ = cI, c ≥ 0, which these are not";
const PROOF_SLACK = 1e-9; // of the largest entry

interface Schur {
  T: SchurForm;
  w: Complex[]; // eigenvalues, in the order of the diagonal
  size: number;
  reach: number;
}
interface Group {
  value: Complex;
  members: number[];
  steps: number[];
}

export interface SpectrumFacts {
  eigenvalues: [number, number][];
  lambda_max: [number, number];
  row: number | null;
  name: string;
  verdict: string;
  status: string;
  why: string;
  rate: string;
  kind: string;
  doubt: string | null; // why the row need not hold
  L: Rows; // orthonormal vectors that span L
  within_conjecture: boolean;
}

/** V in units in which its largest entry is about 1: a power of two, which changes no digit. */
function scaled(V: Rows): { unit: number; W: Rows } {
  const largest = Math.max(...V.flat().map(Math.abs));
  const unit = largest > 0 ? 2 ** Math.ceil(Math.log2(largest)) : 1;
  return { unit, W: V.map((row) => row.map((value) => value / unit)) };
}

export function spectrumFacts({ Q, K, V, mask }: Omit<Head, "beta">, n: number): SpectrumFacts {
  const { unit, W } = scaled(V);
  const schur = schurOf(W);
  const dominant = dominantGroups(schur);
  const lambda = Math.max(...dominant.map(({ value }) => value.re));
  const members = dominant.flatMap((group) => group.members);
  const others = schur.w.filter((_, i) => !members.includes(i));
  const block = Math.max(...dominant.map(({ steps }) => steps.length));
  const turns = dominant.some(({ value }) => value.im > 0);
  const kind = turns ? (block > 1 ? "complex defective" : "complex") : block > 1 ? "defective" : "real";
  const gap = others.length > 0 ? (lambda - Math.max(...others.map(({ re }) => re))) * unit : Infinity;
  const sign = Math.abs(lambda) <= schur.reach ? 0 : Math.sign(lambda);
  const [row, verdict, status] = rowOf(V.length, kind, sign, members.length);
  const turning = dominant.filter(({ steps }) => steps.length === block).map(({ value }) => value.im * unit);
  const why = hypotheses(row, schur, lambda, members);
  const known = {
    eigenvalues: [...schur.w]
      .sort((a, b) => b.re - a.re || b.im - a.im)
      .map(({ re, im }): [number, number] => [re * unit, im * unit]),
    lambda_max: [lambda * unit, dominant[0].value.im * unit] as [number, number],
    row,
    name: row === null ? "outside Table 1" : `row ${row} of Table 1`,
    verdict,
    status,
    why,
    rate: rate(gap, block, turning),
    kind,
    doubt: row === CONJECTURE_1_ROW && !proved(Q, K, V) ? DOUBT : null,
    L: dominantSpace(W, schur, dominant),
    within_conjecture: row === 1 || why.startsWith("within"),
  };
  const other = otherModel(mask, n);
  if (other === null) return known;
  return {
    ...known,
    row: null,
    name: "outside Table 1",
    verdict: "outside the table: Table 1 is about causal attention without frozen tokens",
    status: "outside the table",
    why: other,
    rate: "",
    doubt: null,
  };
}

/** Where rows 1 and 2 of Table 1 say that every token ends, if the first starts at x1; null elsewhere. */
export function predictedPoint(row: number | null, V: Rows, x1: number[]): number[] | null {
  if (row === 1) return x1;
  if (row !== 2) return null;
  const { W } = scaled(V);
  const [right, left] = [W, transpose(W)].map((M) => {
    const schur = schurOf(M);
    return dominantSpace(M, schur, dominantGroups(schur)); // (k, d)
  });
  if (left.length !== right.length) return null;
  const overlap = product(left, transpose(right)); // (k, k)
  const dual = transpose(left).map((column) => solved(overlap, column)); // (d, k): x P = x dual right
  if (dual.some((one) => one === null)) return null;
  const y = product(product([x1], dual as Rows), right)[0]; // (d,)
  const length = Math.hypot(...y);
  return length <= TOLERANCE * size(dual as Rows) ? null : y.map((value) => value / length);
}

/** Whether row 3, Conjecture 1, is proved for these: symmetric V and KᵀQ = cI, c >= 0. */
function proved(Q: Rows, K: Rows, V: Rows): boolean {
  const A = product(transpose(K), Q);
  const [c] = A[0];
  const small = PROOF_SLACK * Math.max(...[...V, ...A].flat().map(Math.abs));
  const near = (M: Rows, of: (i: number, j: number) => number): boolean =>
    M.every((row, i) => row.every((value, j) => Math.abs(value - of(i, j)) <= small));
  return c >= 0 && near(A, (i, j) => (i === j ? c : 0)) && near(V, (i, j) => V[j][i]);
}

/** Orthonormal vectors that span L: the eigenvectors that the longest chains of the dominant end in. */
function dominantSpace(W: Rows, { T }: Schur, dominant: Group[]): Rows {
  const longest = Math.max(...dominant.map(({ steps }) => steps.length));
  if (longest === 1)
    return invariantSpace(
      T,
      dominant.flatMap(({ members }) => members),
    );
  const parts = dominant.filter(({ steps }) => steps.length === longest).map((group) => range(W, T, group));
  return rowSpace(parts.flat(), parts.flat().length);
}

/** The first k right singular vectors of these rows. */
const rowSpace = (rows: Rows, k: number): Rows => transpose(singular(rows).right).slice(0, k);

/** Real orthonormal vectors that span the invariant space of these eigenvalues, conjugates among them. */
function invariantSpace(T: SchurForm, members: number[]): Rows {
  const { U } = reordered(T, members);
  const columns = [transpose(U.re), transpose(U.im)].flatMap((rows) => rows.slice(0, members.length));
  return rowSpace(columns, members.length);
}

/** The range of (V - lambda)^(nu-1) on the generalised eigenvectors of a group; real and imaginary parts. */
function range(W: Rows, T: SchurForm, { value, members, steps }: Group): Rows {
  const basis = invariantSpace(T, members); // (m, d)
  const A = product(basis, product(W, transpose(basis))); // (m, m)
  const minus = (sign: number): ComplexMatrix => ({
    re: A.map((row, i) => row.map((a, j) => a - (i === j ? value.re : 0))),
    im: A.map((row, i) => row.map((_, j) => (i === j ? -sign * value.im : 0))),
  });
  const turns = value.im > 0; // then the conjugate's half is taken away
  const factors = [...steps.slice(1).map(() => minus(1)), ...(turns ? steps.map(() => minus(-1)) : [])];
  const N = factors.reduce(times);
  const reached = product([...transpose(N.re), ...transpose(N.im)], basis); // (2 m, d)
  return rowSpace(reached, steps[steps.length - 1] * (turns ? 2 : 1));
}

function times(A: ComplexMatrix, B: ComplexMatrix): ComplexMatrix {
  const [a, b, c, e] = [product(A.re, B.re), product(A.im, B.im), product(A.re, B.im), product(A.im, B.re)];
  return {
    re: a.map((row, i) => row.map((value, j) => value - b[i][j])),
    im: c.map((row, i) => row.map((value, j) => value + e[i][j])),
  };
}

function otherModel(mask: Mask, n: number): string | null {
  if (mask === "full") return "here every token sees all others";
  if (typeof mask === "object" && mask.window < n)
    return mask.window === 1
      ? "here a token sees only itself"
      : `here a token sees only the last ${mask.window}, itself counted`;
  return null;
}

function schurOf(V: Rows): Schur {
  const T = schurForm(V);
  const whole = size(V);
  const w = V.map((_, i): Complex => {
    const im = T.im[i][i];
    return { re: T.re[i][i], im: Math.abs(im) <= REAL_BELOW * whole ? 0 : im };
  });
  const lower = w.filter(({ im }) => im < 0);
  for (const z of w) {
    if (z.im <= 0) continue;
    lower.sort((a, b) => Math.hypot(a.re - z.re, a.im + z.im) - Math.hypot(b.re - z.re, b.im + z.im));
    Object.assign(lower.shift() ?? {}, { re: z.re, im: -z.im }); // V is real, so they come in pairs
  }
  return { T, w, size: whole, reach: TOLERANCE * whole };
}

function dominantGroups(schur: Schur): Group[] {
  const rest = new Set(schur.w.keys());
  const found: Group[] = [];
  let largest = -Infinity;
  while (rest.size > 0) {
    const i = [...rest].reduce((best, k) => (schur.w[k].re > schur.w[best].re ? k : best));
    if (schur.w[i].re < largest - schur.reach) break;
    const group = groupAround(schur, schur.w[i], [...rest]);
    for (const k of group.members) rest.delete(k);
    largest = Math.max(largest, group.value.re);
    found.push(group);
  }
  return found.filter(({ value }) => value.re >= largest - schur.reach);
}

/** The largest set of eigenvalues around z, conjugates included, that are one. */
function groupAround(schur: Schur, z: Complex, rest: number[]): Group {
  const away = (k: number): number => {
    const { re, im } = schur.w[k];
    return Math.min(Math.hypot(re - z.re, im - z.im), Math.hypot(re - z.re, im + z.im));
  };
  const order = [...rest].sort((a, b) => away(a) - away(b) || a - b);
  const near = [...order.map((k) => Math.max(away(k), schur.reach)), Infinity];
  for (let m = order.length; m >= 1; m--) {
    if (!(near[m] > near[m - 1])) continue; // never parted where distances are equal
    const group = examined(schur, order.slice(0, m));
    if (group !== null) return group;
  }
  return { value: { re: z.re, im: Math.abs(z.im) }, members: order.slice(0, z.im === 0 ? 1 : 2), steps: [1] };
}

function examined(schur: Schur, members: number[]): Group | null {
  const w = members.map((k) => schur.w[k]);
  const upper = w.filter(({ im }) => im > 0);
  const mean = (of: number[]): number => of.reduce((a, b) => a + b, 0) / of.length;
  for (const part of 2 * upper.length === w.length ? [w, upper] : [w]) {
    const value = {
      re: mean(part.map(({ re }) => re)),
      im: part === upper ? mean(part.map(({ im }) => im)) : 0,
    };
    if (part.length === 1) return { value, members, steps: [1] };
    if (!mayBeOne(part, value, schur)) continue;
    const steps = staircase(shifted(reordered(schur.T, members), members.length, value), schur.reach);
    if (steps.reduce((a, b) => a + b, 0) === part.length) return { value, members, steps };
  }
  return null;
}

/** Whether moments of eigenvalues minus their mean can be those of a nilpotent matrix changed by `reach`. */
function mayBeOne(part: Complex[], value: Complex, schur: Schur): boolean {
  const offset = part.map(({ re, im }) => ({ re: re - value.re, im: im - value.im }));
  const squares = schur.w.reduce((sum, { re, im }) => sum + re * re + im * im, 0);
  const coupling = Math.sqrt(Math.max(schur.size ** 2 - squares, 0));
  const change = MOMENT_SLACK * Math.sqrt(part.length) * schur.reach;
  const whole = Math.hypot(...offset.flatMap(({ re, im }) => [re, im])) + coupling;
  return MOMENTS.every((k) => {
    const sum = offset.reduce(
      (total, z) => {
        let power = z;
        for (let i = 1; i < k; i++)
          power = { re: power.re * z.re - power.im * z.im, im: power.re * z.im + power.im * z.re };
        return { re: total.re + power.re, im: total.im + power.im };
      },
      { re: 0, im: 0 },
    );
    return Math.hypot(sum.re, sum.im) <= k * change * (whole + change) ** (k - 1);
  });
}

/** The first m rows and columns of T minus `value`, as a real matrix of twice the size. */
function shifted(T: ComplexMatrix, m: number, value: Complex): Rows {
  const N: Rows = Array.from({ length: 2 * m }, () => new Array<number>(2 * m).fill(0));
  for (let i = 0; i < m; i++)
    for (let j = 0; j < m; j++) {
      const re = T.re[i][j] - (i === j ? value.re : 0);
      const im = T.im[i][j] - (i === j ? value.im : 0);
      N[i][j] = N[m + i][m + j] = re;
      N[i][m + j] = -im;
      N[m + i][j] = im;
    }
  return N;
}

/** Dimensions of ker N, then of the kernel of what is left when it is split off, and so on. */
function staircase(N: Rows, reach: number): number[] {
  const steps: number[] = [];
  while (N.length > 0) {
    if (size(N) / Math.SQRT2 <= reach) return [...steps, N.length / 2];
    const { values, right } = singular(N);
    const kernel = values.filter((value) => value <= reach).length;
    if (kernel === 0) break;
    steps.push(kernel / 2);
    const keep = right.map((row) => row.slice(0, N.length - kernel));
    N = product(transpose(keep), product(N, keep));
  }
  return steps;
}

function rowOf(d: number, kind: string, sign: number, multiplicity: number): [number | null, string, string] {
  const reasons = [
    ...(sign === 0 ? ["lambda_max is 0"] : []),
    ...(kind === "real" ? [] : [`the dominant eigenvalue is ${kind}`]),
  ];
  if (reasons.length > 0) return [null, `outside the table: ${reasons.join(" and ")}`, "outside the table"];
  const several = multiplicity > 1;
  const row = sign > 0 ? (multiplicity === d ? 1 : several ? 2 : 3) : several ? 4 : 5;
  return [row, TABLE_1[row], row === 1 ? "theorem" : "conjecture"];
}

function hypotheses(row: number | null, schur: Schur, lambda: number, members: number[]): string {
  if (row === 1)
    return "V = lambda I, as Theorem 4.1 asks: any Q and K, almost every start (lambda only sets the speed)";
  if (row === 2) return conjecture2(schur, lambda, members);
  if (row === 3) return conjecture1(schur);
  return row === null
    ? "neither conjecture speaks of such V"
    : "Table 1 only; neither conjecture speaks of lambda_max < 0";
}

function conjecture1(schur: Schur): string {
  if (schur.w.some(({ re }) => re <= schur.reach))
    return "not within Conjecture 1, which asks for positive eigenvalues: some are not";
  if (!allRealAndDistinct(schur))
    return "not within Conjecture 1, which asks for distinct real eigenvalues: some are equal or complex";
  return (
    "within Conjecture 1: distinct positive real eigenvalues (true for symmetric V and Q = K = I," +
    " else not always)"
  );
}

/** Whether no change of V by tol |V| can make two eigenvalues meet, or is needed to make them real. */
function allRealAndDistinct({ T, w, reach }: Schur): boolean {
  if (w.some(({ im }) => im !== 0)) return false;
  const d = w.length;
  // columns of X are eigenvectors of T, by substitution; T is real here up to phases, so moduli are enough
  const X = { re: T.re.map((row) => row.map(() => 0)), im: T.re.map((row) => row.map(() => 0)) };
  for (let k = 0; k < d; k++) {
    X.re[k][k] = 1;
    for (let i = k - 1; i >= 0; i--) {
      let [a, b] = [0, 0];
      for (let j = i + 1; j <= k; j++) {
        a += T.re[i][j] * X.re[j][k] - T.im[i][j] * X.im[j][k];
        b += T.re[i][j] * X.im[j][k] + T.im[i][j] * X.re[j][k];
      }
      const gap = w[k].re - w[i].re;
      if (gap === 0) return false;
      X.re[i][k] = a / gap;
      X.im[i][k] = b / gap;
    }
  }
  const condition = w.map((_, k) => {
    const length = Math.hypot(...X.re.flatMap((row, i) => [row[k], X.im[i][k]]));
    // row k of the inverse of X, by substitution from the left
    const y: Complex[] = Array.from({ length: d }, () => ({ re: 0, im: 0 }));
    y[k] = { re: 1, im: 0 };
    for (let j = k + 1; j < d; j++)
      for (let i = k; i < j; i++) {
        y[j].re -= y[i].re * X.re[i][j] - y[i].im * X.im[i][j];
        y[j].im -= y[i].re * X.im[i][j] + y[i].im * X.re[i][j];
      }
    return length * Math.hypot(...y.flatMap(({ re, im }) => [re, im]));
  });
  const order = [...w.keys()].sort((a, b) => w[a].re - w[b].re);
  return order.every((k, place) => {
    if (place === 0) return true;
    const before = order[place - 1];
    return w[k].re - w[before].re > reach * (condition[k] + condition[before]);
  });
}

/** V keeps the orthogonal complement of L, and <V z, z> < lambda_max |z|^2 there. */
function conjecture2(schur: Schur, lambda: number, members: number[]): string {
  const T = reordered(schur.T, members);
  const k = members.length;
  const corner = T.re.slice(0, k).flatMap((row, i) => [...row.slice(k), ...T.im[i].slice(k)]);
  if (Math.hypot(...corner) > schur.reach)
    return "not within Conjecture 2, which asks that V keep the orthogonal complement of L: it does not";
  const m = T.re.length - k;
  const S: Rows = Array.from({ length: 2 * m }, () => new Array<number>(2 * m).fill(0));
  for (let i = 0; i < m; i++)
    for (let j = 0; j < m; j++) {
      const re = (T.re[k + i][k + j] + T.re[k + j][k + i]) / 2;
      const im = (T.im[k + i][k + j] - T.im[k + j][k + i]) / 2;
      S[i][j] = S[m + i][m + j] = re;
      S[i][m + j] = -im;
      S[m + i][j] = im;
    }
  if (symmetricEigen(S).values[0] >= lambda - schur.reach)
    return (
      "not within Conjecture 2, which asks for <Vz, z> < lambda_max |z|^2 on the orthogonal" +
      " complement of L: some z has more"
    );
  return "within Conjecture 2: V keeps the orthogonal complement of L, and <Vz, z> < lambda_max |z|^2 there";
}

function rate(gap: number, block: number, turning: number[]): string {
  const whole = !Number.isFinite(gap);
  const speeds = turning.filter((speed) => speed > 0).map((speed) => general(speed, 4));
  if (whole && block === 1 && speeds.length === 0)
    return "stays where it starts: V is a multiple of the identity";
  const wide = whole ? "L' is the whole space" : `comes near L' like e^(-${general(gap, 4)} t)`;
  const near =
    block > 1
      ? whole
        ? `${wide}; comes near L like 1/t`
        : `${wide}, and near L like 1/t`
      : whole
        ? `${wide}, and so is L`
        : `${wide}, and L' is L`;
  const end =
    speeds.length > 0
      ? `turns there for ever, at angular speed ${speeds.join(", ")}, and converges to no point`
      : "converges to a point";
  return `${near}; ${end}`;
}
