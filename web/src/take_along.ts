/** The part of Share that hands out files: the page itself, pictures at any density, films. */

import type { App } from "./app.ts";
import { pretty } from "./axis.ts";
import { byId, download, el } from "./dom.ts";
import { FILM_SECONDS, filmed, filmKinds, missingKinds, type Film, type FilmKind } from "./film.ts";
import { cursorAfter, Pacing } from "./pacing.ts";
import { pageWith, standsAlone } from "./page_copy.ts";
import type { Live } from "./in_page.ts";
import { FONT } from "./pen.ts";
import { PICTURE_DENSITY, pngOf, POSTER_PIXELS, rasterised } from "./pictures.ts";
import type { RunRecord } from "./run_record.ts";
import { TITLES } from "./text.ts";
import { currentFrame, type View } from "./view_context.ts";

type Kind = "png" | "poster" | "svg" | FilmKind;

const KINDS: { [kind in Kind]: string } = {
  png: `PNG, ${PICTURE_DENSITY} × the screen`,
  poster: `PNG for a poster, ${POSTER_PIXELS} pixels`,
  svg: "SVG",
  gif: `GIF, ${FILM_SECONDS} s`,
  webm: `WebM video, ${FILM_SECONDS} s`,
  mp4: `MP4 video, ${FILM_SECONDS} s`,
};
const FOOT_PIXELS = 26; // under a film: view and time
const FILM_PIXELS = 1280; // of its longer side, at most
const GIF_PIXELS = 640;

export class TakeAlong {
  readonly element: HTMLElement;
  private readonly view = el("select", { "data-control": "film-view", "aria-label": "Which view" });
  private readonly kind: HTMLSelectElement;
  private readonly bar = el("progress", {
    max: 1,
    value: 0,
    "aria-label": "How far the film is",
    hidden: true,
  });
  private readonly message = el("p", { class: "said", "data-part": "along", role: "status" });
  private readonly save: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private cancelled = false;
  private readonly pacing = new Pacing();

  constructor(
    private readonly app: App,
    private readonly views: View[],
    private readonly askPage: () => boolean,
    private readonly liveOf: (run: RunRecord) => Live | null,
  ) {
    const kinds: Kind[] = ["png", "poster", "svg", ...filmKinds()];
    this.kind = el(
      "select",
      { "data-control": "film-kind", "aria-label": "As which kind of file" },
      ...kinds.map((kind) => el("option", { value: kind }, KINDS[kind])),
    );
    const button = (action: string, text: string, act: () => void, hidden = false): HTMLButtonElement =>
      el("button", { type: "button", "data-action": action, click: act, hidden }, text);
    this.save = button("save-view", "Save the view", () => void this.saveView());
    this.stop = button("cancel-film", "Cancel", () => void (this.cancelled = true), true);
    byId("share").addEventListener("close", () => (this.cancelled = true));
    this.element = el(
      "div",
      { class: "along" },
      el(
        "p",
        {},
        "A page of its own plays this run in any browser, without server or network. Pictures show the " +
          "frame of the cursor, films the whole run.",
      ),
      el(
        "div",
        { class: "row" },
        button("save-page", "Save as a page", () => this.savePage()),
      ),
      el("div", { class: "row" }, this.view, this.kind, this.save, this.stop, this.bar),
      ...(missingKinds() === "" ? [] : [el("p", { "data-part": "missing-kinds" }, missingKinds())]),
      this.message,
    );
  }

  /** The views that are there now; to be called when the window opens. */
  show(): void {
    const shown = this.views.filter(
      (view) => !view.element.hidden && view.pictureAt !== undefined && !view.element.matches(".missing"),
    );
    const chosen = this.view.value;
    this.view.replaceChildren(...shown.map(({ name }) => el("option", { value: name }, TITLES[name])));
    if (shown.some(({ name }) => name === chosen)) this.view.value = chosen;
    if (!this.save.disabled) this.message.textContent = "";
  }

  private savePage(): void {
    const { run } = this.app;
    if (run === null) return;
    if (standsAlone()) {
      const page = pageWith(run, this.liveOf(run));
      download(`${run.begun.file ?? "nucleate-run"}.html`, new Blob([page], { type: "text/html" }));
    } else
      this.message.textContent = this.askPage()
        ? "The server writes the page."
        : "The server writes the page, and it cannot be reached now.";
  }

