/** Tokens on the circle (d = 2): now on the rim, the past inside, the sizes of clusters outside. */

import type { Pen } from "../pen.ts";
import type { RunRecord } from "../run_record.ts";
import { currentFrame, NUDGE_RADIANS, type ViewContext } from "../view_context.ts";
import { Fingers } from "../touch.ts";
import { ColouredPaths, visitStretches } from "./coloured_paths.ts";
import { drawOnCircle } from "./circle_predictions.ts";
import { diamond } from "./frozen.ts";
import { ghostKey, ghostOf, ghostPlaces, ghostLines } from "./ghost.ts";
import { Plot, type Box } from "./plot.ts";

const HOLE_RADIUS = 0.16; // radius of time 0, in units of the rim
const PAST_RADIUS = 0.9; // radius of the end of time
const MAX_CIRCLE_TRAILS = 240;
const CIRCLE_PICK_PIXELS = 14; // from a token to the pointer
const STRAIGHT_COSINE = 0.99; // cosine of the angle up to which a straight line will do
const MIN_BAR_SHARE = 0.03; // share of the tokens from which a cluster has a bar
const RIM_MARGIN_PIXELS = 42; // outside the rim, for the bars and their numbers
const RIM_MARGIN_SHARE = 0.16; // of a small view, at most
const MIN_NUMBERED_RIM_PIXELS = 90; // bars around a smaller rim have no numbers

export class Circle extends Plot {
  private draggedToken: number | null = null; // by the pointer
  private readonly now = { x: new Float32Array(0) };

