/** The number of clusters over time, on a logarithmic scale: plateaus are metastable states. */

import type { Tick } from "../axis.ts";
import type { Pen } from "../pen.ts";
import type { ClusterBand, RunRecord } from "../run_record.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { ghostKey } from "./ghost.ts";
import type { Box } from "./plot.ts";
import { TIME_MARGIN, TimePlot } from "./time_plot.ts";

const TICK_COUNTS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

export class Clusters extends TimePlot {
  constructor(context: ViewContext) {
    super("clusters", context);
  }

  private get maxCount(): number {
    const { run, ghost } = this.context;
    const most = (counts: ArrayLike<number>): number =>
      Array.from(counts).reduce((a, b) => Math.max(a, b), 1);
    const counts = run?.measured?.clusters;
    return Math.max(
      4,
      counts === undefined ? (run?.n ?? 4) : most(counts),
      most(ghost?.measured?.clusters ?? []),
      most(this.band?.counts.at(-1) ?? []),
    );
  }

  private get band(): ClusterBand | null {
    return this.context.run?.begun.band ?? null;
  }

  private share(count: number): number {
    return Math.log(Math.max(1, count)) / Math.log(this.maxCount * 1.08);
  }

  protected keyOfLayer(): string {
    const { run, theme, scale, ghost } = this.context;
    const drawn = [run?.begun.id, run?.frameCount, run?.measured !== null, run?.status, run?.abandoned];
    return [...drawn, theme.dark, scale.decades, ghostKey(ghost), ghost?.measured !== null].join("/");
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
    if (this.band !== null) this.paintBand(pen, box, this.band);
    if (counts === undefined) {
      return this.drawPlaceholder(pen, box, "counted");
    }
    const ghost = run?.trace == null ? this.context.ghost : null;
    if (ghost?.measured != null)
      pen.path(this.steps(ghost, ghost.measured.clusters, box), {
        stroke: theme.soft,
        width: 1.6,
        dash: [5, 3],
      });
    pen.path(this.steps(run!, counts, box), { stroke: theme.ink, width: 1.8 });
  }

  /** The counts of a run as far as the axis goes. */
  private steps(run: RunRecord, counts: ArrayLike<number>, box: Box): number[] {
    const { scale } = this.context;
    const points: number[] = [];
    for (let i = 0; i < run.frameCount; i++) {
      const place = scale.place(run.t[i]);
      const x = this.x(Math.min(1, place), box);
      if (i > 0) points.push(x, this.y(this.share(counts[i - 1]), box));
      if (place > 1) break;
      points.push(x, this.y(this.share(counts[i]), box));
    }
    return points;
  }

  /** Behind the curve: where most runs of the ensemble are, half of them, and the middle one. */
  private paintBand(pen: Pen, box: Box, { t, counts, runs }: ClusterBand): void {
    const { scale, theme } = this.context;
    const columns = t.map((time) => this.x(Math.min(1, scale.place(time)), box));
    const line = (row: number[]): number[] =>
      row.flatMap((count, i) => [columns[i], this.y(this.share(count), box)]);
    const reversed = (row: number[]): number[] => {
      const points = line(row);
      const back: number[] = [];
      for (let i = points.length - 2; i >= 0; i -= 2) back.push(points[i], points[i + 1]);
      return back;
    };
    for (const [low, high, alpha] of [
      [0, 4, 0.14],
      [1, 3, 0.18],
    ])
      pen.path([...line(counts[low]), ...reversed(counts[high])], { fill: theme.band, alpha });
    pen.path(line(counts[2]), { stroke: theme.band, width: 1.2, dash: [2, 2] });
    // below the axis, where neither cursor nor veil is
    pen.text(`90 %, 50 % of ${runs} runs`, TIME_MARGIN.left, box.height - 1, {
      fill: theme.band,
      baseline: "bottom",
      size: 10,
    });
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    if (run === null || run.frameCount === 0) return;
    const counts = run.measured?.clusters;
    if (counts === undefined) return this.panel.showReading(run.abandoned !== null ? "not counted" : "");
    const x = this.drawCursor(pen, box, 0.72);
    const now = counts[currentFrame(this.context)];
    pen.circle(x, this.y(this.share(now), box), 4, { fill: theme.ink, stroke: theme.paper, width: 1.5 });
    const other = this.otherCount(pen, box);
    const words = now === 1 ? "1 cluster" : `${now} clusters`;
    const short = other === "" ? words : `${now}${other}`; // the title says what is counted
    this.panel.showReading(short, `${words}${other}${this.bandWords()}`);
  }

  /** The count of the run that is compared with, at the same time. */
  private otherCount(pen: Pen, box: Box): string {
    const { run, ghost, scale, cursor, theme, look } = this.context;
    if (run === null || ghost?.measured == null) return "";
    const place = scale.placeOf(cursor, run.t, run.frameCount);
    const frame = Math.floor(scale.cursor(place, ghost.t, ghost.frameCount) + 1e-9);
    const count = ghost.measured.clusters[frame];
    pen.circle(this.x(place, box), this.y(this.share(count), box), 3.5, { stroke: theme.soft, width: 1.5 });
    return `; ${look.side === "" ? "pinned" : "other"} ${count}`;
  }

  private bandWords(): string {
    const { band } = this;
    if (band === null) return "";
    const what = `the middle 90 % and 50 % of ${band.runs} runs of the study (${band.name}), their median`;
    return `. Behind it: ${what}.`;
  }
}
