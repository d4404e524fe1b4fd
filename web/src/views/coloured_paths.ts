/** Lines of many tokens, gathered by colour: a line has the colour of the cluster it belonged to then. */

import type { Palette } from "../colours.ts";
import type { Pen } from "../pen.ts";
import type { RunRecord } from "../run_record.ts";

const DIMMED_ALPHA = 0.13; // of lines of tokens that are not looked at

/** Visits the frames of token k in stretches of one colour; each begins where the last one ends. */
export function visitStretches(
  run: RunRecord,
  palette: Palette,
  k: number,
  visit: (colour: string, first: number, last: number) => void,
): void {
  const frames = run.frameCount;
  const whose = palette.trailLeaders(run.measured?.leader ?? null, frames, k);
  let first = 0;
  for (let i = 1; i < frames; i++) {
    if (i < frames - 1 && whose[i] === whose[first]) continue;
    visit(palette.ownOf(whose[first]), first, i);
    first = i;
  }
  if (frames === 1) visit(palette.ownOf(whose[0]), 0, 0);
}

export class ColouredPaths {
  private readonly bright = new Map<string, number[]>();
  private readonly dimmed = new Map<string, number[]>();

  /** Points x, y, x, y... of one colour, to be added to. */
  of(colour: string, dimmed: boolean): number[] {
    const group = dimmed ? this.dimmed : this.bright;
    if (!group.has(colour)) group.set(colour, []);
    return group.get(colour)!;
  }

  paint(pen: Pen, width: number, alpha: number): void {
    for (const [colour, points] of this.dimmed)
      pen.path(points, { stroke: colour, width, alpha: DIMMED_ALPHA });
    for (const [colour, points] of this.bright) pen.path(points, { stroke: colour, width, alpha });
  }
}
