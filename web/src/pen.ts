/**
 * Two-dimensional views are drawn with a pen; one pen writes on a canvas, the other writes SVG, so both
 * pictures are the same.
 */

export interface Ink {
  fill?: string;
  stroke?: string;
  width?: number;
  alpha?: number;
  dash?: number[];
}
export interface Lettering {
  fill: string;
  size?: number;
  align?: "left" | "center" | "right";
  baseline?: "top" | "middle" | "bottom";
  bold?: boolean;
  turn?: boolean; // upwards
  halo?: string; // a rim in this colour, where letters cross lines
}

export const FONT =
  'Inter, system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif';

export interface Pen {
  line(x0: number, y0: number, x1: number, y1: number, ink: Ink): void;
  /** Points x, y, x, y...; NaN lifts the pen. */
  path(points: ArrayLike<number>, ink: Ink): void;
  circle(x: number, y: number, radius: number, ink: Ink): void;
  rect(x: number, y: number, width: number, height: number, ink: Ink): void;
  text(words: string, x: number, y: number, lettering: Lettering): void;
  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
}

export class CanvasPen implements Pen {
  constructor(private readonly to: CanvasRenderingContext2D) {}

  private finish(ink: Ink): void {
    const { to } = this;
    to.globalAlpha = ink.alpha ?? 1;
    if (ink.fill !== undefined) {
      to.fillStyle = ink.fill;
      to.fill();
    }
    if (ink.stroke !== undefined) {
      to.strokeStyle = ink.stroke;
      to.lineWidth = ink.width ?? 1;
      to.setLineDash(ink.dash ?? []);
      to.lineJoin = "round";
      to.stroke();
    }
    to.globalAlpha = 1;
  }

  line(x0: number, y0: number, x1: number, y1: number, ink: Ink): void {
    this.to.beginPath();
    this.to.moveTo(x0, y0);
    this.to.lineTo(x1, y1);
    this.finish(ink);
  }

  path(points: ArrayLike<number>, ink: Ink): void {
    this.to.beginPath();
    let down = false;
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i])) down = false;
      else if (down) this.to.lineTo(points[i], points[i + 1]);
      else {
        this.to.moveTo(points[i], points[i + 1]);
        down = true;
      }
    }
    this.finish(ink);
  }

  circle(x: number, y: number, radius: number, ink: Ink): void {
    this.to.beginPath();
    this.to.arc(x, y, radius, 0, 2 * Math.PI);
    this.finish(ink);
  }

  rect(x: number, y: number, width: number, height: number, ink: Ink): void {
    this.to.beginPath();
    this.to.rect(x, y, width, height);
    this.finish(ink);
  }

  text(words: string, x: number, y: number, lettering: Lettering): void {
    const { to } = this;
    to.font = `${lettering.bold ? 600 : 400} ${lettering.size ?? 11}px ${FONT}`;
    to.fillStyle = lettering.fill;
    to.textAlign = lettering.align ?? "left";
    to.textBaseline = lettering.baseline ?? "middle";
    to.save();
    to.translate(x, y);
    if (lettering.turn) to.rotate(-Math.PI / 2);
    if (lettering.halo !== undefined) {
      to.strokeStyle = lettering.halo;
      to.lineWidth = 3;
      to.lineJoin = "round";
      to.setLineDash([]);
      to.strokeText(words, 0, 0);
    }
    to.fillText(words, 0, 0);
    to.restore();
  }

  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.to.imageSmoothingEnabled = picture.width > width * devicePixelRatio;
    this.to.drawImage(picture, x, y, width, height);
  }
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
const short = (value: number): string => String(Math.round(value * 100) / 100);
const ANCHOR = { left: "start", center: "middle", right: "end" } as const;
const SINK = { top: 0.8, middle: 0.35, bottom: -0.1 } as const; // em from y down to the foot of the letters

export class SvgPen implements Pen {
  private readonly parts: string[] = [];

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly title: string,
  ) {}

  private add(tag: string, attributes: string, ink: Ink): void {
    const stroke =
      ink.stroke === undefined
        ? ""
        : ` stroke="${ink.stroke}" stroke-width="${ink.width ?? 1}" stroke-linejoin="round"`;
    const dash = ink.dash === undefined ? "" : ` stroke-dasharray="${ink.dash.join(" ")}"`;
    const alpha = ink.alpha === undefined ? "" : ` opacity="${short(ink.alpha)}"`;
    this.parts.push(`<${tag} ${attributes} fill="${ink.fill ?? "none"}"${stroke}${dash}${alpha}/>`);
  }

  line(x0: number, y0: number, x1: number, y1: number, ink: Ink): void {
    this.add("line", `x1="${short(x0)}" y1="${short(y0)}" x2="${short(x1)}" y2="${short(y1)}"`, ink);
  }

  path(points: ArrayLike<number>, ink: Ink): void {
    let letter = "M";
    const steps: string[] = [];
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i])) letter = "M";
      else {
        steps.push(`${letter}${short(points[i])} ${short(points[i + 1])}`);
        letter = "L";
      }
    }
    if (steps.length > 0) this.add("path", `d="${steps.join("")}"`, ink);
  }

  circle(x: number, y: number, radius: number, ink: Ink): void {
    this.add("circle", `cx="${short(x)}" cy="${short(y)}" r="${short(radius)}"`, ink);
  }

  rect(x: number, y: number, width: number, height: number, ink: Ink): void {
    this.add(
      "rect",
      `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`,
      ink,
    );
  }

  text(words: string, x: number, y: number, lettering: Lettering): void {
    const size = lettering.size ?? 11;
    const sink = SINK[lettering.baseline ?? "middle"] * size;
    const turn = lettering.turn ? ` transform="rotate(-90 ${short(x)} ${short(y)})"` : "";
    const anchor = ANCHOR[lettering.align ?? "left"];
    const weight = lettering.bold ? 600 : 400;
    const font = `font-size="${size}" font-weight="${weight}" text-anchor="${anchor}"`;
    const halo =
      lettering.halo === undefined
        ? ""
        : ` stroke="${lettering.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
    const place = `x="${short(x)}" y="${short(y + sink)}"`;
    const paint = `fill="${lettering.fill}"${halo}${turn}`;
    this.parts.push(`<text ${place} ${font} ${paint}>${escape(words)}</text>`);
  }

  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    const where = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    const png = picture.toDataURL("image/png");
    this.parts.push(`<image ${where} preserveAspectRatio="none" image-rendering="pixelated" href="${png}"/>`);
  }

  finish(): string {
    const { width, height } = this;
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const open = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${escape(FONT)}">`;
    return `${open}<title>${escape(this.title)}</title>\n${this.parts.join("\n")}\n</svg>\n`;
  }
}
