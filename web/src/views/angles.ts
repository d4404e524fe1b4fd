/**
 * Tokens over time: their angle on the circle; on spheres their distance from token 1, or their longitude.
 */

import type { Pen } from "../pen.ts";
import type { RunRecord } from "../run_record.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { ColouredPaths, visitStretches } from "./coloured_paths.ts";
import { ghostKey, ghostOf, ghostLines } from "./ghost.ts";
import type { Box } from "./plot.ts";
import { TimePlot } from "./time_plot.ts";
import { addLine } from "./unwrapped.ts";

const MAX_LINES = 240; // more are neither seen nor drawn in time
const MAX_CENTERS = 16;
const LINE_PICK_PIXELS = 9; // from a line to the pointer

/** Angle between two unit vectors, exact for close ones too. */
export function angleBetween(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let apart = 0;
  let along = 0;
  for (let c = 0; c < a.length; c++) {
    apart += (a[c] - b[c]) ** 2;
    along += (a[c] + b[c]) ** 2;
  }
  return 2 * Math.atan2(Math.sqrt(apart), Math.sqrt(along));
}

export class Angles extends TimePlot {
  private tokens: number[] = [];
  private values: Float32Array[] = []; // one (held,) for each of `tokens`
  private valuesKey = "";
  private readonly choice: HTMLSelectElement;

  constructor(context: ViewContext) {
    super("angles", context);
    this.minRepaintMillis = 140;
    const kinds = { distance: "distance from token 1", longitude: "longitude" };
    this.choice = this.panel.choice("What is drawn for each token", kinds, (value) =>
      context.changeLook({ angle: value as "distance" | "longitude" }),
    );
  }

  private get isPeriodic(): boolean {
    return this.context.run?.d === 2 || this.context.look.angle === "longitude";
  }

  private reading(i: number, k: number): number {
    return this.readingOf(this.context.run!, i, k);
  }

  private readingOf(run: RunRecord, i: number, k: number): number {
    const x = run.token(i, k);
    return this.isPeriodic ? Math.atan2(x[1], x[0]) : angleBetween(x, run.token(i, 0));
  }

  private refresh(): void {
    const { run, look } = this.context;
    const key = `${run?.begun.id}/${run?.frameCount}/${look.angle}`;
    if (run === null || key === this.valuesKey) return;
    this.valuesKey = key;
    const lines = Math.min(run.n, MAX_LINES);
    const chosen = new Set(Array.from({ length: lines }, (_, i) => Math.floor((i * run.n) / lines)));
    for (const center of run.begun.centers.renyi.slice(0, MAX_CENTERS)) chosen.add(center);
    this.tokens = [...chosen].sort((a, b) => a - b);
    this.values = this.tokens.map((k) => this.series(k));
  }

  private series(k: number): Float32Array {
    return Float32Array.from({ length: this.context.run!.frameCount }, (_, i) => this.reading(i, k));
  }

  protected keyOfLayer(): string {
    const { run, theme, palette } = this.context;
    this.refresh();
    const drawn = [this.valuesKey, run?.status, run?.measured !== null, ghostKey(this.ghost)];
    return [...drawn, palette.trailVersion, theme.dark].join("/");
  }

  /** One that has the same axis. */
  private get ghost(): RunRecord | null {
    return ghostOf(this.context, (ghost) => (ghost.d === 2) === (this.context.run!.d === 2));
  }

  private paintGhost(pen: Pen, box: Box, ghost: RunRecord): void {
    const { scale, theme } = this.context;
    const columns = Array.from(ghost.t.subarray(0, ghost.frameCount), (t) => this.x(scale.place(t), box));
    const last = columns.findLastIndex((column) => column <= this.x(1, box) + 0.5);
    const points: number[] = [];
    for (const { token, last: joined } of last < 0 ? [] : ghostLines(ghost)) {
      const shares = columns.map((_, i) => this.share(this.readingOf(ghost, i, token)));
      const end = Math.min(last, joined);
      addLine(shares, columns, 0, end, this.isPeriodic, (share) => this.y(share, box), points);
    }
    pen.path(points, { stroke: theme.soft, width: 1, alpha: 0.4 });
  }

