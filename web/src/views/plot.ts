/** A two-dimensional view: a layer that changes rarely and is kept, and over it what follows the cursor. */

import { CanvasPen, SvgPen, type Pen } from "../pen.ts";
import { Panel } from "../panel.ts";
import type { Scope, View } from "../scope.ts";
import { TITLES } from "../words.ts";

const TURN = 30; // milliseconds between two costly layers

export interface Box {
  width: number;
  height: number;
}

export abstract class Plot implements View {
  readonly panel: Panel;
  readonly element: HTMLElement;
  protected readonly canvas: HTMLCanvasElement;
  protected box: Box = { width: 0, height: 0 };
  /** While playing, the kept layer is redone at most this often (milliseconds). */
  protected patience = 0;
  protected saving = false;
  private readonly kept = document.createElement("canvas");
  private key = "";
  private painted = -Infinity;
  private static busy = -Infinity; // when any view last redid its kept layer while playing

  constructor(
    readonly name: string,
    protected readonly scope: Scope,
  ) {
    this.panel = new Panel(name, { png: () => this.png(), svg: () => this.svg() });
    this.element = this.panel.element;
    this.canvas = this.panel.canvas;
    new ResizeObserver(() => this.measure()).observe(this.panel.stage);
  }

  /** Names everything the kept layer depends on. */
  protected abstract keyOf(): string;
  protected abstract paint(pen: Pen, box: Box): void;
  protected abstract over(pen: Pen, box: Box): void;

  private measure(): void {
    this.box = { width: this.panel.stage.clientWidth, height: this.panel.stage.clientHeight };
    for (const canvas of [this.canvas, this.kept]) {
      canvas.width = Math.max(1, Math.round(this.box.width * devicePixelRatio));
      canvas.height = Math.max(1, Math.round(this.box.height * devicePixelRatio));
    }
    this.canvas.style.width = `${this.box.width}px`;
    this.canvas.style.height = `${this.box.height}px`;
    this.key = "";
    this.scope.changed();
  }

  draw(): void {
    const { width, height } = this.box;
    if (width < 20 || height < 20) return;
    const key = this.keyOf();
    const now = performance.now();
    if (key !== this.key) {
      if (!this.scope.playing || this.key === "" || this.mayPaint(now)) {
        const to = this.begin(this.kept);
        this.paint(new CanvasPen(to), this.box);
        this.key = key;
        this.painted = now;
        if (this.patience > 0) Plot.busy = now;
      } else this.scope.changed();
    }
    const to = this.begin(this.canvas);
    to.drawImage(this.kept, 0, 0, width, height);
    this.over(new CanvasPen(to), this.box);
  }

  /** While playing, costly layers take turns, so that no picture waits for two of them. */
  private mayPaint(now: number): boolean {
    return this.patience === 0 || (now - this.painted > this.patience && now - Plot.busy > TURN);
  }

  private begin(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const to = canvas.getContext("2d")!;
    to.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    to.clearRect(0, 0, this.box.width, this.box.height);
    return to;
  }

  /** The whole picture for keeping: nothing is veiled there. */
  private write(pen: Pen): void {
    this.saving = true;
    pen.rect(0, 0, this.box.width, this.box.height, { fill: this.scope.theme.paper });
    this.paint(pen, this.box);
    this.over(pen, this.box);
    this.saving = false;
  }

  svg(): string {
    const pen = new SvgPen(this.box.width, this.box.height, `nucleate: ${TITLES[this.name]}`);
    this.write(pen);
    return pen.finish();
  }

  png(scale = 3): Promise<Blob> {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(this.box.width * scale);
    canvas.height = Math.round(this.box.height * scale);
    const to = canvas.getContext("2d")!;
    to.scale(scale, scale);
    this.write(new CanvasPen(to));
    return new Promise((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be written."))),
        "image/png",
      ),
    );
  }
}
