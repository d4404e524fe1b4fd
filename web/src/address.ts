/** The address of the page follows what is shown; another scene is another entry in the history. */

import { same, type Scene } from "./state.ts";

const ADDRESS_PAUSE_MILLIS = 250;

export class Address {
  pushed: Scene | null = null; // the scene of the last entry in the history
  private timer = 0;

  follow(shown: { readonly fragment: string; readonly scene: Scene }): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const here = location.pathname + location.search;
      const address = here + shown.fragment;
      if (here + location.hash === address) return;
      if (this.pushed === null || same(this.pushed, shown.scene)) history.replaceState(null, "", address);
      else history.pushState(null, "", address);
      this.pushed = shown.scene;
    }, ADDRESS_PAUSE_MILLIS);
  }

  /** Somebody else wrote the address: it stays as it is until the page shows something else. */
  stopFollowing(): void {
    clearTimeout(this.timer);
  }
}
