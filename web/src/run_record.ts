/** One run as the page holds it: frames and what was measured on them, in flat arrays that grow in place. */

import { leaders } from "./colours.ts";
import type { Head } from "./attention_matrix.ts";
import type { Family, Mask, Scene } from "./state.ts";
import type { BinaryMessage, Numbers } from "./connection.ts";
import { mergerHistory, type MergerHistory } from "./mergers.ts";
import { Trace, type Frame, type TraceData } from "./trace.ts";

export interface Spectrum {
  eigenvalues: [number, number][];
  row: number | null;
  name: string;
  verdict: string;
  lambda_max: [number, number];
  status?: string; // theorem, conjecture, outside the table
  doubt?: string | null; // why the row need not hold
  why?: string;
  L?: number[][]; // orthonormal vectors that span the dominant eigenspace
  within_conjecture?: boolean; // whether V meets what the theorem or conjecture behind its row asks for
}

/** Quantiles of the number of clusters over the runs of an ensemble. */
export interface ClusterBand {
  name: string; // of the study's observable
  runs: number;
  radius: number; // of the steps that join tokens there
  t: number[]; // (m,)
  quantiles: number[];
  counts: number[][]; // (quantile, m)
}

/** Tokens that never move and are seen by all. */
export interface Frozen {
  x: number[][]; // (m, d)
  weight: number[]; // (m,)
}

export interface Begun {
  id: number;
  scene: Scene | null;
  recorded: boolean;
  n: number;
  d: number;
  beta: number;
  Q: number[][];
  K: number[][];
  V: number[][];
  mask?: Mask;
  frozen?: Frozen | null;
  frames: number;
  frames_before_thinning?: number; // what the stored run had: more than `frames` if it was thinned
  delta: number;
  radius: number;
  centers: { renyi: number[]; strong: number[] };
  spectrum: Spectrum | null;
  predicted_point?: number[] | null; // where rows 1 and 2 of Table 1 say that every token ends
  model?: string; // in a few words
  family?: Family | null; // null: more than a scene may hold
  dt?: number | null; // of noise
  lengths?: boolean; // whether tokens have some
  blocks?: Head[][] | null; // the heads of every layer; null: one softmax head
  layer_dt?: number | null;
  band?: ClusterBand | null; // of the ensemble that it is one of
  missing?: { [view: string]: string }; // why a view cannot serve this run
  title?: string | null;
  file?: string; // the name of its data, without the ending
  known?: { [setting: string]: unknown } | null; // of a recording that no scene makes; null: not in its file
  python?: string | null; // the lines that redo such a recording, or why there are none
  about?: string; // what is to be known of it: a head of a real model, and how it was made small
  trace?: TraceData; // a text over the layers of a real model, which has no head of ours
}

/** Which reading of a trace is shown, in which directions. */
export interface TraceChoice {
  reading: string;
  frame: Frame;
}

const NO_HEAD = { beta: 0, Q: [], K: [], V: [], radius: 0, spectrum: null };

export interface Measurements {
  leader: Int32Array; // (m, n) the first token of every token's cluster
  clusters: Int32Array; // (m,)
  renyi: Float64Array | null; // (m,) share consumed, where there are centers
  strong: Float64Array | null; // (m,)
  directions: Float64Array | null; // (d, 3) where d > 3
  norms: Float64Array | null; // (m, n) lengths of the tokens, where they have some
}

export class RunRecord {
  readonly begun: Begun;
  readonly trace: Trace | null;
  readonly n: number;
  readonly d: number;
  readonly coordinates: number; // that the page holds of each token: d, and of a trace three
  readonly capacity: number;
  readonly t: Float64Array; // (m,)
  readonly x: Float64Array; // (m, n, coordinates)
  readonly shown: Float32Array; // (m, n, 3) what the sphere and the circle draw
  frameCount = 0; // frames that have come
  status = "running";
  progress = 0;
  singlePrecision = false; // positions have 32 bits
  measured: Measurements | null = null;
  abandoned: "error" | "interrupted" | null = null; // why it will never be measured
  private history: MergerHistory | null = null; // made when it is asked for
  private lent: Float64Array | null = null; // (d, 3) directions of the run that it is compared with

