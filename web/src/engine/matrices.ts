/** Matrices with a name, and as people type them: `nucleate.parse` and `explorer.matrices` in brief. */

import type { MatrixChoice } from "../state.ts";
import { InputError } from "./errors.ts";
import { diagonal, identity, type Rows } from "./linear.ts";
import { Generator } from "./random.ts";

const HEAD_WIDTH = 16;
const MAX_ENTRY = 1e300;
const MAX_SEED = 2 ** 53;

/** Evenly spaced numbers as np.linspace has them. */
export function linspace(first: number, last: number, count: number): number[] {
  const step = (last - first) / (count - 1);
  return Array.from({ length: count }, (_, i) =>
    i === count - 1 && i > 0 ? last : i === 0 ? first : i * step + first,
  );
}

const round12 = (value: number): number => {
  const scaled = value * 1e12;
  const whole = Math.round(scaled);
  return (Math.abs(scaled - Math.trunc(scaled)) === 0.5 ? 2 * Math.round(scaled / 2) : whole) / 1e12;
};

type Make = (d: number, seed: number) => Rows;

const spread =
  (dominant: number[], first: number, last: number): Make =>
  (d) =>
    diagonal([...dominant, ...linspace(first, last, d - dominant.length).map(round12)]);

const block =
  (corner: Rows, other: number): Make =>
  (d) => {
    const M = diagonal(new Array<number>(d).fill(other));
    corner.forEach((row, i) => row.forEach((value, j) => (M[i][j] = value)));
    return M;
  };

const rowsOf = (values: Float64Array, columns: number): Rows =>
  Array.from({ length: values.length / columns }, (_, i) =>
    Array.from(values.subarray(i * columns, (i + 1) * columns)),
  );

const gaussian: Make = (d, seed) => {
  const root = Math.sqrt(d);
  return rowsOf(
    new Generator(seed).normals(d * d).map((value) => value / root),
    d,
  );
};

const head: Make = (d, seed) => {
  const rng = new Generator(seed);
  const values = rowsOf(rng.normals(d * HEAD_WIDTH * d), HEAD_WIDTH * d);
  const outputs = rowsOf(rng.normals(HEAD_WIDTH * d * d), d);
  const scale = d * Math.sqrt(HEAD_WIDTH);
  return values.map((row) =>
    Array.from({ length: d }, (_, j) => row.reduce((sum, one, k) => sum + one * outputs[k][j], 0) / scale),
  );
};

const NAMED: { [name: string]: { make: Make; least?: number; random?: boolean } } = {
  identity: { make: identity },
  row2: { make: spread([1, 1], 0.3, 0.1), least: 3 },
  row3: { make: spread([1], 0.5, 0.2) },
  row4: { make: spread([-0.5, -0.5], -1, -1.5) },
  row5: { make: spread([-0.5], -0.9, -1) },
  complex: {
    make: block(
      [
        [0.8, -0.6],
        [0.6, 0.8],
      ],
      0.2,
    ),
  },
  defective: {
    make: block(
      [
        [1, 1],
        [0, 1],
      ],
      0.3,
    ),
  },
  marginal: { make: spread([0], -0.4, -0.8) },
  "minus-identity": { make: (d) => diagonal(new Array<number>(d).fill(-1)) },
  gaussian: { make: gaussian, random: true },
  head: { make: head, random: true },
  mirror: { make: (d) => diagonal([-1, ...new Array<number>(d - 1).fill(1)]) },
};

/** The matrix that a scene of dimension d holds in this form. */
export function chosenMatrix(name: string, choice: MatrixChoice, d: number): Rows {
  if ("matrix" in choice) {
    checkRows(name, choice.matrix, d);
    return choice.matrix.map((row) => row.map((value) => value + 0));
  }
  const named = Object.hasOwn(NAMED, choice.preset) ? NAMED[choice.preset] : undefined;
  if (named === undefined)
    throw new InputError(
      `There is no matrix named ${choice.preset}. There is ${Object.keys(NAMED).join(", ")}.`,
    );
  if (d < (named.least ?? 2))
    throw new InputError(
      `The matrix ${choice.preset} needs a dimension of at least ${named.least}, but d is ${d}.` +
        " Choose another matrix or dimension.",
    );
  const seed = choice.seed ?? 0;
  if (!Number.isInteger(seed) || seed < 0 || seed > MAX_SEED)
    throw new InputError(`${name} seed must be a whole number from 0 to ${MAX_SEED}, but is ${seed}.`);
  return named.make(d, seed);
}

