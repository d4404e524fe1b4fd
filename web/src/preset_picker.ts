/** The button that says which preset is shown, with its picture, and opens the gallery of all. */

import type { Theme } from "./colours.ts";
import { el } from "./dom.ts";
import { Gallery, type GalleryEntry } from "./gallery.ts";
import { drawSketch, sketchOfThumbnail } from "./sketch.ts";

export class PresetPicker {
  readonly button: HTMLButtonElement;
  private readonly picture = el("canvas", { "aria-hidden": "true", hidden: true });
  private readonly what = el("span", { class: "what" });
  private readonly gallery: Gallery;
  private shown: string | null = null;
  private drawnKey = "";

  constructor(
    private readonly entries: GalleryEntry[],
    groups: [title: string, names: string[]][],
    choose: (name: string) => void,
    private readonly theme: () => Theme,
  ) {
    const inGroups = groups.map(([title, names]) => [
      title,
      names.flatMap((name) => entries.filter((entry) => entry.name === name)),
    ]);
    this.gallery = new Gallery(
      Object.fromEntries(inGroups) as { [title: string]: GalleryEntry[] },
      choose,
      theme,
    );
    this.button = el(
      "button",
      {
        type: "button",
        class: "browse",
        "data-action": "gallery",
        "aria-haspopup": "dialog",
        click: () => this.gallery.open(this.shown),
      },
      this.picture,
      this.what,
      el("span", { class: "all" }, "all scenes"),
    );
    new ResizeObserver(() => this.draw()).observe(this.picture); // settings may be opened later
    new MutationObserver(() => this.draw()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  }

  /** Says what is on the page: a preset, or something else by its title. */
  show(name: string | null, title: string): void {
    this.shown = name;
    this.what.textContent = title;
    this.draw();
  }

  private draw(): void {
    const thumbnail = this.entries.find(({ name }) => name === this.shown)?.thumbnail ?? null;
    this.picture.hidden = thumbnail === null;
    const key = `${this.shown}/${this.theme().paper}`;
    if (thumbnail === null || key === this.drawnKey || this.picture.clientWidth === 0) return;
    this.drawnKey = key;
    drawSketch(this.picture, sketchOfThumbnail(thumbnail), this.theme());
  }
}
