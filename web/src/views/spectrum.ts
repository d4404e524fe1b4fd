/** Eigenvalues of V in the complex plane, and what Table 1 of the paper says of them. */

import { linearTicks, pretty } from "../axis.ts";
import { el } from "../dom.ts";
import type { Pen } from "../pen.ts";
import type { Spectrum } from "../run_record.ts";
import type { ViewContext } from "../view_context.ts";
import { TABLE_1 } from "../text.ts";
import { Plot, type Box } from "./plot.ts";

const PLANE_MARGIN = { left: 30, right: 12, top: 10, bottom: 30 }; // pixels

/** The verdict with its letters as in the paper, and how sure it is. */
function verdictText({ verdict, status, why, doubt }: Spectrum): string {
  const text = verdict
    .replaceAll("lambda_max", "λₘₐₓ")
    .replaceAll("x_1", "x₁")
    .replaceAll("-xi", "−ξ")
    .replace(/\bxi\b/g, "ξ");
  const sure = status === undefined || status === "outside the table" ? (why ?? "") : `A ${status}.`;
  return [text, sure, doubt ?? ""]
    .filter(Boolean)
    .map((part) => part.replace(/^[a-z]/, (letter) => letter.toUpperCase()).replace(/\.?$/, "."))
    .join(" ");
}

export class SpectrumView extends Plot {
  private readonly verdict = el("p", { class: "verdict" });
  private readonly rows: HTMLTableRowElement[];

  constructor(context: ViewContext) {
    super("spectrum", context);
    this.rows = TABLE_1.map((row) => el("tr", {}, ...row.map((text) => el("td", {}, text))));
    const head = el(
      "tr",
      {},
      ...["λ max", "mult.", "tokens end at"].map((text) => el("th", { scope: "col" }, text)),
    );
    const table = el(
      "table",
      { "aria-label": "Table 1 of the paper" },
      el("thead", {}, head),
      el("tbody", {}, ...this.rows),
    );
    const beside = el("div", { class: "beside" }, this.verdict, table);
    this.element.append(el("div", { class: "pair" }, this.panel.stage, beside));
  }

  protected keyOfLayer(): string {
    return `${this.context.run?.begun.id}/${this.context.theme.dark}`;
  }

  /** The plane: the origin, all eigenvalues, and the same unit both ways. */
  private plane(
    box: Box,
    values: [number, number][],
  ): { unit: number; x: number; y: number; reach: [number, number, number, number] } {
    const re = values.map(([a]) => a).concat(0);
    const im = values.map(([, b]) => Math.abs(b));
    const [low, high, up] = [Math.min(...re), Math.max(...re), Math.max(...im)];
    const wide = Math.max(high - low, 1e-9);
    const w = box.width - PLANE_MARGIN.left - PLANE_MARGIN.right;
    const h = box.height - PLANE_MARGIN.top - PLANE_MARGIN.bottom;
    const unit = Math.min(
      w / (wide * 1.35),
      h / Math.max(2 * up * 1.25, 1e-9),
      Math.min(w, h) / (wide * 1.1),
    );
    const middle = (low + high) / 2;
    const x = PLANE_MARGIN.left + w / 2 - middle * unit;
    const y = PLANE_MARGIN.top + h / 2;
    return {
      unit,
      x,
      y,
      reach: [
        (PLANE_MARGIN.left - x) / unit,
        (PLANE_MARGIN.left + w - x) / unit,
        (y - PLANE_MARGIN.top - h) / unit,
        (y - PLANE_MARGIN.top) / unit,
      ],
    };
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    const spectrum = run?.begun.spectrum ?? null;
    if (spectrum === null) {
      const text = run === null ? "" : "no matrix was kept with this recording";
      return pen.text(text, box.width / 2, box.height / 2, { fill: theme.soft, align: "center" });
    }
    const { unit, x, y, reach } = this.plane(box, spectrum.eigenvalues);
    const [left, right, foot, top] = [
      PLANE_MARGIN.left,
      box.width - PLANE_MARGIN.right,
      box.height - PLANE_MARGIN.bottom,
      PLANE_MARGIN.top,
    ];
    const label = { fill: theme.soft, size: 10.5 } as const;
    const [across, up] = [Math.floor(box.width / 42), Math.floor(box.height / 34)].map((count) =>
      Math.max(2, count),
    );
    for (const { value } of linearTicks(reach[0], reach[1], across)) {
      pen.line(x + value * unit, top, x + value * unit, foot, { stroke: theme.faint });
      pen.text(pretty(value), x + value * unit, foot + 4, { ...label, align: "center", baseline: "top" });
    }
    for (const { value } of linearTicks(reach[2], reach[3], up)) {
      pen.line(left, y - value * unit, right, y - value * unit, { stroke: theme.faint });
      pen.text(pretty(value), left - 4, y - value * unit, { ...label, align: "right" });
    }
    if (x >= left && x <= right) pen.line(x, top, x, foot, { stroke: theme.soft, width: 1.2 });
    pen.line(left, y, right, y, { stroke: theme.soft, width: 1.2 });
    pen.text("Re λ", right, box.height - 1, { ...label, align: "right", baseline: "bottom" });
    pen.text("Im", x + 4, top + 1, { ...label, baseline: "top" });
    const most = spectrum.lambda_max[0];
    const near = 1e-9 * Math.max(1, Math.abs(most));
    for (const [a, b] of spectrum.eigenvalues) {
      const dominant = Math.abs(a - most) <= near;
      pen.circle(x + a * unit, y - b * unit, 5, {
        fill: dominant ? theme.red : theme.ink,
        alpha: dominant ? 0.9 : 0.55,
        stroke: theme.paper,
        width: 1.2,
      });
    }
  }

  protected paintOverlay(): void {
    const spectrum = this.context.run?.begun.spectrum ?? null;
    const row = spectrum?.row ?? 0;
    const doubted = (spectrum?.doubt ?? null) !== null;
    this.rows.forEach((element, i) => {
      element.classList.toggle("here", i + 1 === row);
      element.classList.toggle("doubted", i + 1 === row && doubted);
    });
    const matching = `Row ${row} of Table 1${doubted ? ", not sure here" : ""}`;
    const where = spectrum === null ? "" : row > 0 ? matching : "Outside Table 1";
    const text = spectrum === null ? "" : verdictText(spectrum);
    if (this.verdict.textContent !== text) this.verdict.textContent = text;
    this.panel.showReading(where);
  }
}
