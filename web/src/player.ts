/** Play, pause, step and scrub: one cursor for all views, moving in log time. */

import { pretty } from "./axis.ts";
import { byId, el, icon } from "./dom.ts";
import { frameOf, type Scope } from "./scope.ts";

const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8zM12 3h1.5v10H12z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M3.5 3h3v10h-3zM9.5 3h3v10h-3z",
  forward: "M5 3v10l7-5zM2.5 3H4v10H2.5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const WHOLE = 15; // seconds a whole run takes when no speed is chosen

export class Player {
  private last = 0;
  private readonly playButton: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly time = el("output", { class: "time", "aria-label": "time" });
  private readonly frame = el("span", { class: "frame" });
  private readonly speed: HTMLSelectElement;

  constructor(
    private readonly scope: Scope,
    /** Says that the cursor has come to rest, so that the address can follow. */
    private readonly rested: () => void,
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
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    const choices = SPEEDS.map((value) =>
      el("option", { value }, `${value} decades/s`.replace("1 decades", "1 decade")),
    );
    const whole = el("option", { value: 0 }, `whole run in ${WHOLE} s`);
    this.speed = el(
      "select",
      { "data-control": "speed", "aria-label": "Speed in decades of time per second" },
      whole,
      ...choices,
    );
    this.speed.addEventListener("change", () => scope.restyle({ speed: Number(this.speed.value) }));
    const buttons = el(
      "div",
      { class: "buttons" },
      button("first", "First frame (Home)", () => this.go(0)),
      button("back", "One frame back (←)", () => this.step(-1)),
      this.playButton,
      button("forward", "One frame on (→)", () => this.step(1)),
      button("last", "Last frame (End)", () => this.go(Infinity)),
    );
    const readout = el("div", { class: "readout" }, this.time, this.frame);
    byId("player").append(
      buttons,
      readout,
      this.slider,
      el("label", { class: "speed" }, "Speed ", this.speed),
    );
  }

  toggle(play = !this.scope.playing): void {
    const { scope } = this;
    if (
      play &&
      scope.run !== null &&
      scope.run.held > 1 &&
      scope.run.status !== "running" &&
      scope.cursor >= scope.run.held - 1
    )
      scope.cursor = 0;
    scope.playing = play;
    this.last = performance.now();
    if (!play) {
      scope.cursor = frameOf(scope); // rest on a frame that was computed, not between two
      this.rested();
    }
    scope.changed();
  }

  go(frame: number): void {
    if (this.scope.playing) this.toggle(false);
    this.scope.seek(frame);
  }

  step(by: number): void {
    this.go(frameOf(this.scope) + by);
  }

  /** Moves the cursor on by the time that has passed; true while it keeps moving. */
  advance(now: number): boolean {
    const { scope } = this;
    const { run, scale } = scope;
    if (!scope.playing || run === null) return false;
    const passed = Math.min(0.1, Math.max(0, (now - this.last) / 1000));
    this.last = now;
    const place =
      scale.placeOf(scope.cursor, run.t, run.held) +
      passed * (scope.look.speed > 0 ? scope.look.speed / scale.decades : 1 / WHOLE);
    scope.cursor = Math.max(scope.cursor, scale.cursor(place, run.t, run.held));
    if (scope.cursor < run.held - 1 - 1e-6 || run.status === "running") return true;
    scope.cursor = run.held - 1;
    this.toggle(false);
    return false;
  }

  draw(): void {
    const { scope } = this;
    const { run } = scope;
    const i = frameOf(scope);
    const t = run !== null && run.held > 0 ? run.t[i] : 0;
    this.slider.max = String(Math.max(0, (run?.capacity ?? 1) - 1));
    if (Number(this.slider.value) !== i) this.slider.value = String(i);
    this.slider.setAttribute("aria-valuetext", `time ${pretty(t)}, frame ${i + 1} of ${run?.held ?? 0}`);
    this.time.textContent = `t = ${pretty(t, 4)}`;
    this.frame.textContent = run === null ? "" : `frame ${i + 1} of ${run.capacity}`;
    this.speed.value = String(scope.look.speed);
    const action = scope.playing ? "pause" : "play";
    if (this.playButton.dataset.shows !== action) {
      this.playButton.dataset.shows = action;
      this.playButton.replaceChildren(icon(ICONS[action]));
      this.playButton.setAttribute("aria-label", scope.playing ? "Pause (space)" : "Play (space)");
    }
  }
}