  constructor(begun: Begun, choice: TraceChoice = { reading: "text", frame: "all" }) {
    this.trace = begun.trace === undefined ? null : new Trace(begun.trace, choice.reading, choice.frame);
    const { centers, delta } = this.trace?.reading ?? begun;
    this.begun = this.trace === null ? begun : { ...NO_HEAD, ...begun, n: this.trace.n, centers, delta };
    this.n = this.begun.n;
    this.d = begun.d;
    this.coordinates = this.trace === null ? begun.d : 3;
    this.capacity = begun.frames;
    this.t = new Float64Array(begun.frames);
    this.x = new Float64Array(begun.frames * this.n * this.coordinates);
    this.shown = new Float32Array(begun.frames * this.n * 3);
    if (this.trace !== null) this.fill(this.trace);
  }

  /** A trace comes whole. */
  private fill(trace: Trace): void {
    this.singlePrecision = true;
    this.addFrames(0, Float64Array.from(trace.data.layers), Float64Array.from(trace.places));
    const nothing = new Int32Array(0);
    this.addMeasurements(nothing, nothing, null, null, null, trace.norms);
  }

  get mask(): Mask {
    return this.begun.mask ?? this.begun.scene?.mask ?? "causal";
  }

  /** How many tokens are frozen. */
  get frozen(): number {
    return this.begun.frozen?.x.length ?? 0;
  }

  /** Where frozen tokens are drawn, (m, 3). */
  get frozenShown(): Float32Array {
    const x = Float64Array.from(this.begun.frozen?.x.flat() ?? []);
    const shown = new Float32Array(this.frozen * 3);
    this.projected(x, shown, 0, this.frozen);
    return shown;
  }

  /** The heads that act in frame i, layer by layer. */
  headsAt(i: number): Head[] {
    const { blocks, layer_dt, beta, Q, K, frozen = null } = this.begun;
    if (blocks === undefined || blocks === null) return [{ beta, Q, K, mask: this.mask, frozen }];
    const layer = layer_dt == null ? 0 : Math.floor(this.t[i] / layer_dt + 1e-9);
    return blocks[Math.min(layer, blocks.length - 1)];
  }

  addFrames(first: number, t: Float64Array, x: Float64Array): void {
    const frames = Math.min(t.length, this.capacity - first);
    if (first > this.frameCount || frames <= 0) return; // a gap cannot be drawn
    this.t.set(t.subarray(0, frames), first);
    const size = this.n * this.coordinates;
    this.x.set(x.subarray(0, frames * size), first * size);
    this.frameCount = Math.max(this.frameCount, first + frames);
    this.project(first, first + frames);
  }

  addMeasurements(
    labels: Int32Array,
    clusters: Int32Array,
    renyi: Float64Array | null,
    strong: Float64Array | null,
    directions: Float64Array | null,
    norms: Float64Array | null = null,
  ): void {
    const leader = new Int32Array(labels.length);
    for (let at = 0; at < labels.length; at += this.n)
      leaders(labels.subarray(at, at + this.n), leader.subarray(at, at + this.n));
    this.measured = {
      leader,
      clusters: clusters.slice(),
      renyi: renyi?.slice() ?? null,
      strong: strong?.slice() ?? null,
      directions: directions?.slice() ?? null,
      norms: norms?.slice() ?? null,
    };
    this.history = null;
    if (this.d > 3 && directions !== null) this.project(0, this.frameCount);
  }

  /** Takes frames or measurements as the engine sends them. */
  receive({ header, arrays }: BinaryMessage): void {
    if (header.say === "frames") {
      this.singlePrecision = header.single === true;
      this.addFrames(Number(header.first), arrays.t.values as Float64Array, arrays.x.values as Float64Array);
    }
    if (header.say !== "measured") return;
    const doubles = (name: string): Float64Array | null =>
      name in arrays ? (arrays[name].values as Float64Array) : null;
    this.addMeasurements(
      arrays.labels.values as Int32Array,
      arrays.clusters.values as Int32Array,
      doubles("consumed_renyi"),
      doubles("consumed_strong"),
      doubles("directions"),
      doubles("norms"),
    );
  }

  /** Which clusters join which; null while it is not known. */
  get mergers(): MergerHistory | null {
    if (this.measured === null) return null;
    return (this.history ??= mergerHistory(this.measured.leader, this.n));
  }

  /** The three directions (d, 3) in which it is drawn; null up to d = 3, and before they are known. */
  get directions(): Float64Array | null {
    return this.lent ?? this.measured?.directions ?? null;
  }

  /** Draws it in the directions of a run that it is compared with; null: in its own. */
  seeIn(directions: Float64Array | null): void {
    if (directions === this.lent) return;
    this.lent = directions;
    if (this.d > 3) this.project(0, this.frameCount);
  }

  private project(from: number, to: number): void {
    this.projected(this.x, this.shown, from * this.n, to * this.n);
  }

