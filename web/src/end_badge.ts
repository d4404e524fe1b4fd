/** The badge in the corner of the sphere or circle: the last frame against the row of Table 1. */

import { predictedEnds } from "./dominant_space.ts";
import { el } from "./dom.ts";
import { endVerdict, type Verdict } from "./end_verdict.ts";
import { opensPopover } from "./explained_words.ts";
import type { RunRecord } from "./run_record.ts";

const kept = new WeakMap<RunRecord, { frames: number; verdict: Verdict }>();

/** Null while the run is not over, and for traces, of which the paper's table does not speak. */
export function verdictOf(run: RunRecord): Verdict | null {
  if (run.trace !== null || run.status === "running" || run.frameCount < 2) return null;
  const before = kept.get(run);
  if (before?.frames === run.frameCount) return before.verdict;
  const { spectrum, beta, Q, K, V } = run.begun;
  const { L, point } = predictedEnds(run);
  const end = run.frameCount - 1;
  const verdict = endVerdict({
    n: run.n,
    d: run.d,
    t: run.t[end],
    x: run.frame(end),
    first: run.token(0, 0),
    row: spectrum?.row ?? null,
    status: spectrum?.status ?? "",
    why: spectrum?.why ?? "",
    within: spectrum?.within_conjecture ?? false,
    L,
    point,
    beta,
    Q,
    K,
    V,
  });
  kept.set(run, { frames: run.frameCount, verdict });
  return verdict;
}

export class EndBadge {
  private readonly element = el("button", { type: "button", class: "badge", hidden: true });
  private verdict: Verdict | null = null;

  constructor() {
    opensPopover(this.element, () => [
      el("strong", {}, `The end of this run: ${this.verdict?.badge ?? ""}`),
      el("p", {}, this.verdict?.why ?? ""),
    ]);
  }

  /** Below the stage of the view that shows the tokens; where the style sheets say so, over its corner. */
  draw(run: RunRecord | null, stage: HTMLElement | null): void {
    const verdict = run === null ? null : verdictOf(run);
    if (stage !== null && this.element.previousElementSibling !== stage) stage.after(this.element);
    if (verdict === this.verdict) return;
    this.verdict = verdict;
    this.element.hidden = verdict === null;
    this.element.dataset.verdict = verdict?.kind ?? "";
    this.element.textContent = verdict === null ? "" : `End: ${verdict.badge}`;
  }
}
