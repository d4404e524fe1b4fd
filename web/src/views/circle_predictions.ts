/** On the circle: where tokens ought to end, δ around the token pointed at, and whom it listens to. */

import type { Pen } from "../pen.ts";
import { parking } from "../story/parking.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { capRim, heardLines, predictedMarks } from "./predictions.ts";

interface Geometry {
  x: number;
  y: number;
  rim: number;
}

const BAND_PIXELS = 9; // width of an arc of δ

export function drawOnCircle(
  pen: Pen,
  context: ViewContext,
  { x, y, rim }: Geometry,
  now: Float32Array,
): void {
  const { run, theme, hover, palette } = context;
  if (run === null || run.trace !== null) return;
  const place = (points: number[], radius = rim): number[] => {
    const flat: number[] = [];
    for (let i = 0; i < points.length; i += 3) flat.push(x + radius * points[i], y - radius * points[i + 1]);
    return flat;
  };
  drawParking(pen, context, place, rim);
  if (hover !== null) {
    for (const { points, strength } of heardLines(run, currentFrame(context), hover, now))
      pen.path(place(points), { stroke: theme.ink, width: 1 + 6 * strength, alpha: 0.25 + 0.6 * strength });
    const rimOfCap = capRim(run, Array.from(now.subarray(3 * hover, 3 * hover + 3)));
    if (rimOfCap.length > 0)
      pen.path(place(rimOfCap), { stroke: palette.of(hover), width: BAND_PIXELS, alpha: 0.35 });
  }
  for (const { at, text } of predictedMarks(run)) {
    const [a, b] = at;
    // a wedge outside the rim, its point on the rim
    const [foot, top] = [rim + 3, rim + 12];
    const corner = (radius: number, side: number): [number, number] => [
      x + radius * a - side * b,
      y - radius * b - side * a,
    ];
    pen.path([...corner(foot, 0), ...corner(top, 5), ...corner(top, -5), ...corner(foot, 0)], {
      fill: theme.ink,
      stroke: theme.paper,
      width: 1,
    });
    const inside = rim - 14 - (8 + 3.5 * text.length) * Math.abs(a); // clear of the dot on the rim
    pen.text(text, x + inside * a, y - inside * b, {
      fill: theme.ink,
      size: 11,
      align: "center",
      bold: true,
      halo: theme.paper,
    });
  }
}

/** The arcs that early centers keep, as the story takes token after token. */
function drawParking(
  pen: Pen,
  { run, theme }: ViewContext,
  place: (points: number[], radius?: number) => number[],
  rim: number,
): void {
  if (parking.looked === null || run === null || run.d !== 2) return;
  const strong = new Set(run.begun.centers.strong);
  const start = (k: number): number[] => [...run.token(0, k), 0];
  for (const k of run.begun.centers.renyi.filter((center) => center < parking.looked!))
    pen.path(place(capRim(run, start(k)), rim - 12), {
      stroke: strong.has(k) ? theme.red : theme.ink,
      width: BAND_PIXELS,
      alpha: 0.4,
    });
  const last = Math.min(parking.looked, run.n) - 1;
  if (last < 0 || last >= run.n - 1) return;
  const [px, py] = place(start(last));
  pen.circle(px, py, 11, { stroke: theme.ink, width: 2 });
}