function checkRows(name: string, rows: unknown, d: number): void {
  const square =
    Array.isArray(rows) && rows.length === d && rows.every((row) => Array.isArray(row) && row.length === d);
  if (!square) throw new InputError(`${name} must have ${d} rows of ${d} numbers, as d is ${d}.`);
  for (const value of (rows as unknown[][]).flat()) {
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new InputError(`${name} must hold numbers only, but holds ${String(value)}.`);
    if (Math.abs(value) > MAX_ENTRY)
      throw new InputError(`${name} must have entries of at most ${MAX_ENTRY}, but has ${value}.`);
  }
}

const NUMBER = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?";
const IS_NUMBER = new RegExp(`^${NUMBER}$`);
const MULTIPLE = new RegExp(`^(?:([+-])|(${NUMBER})\\s*\\*)?\\s*identity$`);
const DIAGONAL = /^diag\(([^]*)\)$/;
const NAME = /^([a-z][a-z0-9-]*)(?:\(\s*([0-9]{1,16})\s*\))?$/;
const NOTATIONS = "2.0, identity, 0.5*identity, diag(1,1,-2), [[1,2],[3,4]] or a name";

/** What a matrix that was typed stands for, in the form in which a scene of dimension d holds it. */
export function readMatrix(name: string, typed: string, d: number): MatrixChoice {
  const text = typed.trim();
  const refuse = (): never => {
    const names = Object.keys(NAMED).join(", ");
    throw new InputError(
      `${name} must be a matrix, but is ${text.slice(0, 40)}. Write ${NOTATIONS} (${names}).`,
    );
  };
  const scaled = (factor: number): MatrixChoice => rows(diagonal(new Array<number>(d).fill(factor)));
  const rows = (M: Rows): MatrixChoice => {
    checkRows(name, M, d);
    if (M.every((row, i) => row.every((value, j) => value === (i === j ? M[0][0] : 0)))) {
      if (M[0][0] === 1) return { preset: "identity" };
      if (M[0][0] === -1) return { preset: "minus-identity" };
    }
    return { matrix: M.map((row) => row.map((value) => value + 0)) };
  };
  const listed = (values: number[]): MatrixChoice => {
    if (values.length !== d)
      throw new InputError(
        `${name} must have ${d} rows, as d is ${d}, but has a diagonal of ${values.length}.`,
      );
    return rows(diagonal(values));
  };
  if (IS_NUMBER.test(text)) return scaled(Number(text));
  const multiple = MULTIPLE.exec(text);
  if (multiple !== null) return scaled(Number(multiple.at(2) ?? `${multiple.at(1) ?? ""}1`));
  const found = DIAGONAL.exec(text);
  if (found !== null) {
    const entries = found[1].split(",").map((entry) => entry.trim());
    if (!entries.every((entry) => IS_NUMBER.test(entry))) return refuse();
    return listed(entries.map(Number));
  }
  if (text.startsWith("[")) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return refuse();
    }
    if (!Array.isArray(value)) return refuse();
    if (value.every((entry) => typeof entry === "number")) return listed(value);
    return rows(value as Rows);
  }
  const named = NAME.exec(text);
  if (named === null || !Object.hasOwn(NAMED, named[1])) return refuse();
  const { random = false } = NAMED[named[1]];
  const seed = named.at(2);
  if (seed !== undefined && !random)
    throw new InputError(`${name} has a seed, but the matrix ${named[1]} is not random. Leave the seed out.`);
  const choice = random ? { preset: named[1], seed: Number(seed ?? 0) } : { preset: named[1] };
  chosenMatrix(name, choice, d); // refuses dimensions and seeds
  return choice;
}
