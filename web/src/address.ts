/**
 * The address of the page follows what is shown; another scene is another entry in the history, and all
 * scenes of one drag are one.
 */

import { same, type Scene } from "./state.ts";

const ADDRESS_PAUSE_MILLIS = 250;

/** Counts what a hand does: one press of a pointer, or of a key, until the next. */
let gesture = 0;
if (typeof document !== "undefined") {
  const begins = (event: Event): void => void (gesture += (event as KeyboardEvent).repeat ? 0 : 1);
  document.addEventListener("pointerdown", begins, { capture: true });
  document.addEventListener("keydown", begins, { capture: true });
}

export class Address {
  pushed: Scene | null = null; // the scene of the last entry in the history
  private timer = 0;
  private gestureOfEntry = -1; // the drag that the last entry is of

  /** `live`: while a slider or a token is dragged. */
  follow(shown: { readonly fragment: string; readonly scene: Scene }, live = false): void {
    clearTimeout(this.timer);
    const own = gesture;
    this.timer = window.setTimeout(() => {
      const here = location.pathname + location.search;
      const address = here + shown.fragment;
      if (here + location.hash === address) return;
      const replaces =
        this.pushed === null || same(this.pushed, shown.scene) || (live && own === this.gestureOfEntry);
      if (replaces) history.replaceState(null, "", address);
      else {
        history.pushState(null, "", address);
        this.gestureOfEntry = live ? own : -1;
      }
      this.pushed = shown.scene;
    }, ADDRESS_PAUSE_MILLIS);
  }

  /** Somebody else wrote the address: it stays as it is until the page shows something else. */
  stopFollowing(): void {
    clearTimeout(this.timer);
  }
}
