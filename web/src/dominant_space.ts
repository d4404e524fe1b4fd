/**
 * The dominant eigenspace L of V, and the point of it where rows 1 and 2 of Table 1 say that all tokens end.
 * The server tells both; an engine that does not gets them here, from V and its largest eigenvalue. The rows
 * of the table mean a real and semisimple one, so L is the null space of V − λ, and the point is the spectral
 * projection of x₁(0) onto it, normalised.
 */

import type { RunRecord } from "./run_record.ts";

export interface PredictedEnds {
  L: number[][] | null; // orthonormal vectors, each (d,)
  point: number[] | null;
}

const RANK_TOLERANCE = 1e-8; // of the largest entry of V
const kept = new WeakMap<RunRecord, PredictedEnds>();

export function predictedEnds(run: RunRecord): PredictedEnds {
  const known = kept.get(run);
  if (known !== undefined) return known;
  const ends = found(run);
  if (run.frameCount > 0) kept.set(run, ends);
  return ends;
}

function found(run: RunRecord): PredictedEnds {
  const { spectrum, V, predicted_point: told } = run.begun;
  if (spectrum === null) return { L: null, point: null };
  if (spectrum.L !== undefined) return { L: spectrum.L, point: told ?? null };
  if (spectrum.row === null || V.length !== run.d || run.frameCount === 0) return { L: null, point: null };
  const L = eigenspace(V, spectrum.lambda_max[0]);
  const first = Array.from(run.token(0, 0));
  if (spectrum.row === 1) return { L, point: first };
  return { L, point: spectrum.row === 2 ? spectralPoint(V, spectrum.lambda_max[0], first) : null };
}

const dot = (a: number[], b: number[]): number => a.reduce((sum, value, c) => sum + value * b[c], 0);

/** Orthonormal vectors that span the null space of V − λ. */
export function eigenspace(V: number[][], lambda: number): number[][] {
  const basis: number[][] = [];
  for (const vector of nullSpace(
    V.map((row, r) => row.map((value, c) => value - (r === c ? lambda : 0))),
    V,
  )) {
    let left = vector;
    for (let twice = 0; twice < 2; twice++)
      for (const other of basis) {
        const along = dot(left, other);
        left = left.map((value, c) => value - along * other[c]);
      }
    const length = Math.hypot(...left);
    basis.push(left.map((value) => value / length));
  }
  return basis;
}

/** x projected onto the eigenspace of λ along all others, normalised; null where nothing is left of it. */
export function spectralPoint(V: number[][], lambda: number, x: number[]): number[] | null {
  const right = eigenspace(V, lambda);
  const left = eigenspace(
    V.map((_, r) => V.map((row) => row[r])),
    lambda,
  );
  if (right.length === 0 || left.length !== right.length) return null;
  const weights = solved(
    left.map((a) => right.map((b) => dot(a, b))),
    left.map((a) => dot(a, x)),
  );
  if (weights === null) return null;
  const y = x.map((_, c) => right.reduce((sum, vector, i) => sum + weights[i] * vector[c], 0));
  const length = Math.hypot(...y);
  return length < RANK_TOLERANCE ? null : y.map((value) => value / length);
}

/** Gauss–Jordan with the largest pivot; what is smaller than the tolerance is zero. */
function nullSpace(A: number[][], scale: number[][]): number[][] {
  const d = A.length;
  const small = RANK_TOLERANCE * Math.max(...scale.flat().map(Math.abs), Number.MIN_VALUE);
  const rows = A.map((row) => [...row]);
  const pivots: number[] = []; // the column of each row that has one
  for (let r = 0; r < d; r++) {
    let best: [number, number] = [r, -1];
    for (let i = r; i < d; i++)
      for (let c = 0; c < d; c++)
        if (!pivots.includes(c) && (best[1] < 0 || Math.abs(rows[i][c]) > Math.abs(rows[best[0]][best[1]])))
          best = [i, c];
    const [i, c] = best;
    if (c < 0 || Math.abs(rows[i][c]) <= small) break;
    [rows[r], rows[i]] = [rows[i], rows[r]];
    pivots.push(c);
    rows[r] = rows[r].map((value) => value / rows[r][c]);
    for (let other = 0; other < d; other++) {
      if (other === r) continue;
      const factor = rows[other][c];
      rows[other] = rows[other].map((value, j) => value - factor * rows[r][j]);
    }
  }
  const free = rows.map((_, c) => c).filter((c) => !pivots.includes(c));
  return free.map((column) =>
    rows.map((_, c) => (c === column ? 1 : pivots.includes(c) ? -rows[pivots.indexOf(c)][column] : 0)),
  );
}

/** The solution of A w = b, null where A is singular. */
function solved(A: number[][], b: number[]): number[] | null {
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
