/** The two windows of the page: share and save, and help. */

import type { App } from "./app.ts";
import { byId, download, el } from "./dom.ts";
import { copy, csv, dataText, publicLink } from "./export.ts";
import { SHORTCUTS } from "./text.ts";

const LINK_HOLDS = "A link holds the whole scene, its seed, the cursor and the view.";
const LINK_OF_RECORDING =
  "A link holds the recording’s name, the cursor and the view, and opens where the explorer has that file.";
const PYTHON_OF_RECORDING =
  "The Python lines redo this recording from its own file: the same start, model, times and solver.";

export class ShareDialog {
  private readonly dialog = byId("share", HTMLDialogElement);
  private readonly message = el("p", { class: "said", "aria-live": "polite" });
  private readonly about = el("p"); // the data
  private fixedText: string | null = null; // what the window says first, where it is always the same
  private readonly text = el("textarea", {
    class: "code",
    readonly: true,
    rows: 12,
    spellcheck: "false",
    hidden: true,
    "aria-label": "Text to copy",
  });

  constructor(
    private readonly app: App,
    private readonly askPython: () => boolean,
    private readonly askData: () => boolean,
  ) {
    const button = (action: string, text: string, act: () => void): HTMLElement =>
      el("button", { type: "button", "data-action": action, click: act }, text);
    const link = el("input", {
      type: "url",
      "data-control": "link",
      placeholder: "http://…#…",
      "aria-label": "A link to open",
    });
    const openLink = (): void => {
      if (link.value.trim() === "") return;
      if (app.openLink(link.value.trim())) this.dialog.close();
      else this.message.textContent = byId("error-text").textContent; // the page behind cannot be read now
    };
    this.dialog.append(
      el("h2", {}, "Share and save"),
      el("p"),
      el(
        "div",
        { class: "row" },
        button("copy-link", "Copy link", () => void this.link()),
        button("copy-python", "Copy as Python", () => this.python()),
      ),
      this.about,
      el(
        "div",
        { class: "row" },
        button("csv", "Data as CSV", () => this.table()),
        button("npz", "Data as NPZ", () => this.data()),
      ),
      el("div", { class: "row" }, link, button("open-link", "Open link", openLink)),
      this.message,
      this.text,
      el(
        "div",
        { class: "row end" },
        button("close-share", "Close", () => this.dialog.close()),
      ),
    );
  }

  show(): void {
    this.message.textContent = "";
    this.text.hidden = true;
    this.about.textContent = this.app.run === null ? "" : dataText(this.app.run);
    const redo = this.ownPython === null ? "The Python lines redo the run bit for bit." : PYTHON_OF_RECORDING;
    const holds = this.app.recording === null ? LINK_HOLDS : LINK_OF_RECORDING;
    this.dialog.querySelector("p")!.textContent = this.fixedText ?? `${holds} ${redo}`;
    const python = this.dialog.querySelector<HTMLButtonElement>('[data-action="copy-python"]')!;
    python.hidden = this.app.run?.trace != null; // a trace is redone by nucleate trace and its model
    this.dialog.showModal();
  }

  /** The lines of a recording that no scene makes; null where the scene has them. */
  private get ownPython(): string | null {
    return this.app.recording === null ? null : (this.app.run?.begun.python ?? null);
  }

  /** What the window says of links and Python, in a page where neither comes from a server. */
  setAbout(text: string): void {
    this.fixedText = text;
    this.dialog.querySelector("p")!.textContent = text;
  }

  /** A recorded page has no engine that could answer. */
  disable(why: string): void {
    for (const action of ["copy-link", "copy-python", "npz", "open-link"]) {
      const button = this.dialog.querySelector<HTMLButtonElement>(`[data-action="${action}"]`)!;
      button.disabled = true;
      button.title = why;
    }
    this.setAbout(why);
  }

  async offerText(text: string, name: string): Promise<void> {
    this.text.value = text;
    this.text.hidden = false;
    this.message.textContent = (await copy(text))
      ? `${name} copied.`
      : `${name}: select the text below and copy it.`;
  }

  private link(): Promise<void> {
    return this.offerText(publicLink(location, this.app.fragment), "Link");
  }

  private python(): void {
    if (this.ownPython !== null) this.showPython(this.ownPython);
    else if (!this.askPython())
      this.message.textContent = "The server writes the Python lines, and it cannot be reached now.";
  }

  /** The server's answer. */
  showPython(text: string): void {
    void this.offerText(text, "Python");
  }

  /** Why there are none. */
  refuse(why: string): void {
    this.text.hidden = true;
    this.message.textContent = why;
  }

  private table(): void {
    const { run } = this.app;
    if (run !== null)
      download(`${run.begun.file ?? "nucleate-run"}.csv`, new Blob([csv(run)], { type: "text/csv" }));
  }

  private data(): void {
    if (!this.askData())
      this.message.textContent =
        "The server writes the NPZ file, and it cannot be reached now. CSV works here.";
  }
}

export function helpDialog(): HTMLDialogElement {
  const dialog = byId("help", HTMLDialogElement);
  const rows = SHORTCUTS.map(([key, what]) =>
    el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, key)), el("td", {}, what)),
  );
  dialog.append(
    el("h2", {}, "Keys"),
    el("table", {}, el("tbody", {}, ...rows)),
    el(
      "p",
      {},
      "Tokens are counted from 1, as in the paper: “Clustering in Causal Attention Masking” " +
        "by Karagodin, Polyanskiy and Rigollet.",
    ),
    el(
      "div",
      { class: "row end" },
      el("button", { type: "button", "data-action": "close-help", click: () => dialog.close() }, "Close"),
    ),
  );
  return dialog;
}
