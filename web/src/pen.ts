/**
 * Two-dimensional views are drawn with a pen; one pen writes on a canvas, the other writes SVG, so both
 * pictures are the same.
 */

export interface ShapeStyle {
  fill?: string;
  stroke?: string;
  width?: number;
  alpha?: number;
  dash?: number[];
}
export interface TextStyle {
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
  line(x0: number, y0: number, x1: number, y1: number, style: ShapeStyle): void;
  /** Points x, y, x, y...; NaN lifts the pen. */
  path(points: ArrayLike<number>, style: ShapeStyle): void;
  circle(x: number, y: number, radius: number, style: ShapeStyle): void;
  rect(x: number, y: number, width: number, height: number, style: ShapeStyle): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
}

export class CanvasPen implements Pen {
  constructor(private readonly to: CanvasRenderingContext2D) {}

  private finish(style: ShapeStyle): void {
    const { to } = this;
    to.globalAlpha = style.alpha ?? 1;
    if (style.fill !== undefined) {
      to.fillStyle = style.fill;
      to.fill();
    }
    if (style.stroke !== undefined) {
      to.strokeStyle = style.stroke;
      to.lineWidth = style.width ?? 1;
      to.setLineDash(style.dash ?? []);
      to.lineJoin = "round";
      to.stroke();
    }
    to.globalAlpha = 1;
  }

  line(x0: number, y0: number, x1: number, y1: number, style: ShapeStyle): void {
    this.to.beginPath();
    this.to.moveTo(x0, y0);
    this.to.lineTo(x1, y1);
    this.finish(style);
  }

  path(points: ArrayLike<number>, style: ShapeStyle): void {
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
    this.finish(style);
  }

  circle(x: number, y: number, radius: number, style: ShapeStyle): void {
    this.to.beginPath();
    this.to.arc(x, y, radius, 0, 2 * Math.PI);
    this.finish(style);
  }

  rect(x: number, y: number, width: number, height: number, style: ShapeStyle): void {
    this.to.beginPath();
    this.to.rect(x, y, width, height);
    this.finish(style);
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const { to } = this;
    to.font = `${style.bold ? 600 : 400} ${style.size ?? 11}px ${FONT}`;
    to.fillStyle = style.fill;
    to.textAlign = style.align ?? "left";
    to.textBaseline = style.baseline ?? "middle";
    to.save();
    to.translate(x, y);
    if (style.turn) to.rotate(-Math.PI / 2);
    if (style.halo !== undefined) {
      to.strokeStyle = style.halo;
      to.lineWidth = 3;
      to.lineJoin = "round";
      to.setLineDash([]);
      to.strokeText(text, 0, 0);
    }
    to.fillText(text, 0, 0);
    to.restore();
  }

  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.to.imageSmoothingEnabled = picture.width > width * devicePixelRatio;
    this.to.drawImage(picture, x, y, width, height);
  }
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
const rounded = (value: number): string => String(Math.round(value * 100) / 100);
const ANCHOR = { left: "start", center: "middle", right: "end" } as const;
const BASELINE_EM = { top: 0.8, middle: 0.35, bottom: -0.1 } as const; // from y down to the baseline

export class SvgPen implements Pen {
  private readonly parts: string[] = [];

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly title: string,
  ) {}

  private add(tag: string, attributes: string, style: ShapeStyle): void {
    const stroke =
      style.stroke === undefined
        ? ""
        : ` stroke="${style.stroke}" stroke-width="${style.width ?? 1}" stroke-linejoin="round"`;
    const dash = style.dash === undefined ? "" : ` stroke-dasharray="${style.dash.join(" ")}"`;
    const alpha = style.alpha === undefined ? "" : ` opacity="${rounded(style.alpha)}"`;
    this.parts.push(`<${tag} ${attributes} fill="${style.fill ?? "none"}"${stroke}${dash}${alpha}/>`);
  }

  line(x0: number, y0: number, x1: number, y1: number, style: ShapeStyle): void {
    this.add(
      "line",
      `x1="${rounded(x0)}" y1="${rounded(y0)}" x2="${rounded(x1)}" y2="${rounded(y1)}"`,
      style,
    );
  }

  path(points: ArrayLike<number>, style: ShapeStyle): void {
    let letter = "M";
    const steps: string[] = [];
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i])) letter = "M";
      else {
        steps.push(`${letter}${rounded(points[i])} ${rounded(points[i + 1])}`);
        letter = "L";
      }
    }
    if (steps.length > 0) this.add("path", `d="${steps.join("")}"`, style);
  }

  circle(x: number, y: number, radius: number, style: ShapeStyle): void {
    this.add("circle", `cx="${rounded(x)}" cy="${rounded(y)}" r="${rounded(radius)}"`, style);
  }

  rect(x: number, y: number, width: number, height: number, style: ShapeStyle): void {
    this.add(
      "rect",
      `x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}"`,
      style,
    );
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const size = style.size ?? 11;
    const sink = BASELINE_EM[style.baseline ?? "middle"] * size;
    const turn = style.turn ? ` transform="rotate(-90 ${rounded(x)} ${rounded(y)})"` : "";
    const anchor = ANCHOR[style.align ?? "left"];
    const weight = style.bold ? 600 : 400;
    const font = `font-size="${size}" font-weight="${weight}" text-anchor="${anchor}"`;
    const halo =
      style.halo === undefined
        ? ""
        : ` stroke="${style.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
    const place = `x="${rounded(x)}" y="${rounded(y + sink)}"`;
    const paint = `fill="${style.fill}"${halo}${turn}`;
    this.parts.push(`<text ${place} ${font} ${paint}>${escape(text)}</text>`);
  }

  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    const where = `x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}"`;
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
