/** The number of clusters over time, on a logarithmic scale: plateaus are metastable states. */

import type { Tick } from "../axis.ts";
import type { Pen } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import type { Box } from "./plot.ts";
import { TimePlot } from "./time_plot.ts";

const TICK_COUNTS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

export class Clusters extends TimePlot {
  constructor(context: ViewContext) {
    super("clusters", context);
  }

  private get maxCount(): number {
    const counts = this.context.run?.measured?.clusters;
    return Math.max(
      4,
      counts === undefined ? (this.context.run?.n ?? 4) : counts.reduce((a, b) => Math.max(a, b), 1),
    );
  }

  private share(count: number): number {
    return Math.log(Math.max(1, count)) / Math.log(this.maxCount * 1.08);
  }

  protected keyOfLayer(): string {
    const { run, theme, scale } = this.context;
    const drawn = [run?.begun.id, run?.frameCount, run?.measured !== null, run?.status, run?.abandoned];
    return [...drawn, theme.dark, scale.decades].join("/");
  }

  private ticks(box: Box): Tick[] {
    const ticks: Tick[] = [];
    const gap = 22 / Math.max(1, box.height);
    for (const count of TICK_COUNTS) {
      const at = this.share(count);
      if (at <= 1 && (ticks.length === 0 || at - ticks[ticks.length - 1].at > gap))
        ticks.push({ at, text: String(count) });
    }
    return ticks;
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    this.drawAxes(pen, box, this.ticks(box));
    const counts = run?.measured?.clusters;
    if (counts === undefined) {
      return this.drawPlaceholder(pen, box, "counted");
    }
    const columns = this.frameColumns(box);
    const points: number[] = [];
    for (let i = 0; i < columns.length; i++) {
      if (i > 0) points.push(columns[i], this.y(this.share(counts[i - 1]), box));
      points.push(columns[i], this.y(this.share(counts[i]), box));
    }
    pen.path(points, { stroke: theme.ink, width: 1.8 });
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    if (run === null || run.frameCount === 0) return;
    const counts = run.measured?.clusters;
    if (counts === undefined) return this.panel.showReading(run.abandoned ? "not counted" : "");
    const x = this.drawCursor(pen, box, 0.72);
    const now = counts[currentFrame(this.context)];
    pen.circle(x, this.y(this.share(now), box), 4, { fill: theme.ink, stroke: theme.paper, width: 1.5 });
    this.panel.showReading(now === 1 ? "1 cluster" : `${now} clusters`);
  }
}
