/** The attention matrix of the frame under the cursor, worked out here. */

import { power } from "../axis.ts";
import { viridis } from "../colours.ts";
import type { Pen } from "../pen.ts";
import { frameOf, type Scope } from "../scope.ts";
import { attention, type Attended } from "../weights.ts";
import { Plot, type Box } from "./plot.ts";

const MOST = 512;
// of more tokens, the first ones are shown: under a causal mask their rows are the same whatever follows
const PREFIX = 256;
const EDGE = { left: 36, right: 62, top: 8, bottom: 22 };
const STRIP = 8; // pixels: the column of what goes to frozen tokens
const STRIP_ROOM = 16; // it takes from what is right of the matrix
// power of ten of the darkest shade; clusters of m tokens give weights of about 1/m, which a linear scale
// would hide
const LEAST = -4;
const SHADES = Array.from({ length: 256 }, (_, i) => viridis(i / 255));

/** 0 to 1: the logarithm of a weight between the darkest and the brightest shade. */
export const brightness = (weight: number): number =>
  Math.max(0, 1 - Math.log10(Math.max(weight, 1e-300)) / LEAST);

export class AttentionView extends Plot {
  private readonly picture = document.createElement("canvas");
  private readonly strip = document.createElement("canvas"); // one pixel wide
  private weights: Attended | null = null;
  private order: number[] = []; // token in each row
  private readonly choice: HTMLSelectElement;

  constructor(scope: Scope) {
    super("attention", scope);
    this.patience = 90;
    const orders = { sequence: "in sequence", cluster: "by cluster" };
    this.choice = this.panel.choice("Order of the tokens", orders, (value) =>
      scope.restyle({ order: value as "sequence" | "cluster" }),
    );
    this.canvas.addEventListener("pointermove", (event) =>
      scope.point(this.tokenAt(event.offsetX, event.offsetY)),
    );
    this.canvas.addEventListener("pointerleave", () => scope.point(null));
  }

  protected keyOf(): string {
    const { run, theme, look } = this.scope;
    const drawn = [run?.begun.id, frameOf(this.scope), run !== null && run.held > 0, run?.measured !== null];
    return [...drawn, look.order, theme.dark].join("/");
  }

  /** How many tokens the matrix has; 0 where it cannot be shown. */
  private get shown(): number {
    const run = this.scope.run;
    if (run === null || run.held === 0) return 0;
    if (run.n + run.frozen <= MOST) return run.n;
    return run.mask === "full" || run.frozen > PREFIX ? 0 : Math.min(PREFIX, run.n);
  }

  /** Pixels right of the matrix. */
  private get right(): number {
    return EDGE.right + (this.scope.run?.frozen ? STRIP_ROOM : 0);
  }

  private square(box: Box): { x: number; y: number; side: number } {
    const wide = box.width - EDGE.left - this.right;
    const side = Math.max(10, Math.min(wide, box.height - EDGE.top - EDGE.bottom));
    return {
      side,
      x: EDGE.left + (wide - side) / 2,
      y: EDGE.top + (box.height - EDGE.top - EDGE.bottom - side) / 2,
    };
  }

  /** Tokens in the order of the rows: in clusters that are sorted by their leaders, or in sequence. */
  private ordered(n: number, leader: Int32Array | null): number[] {
    const order = Array.from({ length: n }, (_, k) => k);
    return leader === null || this.scope.look.order === "sequence"
      ? order
      : order.sort((a, b) => leader[a] - leader[b] || a - b);
  }

  private work(): void {
    const run = this.scope.run!;
    const { d, begun } = run;
    const n = this.shown;
    const i = frameOf(this.scope);
    const { tokens, frozen } = (this.weights = attention(
      run.frame(i),
      n,
      d,
      begun.beta,
      begun.Q,
      begun.K,
      run.mask,
      begun.frozen,
    ));
    const order = (this.order = this.ordered(n, run.leadersAt(i)));
    this.shade(this.picture, n, n, (r, c) => tokens[order[r] * n + order[c]]);
    if (run.frozen > 0) this.shade(this.strip, 1, n, (r) => frozen[order[r]]);
  }

  /** One pixel per weight. */
  private shade(
    picture: HTMLCanvasElement,
    width: number,
    height: number,
    weightAt: (r: number, c: number) => number,
  ): void {
    picture.width = width;
    picture.height = height;
    const to = picture.getContext("2d")!;
    const pixels = to.createImageData(width, height);
    for (let r = 0; r < height; r++) {
      for (let c = 0; c < width; c++) {
        const weight = weightAt(r, c);
        if (Number.isNaN(weight)) continue; // not seen: paper
        const shade = SHADES[Math.round(255 * brightness(weight))];
        const at = 4 * (r * width + c);
        pixels.data[at] = shade[0];
        pixels.data[at + 1] = shade[1];
        pixels.data[at + 2] = shade[2];
        pixels.data[at + 3] = 255;
      }
    }
    to.putImageData(pixels, 0, 0);
  }

