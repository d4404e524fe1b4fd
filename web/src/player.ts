/** Play, pause, step and scrub: one cursor for all views, moving in log time. */

import { pretty } from "./axis.ts";
import { byId, el, icon } from "./dom.ts";
import { Pacing, WHOLE_RUN_SECONDS } from "./pacing.ts";
import { currentFrame, type ViewContext } from "./view_context.ts";

const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8zM12 3h1.5v10H12z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M3.5 3h3v10h-3zM9.5 3h3v10h-3z",
  forward: "M5 3v10l7-5zM2.5 3H4v10H2.5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const LONGEST_SKIP_SECONDS = 1; // of playing: a machine that draws slowly skips frames, and keeps time

export class Player {
  private last = 0;
  private lastRun: ViewContext["run"] = null; // that was played then
  private readonly pacing = new Pacing();
  private readonly playButton: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly time = el("span", { class: "time" }); // no live region: it changes with every frame
  private readonly frame = el("span", { class: "frame" });
  private readonly speed: HTMLSelectElement;

  constructor(
    private readonly context: ViewContext,
    /** The cursor stands still, so that the address can follow. */
    private readonly onPause: () => void,
  ) {
    const button = (action: keyof typeof ICONS, label: string, act: () => void): HTMLButtonElement =>
      el(
        "button",
        {
          type: "button",
          class: "round",
          "data-action": action,
          "aria-label": label,
          title: label,
          click: act,
        },
        icon(ICONS[action]),
      );
    this.playButton = button("play", "Play (space)", () => this.toggle());
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      "data-control": "time",
      "aria-label": "Frame under the cursor",
    });
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    const choices = SPEEDS.map((value) =>
      el("option", { value }, `${value} decades/s`.replace("1 decades", "1 decade")),
    );
    const whole = el("option", { value: 0 }, "paced by motion");
    this.speed = el(
      "select",
      { "data-control": "speed", "aria-label": "Speed in decades of time per second" },
      whole,
      ...choices,
    );
    this.speed.addEventListener("change", () => context.changeLook({ speed: Number(this.speed.value) }));
    const buttons = el(
      "div",
      { class: "buttons" },
      button("first", "First frame (Home)", () => this.seek(0)),
      button("back", "One frame back (←)", () => this.step(-1)),
      this.playButton,
      button("forward", "One frame on (→)", () => this.step(1)),
      button("last", "Last frame (End)", () => this.seek(Infinity)),
    );
    const readout = el("div", { class: "readout" }, this.time, this.frame);
    byId("player").append(
      buttons,
      readout,
      this.slider,
      el("label", { class: "speed" }, "Speed ", this.speed),
    );
  }

  toggle(play = !this.context.playing): void {
    const { context } = this;
    if (
      play &&
      context.run !== null &&
      context.run.frameCount > 1 &&
      context.run.status !== "running" &&
      context.cursor >= context.run.frameCount - 1
    )
      context.cursor = 0;
    context.playing = play;
    this.last = performance.now();
    if (!play) {
      context.cursor = currentFrame(context); // stop on a frame that was computed, not between two
      this.onPause();
    }
    context.redraw();
  }

  seek(frame: number): void {
    if (this.context.playing) this.toggle(false);
    this.context.seek(frame);
  }

  step(by: number): void {
    this.seek(currentFrame(this.context) + by);
  }

  /** Moves the cursor on by the time that has passed; true while it keeps moving. */
  advance(now: number): boolean {
    const { context } = this;
    const { run, scale } = context;
    if (!context.playing || run === null) return false;
    if (run !== this.lastRun) this.last = now; // it was not there before
    const passed = Math.min(LONGEST_SKIP_SECONDS, Math.max(0, (now - this.last) / 1000));
    [this.last, this.lastRun] = [now, run];
    if (context.look.speed === 0 && run.trace === null)
      context.cursor = this.pacing.advance(run, context.cursor, passed);
    else {
      const place =
        scale.placeOf(context.cursor, run.t, run.frameCount) +
        passed * (context.look.speed > 0 ? context.look.speed / scale.decades : 1 / WHOLE_RUN_SECONDS);
      context.cursor = Math.max(context.cursor, scale.cursor(place, run.t, run.frameCount));
    }
    if (context.cursor < run.frameCount - 1 - 1e-6 || run.status === "running") return true;
    context.cursor = run.frameCount - 1;
    this.toggle(false);
    return false;
  }

  draw(): void {
    const { context } = this;
    const { run } = context;
    const i = currentFrame(context);
    const t = run !== null && run.frameCount > 0 ? run.t[i] : 0;
    this.slider.max = String(Math.max(0, (run?.capacity ?? 1) - 1));
    if (Number(this.slider.value) !== i) this.slider.value = String(i);
    const layer = t === 0 ? "embedding" : `after block ${t}`;
    const over = run?.trace == null ? `time ${pretty(t)}, frame ${i + 1} of ${run?.frameCount ?? 0}` : layer;
    this.slider.setAttribute("aria-valuetext", over);
    this.time.textContent = run?.trace == null ? `t = ${pretty(t, 4)}` : layer;
    const of = run?.trace == null ? `frame ${i + 1} of ${run?.capacity}` : `of ${run.capacity - 1} blocks`;
    this.frame.textContent = run === null ? "" : of;
    this.speed.value = String(context.look.speed);
    const action = context.playing ? "pause" : "play";
    if (this.playButton.dataset.shows !== action) {
      this.playButton.dataset.shows = action;
      this.playButton.replaceChildren(icon(ICONS[action]));
      this.playButton.setAttribute("aria-label", context.playing ? "Pause (space)" : "Play (space)");
    }
  }
}
