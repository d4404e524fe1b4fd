/** Keys that work wherever the focus is, unless the focused element uses them itself. */

import type { App } from "./app.ts";
import type { Player } from "./player.ts";

export interface KeyActions {
  help(): void;
  theme(): void;
  explain(): void;
  event(by: 1 | -1): void;
}

const TAKES_EVERY_KEY = "input:not([type=range]), textarea, select";
const TAKES_SPACE_AND_ENTER = "button, a, summary";

export function listenToKeys(app: App, player: Player, actions: KeyActions): void {
  const nextToken = (by: number): void => {
    const n = app.run?.n ?? 0;
    if (n > 0) app.highlight(app.hover === null ? (by > 0 ? 0 : n - 1) : (app.hover + by + n) % n);
  };
  const keys: { [key: string]: ((shift: boolean) => void) | undefined } = {
    " ": () => player.toggle(),
    ArrowLeft: (shift) => player.step(shift ? -10 : -1),
    ArrowRight: (shift) => player.step(shift ? 10 : 1),
    Home: () => player.seek(0),
    End: () => player.seek(Infinity),
    "[": () => nextToken(-1),
    "]": () => nextToken(1),
    Escape: () => {
      app.highlight(null);
      app.focusOn(null);
    },
    n: () => actions.event(1),
    p: () => actions.event(-1),
    r: () => app.start(),
    e: () => actions.explain(),
    t: () => actions.theme(),
    "?": () => actions.help(),
  };
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") !== null) return; // also where nothing in it has the focus
    if (target.matches(TAKES_EVERY_KEY) || (event.key === " " && target.matches(TAKES_SPACE_AND_ENTER)))
      return;
    // sliders move by arrows, Home and End
    if (target.matches("input[type=range]") && event.key.length > 1) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act === undefined) return;
    event.preventDefault();
    act(event.shiftKey);
  });
}
