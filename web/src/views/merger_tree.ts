/** Which clusters join which, as a tree over the shared time axis; a branch shows its tokens in all views. */

import { pretty } from "../axis.ts";
import { treeRows, type Branch, type MergerHistory, type Row } from "../mergers.ts";
import type { Pen } from "../pen.ts";
import { currentFrame, type ViewContext } from "../view_context.ts";
import type { Box } from "./plot.ts";
import { TIME_MARGIN, TimePlot } from "./time_plot.ts";

const MAX_BRANCHES = 260; // more are neither seen nor told apart
const THICKEST_PIXELS = 11; // a branch that holds all tokens
const BRANCH_PICK_PIXELS = 8; // from a branch to the pointer
const LABEL_PIXELS = 11; // between two labels

interface Place {
  branch: number;
  frame: number;
}

export class MergerTree extends TimePlot {
  private history: MergerHistory | null = null;
  private rows: Row[] = [];
  private readonly rowOf = new Map<number, number>(); // of a branch: its place from 0 to 1
  private pointed: Place | null = null;
  private kept: Place | null = null; // pressed
  private pressedBranch = false;

  constructor(context: ViewContext) {
    super("mergers", context);
    this.panel.acceptKeys();
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private refresh(): void {
    const history = this.context.run?.mergers ?? null;
    if (this.context.focus === null) this.kept = null; // another run, or Escape
    if (history === this.history) return;
    this.history = history;
    this.pointed = this.kept = null;
    this.rows = history === null ? [] : treeRows(history, MAX_BRANCHES);
    this.rowOf.clear();
    for (const { branch, at } of this.rows) this.rowOf.set(branch, at);
  }

  protected keyOfLayer(): string {
    const { run, theme, palette, scale } = this.context;
    this.refresh();
    return [
      run?.begun.id,
      run?.frameCount,
      run?.status,
      this.rows.length,
      palette.trailVersion,
      theme.dark,
      scale.decades,
    ].join("/");
  }

  private row(branch: number, box: Box): number {
    return this.y(1 - this.rowOf.get(branch)!, box);
  }

  private thickness(tokens: number, box: Box): number {
    const most = Math.min(THICKEST_PIXELS, box.height / 14);
    return 0.8 + (most - 0.8) * Math.sqrt(tokens / this.context.run!.n);
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, theme, palette } = this.context;
    this.drawAxes(pen, box, []);
    const { history } = this;
    if (run === null || history === null) return this.drawPlaceholder(pen, box, "read");
    const columns = this.frameColumns(box);
    // small ones first, so that trunks lie over twigs
    const order = [...this.rows].sort((a, b) => this.most(a.branch) - this.most(b.branch));
    for (const { branch } of order)
      this.paintBranch(pen, box, columns, branch, palette.ownOf(history.branches[branch].leader));
    let last = -Infinity;
    for (const { branch } of this.rows) {
      const y = this.row(branch, box);
      if (!history.branches[branch].ofNote || history.branches[branch].from > 0 || y - last < LABEL_PIXELS)
        continue;
      last = y;
      pen.text(String(history.branches[branch].leader + 1), TIME_MARGIN.left - 6, y, {
        fill: theme.soft,
        align: "right",
        size: 10,
      });
    }
  }

  private most(branch: number): number {
    return Math.max(...this.history!.branches[branch].sizes);
  }

  private paintBranch(pen: Pen, box: Box, columns: Float32Array, b: number, colour: string): void {
    const { from, to, sizes, parent, origin, ofNote } = this.history!.branches[b];
    const y = this.row(b, box);
    const alpha = (ofNote ? 1 : 0.65) * (this.isDimmed(b) ? 0.2 : 1);
    const style = { stroke: colour, alpha };
    if (origin >= 0 && from > 0 && this.rowOf.has(origin))
      pen.line(columns[from - 1], this.row(origin, box), columns[from], y, { ...style, dash: [2, 2] });
    let first = from;
    for (let i = from + 1; i <= to + 1; i++) {
      if (i <= to && sizes[i - from] === sizes[first - from]) continue;
      const end = Math.min(i, to);
      const width = this.thickness(sizes[first - from], box);
      if (end > first) pen.line(columns[first], y, columns[end], y, { ...style, width });
      first = i;
    }
    if (parent < 0) return;
    const width = Math.max(0.8, 0.55 * this.thickness(sizes[to - from], box));
    pen.line(columns[to], y, columns[to + 1], this.row(parent, box), { ...style, width });
  }

