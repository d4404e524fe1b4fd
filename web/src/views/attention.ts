/** The attention matrix of the frame under the cursor, worked out here. */

import { power } from "../axis.ts";
import { viridis } from "../colours.ts";
import { el } from "../dom.ts";
import type { Pen } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import { attentionMatrix, type AttentionMatrix, type Head } from "../attention_matrix.ts";
import { Plot, type Box } from "./plot.ts";

const MAX_MATRIX_TOKENS = 512;
// of more tokens, the first ones are shown: under a causal mask their rows are the same whatever follows
const SHOWN_FIRST_TOKENS = 256;
const MATRIX_MARGIN = { left: 36, right: 62, top: 8, bottom: 22 }; // pixels
const FROZEN_STRIP_PIXELS = 8; // the column of what goes to frozen tokens
const FROZEN_STRIP_ROOM_PIXELS = 16; // it takes from what is right of the matrix
// power of ten of the darkest shade; clusters of m tokens give weights of about 1/m, which a linear scale
// would hide
const DARKEST_EXPONENT = -4;
const SHADES = Array.from({ length: 256 }, (_, i) => viridis(i / 255));

/** 0 to 1: the logarithm of a weight between the darkest and the brightest shade. */
export const brightness = (weight: number): number =>
  Math.max(0, 1 - Math.log10(Math.max(weight, 1e-300)) / DARKEST_EXPONENT);

export class AttentionView extends Plot {
  private readonly picture = document.createElement("canvas");
  private readonly strip = document.createElement("canvas"); // one pixel wide
  private weights: AttentionMatrix | null = null;
  private order: number[] = []; // token in each row
  private readonly choice: HTMLSelectElement;
  private readonly headChoice: HTMLSelectElement;
  private headNumber = 0;

  constructor(context: ViewContext) {
    super("attention", context);
    this.minRepaintMillis = 90;
    const orders = { sequence: "in sequence", cluster: "by cluster" };
    this.choice = this.panel.choice("Order of the tokens", orders, (value) =>
      context.changeLook({ order: value as "sequence" | "cluster" }),
    );
    this.headChoice = this.panel.choice("Which head", {}, (value) => {
      this.headNumber = Number(value);
      context.redraw();
    });
    this.canvas.addEventListener("pointermove", (event) =>
      context.highlight(this.tokenAt(event.offsetX, event.offsetY)),
    );
    this.canvas.addEventListener("pointerleave", () => context.highlight(null));
  }

  protected keyOfLayer(): string {
    const { run, theme, look } = this.context;
    const drawn = [
      run?.begun.id,
      currentFrame(this.context),
      run !== null && run.frameCount > 0,
      run?.measured !== null,
    ];
    return [...drawn, look.order, theme.dark, this.headNumber].join("/");
  }

  /** The head that is shown, of the layer that acts at the cursor; null where there is none. */
  private get head(): Head | null {
    const run = this.context.run;
    if (run === null || run.begun.missing?.attention !== undefined) return null;
    const heads = run.headsAt(currentFrame(this.context));
    return heads.length === 0 ? null : heads[Math.min(this.headNumber, heads.length - 1)];
  }

  /** As many heads to choose from as there are. */
  private offerHeads(): void {
    const run = this.context.run;
    const count = run === null || this.head === null ? 0 : run.headsAt(currentFrame(this.context)).length;
    this.headChoice.hidden = count < 2;
    if (count === this.headChoice.childElementCount) return;
    this.headNumber = Math.max(0, Math.min(this.headNumber, count - 1));
    this.headChoice.replaceChildren(
      ...Array.from({ length: count }, (_, h) => el("option", { value: h }, `head ${h + 1}`)),
    );
    this.headChoice.value = String(this.headNumber);
  }

  /** How many tokens the matrix has; 0 where it cannot be shown. */
  private get shown(): number {
    const run = this.context.run;
    const head = this.head;
    if (run === null || head === null || run.frameCount === 0) return 0;
    if (run.n + run.frozen <= MAX_MATRIX_TOKENS) return run.n;
    return head.mask === "full" || run.frozen > SHOWN_FIRST_TOKENS ? 0 : Math.min(SHOWN_FIRST_TOKENS, run.n);
  }

  /** Pixels right of the matrix. */
  private get right(): number {
    return MATRIX_MARGIN.right + (this.context.run?.frozen ? FROZEN_STRIP_ROOM_PIXELS : 0);
  }