  private async saveView(): Promise<void> {
    const view = this.views.find(({ name }) => name === this.view.value);
    const kind = this.kind.value as Kind;
    if (view === undefined || this.app.run === null) return;
    this.busy(true);
    try {
      const file = await this.fileOf(view, kind);
      const ending = kind === "poster" ? "png" : kind;
      if (file === null) this.message.textContent = "Cancelled.";
      else {
        download(`nucleate-${view.name}${kind === "poster" ? "-poster" : ""}.${ending}`, file);
        this.message.textContent = `Saved, ${pretty(file.size / 1e6)} MB.`;
      }
    } catch (error) {
      this.message.textContent = `It could not be written: ${(error as Error).message}`;
    }
    this.busy(false);
  }

  private busy(busy: boolean): void {
    this.cancelled = false;
    const [gone, next] = busy ? [this.save, this.stop] : [this.stop, this.save];
    const held = document.activeElement === gone; // the focus goes on: it would be lost with the button
    this.save.disabled = busy;
    this.bar.hidden = this.stop.hidden = !busy;
    if (held) next.focus();
    this.bar.value = 0;
    if (busy) this.message.textContent = "Being written …";
  }

  private async fileOf(view: View, kind: Kind): Promise<Blob | null> {
    if (kind === "svg") return new Blob([view.svg!()], { type: "image/svg+xml" });
    if (kind === "png") return pngOf(view.pictureAt!(PICTURE_DENSITY, true));
    if (kind === "poster") return pngOf(await this.poster(view));
    return this.film(view, kind);
  }

  /** The sphere’s lines are as thin as a pixel where the card draws them; its SVG has widths. */
  private async poster(view: View): Promise<HTMLCanvasElement> {
    const scale = POSTER_PIXELS / longerSide(view);
    return view.name === "sphere" ? rasterised(view.svg!(), scale) : view.pictureAt!(scale, true);
  }

  private async film(view: View, kind: FilmKind): Promise<Blob | null> {
    const { app } = this;
    const { run, cursor } = app;
    const scale = Math.min(2, (kind === "gif" ? GIF_PIXELS : FILM_PIXELS) / longerSide(view));
    app.playing = false;
    const film: Film = {
      picture: (share) => this.frame(view, share, scale),
      progress: (share) => (this.bar.value = share),
      cancelled: () => this.cancelled || app.run !== run,
    };
    try {
      return await filmed(film, kind);
    } finally {
      if (app.run === run) app.cursor = cursor;
      app.redraw();
    }
  }

  /** A film goes as fast as the page plays: by motion and mergers, or layer by layer. */
  private cursorAt(run: RunRecord, share: number): number {
    if (run.trace !== null) return share * (run.frameCount - 1);
    const until = this.pacing.of(run);
    return cursorAfter(share * until[until.length - 1], until);
  }

  /** One picture of a film: the view, and below it which one it is and the time. */
  private frame(view: View, share: number, scale: number): HTMLCanvasElement {
    const { app } = this;
    const run = app.run!;
    app.cursor = this.cursorAt(run, share);
    app.updateColours();
    const picture = view.pictureAt!(scale, false);
    const foot = Math.round(FOOT_PIXELS * scale);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.width, picture.height + foot];
    const to = canvas.getContext("2d", { willReadFrequently: true })!;
    to.fillStyle = app.theme.paper;
    to.fillRect(0, 0, canvas.width, canvas.height);
    to.drawImage(picture, 0, 0);
    const t = run.t[currentFrame(app)];
    const time = run.trace === null ? `t = ${pretty(t)}` : t === 0 ? "embedding" : `after block ${t}`;
    to.fillStyle = app.theme.soft;
    to.font = `400 ${12 * scale}px ${FONT}`;
    to.textBaseline = "middle";
    to.fillText(`${TITLES[view.name]} · ${time}`, 10 * scale, picture.height + foot / 2);
    return canvas;
  }
}

function longerSide(view: View): number {
  const stage = view.element.querySelector(".stage") ?? view.element;
  return Math.max(1, stage.clientWidth, stage.clientHeight);
}
