/** Runs of the folder that was opened: a stored run, or one of an ensemble. */

import { pretty } from "./axis.ts";
import { el } from "./dom.ts";
import type { RunRecord } from "./record.ts";

export interface OpenedRun {
  name: string;
  kind: "run" | "ensemble";
  runs: number;
  title: string;
}

export class OpenedRuns {
  readonly element: HTMLElement;

  constructor(opened: OpenedRun[], open: (name: string, run: number) => void) {
    const which = el(
      "select",
      { "data-control": "opened", id: "control-opened" },
      ...opened.map(({ title }, i) => el("option", { value: i }, title)),
    );
    const number = el("input", { type: "number", min: 1, value: 1, step: 1, "data-control": "opened-run", id: "control-opened-run" });
    const row = el("div", { class: "field wide" }, el("label", { for: number.id }, "Run"), number);
    const chosen = (): OpenedRun => opened[Number(which.value)];
    const show = (): void => {
      row.hidden = chosen().runs <= 1;
      number.max = String(chosen().runs);
    };
    const go = (): void => {
      const run = Math.max(1, Math.min(chosen().runs, Math.round(number.valueAsNumber) || 1));
      number.value = String(run);
      open(chosen().name, run - 1);
    };
    which.addEventListener("change", () => {
      number.value = "1";
      show();
      go();
    });
    number.addEventListener("change", go);
    this.element = el(
      "fieldset",
      {},
      el("legend", {}, "Opened"),
      el("div", { class: "field wide" }, el("label", { for: which.id }, "Recording"), which),
      row,
    );
    show();
  }
}

/** What is known of a recorded run, in place of controls. */
export function facts(run: RunRecord): HTMLElement {
  const { begun } = run;
  const known: [string, string][] = [
    ["Times", `${pretty(run.t[0])} to ${pretty(run.t[run.held - 1])}`],
    ["Frames", String(run.held)],
    ["Center radius δ", pretty(begun.delta)],
    ["Cluster radius", pretty(begun.radius)],
  ];
  const rows = known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("fieldset", { class: "facts" }, el("legend", {}, begun.title ?? "Recorded run"), el("dl", {}, ...rows));
}