  /** The share of the axis at which a value is drawn. */
  private share(value: number): number {
    return this.isPeriodic ? (value + Math.PI) / (2 * Math.PI) : value / Math.PI;
  }

  private trace(values: Float32Array, columns: Float32Array, box: Box, into: number[]): void {
    if (values.length > 0) this.stretch(values, columns, 0, values.length - 1, box, into);
  }

  /** The line of `values` from one frame to another. */
  private stretch(
    values: Float32Array,
    columns: Float32Array,
    first: number,
    last: number,
    box: Box,
    into: number[],
  ): void {
    const shares = values.map((value) => this.share(value));
    addLine(shares, columns, first, last, this.isPeriodic, (share) => this.y(share, box), into);
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, palette, theme } = this.context;
    const rows = this.isPeriodic
      ? ([
          [0, "−π"],
          [0.5, "0"],
          [1, "π"],
        ] as const)
      : ([
          [0, "0"],
          [0.5, "π/2"],
          [1, "π"],
        ] as const);
    this.drawAxes(
      pen,
      box,
      rows.map(([at, text]) => ({ at, text })),
    );
    if (run === null) return;
    const columns = this.frameColumns(box);
    if (this.ghost !== null) this.paintGhost(pen, box, this.ghost);
    const lines = new ColouredPaths();
    this.tokens.forEach((k, place) =>
      visitStretches(run, palette, k, (colour, first, last) =>
        this.stretch(this.values[place], columns, first, last, box, lines.of(colour, palette.isDimmed(k))),
      ),
    );
    lines.paint(pen, 1, this.tokens.length > 80 ? 0.6 : 0.85);
    this.centers(pen, box, columns, theme.ink, theme.red);
  }

  private centers(pen: Pen, box: Box, columns: Float32Array, ink: string, red: string): void {
    const { renyi, strong } = this.context.run!.begun.centers;
    for (const [list, colour] of [
      [renyi, ink],
      [strong, red],
    ] as const) {
      const points: number[] = [];
      for (const k of list.slice(0, MAX_CENTERS))
        this.trace(this.values[this.tokens.indexOf(k)] ?? this.series(k), columns, box, points);
      pen.path(points, { stroke: colour, width: 1.3 });
    }
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme, hover, palette } = this.context;
    this.choice.hidden = run === null || run.d === 2;
    this.choice.value = this.context.look.angle;
    if (run === null || run.frameCount === 0) return;
    const x = this.drawCursor(pen, box, 0.72);
    const shown =
      this.tokens.length < run.n
        ? `${this.tokens.length} of ${run.n} tokens drawn`
        : run.d === 2
          ? "angle φ of every token"
          : "";
    if (hover === null) return this.panel.showReading(shown);
    const points: number[] = [];
    const value = this.reading(currentFrame(this.context), hover);
    this.trace(this.series(hover), this.frameColumns(box), box, points);
    pen.path(points, { stroke: theme.paper, width: 5 });
    pen.path(points, { stroke: palette.of(hover), width: 2.4 });
    pen.circle(x, this.y(this.share(value), box), 4.5, {
      fill: palette.of(hover),
      stroke: theme.ink,
      width: 1.5,
    });
    this.panel.showReading(`token ${hover + 1}: ${value.toFixed(3)} rad`);
  }

  protected override tokenAt(x: number, y: number): number | null {
    const { run } = this.context;
    if (run === null || run.frameCount === 0) return null;
    const columns = this.frameColumns(this.box);
    let frame = 0;
    while (frame + 1 < columns.length && Math.abs(columns[frame + 1] - x) <= Math.abs(columns[frame] - x))
      frame++;
    let best: number | null = null;
    let nearest = LINE_PICK_PIXELS;
    this.tokens.forEach((k, place) => {
      const apart = Math.abs(this.y(this.share(this.values[place][frame]), this.box) - y);
      if (apart < nearest) [nearest, best] = [apart, k];
    });
    return best;
  }
}
