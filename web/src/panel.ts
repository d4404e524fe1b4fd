/**
 * The frame around a view: title, a reading of the current value, its explanation, and buttons that save it.
 */

import { download, el } from "./dom.ts";
import { EXPLANATIONS, TITLES } from "./text.ts";

export interface PictureSavers {
  png(): Promise<Blob>;
  svg(): string;
}

export class Panel {
  readonly element: HTMLElement;
  readonly stage = el("div", { class: "stage" });
  readonly canvas = el("canvas", { role: "img" });
  private readonly title: HTMLElement;
  private readonly reading = el("span", { class: "reading" }); // no live region, as the time is none
  private readonly options = el("span", { class: "options" });
  private readonly why = el("p", { class: "sorry", hidden: true });
  private readonly rings = el("span", { class: "legend" });
  private readonly frozenEntry = el(
    "span",
    { class: "entry", hidden: true },
    el("span", { class: "diamond", "aria-hidden": "true" }),
    "frozen",
  );

  constructor(
    readonly name: string,
    saves: PictureSavers,
  ) {
    this.title = el("h2", { id: `title-${name}` }, TITLES[name]);
    const about = el("p", { class: "explain", id: `explain-${name}` }, EXPLANATIONS[name]);
    const info = el(
      "button",
      {
        type: "button",
        class: "tool",
        "data-action": "about",
        "aria-expanded": "false",
        "aria-controls": about.id,
        "aria-label": `What ${TITLES[name]} shows`,
      },
      "i",
    );
    info.addEventListener("click", () => {
      const open = this.element.classList.toggle("explained");
      info.setAttribute("aria-expanded", String(open));
    });
    const save = (kind: "png" | "svg"): HTMLElement =>
      el(
        "button",
        {
          type: "button",
          class: "tool",
          "data-action": kind,
          "aria-label": `Save ${TITLES[name]} as ${kind.toUpperCase()}`,
          click: () => void this.save(kind, saves),
        },
        kind.toUpperCase(),
      );
    const head = el(
      "header",
      {},
      this.title,
      this.reading,
      el("span", { class: "saves-place" }, el("span", { class: "saves" }, save("png"), save("svg"))),
      this.options,
      el("span", { class: "tools" }, info),
    );
    this.canvas.setAttribute("aria-describedby", about.id);
    this.canvas.setAttribute("aria-label", TITLES[name]);
    this.stage.append(this.canvas);
    this.element = el(
      "section",
      { class: "panel", "data-view": name, "aria-labelledby": this.title.id },
      head,
      about,
      this.stage,
      this.why,
    );
  }

  /** In place of the picture, the sentence that says why there is none; null where there is one. */
  showWhy(text: string | null): void {
    if (this.why.textContent === (text ?? "")) return;
    this.why.textContent = text ?? "";
    this.why.hidden = text === null;
    this.element.classList.toggle("missing", text !== null);
    if (text !== null) this.showReading("", text);
  }

  private async save(kind: "png" | "svg", saves: PictureSavers): Promise<void> {
    download(
      `nucleate-${this.name}.${kind}`,
      kind === "png" ? await saves.png() : new Blob([saves.svg()], { type: "image/svg+xml" }),
    );
  }

  /** The canvas takes keys of its own, so Tab reaches it. */
  acceptKeys(): void {
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
  }

  /** The current value in a few words, also for those who cannot see the canvas. */
  showReading(text: string, aloud = text): void {
    if (this.reading.textContent === text) return;
    this.reading.textContent = text;
    this.reading.title = aloud;
    this.canvas.setAttribute("aria-label", `${TITLES[this.name]}: ${aloud}`);
  }

  /** What rings around tokens mean, and diamonds, where there are some. */
  ringLegend(): void {
    const entry = (kind: string, text: string): HTMLElement =>
      el("span", { class: "entry" }, el("span", { class: `ring ${kind}`, "aria-hidden": "true" }), text);
    this.rings.append(entry("", "Rényi center"), entry("strong", "strong center"));
    this.options.append(el("span", { class: "legend" }, this.rings, this.frozenEntry));
  }

  /** Whether there are centers to be ringed. */
  showRings(there: boolean): void {
    this.rings.hidden = !there;
  }

  showFrozen(there: boolean): void {
    this.frozenEntry.hidden = !there;
  }

  /** A choice in the head of the panel. */
  choice(
    label: string,
    choices: { [value: string]: string },
    chosen: (value: string) => void,
  ): HTMLSelectElement {
    const select = el(
      "select",
      { class: "quiet", "aria-label": label },
      ...Object.entries(choices).map(([value, text]) => el("option", { value }, text)),
    );
    select.addEventListener("change", () => chosen(select.value));
    this.options.append(select);
    return select;
  }
}
