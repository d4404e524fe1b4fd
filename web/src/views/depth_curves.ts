/** One number of the tokens over depth: the text, and its controls beside it. */

import { linearTicks, power, pretty, type Tick } from "../axis.ts";
import type { Theme } from "../colours.ts";
import type { Pen, ShapeStyle } from "../pen.ts";
import type { Trace } from "../trace.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import type { Box } from "./plot.ts";
import { TimePlot } from "./time_plot.ts";

export interface DepthLine {
  name: string;
  values: (number | null)[];
  low?: (number | null)[]; // a band in place of a line
}
export interface DepthCurve {
  view: string;
  lines: (trace: Trace) => DepthLine[];
  told?: (trace: Trace) => number; // the line whose value is told; the first, unless given
  top?: number; // of the axis, where it is known
  log?: boolean; // where the values span much
  written: (value: number) => string;
}

const LOG_FROM_RATIO = 20;
const SHORT_NAMES: { [name: string]: string | undefined } = { "re-drawn weights": "re-drawn" };
const DASHES = [[], [6, 3], [2, 2.5]];
const percent = (value: number): string => `${Math.round(100 * value)} %`;
const two = (value: number): string => value.toFixed(2).replace("-", "−");

/** A line for every reading. */
const ofReadings =
  (name: string) =>
  ({ data }: Trace): DepthLine[] =>
    data.readings.flatMap((reading) => {
      const values = reading.curves[name];
      return values === undefined ? [] : [{ name: reading.name, values }];
    });

export const DEPTH_CURVES: DepthCurve[] = [
  { view: "cosine", lines: ofReadings("cosine"), top: 1, written: two },
  { view: "rank", lines: ofReadings("rank"), written: pretty },
  {
    view: "cover",
    lines: (trace) => {
      const { cover, cover_low, cover_high } = trace.reading.curves;
      if (cover === undefined || cover_low === undefined || cover_high === undefined) return [];
      return [
        { name: trace.reading.name, values: cover },
        { name: "permuted", values: cover_high, low: cover_low },
      ];
    },
    top: 1,
    written: two,
  },
  { view: "sink", lines: ofReadings("sink"), log: true, written: pretty },
  {
    view: "lost",
    lines: ({ reading }) => [
      { name: "of all layers", values: reading.lost.all },
      { name: "each layer’s own", values: reading.lost.own },
    ],
    told: ({ frame }) => (frame === "all" ? 0 : 1),
    top: 1,
    written: percent,
  },
];

export class DepthCurves extends TimePlot {
  private low = 0;
  private high = 1;
  private log = false;

  constructor(
    private readonly curve: DepthCurve,
    context: ViewContext,
  ) {
    super(curve.view, context);
  }

  private get lines(): DepthLine[] {
    const trace = this.context.run?.trace ?? null;
    return trace === null ? [] : this.curve.lines(trace);
  }

  protected keyOfLayer(): string {
    const { run, theme } = this.context;
    return [run?.begun.id, run?.trace?.reading.name, run?.trace?.frame, theme.dark].join("/");
  }

  private style(i: number, theme: Theme): ShapeStyle {
    return {
      stroke: i === 0 ? theme.ink : theme.clusters[i === 1 ? 0 : 2],
      width: i === 0 ? 2 : 1.7,
      dash: DASHES[i % 3],
    };
  }

  private fit(lines: DepthLine[]): void {
    const all = lines
      .flatMap(({ values, low = [] }) => [...values, ...low])
      .filter((value) => value !== null);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    this.log = this.curve.log === true && low > 0 && high / low > LOG_FROM_RATIO;
    this.low = this.log ? low / 1.2 : Math.min(0, low);
    this.high = this.log ? high * 1.2 : Math.max(this.curve.top ?? high * 1.06, this.low + 1e-9);
  }

  private share(value: number): number {
    return this.log
      ? Math.log(value / this.low) / Math.log(this.high / this.low)
      : (value - this.low) / (this.high - this.low);
  }

  private ticks(box: Box): Tick[] {
    const most = Math.max(2, Math.floor(box.height / 40));
    if (!this.log)
      return linearTicks(this.low, this.high, most).map(({ at, value }) => ({
        at,
        text: this.curve.view === "lost" ? percent(value) : pretty(value),
      }));
    const ticks: Tick[] = [];
    for (let e = Math.ceil(Math.log10(this.low)); e <= Math.log10(this.high); e++)
      ticks.push({ at: this.share(10 ** e), text: e >= 0 && e <= 3 ? String(10 ** e) : power(e) });
    return ticks;
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { theme } = this.context;
    const { lines } = this;
    if (lines.length === 0) return;
    this.fit(lines);
    this.drawAxes(pen, box, this.ticks(box), "legend");
    const columns = this.frameColumns(box);
    const trace = (values: (number | null)[]): number[] =>
      values.flatMap((value, i) =>
        value === null ? [NaN, NaN] : [columns[i], this.y(this.share(value), box)],
      );
    lines.forEach(({ values, low }, i) => {
      const style = this.style(i, theme);
      if (low === undefined) return pen.path(trace(values), style);
      const back = trace(low);
      const area = trace(values);
      for (let at = back.length - 2; at >= 0; at -= 2) area.push(back[at], back[at + 1]);
      pen.path(area, { fill: style.stroke!, alpha: 0.25 });
    });
    this.legend(pen, box, lines);
  }

  private legend(pen: Pen, box: Box, lines: DepthLine[]): void {
    const { theme, run } = this.context;
    const foot = box.height - 1;
    let left = 2;
    const words = { fill: theme.soft, baseline: "bottom", size: 10.5 } as const;
    lines.forEach(({ name, low }, i) => {
      const style = this.style(i, theme);
      if (low === undefined) pen.line(left, foot - 6, left + 14, foot - 6, style);
      else pen.rect(left, foot - 10, 14, 8, { fill: style.stroke!, alpha: 0.25 });
      const text = SHORT_NAMES[name] ?? name;
      pen.text(text, left + 18, foot, words);
      left += 28 + 5.6 * text.length;
    });
    if (this.curve.view === "cosine" && run?.trace?.data.readings.length === 1)
      pen.text("no controls in this run", left + 4, foot, words);
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    const { lines } = this;
    if (run === null || lines.length === 0) return this.panel.showReading("");
    const x = this.drawCursor(pen, box, 0.6);
    const i = currentFrame(this.context);
    const told: string[] = [];
    lines.forEach(({ name, values, low }, at) => {
      const [value, least] = [values[i], low?.[i] ?? null];
      if (value === null) return;
      const words = SHORT_NAMES[name] ?? name;
      if (least !== null)
        return told.push(`${words} ${this.curve.written(least)} to ${this.curve.written(value)}`);
      pen.circle(x, this.y(this.share(value), box), 4, {
        fill: this.style(at, theme).stroke!,
        stroke: theme.paper,
        width: 1.5,
      });
      told.push(`${words} ${this.curve.written(value)}`);
    });
    const first = lines[run.trace === null ? 0 : (this.curve.told?.(run.trace) ?? 0)].values[i];
    this.panel.showReading(first === null ? "" : this.curve.written(first), told.join(", "));
  }
}