  protected paint(pen: Pen, box: Box): void {
    const { run, theme } = this.scope;
    this.weights = null;
    if (run === null || run.held === 0) return;
    const n = this.shown;
    if (n === 0) {
      pen.text(`The full matrix is drawn for up to ${MOST} tokens;`, box.width / 2, box.height / 2 - 9, {
        fill: theme.soft,
        align: "center",
      });
      const frozen = run.frozen > 0 ? ", frozen ones counted" : "";
      const count = `this run has ${(run.n + run.frozen).toLocaleString("en")}${frozen}.`;
      return pen.text(count, box.width / 2, box.height / 2 + 9, { fill: theme.soft, align: "center" });
    }
    this.work();
    const { x, y, side } = this.square(box);
    pen.image(this.picture, x, y, side, side);
    pen.rect(x, y, side, side, { stroke: theme.faint });
    const label = { fill: theme.soft, size: 10.5 } as const;
    pen.text("1", x - 5, y + 5, { ...label, align: "right" });
    pen.text(String(n), x - 5, y + side - 5, { ...label, align: "right" });
    pen.text("token k", x - 16, y + side / 2, { ...label, align: "center", turn: true });
    pen.text("1", x, y + side + 4, { ...label, baseline: "top" });
    pen.text("listens to j", x + side / 2, y + side + 4, { ...label, align: "center", baseline: "top" });
    pen.text(String(n), x + side, y + side + 4, { ...label, align: "right", baseline: "top" });
    if (run.frozen > 0) {
      pen.image(this.strip, x + side + 6, y, STRIP, side);
      pen.rect(x + side + 6, y, STRIP, side, { stroke: theme.faint });
      pen.text("frozen", x + side + 6, y + side + 4, { ...label, baseline: "top" });
    }
    this.legend(pen, x + side + this.right - EDGE.right + 14, y, side);
  }

  private legend(pen: Pen, x: number, y: number, side: number): void {
    const { theme } = this.scope;
    const steps = 48;
    for (let i = 0; i < steps; i++) {
      const [r, g, b] = SHADES[Math.round((255 * (steps - 1 - i)) / (steps - 1))];
      pen.rect(x, y + (i * side) / steps, 8, side / steps + 0.5, { fill: `rgb(${r},${g},${b})` });
    }
    for (let exponent = LEAST; exponent <= 0; exponent++) {
      const at = y + side * (exponent / LEAST) + (exponent === 0 ? 4 : exponent === LEAST ? -4 : 0);
      pen.text(exponent === 0 ? "1" : power(exponent), x + 13, at, { fill: theme.soft, size: 10.5 });
    }
  }

  protected over(pen: Pen, box: Box): void {
    const { run, theme, hover } = this.scope;
    this.choice.value = this.scope.look.order;
    const n = this.shown;
    this.choice.hidden = n === 0;
    if (run === null || n === 0 || this.weights === null)
      return this.panel.say(run === null ? "" : `up to ${MOST} tokens`);
    const { tokens, frozen } = this.weights;
    const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
    if (hover === null || hover >= n) {
      const still = run.frozen > 0 ? `${percent(frozen.reduce((a, b) => a + b, 0) / n)} to frozen` : "";
      const part = n < run.n;
      const aloud = part ? `of the first ${n} tokens; those after them do not change it` : "";
      return this.panel.say(
        [part ? `first ${n}` : "", still].filter(Boolean).join("; "),
        [aloud, still].filter(Boolean).join("; "),
      );
    }
    const { x, y, side } = this.square(box);
    const row = this.order.indexOf(hover);
    const step = side / n;
    pen.rect(x - 1, y + row * step - 1, side + 2, step + 2, { stroke: theme.red, width: 1.5 });
    let top = hover;
    for (let j = 0; j < n; j++) if (tokens[hover * n + j] > tokens[hover * n + top]) top = j;
    const still = run.frozen > 0 ? `, frozen: ${frozen[hover].toFixed(2)}` : "";
    this.panel.say(`${hover + 1} hears ${top + 1}: ${tokens[hover * n + top].toFixed(2)}${still}`);
  }

  private tokenAt(px: number, py: number): number | null {
    const { run } = this.scope;
    const { x, y, side } = this.square(this.box);
    if (
      run === null ||
      this.shown === 0 ||
      this.weights === null ||
      px < x ||
      px >= x + side ||
      py < y ||
      py >= y + side
    )
      return null;
    return this.order[Math.floor(((py - y) / side) * this.shown)] ?? null;
  }
}
