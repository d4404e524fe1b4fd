/** The sphere as SVG: its outline and the tokens as circles, far ones first. */

import { pretty } from "../axis.ts";
import { SvgPen } from "../pen.ts";
import { frameOf, type Scope } from "../scope.ts";

export interface Dot {
  k: number; // token
  x: number;
  y: number;
  facing: number; // 1: towards the eye, -1: away from it
}

export function sphereSvg(scope: Scope, { width, height }: { width: number; height: number }, outline: number, size: number, dots: Dot[]): string {
  const { theme, palette, run } = scope;
  const pen = new SvgPen(width, height, "nucleate: Sphere");
  pen.rect(0, 0, width, height, { fill: theme.paper });
  pen.circle(width / 2, height / 2, outline, { stroke: theme.faint, width: 1.5 });
  const renyi = new Set(run?.begun.centers.renyi);
  const strong = new Set(run?.begun.centers.strong);
  for (const { k, x, y, facing } of dots.sort((a, b) => a.facing - b.facing)) {
    const alpha = facing < 0 ? 0.4 : 1;
    pen.circle(x, y, size, { fill: palette.of(k), alpha });
    if (renyi.has(k)) pen.circle(x, y, size * 1.6, { stroke: strong.has(k) ? theme.red : theme.ink, width: 1.6, alpha });
  }
  pen.text(`t = ${pretty(run?.t[frameOf(scope)] ?? 0, 4)}`, 8, height - 8, { fill: theme.soft, baseline: "bottom" });
  return pen.finish();
}
