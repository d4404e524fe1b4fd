/** Keys that work wherever the focus is, unless the focused element uses them itself. */

import type { App } from "./app.ts";
import type { Player } from "./player.ts";

export interface Does {
  help(): void;
  theme(): void;
  explain(): void;
}

const TYPES = "input:not([type=range]), textarea, select"; // these take every key
const PRESSES = "button, a, summary"; // these take space and enter

export function listen(app: App, player: Player, does: Does): void {
  const nextToken = (by: number): void => {
    const n = app.run?.n ?? 0;
    if (n > 0) app.point(app.hover === null ? (by > 0 ? 0 : n - 1) : (app.hover + by + n) % n);
  };
  const keys: { [key: string]: ((shift: boolean) => void) | undefined } = {
    " ": () => player.toggle(),
    ArrowLeft: (shift) => player.step(shift ? -10 : -1),
    ArrowRight: (shift) => player.step(shift ? 10 : 1),
    Home: () => player.go(0),
    End: () => player.go(Infinity),
    "[": () => nextToken(-1),
    "]": () => nextToken(1),
    Escape: () => app.point(null),
    r: () => app.start(),
    e: () => does.explain(),
    t: () => does.theme(),
    "?": () => does.help(),
  };
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog[open]") !== null) return;
    if (target.matches(TYPES) || (event.key === " " && target.matches(PRESSES))) return;
    // sliders move by arrows, Home and End
    if (target.matches("input[type=range]") && event.key.length > 1) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act === undefined) return;
    event.preventDefault();
    act(event.shiftKey);
  });
}