  constructor(context: ViewContext) {
    super("circle", context);
    this.minRepaintMillis = 140;
    this.panel.acceptKeys();
    this.panel.ringLegend();
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"] as const)
      canvas.addEventListener(name, (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => this.draggedToken === null && context.highlight(null));
    canvas.addEventListener("keydown", (event) => this.nudge(event));
    new Fingers(canvas, { holds: (x, y) => context.movable && this.tokenAt(x, y) !== null });
  }

  private geometry(box: Box): { x: number; y: number; rim: number } {
    const side = Math.min(box.width, box.height);
    return {
      x: box.width / 2,
      y: box.height / 2,
      rim: Math.max(20, side / 2 - Math.min(RIM_MARGIN_PIXELS, RIM_MARGIN_SHARE * side)),
    };
  }

  private angleAt(event: PointerEvent): number {
    const { x, y } = this.geometry(this.box);
    return Math.atan2(y - event.offsetY, event.offsetX - x);
  }

  private press(event: PointerEvent): void {
    const token = this.tokenAt(event.offsetX, event.offsetY);
    if (token === null || !this.context.movable) return;
    this.draggedToken = token;
    this.canvas.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    if (this.draggedToken === null) {
      const token = this.tokenAt(event.offsetX, event.offsetY);
      this.canvas.classList.toggle("grabs", token !== null && this.context.movable);
      return this.context.highlight(token);
    }
    const angle = this.angleAt(event);
    this.context.moveToken(this.draggedToken, [Math.cos(angle), Math.sin(angle)], false);
  }

  private release(event: PointerEvent): void {
    if (this.draggedToken === null) return;
    const token = this.draggedToken;
    this.draggedToken = null;
    const angle = this.angleAt(event);
    this.context.moveToken(token, [Math.cos(angle), Math.sin(angle)], true);
  }

  private nudge(event: KeyboardEvent): void {
    const { hover, movable, run } = this.context;
    const turn = { ArrowLeft: 1, ArrowUp: 1, ArrowRight: -1, ArrowDown: -1 }[event.key];
    if (!event.altKey || turn === undefined || hover === null || !movable || run === null) return;
    event.preventDefault();
    event.stopPropagation();
    const [a, b] = run.token(0, hover);
    const angle = Math.atan2(b, a) + turn * NUDGE_RADIANS;
    this.context.moveToken(hover, [Math.cos(angle), Math.sin(angle)], false);
  }

  private tokenAt(px: number, py: number): number | null {
    const { run } = this.context;
    const { x, y, rim } = this.geometry(this.box);
    if (run === null || run.frameCount === 0) return null;
    let best: number | null = null;
    let nearest = CIRCLE_PICK_PIXELS ** 2;
    for (let k = 0; k < run.n; k++) {
      const apart = (x + rim * this.now.x[3 * k] - px) ** 2 + (y - rim * this.now.x[3 * k + 1] - py) ** 2;
      if (apart < nearest) [nearest, best] = [apart, k];
    }
    return best;
  }

  protected keyOfLayer(): string {
    const { run, theme, palette, look } = this.context;
    const drawn = [run?.begun.id, run?.frameCount, palette.trailVersion, ghostKey(this.ghost)];
    return [...drawn, theme.dark, look.trails].join("/");
  }

  private get ghost(): RunRecord | null {
    return ghostOf(this.context, (ghost) => ghost.d === 2);
  }

  private paintGhostTrails(pen: Pen, ghost: RunRecord, x: number, y: number, rim: number): void {
    const { scale, theme } = this.context;
    const places = Array.from(ghost.t.subarray(0, ghost.frameCount), (t) => scale.place(t));
    const radii = Float32Array.from(places, (place) => this.radius(place, rim));
    const points: number[] = [];
    for (const { token, last } of ghostLines(ghost)) {
      points.push(NaN, NaN);
      for (let i = 0; i <= last && places[i] <= 1; i++) {
        if (i > 0) this.addArc(ghost, points, token, i, radii, x, y);
        const at = 3 * (i * ghost.n + token);
        points.push(x + radii[i] * ghost.shown[at], y - radii[i] * ghost.shown[at + 1]);
      }
    }
    pen.path(points, { stroke: theme.soft, width: 1, alpha: 0.35 });
  }

  private radius(place: number, rim: number): number {
    return rim * (HOLE_RADIUS + (PAST_RADIUS - HOLE_RADIUS) * place);
  }

  protected paintLayer(pen: Pen, box: Box): void {
    const { run, theme, scale, look, palette } = this.context;
    const { x, y, rim } = this.geometry(box);
    pen.circle(x, y, rim, { stroke: theme.faint, width: 1.5 });
    if (run === null || run.d !== 2) return;
    if (!look.trails) return;
    for (const { at } of scale.ticks(4))
      pen.circle(x, y, this.radius(at, rim), { stroke: theme.faint, width: 0.8 });
    if (this.ghost !== null) this.paintGhostTrails(pen, this.ghost, x, y, rim);
    const radii = Float32Array.from({ length: run.frameCount }, (_, i) =>
      this.radius(scale.place(run.t[i]), rim),
    );
    const step = Math.max(1, run.n / MAX_CIRCLE_TRAILS);
    const lines = new ColouredPaths();
    for (let pick = 0; pick < run.n; pick += step) {
      const k = Math.floor(pick);
      visitStretches(run, palette, k, (colour, first, last) => {
        const points = lines.of(colour, palette.isDimmed(k));
        points.push(NaN, NaN);
        for (let i = first; i <= last; i++) {
          if (i > first) this.addArc(run, points, k, i, radii, x, y);
          const at = 3 * (i * run.n + k);
          points.push(x + radii[i] * run.shown[at], y - radii[i] * run.shown[at + 1]);
        }
      });
    }
    lines.paint(pen, 1, run.n > 60 ? 0.55 : 0.9);
    for (const { at, text } of scale.ticks(4)) {
      if (at > 0)
        pen.text(text, x, y - this.radius(at, rim), {
          fill: theme.soft,
          size: 9.5,
          align: "center",
          halo: theme.paper,
        });
    }
  }

  /** Between two frames a token that moves far follows the circle; a straight line would cut through it. */
  private addArc(
    { n, shown }: RunRecord,
    points: number[],
    k: number,
    i: number,
    radii: Float32Array,
    x: number,
    y: number,
  ): void {
    const [a, b] = [3 * ((i - 1) * n + k), 3 * (i * n + k)];
    if (shown[a] * shown[b] + shown[a + 1] * shown[b + 1] > STRAIGHT_COSINE) return;
    const from = Math.atan2(shown[a + 1], shown[a]);
    const turn = Math.atan2(
      shown[a] * shown[b + 1] - shown[a + 1] * shown[b],
      shown[a] * shown[b] + shown[a + 1] * shown[b + 1],
    );
    const steps = Math.ceil(Math.abs(turn) / 0.1);
    for (let step = 1; step < steps; step++) {
      const angle = from + (turn * step) / steps;
      const radius = radii[i - 1] + ((radii[i] - radii[i - 1]) * step) / steps;
      points.push(x + radius * Math.cos(angle), y - radius * Math.sin(angle));
    }
  }

  protected paintOverlay(pen: Pen, box: Box): void {
    const { run, theme, cursor, scale, palette, hover, look } = this.context;
    const { x, y, rim } = this.geometry(box);
    if (run === null || run.frameCount === 0 || run.d !== 2) return;
    if (this.now.x.length !== run.n * 3) this.now.x = new Float32Array(run.n * 3);
    run.positions(cursor, this.now.x);
    if (look.trails) {
      const here = this.radius(scale.placeOf(cursor, run.t, run.frameCount), rim);
      const rest = rim * PAST_RADIUS + 2 - here;
      if (rest > 0 && !this.saving)
        pen.circle(x, y, here + rest / 2, { stroke: theme.paper, width: rest, alpha: 0.78 });
      pen.circle(x, y, here, { stroke: theme.soft, width: 1 });
    }
    this.bars(pen, x, y, rim);
    drawOnCircle(pen, this.context, { x, y, rim }, this.now.x);
    this.panel.showFrozen(run.frozen > 0);
    this.panel.showRings(run.begun.centers.renyi.length > 0);
    const tokens = run.n === 1 ? "1 token" : `${run.n} tokens`;
    this.panel.showReading(`${tokens}${run.frozen > 0 ? ` and ${run.frozen} frozen` : ""}`);
    const size = Math.max(2, Math.min(6, 34 / Math.sqrt(run.n) + 2, rim / 18));
    if (this.ghost !== null) {
      const places = ghostPlaces(this.context, this.ghost);
      for (let at = 0; at < places.length; at += 3)
        pen.circle(x + (rim - 9) * places[at], y - (rim - 9) * places[at + 1], 3, {
          stroke: theme.soft,
          width: 1,
          alpha: 0.75,
        });
    }
    const dots = new Map<string, number[]>();
    for (let k = run.n - 1; k >= 0; k--) {
      const colour = palette.of(k);
      if (!dots.has(colour)) dots.set(colour, []);
      dots.get(colour)!.push(k);
    }
    for (const [colour, tokens] of dots)
      for (const k of tokens)
        this.dot(pen, k, x, y, rim, size, { fill: colour, stroke: theme.paper, width: 0.8 });
    for (const k of run.begun.centers.renyi)
      this.dot(pen, k, x, y, rim, size + 2, { stroke: theme.ink, width: 1.8 });
    for (const k of run.begun.centers.strong)
      this.dot(pen, k, x, y, rim, size + 2, { stroke: theme.red, width: 1.8 });
    const still = run.frozenShown;
    for (let j = 0; j < still.length; j += 3)
      diamond(pen, x + rim * still[j], y - rim * still[j + 1], 13, theme);
    if (hover !== null)
      this.dot(pen, hover, x, y, rim, size + 4, { fill: palette.of(hover), stroke: theme.ink, width: 2.5 });
  }

  private dot(
    pen: Pen,
    k: number,
    x: number,
    y: number,
    rim: number,
    size: number,
    style: Parameters<Pen["circle"]>[3],
  ): void {
    pen.circle(x + rim * this.now.x[3 * k], y - rim * this.now.x[3 * k + 1], size, style);
  }

  /** Outside the rim: how many tokens every cluster holds, at its leader. */
  private bars(pen: Pen, x: number, y: number, rim: number): void {
    const { run, palette, theme } = this.context;
    const leader = run!.leadersAt(currentFrame(this.context));
    if (leader === null) return;
    const size = new Map<number, number>();
    for (const k of leader) size.set(k, (size.get(k) ?? 0) + 1);
    const counts = [...size].filter(([, count]) => count > 1 && count >= MIN_BAR_SHARE * run!.n);
    const biggest = Math.max(...counts.map(([, count]) => count), run!.n / 8);
    for (const [k, count] of counts) {
      const [a, b] = [this.now.x[3 * k], this.now.x[3 * k + 1]];
      const from = rim + 13;
      const to = from + (12 * count) / biggest;
      pen.line(x + from * a, y - from * b, x + to * a, y - to * b, { stroke: palette.of(k), width: 4 });
      if (counts.length <= 24 && rim >= MIN_NUMBERED_RIM_PIXELS)
        pen.text(String(count), x + (to + 9) * a, y - (to + 9) * b, {
          fill: theme.soft,
          size: 10.5,
          align: "center",
        });
    }
  }
}
