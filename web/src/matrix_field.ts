/** Choosing a matrix: a preset by name, or its numbers in a small table (a text field when it is large). */

import { el } from "./dom.ts";
import type { MatrixChoice } from "./state.ts";

export interface MatrixPreset {
  name: string;
  title: string;
  of_V?: string; // the title as V, where it says more
  dims: [number, number];
  seeded?: boolean; // random: takes a seed
}

const OWN_MATRIX = "own matrix";
const MAX_TABLE_DIMENSION = 5;

/** Rows of numbers from text; throws in words. */
export function readMatrix(text: string, d: number): number[][] {
  const rows = text
    .trim()
    .split(/\n|;/)
    .map((row) =>
      row
        .trim()
        .split(/[\s,]+/)
        .map(Number),
    );
  const lengths = rows.map((row) => row.length);
  if (lengths.length !== d || lengths.some((length) => length !== d))
    throw new Error(`The matrix must have ${d} rows of ${d} numbers, but has rows of ${lengths.join(", ")}.`);
  if (rows.some((row) => row.some((value) => !Number.isFinite(value))))
    throw new Error(
      "The matrix holds something that is not a number. Write numbers, spaces between them, one row a line.",
    );
  return rows;
}

export class MatrixField {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly editor = el("div", { class: "matrix" });
  private choice: MatrixChoice = { preset: "identity" };
  private d = 0;

  constructor(
    private readonly name: "V" | "Q" | "K",
    label: string,
    private readonly presets: MatrixPreset[],
    private readonly current: () => number[][],
    private readonly chosen: (choice: MatrixChoice) => void,
    private readonly showError: (text: string) => void,
  ) {
    this.select = el("select", { id: `control-${name}`, "data-control": name });
    this.select.addEventListener("change", () =>
      this.chosen(
        this.select.value === OWN_MATRIX ? { matrix: this.current() } : { preset: this.select.value },
      ),
    );
    this.element = el(
      "div",
      { class: "field wide" },
      el("label", { for: this.select.id }, label),
      this.select,
      this.editor,
    );
  }

  show(choice: MatrixChoice, d: number): void {
    const rebuilt = d !== this.d;
    this.d = d;
    if (rebuilt) {
      const fits = this.presets.filter(({ dims }) => dims[0] <= d && d <= dims[1]);
      this.select.replaceChildren(
        ...fits.map(({ name, title, of_V }) =>
          el("option", { value: name }, this.name === "V" ? (of_V ?? title) : title),
        ),
        el("option", { value: OWN_MATRIX }, "own matrix…"),
      );
    }
    const own = "matrix" in choice;
    this.select.value = own ? OWN_MATRIX : choice.preset;
    if (!own) this.editPreset(choice);
    else if (
      rebuilt ||
      JSON.stringify(choice) !== JSON.stringify(this.choice) ||
      this.editor.childElementCount === 0
    )
      this.edit(choice.matrix);
    this.choice = choice;
  }

  /** A random preset has a seed of its own. */
  private editPreset(choice: { preset: string; seed?: number }): void {
    if (this.editor.contains(document.activeElement)) return;
    if (!this.presets.some(({ name, seeded }) => name === choice.preset && seeded))
      return this.editor.replaceChildren();
    const seed = el("input", {
      type: "number",
      min: 0,
      step: 1,
      value: choice.seed ?? 0,
      id: `control-${this.name}-seed`,
      "data-control": `${this.name}-seed`,
    });
    seed.addEventListener("change", () => {
      if (Number.isInteger(seed.valueAsNumber) && seed.valueAsNumber >= 0)
        this.chosen({ preset: choice.preset, seed: seed.valueAsNumber });
      else this.showError(`The seed of ${this.name} must be a whole number from 0 on.`);
    });
    this.editor.replaceChildren(
      el("div", { class: "field wide detail" }, el("label", { for: seed.id }, `Seed of ${this.name}`), seed),
    );
  }

  private edit(matrix: number[][]): void {
    if (this.editor.contains(document.activeElement)) return; // the field that is being edited stays
    if (this.d > MAX_TABLE_DIMENSION) return this.editText(matrix);
    const cells = matrix.map((row, r) =>
      row.map((value, c) =>
        el("input", {
          type: "number",
          step: "any",
          value,
          "aria-label": `${this.name}, row ${r + 1}, column ${c + 1}`,
        }),
      ),
    );
    const read = (): void => {
      const values = cells.map((row) => row.map((cell) => cell.valueAsNumber));
      if (values.some((row) => row.some((value) => !Number.isFinite(value))))
        return this.showError(`${this.name} has a field that is not a number.`);
      this.chosen({ matrix: values });
    };
    cells.flat().forEach((cell) => cell.addEventListener("change", read));
    const rows = cells.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))));
    this.editor.replaceChildren(
      el("table", { role: "group", "aria-label": `Entries of ${this.name}` }, ...rows),
    );
  }

  private editText(matrix: number[][]): void {
    const text = el("textarea", {
      rows: 6,
      spellcheck: "false",
      "aria-label": `Entries of ${this.name}, one row a line`,
    });
    text.value = matrix.map((row) => row.join(" ")).join("\n");
    text.addEventListener("change", () => {
      try {
        this.chosen({ matrix: readMatrix(text.value, this.d) });
      } catch (error) {
        this.showError((error as Error).message);
      }
    });
    this.editor.replaceChildren(text);
  }
}
