/**
 * The sign of a frozen token: a hollow diamond, so that it is not taken for one that moves, nor hides those
 * that come to rest there.
 */

import type { Theme } from "../colours.ts";
import type { Pen } from "../pen.ts";

export function diamond(pen: Pen, x: number, y: number, size: number, theme: Theme, alpha = 1): void {
  // one corner more closes the last joint
  const corners = [x - size, y, x, y - size, x + size, y, x, y + size, x - size, y, x, y - size];
  pen.path(corners, { stroke: theme.ink, width: 2, alpha });
}
