/** A grid of small runs, β against n or d: computed one after another, and opened by a press. */

import { pretty } from "./axis.ts";
import type { Theme } from "./colours.ts";
import { el } from "./dom.ts";
import type { RunQueue } from "./run_queue.ts";
import { drawSketch, sketchOf } from "./sketch.ts";
import type { Scene } from "./state.ts";
import { gridCells, type Cell } from "./variants.ts";

const MAX_CELL_MILLIS = 8000; // then a cell shows what it has, and says how far it came

export interface GridHost {
  scene: Scene;
  theme: Theme;
  open(scene: Scene): void;
  /** The grid is open with this axis, or closed. */
  changed(down: "" | "n" | "d"): void;
}

export class Grid {
  readonly dialog: HTMLDialogElement;
  private readonly choice: HTMLSelectElement;
  private readonly cells = el("div", { class: "grid-cells" });
  private readonly progress = el("output", { class: "about" });
  private takeBack: (() => void)[] = [];

  constructor(
    private readonly queue: RunQueue,
    private readonly host: GridHost,
  ) {
    this.choice = el(
      "select",
      { "data-control": "grid", "aria-label": "What changes from row to row" },
      el("option", { value: "n" }, "β across, n down"),
      el("option", { value: "d" }, "β across, d down"),
    );
    this.choice.addEventListener("change", () => this.open(this.choice.value as "n" | "d"));
    this.dialog = el(
      "dialog",
      { id: "grid", class: "gallery", "aria-label": "A grid of small runs" },
      el(
        "div",
        { class: "head" },
        el("h2", {}, "Grid"),
        this.choice,
        this.progress,
        el(
          "button",
          {
            type: "button",
            "data-action": "close-grid",
            "aria-label": "Close",
            click: () => this.close(),
          },
          "×",
        ),
      ),
      el("div", { class: "shelves" }, this.cells),
    );
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault(); // Escape
      this.close();
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.close(); // beside it
    });
    document.body.append(this.dialog);
  }

  private stop(): void {
    for (const takeBack of this.takeBack) takeBack();
    this.takeBack = [];
  }

  close(): void {
    this.stop();
    this.host.changed("");
    this.dialog.close();
  }

  open(down: "n" | "d"): void {
    this.stop();
    this.choice.value = down;
    this.host.changed(down);
    if (!this.dialog.open) this.dialog.showModal();
    const rows = gridCells(this.host.scene, down);
    this.cells.replaceChildren(...rows.flat().map((cell) => this.cell(cell)));
    this.cells.dataset.columns = String(rows[0].length);
    this.count();
  }

  private count(): void {
    const all = this.cells.childElementCount;
    const done = this.cells.querySelectorAll("[data-done]").length;
    this.dialog.dataset.done = `${done}/${all}`;
    this.progress.textContent = done < all ? `${done} of ${all} computed` : "";
  }

  private cell({ scene, small, title }: Cell): HTMLElement {
    const picture = el("canvas", { "aria-hidden": "true" });
    const about = el("span", { class: "about" }, "…");
    const button = el(
      "button",
      {
        type: "button",
        class: "cell",
        "data-cell": title,
        click: () => {
          this.close();
          this.host.open(scene);
        },
      },
      picture,
      el("span", { class: "name" }, title),
      about,
    );
    const takeBack = this.queue.ask(
      small,
      ({ run, error }) => {
        button.dataset.done = error === null ? "yes" : "no";
        button.disabled = error !== null;
        if (run === null) about.textContent = error;
        else {
          const counts = run.measured!.clusters;
          const last = counts[counts.length - 1];
          const end = `t = ${pretty(run.t[run.frameCount - 1])}`;
          about.textContent = `${last === 1 ? "1 cluster" : `${last} clusters`} at ${end}`;
          button.dataset.clusters = String(last);
          drawSketch(picture, sketchOf(run), this.host.theme);
        }
        this.count();
      },
      MAX_CELL_MILLIS,
    );
    this.takeBack.push(takeBack);
    return button;
  }
}
