/** The share of tokens near Rényi centers and near strong centers over time. */

import type { Pen } from "../pen.ts";
import { frameOf, type Scope } from "../scope.ts";
import type { Box } from "./plot.ts";
import { MARGIN, OverTime } from "./overtime.ts";

export class Consumption extends OverTime {
  constructor(scope: Scope) {
    super("consumption", scope);
  }

  protected keyOf(): string {
    const { run, theme, scale } = this.scope;
    const drawn = [run?.begun.id, run?.held, run?.measured !== null, run?.status];
    return [...drawn, theme.dark, scale.decades].join("/");
  }

  protected paint(pen: Pen, box: Box): void {
    const { run, theme } = this.scope;
    this.axes(
      pen,
      box,
      [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: `${100 * at} %` })),
      "legend",
    );
    const measured = run?.measured ?? null;
    if (run === null || measured === null) {
      return this.later(pen, box, "measured");
    }
    const columns = this.columns(box);
    for (const [series, colour] of [
      [measured.renyi, theme.ink],
      [measured.strong, theme.red],
    ] as const) {
      const points: number[] = [];
      for (let i = 0; i < columns.length; i++) points.push(columns[i], this.y(series[i], box));
      pen.path(points, { stroke: colour, width: 1.8 });
    }
    const { renyi, strong } = run.begun.centers;
    const foot = box.height - 1;
    pen.circle(MARGIN.left + 4, foot - 6, 3.5, { fill: theme.ink });
    pen.text(`${renyi.length} Rényi`, MARGIN.left + 12, foot, {
      fill: theme.soft,
      baseline: "bottom",
      size: 10.5,
    });
    pen.circle(MARGIN.left + 76, foot - 6, 3.5, { fill: theme.red });
    pen.text(`${strong.length} strong`, MARGIN.left + 84, foot, {
      fill: theme.soft,
      baseline: "bottom",
      size: 10.5,
    });
  }

  protected over(pen: Pen, box: Box): void {
    const { run, theme } = this.scope;
    if (run === null || run.held === 0) return;
    const measured = run.measured;
    if (measured === null) return this.panel.say("");
    const x = this.cursorLine(pen, box, 0.72);
    const i = frameOf(this.scope);
    pen.circle(x, this.y(measured.renyi[i], box), 4, { fill: theme.ink, stroke: theme.paper, width: 1.5 });
    pen.circle(x, this.y(measured.strong[i], box), 4, { fill: theme.red, stroke: theme.paper, width: 1.5 });
    const [renyi, strong] = [measured.renyi[i], measured.strong[i]].map((share) => (100 * share).toFixed(0));
    this.panel.say(
      `${renyi} / ${strong} %`,
      `${renyi} % within δ of Rényi centers, ${strong} % of strong ones`,
    );
  }
}
