/** What screen readers are told while a run plays: mergers that were passed, and the end. */

import type { App } from "./app.ts";
import { announcement } from "./description.ts";
import { el } from "./dom.ts";
import { mergersBetween, type Merger } from "./mergers.ts";
import type { RunRecord } from "./run_record.ts";
import { currentFrame } from "./view_context.ts";

const PAUSE_MILLIS = 3000; // between two announcements: a sentence takes about as long to be read aloud
const LONGEST_STEP = 10; // frames: a longer jump by hand passes nothing

export class Announcer {
  readonly element = el("div", { id: "announcements", class: "aloud", "aria-live": "polite" });
  private run: RunRecord | null = null;
  private frame = 0;
  private wasPlaying = false;
  private mergers: Merger[] = []; // passed and not told yet
  private atEnd = false; // reached and not told yet
  private saidAt = -Infinity; // milliseconds
  private timer = 0;

  constructor(private readonly app: App) {}

  /** To be called with every picture. */
  follow(): void {
    const { run, playing } = this.app;
    const frame = currentFrame(this.app);
    if (run === null) return;
    if (run !== this.run) this.forget(run, frame);
    const step = frame - this.frame;
    if (step > 0 && (playing || this.wasPlaying || step <= LONGEST_STEP))
      this.mergers.push(...mergersBetween(run.mergers, this.frame, frame));
    else if (step !== 0) this.mergers = [];
    const last = run.status !== "running" && frame === run.frameCount - 1;
    this.atEnd = last && (this.atEnd || (step > 0 && (this.wasPlaying || step <= LONGEST_STEP)));
    this.frame = frame;
    this.wasPlaying = playing;
    if ((this.mergers.length > 0 || this.atEnd) && this.timer === 0)
      this.timer = window.setTimeout(
        () => this.say(),
        Math.max(0, this.saidAt + PAUSE_MILLIS - performance.now()),
      );
  }

  /** What was passed up to the cursor has been told elsewhere. */
  skip(): void {
    if (this.app.run !== null) this.forget(this.app.run, currentFrame(this.app));
  }

  private forget(run: RunRecord, frame: number): void {
    this.run = run;
    this.frame = frame;
    this.mergers = [];
    this.atEnd = false;
  }

  private say(): void {
    this.timer = 0;
    if (this.run === null || (this.mergers.length === 0 && !this.atEnd)) return;
    this.saidAt = performance.now();
    this.element.textContent = announcement(this.run, this.mergers, this.frame, this.atEnd);
    this.mergers = [];
    this.atEnd = false;
  }
}
