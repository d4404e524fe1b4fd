/** The number of clusters over time, on a logarithmic scale: plateaus are metastable states. */

import type { Tick } from "../axis.ts";
import type { Pen } from "../pen.ts";
import { frameOf, type Scope } from "../scope.ts";
import type { Box } from "./plot.ts";
import { OverTime } from "./overtime.ts";

const ROUND = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

export class Clusters extends OverTime {
  constructor(scope: Scope) {
    super("clusters", scope);
  }

  private get top(): number {
    const counts = this.scope.run?.measured?.clusters;
    return Math.max(
      4,
      counts === undefined ? (this.scope.run?.n ?? 4) : counts.reduce((a, b) => Math.max(a, b), 1),
    );
  }

  private share(count: number): number {
    return Math.log(Math.max(1, count)) / Math.log(this.top * 1.08);
  }

  protected keyOf(): string {
    const { run, theme, scale } = this.scope;
    const drawn = [run?.begun.id, run?.held, run?.measured !== null, run?.status];
    return [...drawn, theme.dark, scale.decades].join("/");
  }

  private ticks(box: Box): Tick[] {
    const ticks: Tick[] = [];
    const gap = 22 / Math.max(1, box.height);
    for (const count of ROUND) {
      const at = this.share(count);
      if (at <= 1 && (ticks.length === 0 || at - ticks[ticks.length - 1].at > gap))
        ticks.push({ at, text: String(count) });
    }
    return ticks;
  }

  protected paint(pen: Pen, box: Box): void {
    const { run, theme } = this.scope;
    this.axes(pen, box, this.ticks(box));
    const counts = run?.measured?.clusters;
    if (counts === undefined) {
      return this.later(pen, box, "counted");
    }
    const columns = this.columns(box);
    const points: number[] = [];
    for (let i = 0; i < columns.length; i++) {
      if (i > 0) points.push(columns[i], this.y(this.share(counts[i - 1]), box));
      points.push(columns[i], this.y(this.share(counts[i]), box));
    }
    pen.path(points, { stroke: theme.ink, width: 1.8 });
  }

  protected over(pen: Pen, box: Box): void {
    const { run, theme } = this.scope;
    if (run === null || run.held === 0) return;
    const counts = run.measured?.clusters;
    if (counts === undefined) return this.panel.say("");
    const x = this.cursorLine(pen, box, 0.72);
    const now = counts[frameOf(this.scope)];
    pen.circle(x, this.y(this.share(now), box), 4, { fill: theme.ink, stroke: theme.paper, width: 1.5 });
    this.panel.say(now === 1 ? "1 cluster" : `${now} clusters`);
  }
}
