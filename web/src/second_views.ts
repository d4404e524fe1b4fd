/** The views of the second run, beside those of the first; they are made when they are first needed. */

import type { App } from "./app.ts";
import type { Compare } from "./compare.ts";
import { byId, el } from "./dom.ts";
import { currentFrame, type View } from "./view_context.ts";
import { Angles } from "./views/angles.ts";
import { Circle } from "./views/circle.ts";
import { Sphere } from "./views/sphere.ts";

/** Views of the first run that make room. */
export const MAKE_ROOM = new Set(["consumption", "lengths", "mergers", "attention", "spectrum"]);

/** A view of the same kind has ids of its own. */
function asSecond<T extends View>(view: T): T {
  const { element, name } = view;
  element.dataset.view = `second-${name}`;
  for (const one of element.querySelectorAll<HTMLElement>("[id]")) {
    const old = one.id;
    one.id = `second-${old}`;
    for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls"])
      for (const user of [element, ...element.querySelectorAll(`[${attribute}="${old}"]`)])
        if (user.getAttribute(attribute) === old) user.setAttribute(attribute, one.id);
  }
  return view;
}

export class SecondViews {
  private readonly views: View[] = [];
  private readonly why = el("p", { class: "sorry" });
  private readonly waiting = el("section", { class: "panel", "data-view": "second-none" }, this.why);
  private readonly labels = new Map<HTMLElement, HTMLElement>();

  constructor(
    private readonly app: App,
    private readonly compare: Compare,
    private readonly first: View[],
  ) {
    this.waiting.hidden = true;
    byId("views").append(this.waiting);
  }

  private make(): void {
    const context = this.compare.second;
    const sphere = (): View[] => {
      try {
        return [asSecond(new Sphere(context))];
      } catch {
        return []; // no WebGL: the first view says so
      }
    };
    this.views.push(asSecond(new Circle(context)), ...sphere(), asSecond(new Angles(context)));
    byId("views").append(...this.views.map(({ element }) => element));
  }

  /** A few words in the head of a view: which of the two runs it shows. */
  private label(element: HTMLElement, text: string): void {
    const title = element.querySelector("h2");
    if (title === null) return; // a sphere without WebGL
    if (!this.labels.has(element)) {
      const made = el("span", { class: "which" });
      title.after(made);
      this.labels.set(element, made);
    }
    const label = this.labels.get(element)!;
    label.hidden = text === "";
    if (label.textContent !== text) label.textContent = text;
  }

  draw(): void {
    const { compare, app } = this;
    const shown = compare.sideBySide;
    const { run } = compare.second;
    const root = document.documentElement;
    root.dataset.compare = shown ? "side" : app.ghost !== null ? "ghost" : "";
    root.dataset.second = run === null ? "" : String(run.begun.id);
    if (shown && this.views.length === 0) this.make();
    const words = shown ? compare.words : { first: "", second: "", why: "" };
    for (const { name, element } of this.first)
      if (["circle", "sphere", "angles"].includes(name)) this.label(element, words.first);
    this.waiting.hidden = !shown || run !== null;
    if (this.why.textContent !== words.why) this.why.textContent = words.why;
    const at = String(currentFrame(app));
    this.waiting.dataset.at = at;
    for (const view of this.views) {
      const { element, name } = view;
      const main = run?.d === 2 ? "circle" : "sphere";
      element.hidden = run === null || (name !== main && name !== "angles");
      element.dataset.at = at;
      if (element.hidden) continue;
      this.label(element, words.second);
      view.draw();
    }
  }
}
