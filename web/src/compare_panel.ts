/** The settings of comparing: pin a run, put two side by side, open a grid of small ones. */

import type { App } from "./app.ts";
import type { Compare } from "./compare.ts";
import { el } from "./dom.ts";
import { SIDES, type Side } from "./variants.ts";

export class ComparePanel {
  readonly element: HTMLElement;
  private readonly pin: HTMLButtonElement;
  private readonly what = el("p", { class: "about pinned", "aria-live": "polite" });
  private readonly side: HTMLSelectElement;

  constructor(
    private readonly app: App,
    private readonly compare: Compare,
    openGrid: () => void,
  ) {
    this.pin = el("button", {
      type: "button",
      class: "plain",
      "data-action": "pin",
      click: () => (compare.hasPin ? compare.unpin() : compare.pin()),
    });
    this.side = el(
      "select",
      {
        id: "control-side",
        "data-control": "side",
        title: "The same seed twice, with one cursor",
      },
      ...Object.entries(SIDES).map(([value, text]) => el("option", { value }, text)),
    );
    this.side.addEventListener("change", () => app.changeLook({ side: this.side.value as Side }));
    const grid = el(
      "button",
      { type: "button", class: "plain", "data-action": "grid", "aria-haspopup": "dialog", click: openGrid },
      "β against n or d …",
    );
    this.element = el(
      "fieldset",
      { id: "compare" },
      el("legend", {}, "Compare"),
      el("div", { class: "field wide" }, el("span", {}, "Ghost"), this.pin),
      this.what,
      el("div", { class: "field wide" }, el("label", { for: this.side.id }, "Side by side"), this.side),
      el("div", { class: "field wide" }, el("span", {}, "Grid"), grid),
    );
  }

  draw(): void {
    const { app, compare } = this;
    const { run } = app;
    this.element.hidden = run?.trace != null || app.recorded;
    this.pin.disabled = !compare.hasPin && run?.measured == null;
    const text = compare.hasPin ? "unpin it" : "pin this run";
    if (this.pin.textContent !== text) this.pin.textContent = text;
    this.pin.setAttribute("aria-pressed", String(compare.hasPin));
    const pinned = compare.hasPin ? `Pinned: ${compare.pinnedWords}.${compare.pinnedGap}` : "";
    if (this.what.textContent !== pinned) this.what.textContent = pinned;
    this.what.hidden = pinned === "";
    for (const option of this.side.options) if (option.value === "pinned") option.disabled = !compare.hasPin;
    if (this.side.value !== app.look.side) this.side.value = app.look.side;
  }
}
