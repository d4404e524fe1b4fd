/** A two-dimensional view: a layer that changes rarely and is kept, and over it what follows the cursor. */

import { CanvasPen, SvgPen, type Pen } from "../pen.ts";
import { Panel } from "../panel.ts";
import type { View, ViewContext } from "../view_context.ts";
import { PICTURE_DENSITY, pngOf } from "../pictures.ts";
import { TITLES } from "../text.ts";

const COSTLY_LAYER_PAUSE_MILLIS = 30; // between the costly layers of two views

export interface Box {
  width: number;
  height: number;
}

export abstract class Plot implements View {
  readonly panel: Panel;
  readonly element: HTMLElement;
  protected readonly canvas: HTMLCanvasElement;
  protected box: Box = { width: 0, height: 0 };
  /** While playing, the kept layer is redone no sooner than after this time. */
  protected minRepaintMillis = 0;
  protected saving = false;
  private readonly layer = document.createElement("canvas");
  private layerKey = "";
  private layerPaintedAt = -Infinity;
  private static costlyLayerPaintedAt = -Infinity; // when any view last redid its kept layer while playing

  constructor(
    readonly name: string,
    protected readonly context: ViewContext,
  ) {
    this.panel = new Panel(name, { png: () => this.png(), svg: () => this.svg() });
    this.element = this.panel.element;
    this.canvas = this.panel.canvas;
    new ResizeObserver(() => this.resize()).observe(this.panel.stage);
  }

  /** Names everything the kept layer depends on. */
  protected abstract keyOfLayer(): string;
  protected abstract paintLayer(pen: Pen, box: Box): void;
  protected abstract paintOverlay(pen: Pen, box: Box): void;

  private resize(): void {
    this.box = { width: this.panel.stage.clientWidth, height: this.panel.stage.clientHeight };
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.max(1, Math.round(this.box.width * devicePixelRatio));
      canvas.height = Math.max(1, Math.round(this.box.height * devicePixelRatio));
    }
    this.canvas.style.width = `${this.box.width}px`;
    this.canvas.style.height = `${this.box.height}px`;
    this.layerKey = "";
    this.context.redraw();
  }

  draw(): void {
    const why = this.context.run?.begun.missing?.[this.name] ?? null;
    this.panel.showWhy(why);
    if (why !== null) return;
    const { width, height } = this.box;
    if (width < 20 || height < 20) return;
    const key = `${this.keyOfLayer()}/${this.context.theme.paper}`;
    const now = performance.now();
    if (key !== this.layerKey) {
      if (!this.context.playing || this.layerKey === "" || this.mayPaint(now)) {
        const to = this.cleared(this.layer);
        this.paintLayer(new CanvasPen(to), this.box);
        this.layerKey = key;
        this.layerPaintedAt = now;
        if (this.minRepaintMillis > 0) Plot.costlyLayerPaintedAt = now;
      } else this.context.redraw();
    }
    const to = this.cleared(this.canvas);
    to.drawImage(this.layer, 0, 0, width, height);
    this.paintOverlay(new CanvasPen(to), this.box);
  }

  /** While playing, costly layers take turns, so that no picture waits for two of them. */
  private mayPaint(now: number): boolean {
    return (
      this.minRepaintMillis === 0 ||
      (now - this.layerPaintedAt > this.minRepaintMillis &&
        now - Plot.costlyLayerPaintedAt > COSTLY_LAYER_PAUSE_MILLIS)
    );
  }

  private cleared(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const to = canvas.getContext("2d")!;
    to.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    to.clearRect(0, 0, this.box.width, this.box.height);
    return to;
  }

  /** The picture for keeping; `whole`: nothing is veiled there. */
  private drawWhole(pen: Pen, whole = true): void {
    this.saving = whole;
    pen.rect(0, 0, this.box.width, this.box.height, { fill: this.context.theme.paper });
    this.paintLayer(pen, this.box);
    this.paintOverlay(pen, this.box);
    this.saving = false;
  }

  svg(): string {
    const pen = new SvgPen(this.box.width, this.box.height, `nucleate: ${TITLES[this.name]}`);
    this.drawWhole(pen);
    return pen.finish();
  }

  pictureAt(scale: number, whole: boolean): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(this.box.width * scale);
    canvas.height = Math.round(this.box.height * scale);
    const to = canvas.getContext("2d")!;
    to.scale(scale, scale);
    this.drawWhole(new CanvasPen(to), whole);
    return canvas;
  }

  private png(): Promise<Blob> {
    return pngOf(this.pictureAt(PICTURE_DENSITY, true));
  }
}
