/** The text of what happened, under the views: closed at first, for everybody who wants words. */

import { describeRun } from "./description.ts";
import { el } from "./dom.ts";
import type { RunRecord } from "./run_record.ts";

export class WhatHappened {
  private readonly text = el("div", { class: "text" });
  readonly element = el(
    "details",
    { class: "panel in-words", "data-part": "in-words" },
    el("summary", {}, "What happened, in words"),
    this.text,
  );
  private shown = "";

  constructor(private readonly run: () => RunRecord | null) {
    this.element.addEventListener("toggle", () => this.show());
  }

  /** Writes the text anew where another run, or more of it, is there; only while it is open. */
  show(): void {
    const run = this.run();
    if (!this.element.open || run === null) return;
    const key = [run.begun.id, run.trace?.reading.name, run.frameCount, run.status, run.measured !== null];
    if (key.join("/") === this.shown) return;
    this.shown = key.join("/");
    this.text.replaceChildren(...describeRun(run).map((sentence) => el("p", {}, sentence)));
  }
}