  /** Places x (count, d), from number `from` up to `to`, as they are drawn. */
  private projected(x: Float64Array, shown: Float32Array, from: number, to: number): void {
    const d = this.coordinates;
    const w = this.directions;
    for (let i = from; i < to; i++) {
      if (w === null) {
        for (let c = 0; c < Math.min(3, d); c++) shown[3 * i + c] = x[i * d + c];
        continue;
      }
      let a = 0,
        b = 0,
        e = 0;
      for (let c = 0; c < d; c++) {
        const value = x[i * d + c];
        a += value * w[3 * c];
        b += value * w[3 * c + 1];
        e += value * w[3 * c + 2];
      }
      shown[3 * i] = a;
      shown[3 * i + 1] = b;
      shown[3 * i + 2] = e;
    }
  }

  /** Where tokens are drawn at a cursor that may lie between two frames; (n, 3) into `out`. */
  positions(cursor: number, out: Float32Array): void {
    const last = Math.max(0, this.frameCount - 1);
    const frame = Math.min(Math.floor(cursor), last);
    const part = frame < last ? cursor - frame : 0;
    const size = this.n * 3;
    const here = this.shown.subarray(frame * size, (frame + 1) * size);
    if (part < 1e-6) return out.set(here);
    const next = this.shown.subarray((frame + 1) * size, (frame + 2) * size);
    const onSphere = this.d <= 3; // in more dimensions the shadow of a token lies anywhere in the ball
    for (let i = 0; i < size; i += 3) {
      const a = here[i] + part * (next[i] - here[i]);
      const b = here[i + 1] + part * (next[i + 1] - here[i + 1]);
      const c = here[i + 2] + part * (next[i + 2] - here[i + 2]);
      const scale = onSphere ? 1 / (Math.sqrt(a * a + b * b + c * c) || 1) : 1;
      out[i] = a * scale;
      out[i + 1] = b * scale;
      out[i + 2] = c * scale;
    }
  }

  /** Token k in frame i, all coordinates. */
  token(i: number, k: number): Float64Array {
    const at = (i * this.n + k) * this.coordinates;
    return this.x.subarray(at, at + this.coordinates);
  }

  frame(i: number): Float64Array {
    const size = this.n * this.coordinates;
    return this.x.subarray(i * size, (i + 1) * size);
  }

  /** The first token of every token's cluster in frame i, or null while it is not known. */
  leadersAt(i: number): Int32Array | null {
    const leader = this.measured?.leader;
    return leader !== undefined && (i + 1) * this.n <= leader.length
      ? leader.subarray(i * this.n, (i + 1) * this.n)
      : null;
  }
}

/** Numbers of a recorded page: a (nested) list, or base64 of little-endian bytes. */
export function numbersOf<T extends Numbers | Float32Array>(
  given: unknown,
  Kind: new (values: ArrayLike<number> | ArrayBuffer) => T,
): T {
  if (typeof given === "string") return new Kind(Uint8Array.from(atob(given), (c) => c.charCodeAt(0)).buffer);
  return new Kind((given as unknown[]).flat(Infinity) as number[]);
}

/** What an exported page holds. */
export interface Exported {
  begun: Begun;
  t: unknown;
  x: unknown;
  measured?: { [name: string]: unknown } | null;
  ended?: { status: string };
}

/** The run inside an exported page. */
export function fromExport(recorded: Exported): RunRecord {
  const { begun, measured } = recorded;
  if (begun.trace !== undefined) {
    const run = new RunRecord(begun);
    run.status = "done";
    return run;
  }
  const t = numbersOf(recorded.t, Float64Array);
  const run = new RunRecord({ ...begun, recorded: true, frames: t.length });
  const bytes = typeof recorded.x === "string" ? atob(recorded.x).length : 0;
  const wide = bytes === t.length * begun.n * begun.d * 8;
  run.singlePrecision = typeof recorded.x === "string" && !wide;
  run.addFrames(
    0,
    t,
    typeof recorded.x !== "string" || wide
      ? numbersOf(recorded.x, Float64Array)
      : Float64Array.from(numbersOf(recorded.x, Float32Array)),
  );
  if (measured) {
    const doubles = (given: unknown): Float64Array | null =>
      given == null ? null : numbersOf(given, Float64Array);
    run.addMeasurements(
      numbersOf(measured.labels, Int32Array),
      numbersOf(measured.clusters, Int32Array),
      doubles(measured.consumed_renyi),
      doubles(measured.consumed_strong),
      doubles(measured.directions),
      doubles(measured.norms),
    );
  }
  run.status = recorded.ended?.status ?? "done";
  return run;
}
