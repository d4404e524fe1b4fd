/** The presets as a gallery: small pictures of their runs, in groups, to be searched. */

import type { Theme } from "./colours.ts";
import { el } from "./dom.ts";
import { drawSketch, sketchOfThumbnail, type Thumbnail } from "./sketch.ts";

export interface GalleryEntry {
  name: string;
  title: string;
  explain: string;
  thumbnail?: Thumbnail | null;
}

interface Card {
  entry: GalleryEntry;
  button: HTMLButtonElement;
  picture: HTMLCanvasElement;
}

const plain = (text: string): string => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");

/** Whether every word that is searched for stands in the title or the text. */
export function matches(entry: GalleryEntry, search: string): boolean {
  const text = plain(`${entry.title} ${entry.explain} ${entry.name}`);
  return plain(search)
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export class Gallery {
  readonly dialog: HTMLDialogElement;
  private readonly search = el("input", {
    type: "search",
    "data-control": "gallery-search",
    placeholder: "Search",
    "aria-label": "Search the scenes",
  });
  private readonly nothing = el("p", { class: "nothing", hidden: true }, "No scene has these words.");
  private readonly cards: Card[] = [];
  private readonly groups: HTMLElement[] = [];

  constructor(
    groups: { [title: string]: GalleryEntry[] },
    private readonly choose: (name: string) => void,
    private readonly theme: () => Theme,
  ) {
    for (const [title, entries] of Object.entries(groups)) {
      if (entries.length === 0) continue;
      const cards = entries.map((entry) => this.card(entry));
      this.cards.push(...cards);
      this.groups.push(
        el(
          "section",
          { class: "shelf" },
          el("h3", {}, title),
          el("div", { class: "cards" }, ...cards.map(({ button }) => button)),
        ),
      );
    }
    const close = (): void => this.dialog.close();
    this.dialog = el(
      "dialog",
      { id: "gallery", class: "gallery", "aria-label": "Scenes" },
      el(
        "div",
        { class: "head" },
        el("h2", {}, "Scenes"),
        this.search,
        el(
          "button",
          { type: "button", "data-action": "close-gallery", "aria-label": "Close", click: close },
          "×",
        ),
      ),
      el("div", { class: "shelves" }, ...this.groups, this.nothing),
    );
    this.search.addEventListener("input", () => this.filter());
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) close(); // beside it
    });
    document.body.append(this.dialog);
  }

  private card(entry: GalleryEntry): Card {
    const picture = el("canvas", { "aria-hidden": "true" });
    const button = el(
      "button",
      {
        type: "button",
        class: "card",
        "data-preset": entry.name,
        click: () => {
          this.dialog.close();
          this.choose(entry.name);
        },
      },
      picture,
      el("span", { class: "name" }, entry.title),
      el("span", { class: "about" }, entry.explain),
    );
    return { entry, button, picture };
  }

  /** Opens it; `shown` is the preset that is on the page, if one is. */
  open(shown: string | null): void {
    this.search.value = "";
    this.filter();
    this.dialog.showModal();
    const theme = this.theme();
    for (const { entry, button, picture } of this.cards) {
      if (entry.name === shown) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
      picture.hidden = entry.thumbnail == null;
      if (entry.thumbnail != null) drawSketch(picture, sketchOfThumbnail(entry.thumbnail), theme);
    }
    const here = this.cards.find(({ entry }) => entry.name === shown) ?? this.cards.at(0);
    here?.button.focus();
  }

  private filter(): void {
    let found = 0;
    for (const { entry, button } of this.cards) {
      button.hidden = !matches(entry, this.search.value.trim());
      if (!button.hidden) found++;
    }
    for (const group of this.groups)
      group.hidden = [...group.querySelectorAll<HTMLElement>(".card")].every(({ hidden }) => hidden);
    this.nothing.hidden = found > 0;
  }

  /** Arrows go from card to card as they lie; letters go to the search. */
  private key(event: KeyboardEvent): void {
    const shown = this.cards.map(({ button }) => button).filter(({ hidden }) => !hidden);
    const at = shown.indexOf(document.activeElement as HTMLButtonElement);
    if (document.activeElement === this.search) {
      if ((event.key === "ArrowDown" || event.key === "Enter") && shown.length > 0) {
        event.preventDefault();
        if (event.key === "Enter") shown[0].click();
        else shown[0].focus();
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.length === 1 && event.key !== " ") return this.search.focus(); // and there it is typed
    if (at < 0) return;
    const ends: { [key: string]: number } = { Home: 0, End: shown.length - 1 };
    const steps: { [key: string]: number } = { ArrowLeft: at - 1, ArrowRight: at + 1, ...ends };
    const next = Object.hasOwn(steps, event.key) ? steps[event.key] : this.beside(shown, at, event.key);
    if (next === null) return;
    event.preventDefault();
    shown[Math.max(0, Math.min(next, shown.length - 1))].focus();
  }

  /** The card above or below. */
  private beside(shown: HTMLElement[], at: number, key: string): number | null {
    const by = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (by === undefined) return null;
    const here = shown[at].getBoundingClientRect();
    let best: number | null = null;
    let nearest = Infinity;
    shown.forEach((card, i) => {
      const there = card.getBoundingClientRect();
      const down = (there.top - here.top) * by;
      if (down < 4) return;
      const apart = down * 4 + Math.abs(there.left - here.left);
      if (apart < nearest) [nearest, best] = [apart, i];
    });
    return best;
  }
}
