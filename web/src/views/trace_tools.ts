/** What the sphere has for a trace: words beside the tokens, zoom, and menus of what is to be seen. */

import { el } from "../dom.ts";
import type { Panel } from "../panel.ts";
import { CanvasPen } from "../pen.ts";
import type { RunRecord } from "../run_record.ts";
import type { Trace } from "../trace.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { drawLabel, labelFont, placeLabels, type WordLabel } from "./labels.ts";
import type { Dot } from "./sphere_svg.ts";

const ZOOM = 1.35; // of one press
const PLAIN_GAP = 8; // pixels from the middle of a dot to its word
const RING_GAP = 12; // where it has a ring

export class TraceTools {
  readonly canvas = el("canvas", { class: "labels", "aria-hidden": "true" });
  private readonly loss = el("p", { class: "loss" });
  private readonly zoom: HTMLElement;
  private readonly reading: HTMLSelectElement;
  private readonly frame: HTMLSelectElement;
  private box = { width: 0, height: 0 };
  private shown: Trace | null = null;

  constructor(
    private readonly context: ViewContext,
    private readonly panel: Panel,
    /** By this factor; null: as at first. */
    zoom: (closer: number | null) => void,
  ) {
    const button = (text: string, label: string, closer: number | null): HTMLElement =>
      el("button", { type: "button", class: "main", "aria-label": label, click: () => zoom(closer) }, text);
    this.zoom = el(
      "div",
      { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("+", "Closer", ZOOM),
      button("−", "Farther", 1 / ZOOM),
      button("⟲", "As at first", null),
    );
    this.reading = panel.choice("Text or control", {}, (reading) => context.changeLook({ reading }));
    this.frame = panel.choice(
      "Which three directions",
      { all: "one frame", own: "frame per layer" },
      (frame) => context.changeLook({ frame: frame as "all" | "own" }),
    );
    this.reading.dataset.control = "reading";
    this.frame.dataset.control = "frame";
    this.show(null);
  }

  resize(width: number, height: number): void {
    this.box = { width, height };
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
  }

  private show(trace: Trace | null): void {
    const parts = [this.canvas, this.loss, this.zoom];
    if (trace === null) for (const part of parts) part.remove();
    else this.panel.stage.append(...parts);
    this.frame.hidden = trace === null;
    this.reading.hidden = trace === null || trace.data.readings.length < 2;
    this.shown = trace;
    if (trace === null) return;
    this.reading.replaceChildren(
      ...trace.data.readings.map(({ name }) => el("option", { value: name }, name)),
    );
    this.reading.value = trace.reading.name;
    this.frame.value = trace.frame;
  }

  draw(run: RunRecord, dots: Dot[]): void {
    if (run.trace !== this.shown) this.show(run.trace);
    if (run.trace === null) return;
    const layer = currentFrame(this.context);
    const where = layer === 0 ? "Embedding" : `After block ${run.t[layer]}`;
    const share = Math.round(100 * run.trace.lostAt(layer));
    const loss = `${where}: 3 of ${run.d} directions, ${share} % of squared length lost`;
    if (this.loss.textContent !== loss) this.loss.textContent = loss;
    const to = this.canvas.getContext("2d")!;
    to.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    to.clearRect(0, 0, this.box.width, this.box.height);
    const pen = new CanvasPen(to);
    for (const label of this.labels(run, dots)) drawLabel(pen, label, this.context.theme);
  }

  /** The words on a picture that is so wide, in pixels. */
  paint(run: RunRecord, dots: Dot[], to: CanvasRenderingContext2D, width: number): void {
    to.save();
    to.scale(width / this.box.width, width / this.box.width);
    const pen = new CanvasPen(to);
    for (const label of this.labels(run, dots)) drawLabel(pen, label, this.context.theme);
    to.restore();
  }

  /** The words there is room for: the chosen token's, those of its nearest, of centers, then all others. */
  labels(run: RunRecord, dots: Dot[]): WordLabel[] {
    const { trace } = run;
    if (trace === null) return [];
    const { hover } = this.context;
    const near =
      hover === null ? [] : trace.neighbours(currentFrame(this.context), hover).map((one) => one.token);
    const kindOf = (k: number): WordLabel["kind"] => {
      if (k === hover) return "chosen";
      if (near.includes(k)) return "near";
      return ({ "strong center": "strong", "Rényi center": "renyi", "": "plain" } as const)[
        trace.centerKind(k)
      ];
    };
    const kinds = dots.map(({ k }) => kindOf(k)); // dots come by token
    const order = ["chosen", "near", "strong", "renyi", "plain"];
    const rank = ({ k, facing }: Dot): number => order.indexOf(kinds[k]) * 4 - facing; // the front first
    const sorted = [...dots].sort((a, b) => rank(a) - rank(b));
    const to = this.canvas.getContext("2d")!;
    const widthOf = (k: number): number => {
      to.font = labelFont(kinds[k] === "chosen" || kinds[k] === "near");
      return to.measureText(trace.words[k]).width;
    };
    const gapOf = (k: number): number => (kinds[k] === "plain" ? PLAIN_GAP : RING_GAP);
    return placeLabels(sorted, widthOf, this.box, gapOf).map((label) => ({
      ...label,
      text: trace.words[label.k],
      kind: kinds[label.k],
      behind: dots[label.k].facing < -0.15,
    }));
  }
}
