/** The sphere as SVG: grid, trails and tokens, what is behind paler and first. */

import { pretty } from "../axis.ts";
import { SvgPen, type ShapeStyle } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { visitStretches } from "./coloured_paths.ts";
import { diamond } from "./frozen.ts";
import { circles } from "./graticule.ts";
import { arc } from "./arc.ts";
import { drawLabel, type WordLabel } from "./labels.ts";

export interface Dot {
  k: number; // token
  x: number;
  y: number;
  facing: number; // 1: towards the eye, -1: away from it
}
export interface Shown {
  tokens: ArrayLike<number>; // (n, 3)
  frozen: ArrayLike<number>; // (m, 3)
  trails: number[]; // tokens that have one
}

export interface SvgLook {
  width: number;
  height: number;
  outline: { x: number; y: number; radius: number };
  size: number; // radius of a dot
}

const MAX_TRAIL_POINTS = 60_000; // of trails: a few hundred kilobytes
const BEHIND_OPACITY = 0.35; // as strong as what is in front

/** A line in two parts: the pieces behind the ball, and those in front of it. */
function halves(dots: Dot[]): [behind: number[], front: number[]] {
  const parts: [number[], number[]] = [[], []];
  for (let i = 1; i < dots.length; i++) {
    const [a, b] = [dots[i - 1], dots[i]];
    const part = parts[a.facing + b.facing < 0 ? 0 : 1];
    if (part.at(-2) !== a.x || part.at(-1) !== a.y) part.push(NaN, NaN, a.x, a.y);
    part.push(b.x, b.y);
  }
  return parts;
}

/**
 * Where a token was drawn from time 0 to the frame, in pieces of one colour, and where its way is not known.
 */
function trail(context: ViewContext, k: number): { points: number[]; colour: string }[] {
  const { n, d, shown } = context.run!;
  const at = (i: number): number => 3 * (i * n + k);
  const start = (i: number): number[] => Array.from(shown.subarray(at(i), at(i) + 3));
  const pieces: { points: number[]; colour: string }[] = [];
  visitStretches(context.run!, context.palette, k, (colour, first, last) => {
    if (first > currentFrame(context)) return;
    pieces.push({ points: start(first), colour });
    for (let i = first + 1; i <= Math.min(last, currentFrame(context)); i++) {
      const points = arc(shown, at(i - 1), at(i), d <= 3);
      if (points.length === 0) pieces.push({ points: start(i), colour });
      else pieces.at(-1)!.points.push(...points);
    }
  });
  return pieces;
}

export function sphereSvg(
  context: ViewContext,
  { width, height, outline, size }: SvgLook,
  place: (places: ArrayLike<number>) => Dot[],
  shown: Shown,
  labels: WordLabel[],
  drawOver: (pen: SvgPen) => void = () => undefined,
): string {
  const { theme, palette, run } = context;
  const pen = new SvgPen(width, height, "nucleate: Sphere");
  pen.rect(0, 0, width, height, { fill: theme.paper });
  pen.circle(outline.x, outline.y, outline.radius, { stroke: theme.faint, width: 1.5 });
  const few = Math.max(1, Math.ceil((shown.trails.length * (currentFrame(context) + 1)) / MAX_TRAIL_POINTS));
  const lines: { points: number[]; style: ShapeStyle }[] = circles().map((points) => ({
    points,
    style: { stroke: theme.ink, width: 0.8, alpha: 0.12 },
  }));
  for (const k of shown.trails.filter((_, i) => i % few === 0)) {
    const strength = (shown.trails.length > 60 ? 0.55 : 0.9) * (palette.isDimmed(k) ? 0.2 : 1);
    for (const { points, colour } of trail(context, k))
      lines.push({ points, style: { stroke: colour, width: 1, alpha: strength } });
  }
  const drawn = lines.map(({ points, style }) => ({ parts: halves(place(points)), style }));
  const dots = place(shown.tokens).sort((a, b) => a.facing - b.facing);
  const still = place(shown.frozen);
  const renyi = new Set(run?.begun.centers.renyi);
  const strong = new Set(run?.begun.centers.strong);
  for (const side of [0, 1]) {
    const pale = side === 0 ? BEHIND_OPACITY : 1;
    for (const { parts, style } of drawn) pen.path(parts[side], { ...style, alpha: style.alpha! * pale });
    const here = ({ facing }: Dot): boolean => facing < 0 === (side === 0);
    for (const { k, x, y } of dots.filter(here)) {
      const alpha = side === 0 ? 0.4 : 1;
      pen.circle(x, y, size, { fill: palette.of(k), alpha });
      if (renyi.has(k))
        pen.circle(x, y, Math.max(size * 1.6, 4), {
          stroke: strong.has(k) ? theme.red : theme.ink,
          width: 1.6,
          alpha,
        });
    }
    for (const { x, y } of still.filter(here)) diamond(pen, x, y, 13, theme, pale);
  }
  for (const label of labels) drawLabel(pen, label, theme);
  drawOver(pen);
  const t = run?.t[currentFrame(context)] ?? 0;
  const lost = run?.trace?.lostAt(currentFrame(context)) ?? 0;
  const foot =
    run?.trace == null ? `t = ${pretty(t, 4)}` : `after block ${t}, ${Math.round(100 * lost)} % lost`;
  pen.text(foot, 8, height - 8, { fill: theme.soft, baseline: "bottom" });
  return pen.finish();
}
