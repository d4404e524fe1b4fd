/** Form fields: a number with a slider, a choice. Each shows a value and says when the user chose another. */

import { el } from "./dom.ts";

export interface NumberSpec {
  name: string;
  label: string;
  title: string; // what it means, in a sentence
  min: number;
  max: number;
  whole?: boolean;
  slider?: { from: number; to: number; log: boolean };
}

/** What a field shows where the value is not known. */
export const UNKNOWN = "unknown";

const tidy = (value: number, whole: boolean): number =>
  whole ? Math.round(value) : Number(value.toPrecision(3));

/** Written so that it reads back the same, and fits the field. */
const brief = (value: number): string =>
  value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
    ? value.toExponential().replace("+", "")
    : String(value);

export class NumberField {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly slider: HTMLInputElement | null = null;

  constructor(
    private readonly spec: NumberSpec,
    chosen: (value: number, live: boolean) => void,
    showError: (text: string) => void,
  ) {
    const { name, label, title, min, max, whole = false, slider } = spec;
    this.input = el("input", {
      type: "text",
      inputmode: "decimal",
      id: `control-${name}`,
      "data-control": name,
      title,
      autocomplete: "off",
    });
    this.input.addEventListener("change", () => {
      const value = Number(this.input.value.trim().replace(",", "."));
      const wrong =
        this.input.value.trim() === "" ||
        !Number.isFinite(value) ||
        value < min ||
        value > max ||
        (whole && value !== Math.round(value));
      this.input.toggleAttribute("aria-invalid", wrong);
      const kind = whole ? "a whole number" : "a number";
      if (wrong) showError(`${label} must be ${kind} from ${min} to ${max}, but is “${this.input.value}”.`);
      else {
        showError(""); // also where the value is the one that was there before
        chosen(value, false);
      }
    });
    if (slider) {
      this.slider = el("input", {
        type: "range",
        min: 0,
        max: 1000,
        step: 1,
        "data-slider": name,
        "aria-label": `${label}, slider`,
        title,
      });
      this.slider.addEventListener("input", () => {
        const share = Number(this.slider!.value) / 1000;
        const raw = slider.log
          ? slider.from * (slider.to / slider.from) ** share
          : slider.from + share * (slider.to - slider.from);
        const value = tidy(raw, whole);
        this.slider!.setAttribute("aria-valuetext", String(value));
        this.input.value = brief(value);
        chosen(value, true);
      });
    }
    const text = el("label", { for: this.input.id, title }, label);
    this.element = el("div", { class: slider ? "field" : "field wide" }, text, this.slider, this.input);
  }

  /** null: not known. */
  show(value: number | null): void {
    this.input.removeAttribute("aria-invalid");
    this.input.placeholder = value === null ? UNKNOWN : "";
    this.element.classList.toggle("unknown", value === null);
    if (document.activeElement !== this.input) this.input.value = value === null ? "" : brief(value);
    if (value === null) {
      this.slider?.setAttribute("aria-valuetext", UNKNOWN);
      return;
    }
    const { slider } = this.spec;
    if (this.slider === null || slider === undefined || document.activeElement === this.slider) return;
    const share = slider.log
      ? Math.log(Math.max(value, slider.from) / slider.from) / Math.log(slider.to / slider.from)
      : (value - slider.from) / (slider.to - slider.from);
    this.slider.value = String(Math.round(1000 * Math.min(1, Math.max(0, share))));
    this.slider.setAttribute("aria-valuetext", String(value));
  }
}

/** A line of text; what is typed is handed on when the field is left. */
export class TextField {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;

  constructor(name: string, label: string, title: string, chosen: (text: string) => void) {
    this.input = el("input", {
      type: "text",
      id: `control-${name}`,
      "data-control": name,
      title,
      autocomplete: "off",
      spellcheck: "false",
    });
    this.input.addEventListener("change", () => chosen(this.input.value));
    const text = el("label", { for: this.input.id, title }, label);
    this.element = el("div", { class: "field wide detail" }, text, this.input);
  }

  show(text: string): void {
    if (document.activeElement !== this.input) this.input.value = text;
  }
}

/** The value of a choice that stands for something no menu offers: it can be left, not chosen. */
const AS_GIVEN = "own";

/** Texts by value. */
type Choices = { [value: string]: string };

const optionsOf = (choices: Choices): HTMLOptionElement[] =>
  Object.entries(choices).map(([value, text]) => el("option", { value }, text));

export class ChoiceField {
  readonly element: HTMLElement;
  readonly select: HTMLSelectElement;

  constructor(
    name: string,
    label: string,
    title: string,
    choices: Choices,
    chosen: (value: string) => void,
    groups: { [title: string]: Choices } = {},
  ) {
    const grouped = Object.entries(groups).map(([group, inside]) =>
      el("optgroup", { label: group }, ...optionsOf(inside)),
    );
    this.select = el(
      "select",
      { id: `control-${name}`, "data-control": name, title },
      ...optionsOf(choices),
      ...grouped,
    );
    this.select.addEventListener("change", () => chosen(this.select.value));
    this.element = el(
      "div",
      { class: "field wide" },
      el("label", { for: this.select.id, title }, label),
      this.select,
    );
  }

  show(value: string): void {
    for (const option of [...this.select.options])
      if (option.value === AS_GIVEN) option.hidden = value !== AS_GIVEN;
      else if (option.value === UNKNOWN && value !== UNKNOWN) option.remove();
    if (value === UNKNOWN && this.select.value !== UNKNOWN)
      this.select.append(el("option", { value: UNKNOWN, hidden: true }, UNKNOWN));
    this.select.value = value;
  }
}