  private square(box: Box): { x: number; y: number; side: number } {
    const wide = box.width - MATRIX_MARGIN.left - this.right;
    const side = Math.max(10, Math.min(wide, box.height - MATRIX_MARGIN.top - MATRIX_MARGIN.bottom));
    return {
      side,
      x: MATRIX_MARGIN.left + (wide - side) / 2,
      y: MATRIX_MARGIN.top + (box.height - MATRIX_MARGIN.top - MATRIX_MARGIN.bottom - side) / 2,
    };
  }

  /** Tokens in the order of the rows: in clusters that are sorted by their leaders, or in sequence. */
  private ordered(n: number, leader: Int32Array | null): number[] {
    const order = Array.from({ length: n }, (_, k) => k);
    return leader === null || this.context.look.order === "sequence"
      ? order
      : order.sort((a, b) => leader[a] - leader[b] || a - b);
  }

  private computeWeights(): void {
    const run = this.context.run!;
    const n = this.shown;
    const i = currentFrame(this.context);
    const { tokens, frozen } = (this.weights = attentionMatrix(run.frame(i), n, run.d, this.head!));
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

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    this.weights = null;
    if (run === null || run.frameCount === 0) return;
    const n = this.shown;
    if (n === 0) {
      pen.text(
        `The full matrix is drawn for up to ${MAX_MATRIX_TOKENS} tokens;`,
        box.width / 2,
        box.height / 2 - 9,
        {
          fill: theme.soft,
          align: "center",
        },
      );
      const frozen = run.frozen > 0 ? ", frozen ones counted" : "";
      const count = `this run has ${(run.n + run.frozen).toLocaleString("en")}${frozen}.`;
      return pen.text(count, box.width / 2, box.height / 2 + 9, { fill: theme.soft, align: "center" });
    }
    this.computeWeights();
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
      pen.image(this.strip, x + side + 6, y, FROZEN_STRIP_PIXELS, side);
      pen.rect(x + side + 6, y, FROZEN_STRIP_PIXELS, side, { stroke: theme.faint });
      pen.text("frozen", x + side + 6, y + side + 4, { ...label, baseline: "top" });
    }
    this.legend(pen, x + side + this.right - MATRIX_MARGIN.right + 14, y, side);
  }

  private legend(pen: Pen, x: number, y: number, side: number): void {
    const { theme } = this.context;
    const steps = 48;
    for (let i = 0; i < steps; i++) {
      const [r, g, b] = SHADES[Math.round((255 * (steps - 1 - i)) / (steps - 1))];
      pen.rect(x, y + (i * side) / steps, 8, side / steps + 0.5, { fill: `rgb(${r},${g},${b})` });
    }
    for (let exponent = DARKEST_EXPONENT; exponent <= 0; exponent++) {
      const at =
        y +
        side * (exponent / DARKEST_EXPONENT) +
        (exponent === 0 ? 4 : exponent === DARKEST_EXPONENT ? -4 : 0);
      pen.text(exponent === 0 ? "1" : power(exponent), x + 13, at, { fill: theme.soft, size: 10.5 });
    }
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme, hover } = this.context;
    this.choice.value = this.context.look.order;
    this.offerHeads();
    const n = this.shown;
    this.choice.hidden = n === 0;
    if (run === null || n === 0 || this.weights === null)
      return this.panel.showReading(run === null ? "" : `up to ${MAX_MATRIX_TOKENS} tokens`);
    const { tokens, frozen } = this.weights;
    const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
    if (hover === null || hover >= n) {
      const still = run.frozen > 0 ? `${percent(frozen.reduce((a, b) => a + b, 0) / n)} to frozen` : "";
      const part = n < run.n;
      const aloud = part ? `of the first ${n} tokens; those after them do not change it` : "";
      return this.panel.showReading(
        [part ? `first ${n}` : "", still].filter(Boolean).join("; "),
        [aloud, still].filter(Boolean).join("; "),
      );
    }
    const { x, y, side } = this.square(box);
    const row = this.order.indexOf(hover);
    const step = side / n;
    pen.rect(x - 1, y + row * step - 1, side + 2, step + 2, { stroke: theme.red, width: 1.5 });
    let strongest = hover;
    for (let j = 0; j < n; j++) if (tokens[hover * n + j] > tokens[hover * n + strongest]) strongest = j;
    const still = run.frozen > 0 ? `, frozen: ${frozen[hover].toFixed(2)}` : "";
    this.panel.showReading(
      `${hover + 1} hears ${strongest + 1}: ${tokens[hover * n + strongest].toFixed(2)}${still}`,
    );
  }

  private tokenAt(px: number, py: number): number | null {
    const { run } = this.context;
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
