/** Ticks over the scrubber where clusters merge, and the two buttons that go from one merger to the next. */

import { pretty } from "./axis.ts";
import { byId, el, icon, svg } from "./dom.ts";
import { describeMergers, neighbourEvent, type MergerHistory } from "./mergers.ts";
import type { Player } from "./player.ts";
import { currentFrame, type ViewContext } from "./view_context.ts";

const STRIP_HEIGHT = 12; // pixels of the strip, as drawn
const THUMB_PIXELS = 16; // of the slider: its middle moves over the width less this
const ICONS = {
  previous: "M9 2.5 4 8l5 5.5V9.5h4v-3H9zM2 2.5h1.5v11H2z",
  next: "M7 2.5 12 8l-5 5.5V9.5H3v-3h4zM12.5 2.5H14v11h-1.5z",
};

export class ScrubberTicks {
  private readonly strip = svg("svg", { class: "ticks", "aria-hidden": "true", "data-ticks": 0 });
  private readonly title = svg("title", {});
  private readonly previous: HTMLButtonElement;
  private readonly next: HTMLButtonElement;
  private drawnKey = "";

  constructor(
    private readonly context: ViewContext,
    private readonly player: Player,
    private readonly showMessage: (text: string) => void,
    private readonly told: () => void, // what happens where the cursor is now was said
  ) {
    const slider = byId("player").querySelector<HTMLInputElement>("input[type=range]")!;
    const track = el("div", { class: "track" });
    slider.replaceWith(track);
    track.append(this.strip, slider);
    const button = (action: "previous" | "next", label: string, by: 1 | -1): HTMLButtonElement =>
      el(
        "button",
        {
          type: "button",
          class: "round",
          "data-action": `${action}-event`,
          "aria-label": label,
          title: label,
          click: () => this.go(by),
        },
        icon(ICONS[action]),
      );
    this.previous = button("previous", "Previous merger (P)", -1);
    this.next = button("next", "Next merger (N)", 1);
    byId("player").querySelector(".buttons")!.append(this.previous, this.next);
    this.strip.addEventListener("click", (event) => this.pick(event));
    this.strip.addEventListener("pointermove", (event) => this.describe(this.nearest(event)));
    new ResizeObserver(() => context.redraw()).observe(track);
  }

  private get history(): MergerHistory | null {
    const { run } = this.context;
    return run === null || run.trace !== null ? null : run.mergers;
  }

  /** To the next merger of note, or back to the one before. */
  go(by: 1 | -1): void {
    const frames = this.history?.eventFrames ?? [];
    const frame = neighbourEvent(frames, currentFrame(this.context), by);
    if (frame === null)
      return this.showMessage(by > 0 ? "No later merger in this run." : "No earlier merger in this run.");
    this.player.seek(frame);
    this.say(frame);
  }

  private say(frame: number): void {
    this.told();
    const text = describeMergers(this.history!, frame);
    this.showMessage(`t = ${pretty(this.context.run!.t[frame])}: ${text}.`);
  }

  /** The event nearest to the pointer, as a finger cannot hit a line. */
  private nearest(event: MouseEvent): number | null {
    const frames = this.history?.eventFrames ?? [];
    let best: number | null = null;
    let nearest = Infinity;
    for (const frame of frames) {
      const apart = Math.abs(this.x(frame) - event.offsetX);
      if (apart < nearest) [nearest, best] = [apart, frame];
    }
    return best;
  }

  private pick(event: MouseEvent): void {
    const frame = this.nearest(event);
    if (frame === null) return;
    this.player.seek(frame);
    this.say(frame);
  }

  private describe(frame: number | null): void {
    const text =
      frame === null
        ? ""
        : `t = ${pretty(this.context.run!.t[frame])}: ${describeMergers(this.history!, frame)}`;
    if (this.title.textContent !== text) this.title.textContent = text;
  }

  private x(frame: number): number {
    const width = this.strip.clientWidth;
    const last = Math.max(1, (this.context.run?.capacity ?? 2) - 1);
    return THUMB_PIXELS / 2 + ((width - THUMB_PIXELS) * frame) / last;
  }

  draw(): void {
    const { run, theme, palette } = this.context;
    const history = this.history;
    const at = currentFrame(this.context);
    const key = [
      run?.begun.id,
      history !== null,
      this.strip.clientWidth,
      theme.paper,
      palette.trailVersion,
    ].join("/");
    if (key !== this.drawnKey) {
      this.drawnKey = key;
      const lines = (history?.eventFrames ?? []).map((frame) => {
        const lost = history!.mergers.filter((one) => one.frame === frame && one.ofNote);
        const largest = lost.reduce((a, b) => (b.tokens > a.tokens ? b : a));
        const share = Math.sqrt(largest.tokens / run!.n);
        const height = 3 + (STRIP_HEIGHT - 3) * Math.min(1, 1.6 * share);
        const x = this.x(frame).toFixed(1);
        return svg("line", {
          x1: x,
          x2: x,
          y1: STRIP_HEIGHT,
          y2: (STRIP_HEIGHT - height).toFixed(1),
          stroke: palette.ownOf(history!.branches[largest.branch].leader),
          "data-event": frame,
        });
      });
      this.strip.replaceChildren(this.title, ...lines);
      this.strip.dataset.ticks = String(lines.length);
    }
    const frames = history?.eventFrames ?? [];
    this.previous.disabled = neighbourEvent(frames, at, -1) === null;
    this.next.disabled = neighbourEvent(frames, at, 1) === null;
    this.previous.parentElement!.classList.toggle("eventless", frames.length === 0);
  }
}
