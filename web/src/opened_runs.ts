/** Runs of the folder that was opened: a stored run, or one of an ensemble. */

import { pretty } from "./axis.ts";
import { el } from "./dom.ts";
import type { RunRecord } from "./run_record.ts";
import type { Recording } from "./state.ts";

export interface OpenedRun {
  name: string;
  kind: "run" | "ensemble" | "trace" | "heads";
  runs: number;
  title: string;
}

const NO_RECORDING = ""; // no recording is shown

export class OpenedRuns {
  readonly element: HTMLElement;
  private readonly which: HTMLSelectElement;
  private readonly number = el("input", {
    type: "number",
    min: 1,
    value: 1,
    step: 1,
    "data-control": "opened-run",
    id: "control-opened-run",
  });
  private readonly label = el("label", { for: this.number.id }, "Run");
  private readonly row = el("div", { class: "field wide" }, this.label, this.number);
  private readonly about = el("p", { class: "about", "data-part": "about-run", hidden: true });
  private shown: string | null = null; // the recording in the menus, as a key

  constructor(
    private readonly opened: OpenedRun[],
    private readonly open: (name: string, run: number) => void,
  ) {
    this.which = el(
      "select",
      { "data-control": "opened", id: "control-opened" },
      el("option", { value: NO_RECORDING, disabled: true }, "choose…"),
      ...opened.map(({ name, title }) => el("option", { value: name }, title)),
    );
    this.which.addEventListener("change", () => {
      this.number.value = "1";
      this.go();
    });
    this.number.addEventListener("change", () => this.go());
    this.element = el(
      "fieldset",
      { class: "opened" },
      el("legend", {}, "Opened"),
      el("div", { class: "field wide" }, el("label", { for: this.which.id }, "Recording"), this.which),
      this.row,
      this.about,
    );
    this.show(null);
  }

  private go(): void {
    const chosen = this.opened.find(({ name }) => name === this.which.value);
    if (chosen === undefined) return;
    const run = Math.max(1, Math.min(chosen.runs, Math.round(this.number.valueAsNumber) || 1));
    this.number.value = String(run);
    this.limit();
    this.open(chosen.name, run - 1);
  }

  /** As many runs as the chosen file holds; of one there is nothing to choose. */
  private limit(): void {
    const chosen = this.opened.find(({ name }) => name === this.which.value);
    const runs = chosen?.runs ?? 1;
    this.label.textContent = `${chosen?.kind === "heads" ? "Head" : "Run"} of ${runs}`;
    this.row.hidden = runs <= 1;
    this.number.max = String(runs);
  }

  /** What is to be known of the recording that is shown. */
  tell(about: string): void {
    this.about.textContent = about;
    this.about.hidden = about === "";
  }

  /** Makes the menus say which recording is shown; what is being typed stays while that is the same. */
  show(recording: Recording | null): void {
    const key = JSON.stringify(recording);
    if (key === this.shown) return;
    this.shown = key;
    const known = recording !== null && this.opened.some(({ name }) => name === recording.name);
    this.which.value = known ? recording.name : NO_RECORDING;
    this.number.value = known ? String(recording.run + 1) : "1";
    this.limit();
  }
}

/** What is known of a recorded run, in place of controls. */
export function runFacts(run: RunRecord): HTMLElement {
  const { begun, trace } = run;
  if (trace !== null) {
    const { renyi, strong } = trace.reading.centers;
    const centers = `δ = ${pretty(begun.delta)}: ${renyi.length} Rényi, ${strong.length} of them strong`;
    return factList(begun.title ?? "Trace", [...trace.data.facts, ["Centers", centers]]);
  }
  const known: [string, string][] = [
    ["Times", `${pretty(run.t[0])} to ${pretty(run.t[run.frameCount - 1])}`],
    ["Frames", String(run.frameCount)],
    ["Cluster radius", pretty(begun.radius)],
  ];
  if (begun.centers.renyi.length > 0) known.push(["Center radius δ", pretty(begun.delta)]);
  if (begun.model !== undefined) known.push(["Model", begun.model]);
  return factList(begun.title ?? "Recorded run", known);
}

function factList(title: string, known: [string, string][]): HTMLElement {
  const rows = known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("fieldset", { class: "facts" }, el("legend", {}, title), el("dl", {}, ...rows));
}
