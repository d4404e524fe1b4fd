/**
 * A view over the shared time axis: draws the axis and the cursor, and moves the cursor where one presses.
 */

import type { Tick } from "../axis.ts";
import type { Pen } from "../pen.ts";
import { TAP_PIXELS } from "../touch.ts";
import { Plot, type Box } from "./plot.ts";
import type { ViewContext } from "../view_context.ts";

export const TIME_MARGIN = { left: 40, right: 14, top: 8, bottom: 34 }; // pixels

export abstract class TimePlot extends Plot {
  private pressed = false;
  private finger: number | null = null; // where one was put down: a swipe scrolls, a tap seeks

  constructor(name: string, context: ViewContext) {
    super(name, context);
    this.canvas.classList.add("seeks");
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") {
        this.putDown(event);
        return;
      }
      this.pressed = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.seek(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.finger !== null && Math.abs(event.offsetX - this.finger) > TAP_PIXELS) {
        this.pressed = true;
        this.finger = null;
      }
      if (this.pressed) this.seek(event);
      else context.highlight(this.tokenAt(event.offsetX, event.offsetY));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (this.finger !== null) this.seek(event);
      this.pressed = false;
      this.finger = null;
    });
    this.canvas.addEventListener("pointercancel", () => {
      this.pressed = false;
      this.finger = null;
    });
    this.canvas.addEventListener("pointerleave", () => context.highlight(null));
  }

  /** A second finger means neither a tap nor a way along the axis. */
  private putDown({ isPrimary, offsetX }: PointerEvent): void {
    this.finger = isPrimary ? offsetX : null;
    this.pressed = false;
  }

  protected tokenAt(_x: number, _y: number): number | null {
    return null;
  }

  protected seek(event: PointerEvent): void {
    const { run, scale } = this.context;
    if (run === null) return;
    const place =
      (event.offsetX - TIME_MARGIN.left) / (this.box.width - TIME_MARGIN.left - TIME_MARGIN.right);
    this.context.seek(Math.round(scale.cursor(place, run.t, run.frameCount)));
  }

  protected x(place: number, box: Box): number {
    return TIME_MARGIN.left + place * (box.width - TIME_MARGIN.left - TIME_MARGIN.right);
  }

  protected y(share: number, box: Box): number {
    return box.height - TIME_MARGIN.bottom - share * (box.height - TIME_MARGIN.top - TIME_MARGIN.bottom);
  }

  /** Where frames lie, in pixels. */
  protected frameColumns(box: Box): Float32Array {
    const { run, scale } = this.context;
    return Float32Array.from({ length: run?.frameCount ?? 0 }, (_, i) => this.x(scale.place(run!.t[i]), box));
  }

  protected drawAxes(pen: Pen, box: Box, rows: Tick[], below: "" | "legend" = ""): void {
    const { theme, scale } = this.context;
    for (const { at, text } of rows) {
      pen.line(TIME_MARGIN.left, this.y(at, box), box.width - TIME_MARGIN.right, this.y(at, box), {
        stroke: theme.faint,
      });
      pen.text(text, TIME_MARGIN.left - 6, this.y(at, box), {
        fill: theme.soft,
        align: "right",
        size: 10.5,
      });
    }
    const base = this.y(0, box) + 3;
    const trace = this.context.run?.trace != null;
    for (const { at, text } of scale.ticks(Math.max(2, Math.floor(box.width / 52)))) {
      if (trace && text.includes(".")) continue; // layers are whole numbers
      pen.line(this.x(at, box), base, this.x(at, box), base + 4, { stroke: theme.soft, alpha: 0.6 });
      pen.text(text, this.x(at, box), base + 6, {
        fill: theme.soft,
        align: "center",
        baseline: "top",
        size: 10.5,
      });
    }
    if (below === "" || box.width > 290)
      pen.text(trace ? "after block" : "time t", box.width - TIME_MARGIN.right, box.height - 1, {
        fill: theme.soft,
        align: "right",
        baseline: "bottom",
        size: 10.5,
      });
  }

  /**
   * In place of a curve that is not there yet: in two lines, so that they fit between the labels of a narrow
   * view.
   */
  protected drawPlaceholder(pen: Pen, box: Box, done: string): void {
    const { run, theme } = this.context;
    if (run === null) return;
    const why = { error: "run was given up", interrupted: "server was lost" };
    const lines =
      run.abandoned !== null
        ? [`not ${done}: the`, why[run.abandoned]]
        : run.status === "running"
          ? [`${done} when`, "the run has ended"]
          : [`being ${done} …`];
    const middle = (TIME_MARGIN.left + box.width - TIME_MARGIN.right) / 2;
    const top = (TIME_MARGIN.top + box.height - TIME_MARGIN.bottom - 16 * lines.length) / 2 + 8;
    lines.forEach((text, i) =>
      pen.text(text, middle, top + 16 * i, { fill: theme.soft, align: "center", halo: theme.paper }),
    );
  }

  /** The cursor, and a veil over what has not happened yet. */
  protected drawCursor(pen: Pen, box: Box, veil: number): number {
    const { run, scale, theme, cursor } = this.context;
    if (run === null) return 0;
    const x = this.x(scale.placeOf(cursor, run.t, run.frameCount), box);
    const top = TIME_MARGIN.top - 4;
    const height = box.height - TIME_MARGIN.bottom + 3 - top;
    if (!this.saving)
      pen.rect(x, top, Math.max(0, box.width - TIME_MARGIN.right + 2 - x), height, {
        fill: theme.paper,
        alpha: veil,
      });
    pen.line(x, top, x, top + height, { stroke: theme.ink, width: 1 });
    return x;
  }
}
