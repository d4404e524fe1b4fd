/**
 * Forced colours: where the system chooses the colours of all pages, the pictures take them too, so that they
 * agree with their legends, which the browser colours.
 */

import { DARK, hex, LIGHT, rgb, type Theme } from "./colours.ts";
import { el } from "./dom.ts";

const forced = matchMedia("(forced-colors: active)");
const DARK_BELOW = 128; // of 255, mean of the three channels of the ground
const FAINT_SHARE = 0.3; // of ink, in the lines of axes
let known: Theme | null = null;

/** The colours of the system as a theme; null where none are forced. */
export function forcedTheme(): Theme | null {
  if (!forced.matches) known = null;
  else known ??= systemTheme();
  return known;
}

/** Calls back when colours begin or end to be forced, or are others. */
export function whenForcedColoursChange(changed: () => void): void {
  for (const query of [forced, matchMedia("(prefers-color-scheme: dark)")])
    query.addEventListener("change", () => {
      known = null;
      changed();
    });
}

function systemTheme(): Theme {
  const paper = systemColour("Canvas");
  const ground = rgb(paper);
  const base = (ground[0] + ground[1] + ground[2]) / 3 < DARK_BELOW ? DARK : LIGHT;
  const ink = systemColour("CanvasText");
  const faint = hex(rgb(ink).map((value, i) => FAINT_SHARE * value + (1 - FAINT_SHARE) * ground[i]));
  return { ...base, paper, ink, soft: ink, faint, red: systemColour("Highlight") };
}

function systemColour(name: string): string {
  const probe = el("span", { class: `system-${name}` });
  document.body.append(probe);
  const channels = getComputedStyle(probe).color.match(/[\d.]+/g) ?? ["0", "0", "0"];
  probe.remove();
  return hex(channels.slice(0, 3).map(Number));
}
