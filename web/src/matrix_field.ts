/**
 * Choosing a matrix: a preset by name, its numbers in a small table, or a text in any notation that the
 * server reads (the text alone when the matrix is large).
 */

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

const NOTATIONS = "2.0, 0.5*identity, diag(1,1,-2), [[1,2],[3,4]], row3, gaussian(7) …";

/** Rows of numbers without brackets, as they are pasted, with brackets; any other text as it is. */
export function bracketed(text: string): string {
  const numbersAlone = /^[-+.\deE\s,;]+$/.test(text) && /\d[\s,;]+[^\s,;]/.test(text);
  if (!numbersAlone) return text;
  const words = (row: string): string[] => row.split(/[\s,]+/).filter((word) => word !== "");
  const rows = text.split(/[\n;]/).map(words);
  // JSON knows neither .5 nor +1
  const json = (word: string): string => (Number.isFinite(Number(word)) ? String(Number(word)) : word);
  return written(rows.filter((row) => row.length > 0).map((row) => row.map(json)));
}

/** A matrix as the server reads it, one row a line. */
export const written = (matrix: (number | string)[][]): string =>
  `[${matrix.map((row) => `[${row.join(", ")}]`).join(",\n ")}]`;

export class MatrixField {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly editor = el("div", { class: "matrix" });
  private choice: MatrixChoice = { preset: "identity" };
  private d = 0;
  private asked = false; // the server, what a text stands for

  constructor(
    private readonly name: "V" | "Q" | "K",
    label: string,
    private readonly presets: MatrixPreset[],
    private readonly current: () => number[][],
    private readonly chosen: (choice: MatrixChoice) => void,
    /** Asks the server what a text stands for; `answered` is told. */
    private readonly ask: (text: string, d: number) => void,
    private readonly showError: (text: string) => void,
  ) {
    this.select = el("select", { id: `control-${name}`, "data-control": name });
    this.select.addEventListener("change", () => {
      this.asked = false;
      this.chosen(
        this.select.value === OWN_MATRIX ? { matrix: this.current() } : { preset: this.select.value },
      );
    });
    this.element = el(
      "div",
      { class: "field wide" },
      el("label", { for: this.select.id }, label),
      this.select,
      this.editor,
    );
  }

  /** The server has read what was typed here for dimension d. */
  answered(choice: MatrixChoice, d: number): void {
    if (!this.asked || d !== this.d) return; // something else was chosen meanwhile
    this.asked = false;
    if (this.editor.contains(document.activeElement)) this.select.focus();
    this.editor.replaceChildren(); // what was typed gives way to what it stands for
    this.chosen(choice);
    this.show(choice, d);
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
        this.taken({ preset: choice.preset, seed: seed.valueAsNumber });
      else this.showError(`The seed of ${this.name} must be a whole number from 0 on.`);
    });
    this.editor.replaceChildren(
      el("div", { class: "field wide detail" }, el("label", { for: seed.id }, `Seed of ${this.name}`), seed),
    );
  }

  private edit(matrix: number[][]): void {
    if (this.editor.contains(document.activeElement)) return; // the field that is being edited stays
    if (this.d > MAX_TABLE_DIMENSION) {
      const text = this.textField("textarea", { rows: 6 });
      text.value = written(matrix);
      const hint = `Also ${NOTATIONS} Read when you leave the field.`;
      return this.editor.replaceChildren(text, el("p", { class: "about" }, hint));
    }
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
      this.taken({ matrix: values });
    };
    cells.flat().forEach((cell) => cell.addEventListener("change", read));
    const rows = cells.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))));
    this.editor.replaceChildren(
      el("table", { role: "group", "aria-label": `Entries of ${this.name}` }, ...rows),
      this.textField("input", { type: "text", placeholder: `or ${NOTATIONS}` }),
    );
  }

  /** What was typed is a matrix: what was said of an earlier try is over, also where nothing changes. */
  private taken(choice: MatrixChoice): void {
    this.showError("");
    this.chosen(choice);
  }

  /** Where a matrix is typed in any notation. */
  private textField<K extends "input" | "textarea">(
    kind: K,
    attributes: { [name: string]: string | number },
  ): HTMLElementTagNameMap[K] {
    const field = el(kind, {
      ...attributes,
      spellcheck: "false",
      autocomplete: "off",
      title: `Such as ${NOTATIONS}`,
      "data-control": `${this.name}-text`,
      "aria-label": `${this.name} as text, such as ${NOTATIONS}`,
    });
    field.addEventListener("change", () => {
      if (field.value.trim() === "") return;
      this.asked = true;
      this.ask(bracketed(field.value), this.d);
    });
    return field;
  }
}
