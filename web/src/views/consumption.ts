/** The share of tokens near Rényi centers and near strong centers over time. */

import type { Pen } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import type { Box } from "./plot.ts";
import { TIME_MARGIN, TimePlot } from "./time_plot.ts";

export class Consumption extends TimePlot {
  constructor(context: ViewContext) {
    super("consumption", context);
  }

  protected keyOfLayer(): string {
    const { run, theme, scale } = this.context;
    const drawn = [run?.begun.id, run?.frameCount, run?.measured !== null, run?.status, run?.abandoned];
    return [...drawn, theme.dark, scale.decades].join("/");
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    this.drawAxes(
      pen,
      box,
      [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: `${100 * at} %` })),
      "legend",
    );
    const measured = run?.measured ?? null;
    if (run === null || measured === null) {
      return this.drawPlaceholder(pen, box, "measured");
    }
    const columns = this.frameColumns(box);
    for (const [series, colour] of [
      [measured.renyi, theme.ink],
      [measured.strong, theme.red],
    ] as const) {
      if (series === null) continue;
      const points: number[] = [];
      for (let i = 0; i < columns.length; i++) points.push(columns[i], this.y(series[i], box));
      pen.path(points, { stroke: colour, width: 1.8 });
    }
    const { renyi, strong } = run.begun.centers;
    const foot = box.height - 1;
    pen.circle(TIME_MARGIN.left + 4, foot - 6, 3.5, { fill: theme.ink });
    pen.text(`${renyi.length} Rényi`, TIME_MARGIN.left + 12, foot, {
      fill: theme.soft,
      baseline: "bottom",
      size: 10.5,
    });
    pen.circle(TIME_MARGIN.left + 76, foot - 6, 3.5, { fill: theme.red });
    pen.text(`${strong.length} strong`, TIME_MARGIN.left + 84, foot, {
      fill: theme.soft,
      baseline: "bottom",
      size: 10.5,
    });
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    if (run === null || run.frameCount === 0) return;
    const measured = run.measured;
    if (measured === null || measured.renyi === null || measured.strong === null)
      return this.panel.showReading(run.abandoned !== null ? "not measured" : "");
    const x = this.drawCursor(pen, box, 0.72);
    const i = currentFrame(this.context);
    pen.circle(x, this.y(measured.renyi[i], box), 4, { fill: theme.ink, stroke: theme.paper, width: 1.5 });
    pen.circle(x, this.y(measured.strong[i], box), 4, { fill: theme.red, stroke: theme.paper, width: 1.5 });
    const [renyi, strong] = [measured.renyi[i], measured.strong[i]].map((share) => (100 * share).toFixed(0));
    this.panel.showReading(
      `${renyi} / ${strong} %`,
      `${renyi} % within δ of Rényi centers, ${strong} % of strong ones`,
    );
  }
}
