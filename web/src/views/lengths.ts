/** The lengths of tokens over time, where the norm gives them some: one line per token. */

import { linearTicks, power, pretty, type Tick } from "../axis.ts";
import type { Pen } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { ColouredPaths, visitStretches } from "./coloured_paths.ts";
import type { Box } from "./plot.ts";
import { TimePlot } from "./time_plot.ts";

const MAX_LINES = 240; // more are neither seen nor drawn in time
const LOG_FROM_RATIO = 20; // of the longest to the shortest

export class Lengths extends TimePlot {
  private low = 0;
  private high = 1;
  private log = false;

  constructor(context: ViewContext) {
    super("lengths", context);
  }

  protected keyOfLayer(): string {
    const { run, theme, scale, palette } = this.context;
    const drawn = [run?.begun.id, run?.frameCount, run?.measured !== null, run?.status, palette.trailVersion];
    return [...drawn, theme.dark, scale.decades].join("/");
  }

  private share(length: number): number {
    if (!this.log) return (length - this.low) / (this.high - this.low);
    return Math.log(length / this.low) / Math.log(this.high / this.low);
  }

  private fit(norms: Float64Array): void {
    let [low, high] = [Infinity, 0];
    for (const length of norms) [low, high] = [Math.min(low, length), Math.max(high, length)];
    this.log = low > 0 && high / low > LOG_FROM_RATIO;
    [this.low, this.high] = this.log ? [low, high * 1.1] : [0, Math.max(high * 1.1, 1e-300)];
  }

  private ticks(box: Box): Tick[] {
    const most = Math.max(2, Math.floor(box.height / 40));
    if (!this.log)
      return linearTicks(0, this.high, most).map(({ at, value }) => ({ at, text: pretty(value) }));
    const [from, to] = [Math.ceil(Math.log10(this.low) - 1e-9), Math.floor(Math.log10(this.high))];
    const step = Math.max(1, Math.ceil((to - from + 1) / most));
    const ticks: Tick[] = [];
    for (let e = from; e <= to; e += step)
      ticks.push({ at: this.share(10 ** e), text: e >= 0 && e <= 2 ? String(10 ** e) : power(e) });
    return ticks;
  }

  private trace(norms: Float64Array, k: number, columns: Float32Array, box: Box, into: number[]): void {
    this.stretch(norms, k, columns, 0, columns.length - 1, box, into);
  }

  /** The line of token k from one frame to another. */
  private stretch(
    norms: Float64Array,
    k: number,
    columns: Float32Array,
    first: number,
    last: number,
    box: Box,
    into: number[],
  ): void {
    const n = this.context.run!.n;
    into.push(NaN, NaN);
    for (let i = first; i <= last; i++) into.push(columns[i], this.y(this.share(norms[i * n + k]), box));
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, palette } = this.context;
    const norms = run?.measured?.norms ?? null;
    if (run === null || norms === null) {
      this.drawAxes(pen, box, []);
      return this.drawPlaceholder(pen, box, "shown");
    }
    this.fit(norms);
    this.drawAxes(pen, box, this.ticks(box));
    const columns = this.frameColumns(box);
    const lines = Math.min(run.n, MAX_LINES);
    const paths = new ColouredPaths();
    for (let i = 0; i < lines; i++) {
      const k = Math.floor((i * run.n) / lines);
      visitStretches(run, palette, k, (colour, first, last) =>
        this.stretch(norms, k, columns, first, last, box, paths.of(colour, palette.isDimmed(k))),
      );
    }
    paths.paint(pen, 1, 0.7);
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme, hover, palette } = this.context;
    const norms = run?.measured?.norms ?? null;
    if (run === null || norms === null) return this.panel.showReading("");
    const x = this.drawCursor(pen, box, 0.72);
    const now = norms.subarray(currentFrame(this.context) * run.n, (currentFrame(this.context) + 1) * run.n);
    if (hover === null) {
      const [low, high] = [now.reduce((a, b) => Math.min(a, b)), now.reduce((a, b) => Math.max(a, b))];
      const [from, to] = [pretty(low), pretty(high)];
      return this.panel.showReading(from === to ? from : `${from} to ${to}`);
    }
    const points: number[] = [];
    this.trace(norms, hover, this.frameColumns(box), box, points);
    pen.path(points, { stroke: theme.paper, width: 5 });
    pen.path(points, { stroke: palette.of(hover), width: 2.4 });
    pen.circle(x, this.y(this.share(now[hover]), box), 4.5, {
      fill: palette.of(hover),
      stroke: theme.ink,
      width: 1.5,
    });
    const name = run.trace === null ? `token ${hover + 1}` : `“${run.trace.words[hover]}”`;
    this.panel.showReading(`${name}: ${pretty(now[hover])}`);
  }
}
