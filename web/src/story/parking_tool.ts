/** Takes token after token, in their order, and tells which become centers; by itself, or by a slider. */

import type { App } from "../app.ts";
import { pretty } from "../axis.ts";
import { el } from "../dom.ts";
import type { RunRecord } from "../run_record.ts";
import { parking } from "./parking.ts";

const CENTER_SECONDS = 1.1; // that a new center is looked at
const OTHER_SECONDS = 0.03; // and any other token

/** How many tokens have been looked at after so many seconds. */
export function lookedAfter(seconds: number, n: number, centers: readonly number[]): number {
  const isCenter = new Set(centers);
  let [looked, spent] = [0, 0];
  while (looked < n && spent <= seconds) {
    spent += isCenter.has(looked) ? CENTER_SECONDS : OTHER_SECONDS;
    looked++;
  }
  return looked;
}

/** What to say after so many tokens. */
export function parkingText(looked: number, run: RunRecord): string {
  const { renyi, strong } = run.begun.centers;
  const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
  if (looked >= run.n)
    return `All ${run.n} tokens: ${many(renyi.length, "Rényi center")}, ${strong.length} of them strong.`;
  const center = renyi.filter((k) => k < looked).at(-1);
  if (center === undefined) return "";
  if (center === 0) return "Token 1 has none before it: the first center, and a strong one.";
  const delta = `δ = ${pretty(run.begun.delta)} rad`;
  const what = strong.includes(center)
    ? `is farther than ${delta} from every earlier token: a strong center`
    : `is farther than ${delta} from every earlier center, but not from every earlier token: a Rényi center`;
  return `Token ${center + 1} ${what}. ${many(renyi.filter((k) => k < looked).length, "center")} so far.`;
}

export class ParkingTool {
  private readonly slider = el("input", {
    type: "range",
    min: 0,
    max: 0,
    value: 0,
    "data-control": "parking",
    "aria-label": "Tokens looked at",
  });
  private readonly count = el("span", { class: "parking-count" });
  readonly element = el(
    "div",
    { class: "parking" },
    el("label", {}, "Tokens looked at ", this.slider),
    this.count,
  );
  private since: number | null = null; // milliseconds, while it goes by itself
  private active = false;

  constructor(private readonly app: App) {
    this.slider.addEventListener("input", () => {
      this.since = null;
      parking.looked = Number(this.slider.value);
      app.redraw();
    });
  }

  begin(): void {
    this.active = true;
    parking.looked = this.app.reducedMotion ? Infinity : 0;
    this.since = this.app.reducedMotion ? null : NaN; // set when the run is there
  }

  end(): void {
    this.active = false;
    this.since = null;
    parking.looked = null;
  }

  /** The caption, or null where the run has no centers or has begun to move. */
  draw(now: number, run: RunRecord | null): string | null {
    if (!this.active || run === null || parking.looked === null) return null;
    const { renyi } = run.begun.centers;
    if (renyi.length === 0) return null;
    if (this.since !== null) {
      if (Number.isNaN(this.since)) this.since = now;
      const reached = lookedAfter((now - this.since) / 1000, run.n, renyi);
      if (reached !== parking.looked) parking.looked = reached;
      if (reached >= run.n) this.since = null;
      else this.app.redraw();
    }
    parking.looked = Math.min(parking.looked, run.n);
    this.slider.max = String(run.n);
    if (Number(this.slider.value) !== parking.looked) this.slider.value = String(parking.looked);
    this.count.textContent = `${parking.looked} of ${run.n}`;
    return parkingText(parking.looked, run);
  }
}
