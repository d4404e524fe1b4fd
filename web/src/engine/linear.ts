/** Small dense matrices as rows of numbers: products, symmetric eigenvectors, singular values. */

export type Rows = number[][];

export const identity = (d: number): Rows =>
  Array.from({ length: d }, (_, i) => Array.from({ length: d }, (_, j) => (i === j ? 1 : 0)));

export const diagonal = (values: number[]): Rows =>
  values.map((value, i) => values.map((_, j) => (i === j ? value : 0)));

export const isIdentity = (M: Rows): boolean =>
  M.every((row, i) => row.every((value, j) => value === (i === j ? 1 : 0)));

export const transpose = (M: Rows): Rows =>
  M.length === 0 ? [] : M[0].map((_, j) => M.map((row) => row[j]));

export const product = (A: Rows, B: Rows): Rows =>
  A.map((row) =>
    Array.from({ length: B[0]?.length ?? 0 }, (_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)),
  );

/** The square root of the sum of all squares. */
export const size = (M: Rows): number => Math.hypot(...M.flat());

/** The solution w of A w = b, null where A is singular. */
export function solved(A: Rows, b: number[]): number[] | null {
  const m = A.length;
  const rows = A.map((row, r) => [...row, b[r]]);
  for (let c = 0; c < m; c++) {
    let best = c;
    for (let r = c; r < m; r++) if (Math.abs(rows[r][c]) > Math.abs(rows[best][c])) best = r;
    if (Math.abs(rows[best][c]) < 1e-12) return null;
    [rows[c], rows[best]] = [rows[best], rows[c]];
    rows[c] = rows[c].map((value) => value / rows[c][c]);
    for (let r = 0; r < m; r++)
      if (r !== c) {
        const factor = rows[r][c];
        rows[r] = rows[r].map((value, j) => value - factor * rows[c][j]);
      }
  }
  return rows.map((row) => row[m]);
}

const SWEEPS = 60;

/** Eigenvalues, the largest first, and eigenvectors as columns, of a symmetric matrix: Jacobi's rotations. */
export function symmetricEigen(M: Rows): { values: number[]; vectors: Rows } {
  const d = M.length;
  const A = M.map((row) => row.slice());
  const U = identity(d);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let off = 0;
    for (let p = 0; p < d; p++)
      for (let q = p + 1; q < d; q++) {
        off += Math.abs(A[p][q]);
        if (Math.abs(A[p][q]) < 1e-300) continue;
        const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < d; k++) {
          [A[k][p], A[k][q]] = [c * A[k][p] - s * A[k][q], s * A[k][p] + c * A[k][q]];
        }
        for (let k = 0; k < d; k++) {
          [A[p][k], A[q][k]] = [c * A[p][k] - s * A[q][k], s * A[p][k] + c * A[q][k]];
          [U[k][p], U[k][q]] = [c * U[k][p] - s * U[k][q], s * U[k][p] + c * U[k][q]];
        }
        A[p][q] = A[q][p] = 0;
      }
    if (off < 1e-300) break;
  }
  const order = Array.from({ length: d }, (_, i) => i).sort((a, b) => A[b][b] - A[a][a]);
  return { values: order.map((i) => A[i][i]), vectors: U.map((row) => order.map((i) => row[i])) };
}

/** Singular values, the largest first, and right singular vectors as columns: one-sided Jacobi. */
export function singular(M: Rows): { values: number[]; right: Rows } {
  const d = M[0].length;
  const A = transpose(M); // rows are the columns of M
  const R = identity(d);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let turned = false;
    for (let p = 0; p < d; p++)
      for (let q = p + 1; q < d; q++) {
        let a = 0;
        let b = 0;
        let g = 0;
        for (let k = 0; k < M.length; k++) {
          a += A[p][k] ** 2;
          b += A[q][k] ** 2;
          g += A[p][k] * A[q][k];
        }
        if (Math.abs(g) <= 1e-16 * Math.sqrt(a * b) || g === 0) continue;
        turned = true;
        const zeta = (b - a) / (2 * g);
        const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(zeta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = c * t;
        for (const [one, count] of [
          [A, M.length],
          [R, d],
        ] as [Rows, number][])
          for (let k = 0; k < count; k++)
            [one[p][k], one[q][k]] = [c * one[p][k] - s * one[q][k], s * one[p][k] + c * one[q][k]];
      }
    if (!turned) break;
  }
  const lengths = A.map((row) => Math.hypot(...row));
  const order = lengths.map((_, i) => i).sort((i, j) => lengths[j] - lengths[i]);
  return { values: order.map((i) => lengths[i]), right: transpose(order.map((i) => R[i])) };
}
