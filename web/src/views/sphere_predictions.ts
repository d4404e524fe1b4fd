/** On the sphere: a layer over the picture with L, ±ξ, x₁(0), δ around a token and whom it listens to. */

import { el } from "../dom.ts";
import { CanvasPen, type Pen } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { capRim, heardLines, predictedMarks, predictedSpace, type BallLine } from "./predictions.ts";
import type { Dot } from "./sphere_svg.ts";

type Place = (places: ArrayLike<number>) => Dot[];
const BEHIND_ALPHA = 0.35;

export class SpherePredictions {
  readonly canvas = el("canvas", { class: "labels predictions", "aria-hidden": "true" });
  private box = { width: 0, height: 0 };

  constructor(
    private readonly context: ViewContext,
    stage: HTMLElement,
  ) {
    stage.append(this.canvas);
  }

  resize(width: number, height: number): void {
    this.box = { width, height };
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
  }

  draw(positions: Float32Array, place: Place): void {
    const to = this.canvas.getContext("2d")!;
    to.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    to.clearRect(0, 0, this.box.width, this.box.height);
    this.paint(new CanvasPen(to), positions, place);
  }

  paint(pen: Pen, positions: Float32Array, place: Place): void {
    const { run, hover, theme, palette } = this.context;
    if (run === null || run.trace !== null || run.frameCount === 0) return;
    const lines: BallLine[] = predictedSpace(run);
    if (hover !== null) {
      lines.push(...heardLines(run, currentFrame(this.context), hover, positions));
      const points = capRim(run, Array.from(positions.subarray(3 * hover, 3 * hover + 3)));
      if (points.length > 0) lines.push({ points, kind: "reach", strength: 1 });
    }
    for (const { points, kind, strength } of lines) {
      const dots = place(points);
      const style = {
        space: { stroke: theme.ink, width: 1.4, dash: [5, 4], alpha: 0.8 },
        reach: { stroke: hover === null ? theme.ink : palette.of(hover), width: 2.5, alpha: 0.9 },
        heard: { stroke: theme.ink, width: 1 + 6 * strength, alpha: 0.25 + 0.6 * strength },
      }[kind];
      for (const behind of [true, false]) {
        const path: number[] = [];
        for (let i = 1; i < dots.length; i++) {
          const [a, b] = [dots[i - 1], dots[i]];
          const away = kind !== "heard" && a.facing + b.facing < 0;
          if (away === behind) path.push(NaN, NaN, a.x, a.y, b.x, b.y);
        }
        pen.path(path, { ...style, alpha: style.alpha * (behind ? BEHIND_ALPHA : 1) });
      }
    }
    const L = lines.find(({ kind }) => kind === "space");
    if (L !== undefined) {
      const nearest = place(L.points).reduce((best, dot) => (dot.facing > best.facing ? dot : best));
      pen.text("L", nearest.x, nearest.y - 10, { fill: theme.ink, size: 12, bold: true, halo: theme.paper });
    }
    const marks = predictedMarks(run);
    place(marks.flatMap(({ at }) => at)).forEach(({ x, y, facing }, i) => {
      const alpha = facing < 0 ? BEHIND_ALPHA + 0.15 : 1;
      const s = 6;
      pen.path([x, y + 2, x - s, y - 2 * s + 2, x + s, y - 2 * s + 2, x, y + 2], {
        fill: theme.ink,
        stroke: theme.paper,
        width: 1,
        alpha,
      });
      const above = y - 2 * s - 6;
      const fits = above > 8;
      pen.text(marks[i].text, fits ? x : x + 3 * s + 4, fits ? above : Math.max(8, y - s), {
        fill: facing < 0 ? theme.soft : theme.ink,
        size: 12,
        bold: true,
        align: "center",
        halo: theme.paper,
      });
    });
  }
}
