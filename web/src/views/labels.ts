/** Where words can stand beside dots so that none covers another. */

import type { Theme } from "../colours.ts";
import { FONT, type Pen } from "../pen.ts";

export interface LabelDot {
  k: number; // token
  x: number;
  y: number;
}
export interface PlacedLabel {
  k: number;
  x: number; // left end
  y: number; // middle
  width: number;
}

const SIDES: [x: number, y: number][] = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [1, -0.8],
  [1, 0.8],
  [-1, -0.8],
  [-1, 0.8],
]; // of a dot, in the order in which they are tried

type Rectangle = [left: number, top: number, right: number, bottom: number];

const overlap = (a: Rectangle, b: Rectangle): boolean =>
  a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/**
 * Words for as many dots as there is room for, tried in the order given. A word stands at one of eight sides
 * of its dot, inside the box, and covers neither another word nor the dot of one that has a word.
 */
export function placeLabels(
  dots: LabelDot[],
  widthOf: (k: number) => number,
  box: { width: number; height: number },
  gapOf: (k: number) => number = () => 7,
  height = 14,
): PlacedLabel[] {
  const taken: Rectangle[] = [];
  const placed: PlacedLabel[] = [];
  for (const { k, x, y } of dots) {
    const [width, gap] = [widthOf(k), gapOf(k)];
    const dot: Rectangle = [x - 3, y - 3, x + 3, y + 3];
    for (const [right, down] of SIDES) {
      const left = x + right * gap - (right < 0 ? width : right === 0 ? width / 2 : 0);
      const middle = y + down * (gap + height / 2) * (right === 0 ? 1 : 0.75);
      const place: Rectangle = [left - 1, middle - height / 2, left + width + 1, middle + height / 2];
      const inside = place[0] >= 0 && place[1] >= 0 && place[2] <= box.width && place[3] <= box.height;
      if (!inside || taken.some((other) => overlap(place, other))) continue;
      taken.push(place, dot);
      placed.push({ k, x: left, y: middle, width });
      break;
    }
  }
  return placed;
}

/** A word beside its dot. */
export interface WordLabel extends PlacedLabel {
  text: string;
  kind: "chosen" | "near" | "strong" | "renyi" | "plain";
  behind: boolean; // the ball's middle is between it and the eye
}

const LABEL_SIZE = 12;

export const labelFont = (bold: boolean): string => `${bold ? 600 : 400} ${LABEL_SIZE}px ${FONT}`;

export function drawLabel(pen: Pen, { text, x, y, kind, behind }: WordLabel, theme: Theme): void {
  const fill = kind === "strong" ? theme.red : kind === "plain" ? theme.soft : theme.ink;
  pen.text(text, x, y, {
    fill: behind && kind !== "chosen" ? theme.soft : fill,
    size: LABEL_SIZE,
    bold: kind === "chosen" || kind === "near",
    halo: theme.paper,
  });
}
