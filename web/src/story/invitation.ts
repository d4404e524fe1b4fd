/** Invites who is here for the first time; it covers nothing and asks for no answer. */

import { byId, el } from "../dom.ts";

const KEY = "nucleate-story"; // of the browser's storage: there once the invitation was answered

export class Invitation {
  private readonly element: HTMLElement;

  constructor(steps: number, begin: () => void) {
    const button = (action: string, text: string, act: () => void): HTMLElement =>
      el("button", { type: "button", class: "main", "data-action": action, click: act }, text);
    this.element = el(
      "aside",
      { id: "invitation", "aria-label": "For the first visit", hidden: true },
      el("span", {}, `New here? Tokens, centers and clusters in ${steps} steps, each on a real run.`),
      el(
        "span",
        { class: "invitation-buttons" },
        button("begin-story", "Tell me the story", begin),
        button("no-story", "Not now", () => this.done()),
      ),
    );
    byId("notices").append(this.element);
  }

  offer(): void {
    this.element.hidden = answered();
  }

  done(): void {
    this.element.hidden = true;
    try {
      localStorage.setItem(KEY, "answered");
    } catch {
      // a page without storage asks again next time
    }
  }
}

function answered(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}