  /** Whether none of a branch's tokens is looked at: its own leader stands for it. */
  private isDimmed(b: number): boolean {
    const { focus } = this.context;
    return focus !== null && focus[this.history!.branches[b].leader] === 0;
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme } = this.context;
    if (run === null || run.frameCount === 0) return;
    const { history } = this;
    if (history === null) return this.panel.showReading("");
    this.drawCursor(pen, box, 0.72);
    const shown = this.pointed ?? this.kept;
    if (shown === null) {
      const all = history.branches.length;
      const count = history.mergers.length;
      const words = count === 1 ? "1 merger" : `${count} mergers`;
      if (this.rows.length === all) return this.panel.showReading(words);
      const some = `${this.rows.length} of ${all}`;
      return this.panel.showReading(`${words}; ${some} lines`, `${words}, ${some} clusters drawn`);
    }
    const branch = history.branches[shown.branch];
    const y = this.row(shown.branch, box);
    const columns = this.frameColumns(box);
    pen.line(columns[branch.from], y, columns[branch.to], y, { stroke: theme.ink, width: 1.2 });
    pen.circle(columns[shown.frame], y, 3.5, { fill: theme.ink, stroke: theme.paper, width: 1.2 });
    this.panel.showReading(this.describe(branch, shown.frame));
  }

  private describe({ leader, from, to, sizes, parent }: Branch, frame: number): string {
    const { run } = this.context;
    const size = sizes[frame - from];
    const held = `token ${leader + 1}: ${size === 1 ? "1 token" : `${size} tokens`}`;
    if (parent < 0) return `${held}, to the end`;
    const into = this.history!.branches[parent].leader + 1;
    return `${held}, joins token ${into} at t = ${pretty(run!.t[to + 1])}`;
  }

  // Pointer and keys

  private placeAt(x: number, y: number): Place | null {
    const { run } = this.context;
    if (run === null || this.history === null) return null;
    const columns = this.frameColumns(this.box);
    let frame = 0;
    while (frame + 1 < columns.length && columns[frame + 1] <= x) frame++;
    let best: Place | null = null;
    let nearest = BRANCH_PICK_PIXELS;
    for (const { branch } of this.rows) {
      const { from, to, sizes } = this.history.branches[branch];
      if (frame < from || frame > to) continue;
      const apart =
        Math.abs(this.row(branch, this.box) - y) - this.thickness(sizes[frame - from], this.box) / 2;
      if (apart < nearest) [nearest, best] = [apart, { branch, frame }];
    }
    return best;
  }

  private point(place: Place | null): void {
    const before = this.pointed;
    if (place?.branch === before?.branch && place?.frame === before?.frame) return;
    this.pointed = place;
    if (this.sameTokens(place, before)) this.context.redraw();
    else this.focus(place ?? this.kept);
  }

  /** Along a branch tokens only join, or leave: as many of them are the same ones. */
  private sameTokens(a: Place | null, b: Place | null): boolean {
    if (a === null || b === null || a.branch !== b.branch) return false;
    const { from, sizes } = this.history!.branches[a.branch];
    const [low, high] = [Math.min(a.frame, b.frame), Math.max(a.frame, b.frame)];
    return sizes.slice(low - from, high - from + 1).every((size) => size === sizes[a.frame - from]);
  }

  /** The tokens of the branch in that frame are looked at, in all views. */
  private focus(place: Place | null): void {
    const { run } = this.context;
    const leader = place === null ? null : (run?.leadersAt(place.frame) ?? null);
    if (place === null || leader === null) return this.context.focusOn(null);
    const { leader: first } = this.history!.branches[place.branch];
    this.context.focusOn(Uint8Array.from(leader, (k) => (k === first ? 1 : 0)));
  }

  protected override tokenAt(x: number, y: number): number | null {
    const place = this.placeAt(x, y);
    this.point(place);
    return place === null ? null : this.history!.branches[place.branch].leader;
  }

  /** A press on a branch keeps it, or lets it go; elsewhere it moves the cursor. */
  protected override seek(event: PointerEvent): void {
    if (event.type === "pointerdown") {
      const place = this.placeAt(event.offsetX, event.offsetY);
      this.pressedBranch = place !== null;
      if (place !== null) this.keep(place);
    }
    if (!this.pressedBranch) super.seek(event);
  }

  private keep(place: Place): void {
    const again = this.kept?.branch === place.branch;
    this.kept = again ? null : place;
    this.pointed = null;
    this.focus(this.kept);
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || by === undefined || this.history === null) return;
    const frame = currentFrame(this.context);
    const alive = this.rows.filter(({ branch }) => {
      const { from, to } = this.history!.branches[branch];
      return from <= frame && frame <= to;
    });
    if (alive.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = alive.findIndex(({ branch }) => branch === this.kept?.branch);
    const next = at < 0 ? (by > 0 ? 0 : alive.length - 1) : (at + by + alive.length) % alive.length;
    this.kept = { branch: alive[next].branch, frame };
    this.pointed = null;
    this.focus(this.kept);
    this.context.highlight(this.history.branches[this.kept.branch].leader);
  }
}
