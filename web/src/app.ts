/**
 * The page as a whole: which scene runs, where the cursor is, what is highlighted; everything else asks and
 * is told.
 */

import { Address } from "./address.ts";
import { TimeScale } from "./axis.ts";
import { DARK, LIGHT, Palette, type Theme } from "./colours.ts";
import { RunRecord, type Begun } from "./record.ts";
import { frameOf, type Scope } from "./scope.ts";
import {
  completeScene,
  decode,
  encode,
  LOOK,
  same,
  SCENE,
  type Look,
  type MatrixChoice,
  type Recording,
  type Scene,
  type State,
} from "./state.ts";
import type { Message, Parcel } from "./wire.ts";

export interface Engine {
  send(message: { do: string; id?: number; scene?: Scene; name?: string; run?: number }): boolean;
}

export interface Told {
  /** Something is to be drawn. */
  picture(): void;
  /** Scene or status changed: controls and status line. */
  settings(): void;
  inform(words: string): void;
  complain(words: string): void;
}

const LIVE_PAUSE = 120; // milliseconds between runs while a slider moves
const SWAP_AFTER = 120; // a run that takes longer is shown while it grows
const NUDGE_PAUSE = 700;

type Request = { do: "run"; scene: Scene } | ({ do: "open" } & Recording);

export class App implements Scope {
  run: RunRecord | null = null;
  scale = new TimeScale(true, 1e-2, 150);
  cursor = 0;
  hover: number | null = null;
  look: Look = structuredClone(LOOK);
  scene: Scene = structuredClone(SCENE);
  defaults: Scene = structuredClone(SCENE);
  palette = new Palette();
  playing = false;
  recorded = false; // an exported page: no engine
  connected = false;
  id = 0;
  firstFrameMillis = NaN;
  summary = ""; // how the run went, in words
  readonly calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  private coming: RunRecord | null = null; // begun, not shown yet
  private wanted = 0; // frame the cursor goes to as frames come
  private request: Request | null = null;
  private asked = 0; // when
  private asking = false; // sent, and no answer yet
  private unseen = false; // no picture of this run was drawn yet
  private liveTimer = 0;
  private swapTimer = 0;
  private nudgeTimer = 0;
  private painted = "";
  private readonly address = new Address();

  constructor(
    private readonly engine: Engine,
    private readonly told: Told,
  ) {}

  // Looks

  get theme(): Theme {
    const dark =
      this.look.theme === "auto"
        ? matchMedia("(prefers-color-scheme: dark)").matches
        : this.look.theme === "dark";
    return dark ? DARK : LIGHT;
  }

  get explains(): boolean {
    const room = matchMedia("(min-width: 1500px) and (min-height: 1000px)").matches;
    return this.look.explain === "auto" ? room : this.look.explain === "yes";
  }

  get status(): string {
    return this.asking ? "running" : ((this.coming ?? this.run)?.status ?? "idle");
  }

  get share(): number {
    return this.asking ? 0 : ((this.coming ?? this.run)?.share ?? 0);
  }

  get movable(): boolean {
    const run = this.run;
    return (
      this.connected &&
      !this.recorded &&
      !this.playing &&
      run !== null &&
      run.held > 0 &&
      run.begun.scene !== null &&
      run.d <= 3 &&
      this.cursor < 1e-6
    );
  }

  changed(): void {
    this.told.picture();
  }

  restyle(part: Partial<Look>): void {
    Object.assign(this.look, part);
    this.keepAddress();
    this.changed();
  }

  point(token: number | null): void {
    if (token === this.hover) return;
    this.hover = token;
    this.changed();
  }

  seek(cursor: number): void {
    const last = Math.max(0, (this.run?.held ?? 1) - 1);
    const end = Math.max(last, (this.run?.capacity ?? 1) - 1);
    this.wanted = Math.max(0, Math.min(cursor, end));
    this.cursor = Math.min(this.wanted, last);
    if (cursor >= end) this.wanted = Infinity;
    this.keepAddress();
    this.changed();
  }

  /** Playing has ended here: a new run comes back to this place. */
  rest(): void {
    if (this.run !== null) this.wanted = this.cursor >= this.run.capacity - 1 ? Infinity : this.cursor;
    this.keepAddress();
  }

  // Moving tokens by hand

  carry(token: number, to: number[], done: boolean): void {
    const { run } = this;
    if (!this.movable || run === null) return;
    run.x.set(to, token * run.d);
    run.shown.set(to, token * 3);
    this.hover = token;
    clearTimeout(this.nudgeTimer);
    const settle = (): void =>
      this.setScene({ ...this.scene, moved: { ...this.scene.moved, [String(token)]: to } }, false);
    if (done) settle();
    else this.nudgeTimer = window.setTimeout(settle, NUDGE_PAUSE);
    this.changed();
  }

  // Scenes and runs

  /** Another scene from here on; while a slider moves (`live`), runs follow at a pace. */
  setScene(scene: Scene, live: boolean): void {
    this.scene = scene;
    this.request = { do: "run", scene };
    this.told.settings();
    this.keepAddress();
    if (!live) return this.start();
    if (this.liveTimer !== 0) return;
    const pause = Math.max(0, this.asked + LIVE_PAUSE - performance.now());
    this.liveTimer = window.setTimeout(() => this.start(), pause);
  }

  /** A scene to be watched from its beginning. */
  watch(scene: Scene): void {
    this.wanted = this.calm ? Infinity : 0;
    this.cursor = 0;
    this.playing = !this.calm;
    this.setScene(scene, false);
  }

  load(state: State): void {
    this.look = state.view;
    if (state.open !== null) return this.open(state.open.name, state.open.run, state.at);
    if (state.at === null) return this.watch(state.scene);
    this.playing = false;
    this.wanted = state.at;
    const shown = this.request?.do === "run" && same(state.scene, this.request.scene) && this.run !== null;
    this.address.pushed = state.scene;
    if (shown) this.seek(state.at);
    else this.setScene(state.scene, false);
  }

  open(name: string, run: number, at: number | null = null): void {
    this.request = { do: "open", name, run };
    this.wanted = at ?? (this.calm ? Infinity : 0);
    this.cursor = 0;
    this.playing = at === null && !this.calm;
    this.start();
    this.keepAddress();
  }

  /** The recording that is asked for, if one is. */
  get recording(): Recording | null {
    return this.request?.do === "open" ? { name: this.request.name, run: this.request.run } : null;
  }

  /** The controls show what is known of a recording, and a change begins from there. */
  private adopt({ scene, n, d, beta, mask, V, Q, K }: Begun): void {
    const choice = (M: number[][]): MatrixChoice =>
      M.every((row, r) => row.every((value, c) => value === (r === c ? 1 : 0)))
        ? { preset: "identity" }
        : { matrix: M };
    const known = { n, d, beta, mask: mask ?? "causal", V: choice(V), Q: choice(Q), K: choice(K) };
    this.scene = completeScene(scene ?? known, this.defaults);
  }

  /** Asks for the scene (or recording) that is set; again, if it was asked for before. */
  start(): void {
    clearTimeout(this.liveTimer);
    this.liveTimer = 0;
    if (this.request === null || this.recorded) return;
    this.id += 1;
    this.asked = performance.now();
    this.unseen = true;
    this.coming = null;
    this.asking = this.engine.send({ id: this.id, ...this.request });
    if (!this.asking && this.run !== null) this.told.inform("This runs as soon as the server answers again.");
    this.told.settings();
  }

  cancel(): void {
    this.engine.send({ do: "cancel", id: this.id });
  }

  /** The server said something about a run. */
  said(message: Message): void {
    if (message.id !== this.id) return;
    const run = this.coming ?? this.run;
    if (message.say === "begun") this.begun(message as unknown as Begun);
    if (run === null) return;
    if (message.say === "progress") {
      run.share = Number(message.share);
      this.summary =
        typeof message.words === "string" ? message.words : `running, ${Math.round(100 * run.share)} %`;
      this.told.settings();
    }
    if (message.say === "ended") this.ended(run, message);
  }

  private begun(begun: Begun): void {
    this.asking = false;
    this.coming = new RunRecord(begun);
    if (this.request?.do === "open") this.adopt(begun);
    this.summary = "running";
    clearTimeout(this.swapTimer);
    this.swapTimer = window.setTimeout(() => this.swap(), SWAP_AFTER);
    this.told.settings();
  }

  private ended(run: RunRecord, message: Message): void {
    run.status = String(message.status);
    run.share = 1;
    this.swap();
    const seconds = Number(message.seconds);
    const took =
      run.begun.recorded || !Number.isFinite(seconds)
        ? "recorded run"
        : `${Number(message.steps).toLocaleString("en")} steps in ${seconds.toPrecision(2)} s`;
    this.summary = run.status === "done" ? took : `${run.status}: ${took}`;
    if (run.status !== "done" && run.status !== "cancelled")
      this.told.inform(
        `The run ended before its time: ${run.status.replaceAll("_", " ")}. The frames up to then are shown.`,
      );
    this.rescale();
    this.told.settings();
    this.changed();
  }

  /** No more will come of what was asked for. */
  failed(why: "error" | "interrupted"): void {
    const unfinished = this.status === "running";
    this.asking = false;
    this.coming = null;
    if (this.run !== null && this.run.status === "running") this.run.status = why;
    if (this.playing) this.rest();
    this.playing = false;
    if (unfinished) this.summary = why === "error" ? "not run" : why;
    this.told.settings();
  }

  sent({ header, arrays }: Parcel): void {
    const run = this.coming ?? this.run;
    if (header.id !== this.id || run === null) return;
    if (header.say === "frames") {
      run.take(Number(header.first), arrays.t.values as Float64Array, arrays.x.values as Float64Array);
      if (run === this.coming && (run.held > this.wanted || this.playing || this.run === null)) this.swap();
    }
    if (header.say === "measured") {
      const directions = "directions" in arrays ? (arrays.directions.values as Float64Array) : null;
      run.measure(
        arrays.labels.values as Int32Array,
        arrays.clusters.values as Int32Array,
        arrays.consumed_renyi.values as Float64Array,
        arrays.consumed_strong.values as Float64Array,
        directions,
      );
      if (run === this.run) this.palette.learn(run.measured!.leader, run.n);
    }
    if (run === this.run) this.grown();
  }

  /** The run that is coming becomes the one that is shown. */
  private swap(): void {
    clearTimeout(this.swapTimer);
    if (this.coming === null || this.coming.held === 0) return;
    this.show(this.coming);
  }

  show(run: RunRecord): void {
    this.coming = null;
    this.run = run;
    this.palette.begin(run.n);
    if (run.measured !== null) this.palette.learn(run.measured.leader, run.n);
    if (this.hover !== null && this.hover >= run.n) this.hover = null;
    if (this.playing && this.cursor > run.held - 1 && this.wanted === 0) this.cursor = 0;
    this.grown();
    this.told.settings();
  }

  private grown(): void {
    this.rescale();
    if (!this.playing) this.cursor = Math.min(this.wanted, this.run!.held - 1);
    this.changed();
  }

  private rescale(): void {
    const run = this.run;
    if (run === null) return;
    const end = run.status === "running" && run.begun.scene !== null ? run.begun.scene.t : 0;
    this.scale = TimeScale.of(run.t, run.held, end, run.begun.scene?.clock ?? null);
  }

  /** Colours for the frame under the cursor; to be called before a picture is drawn. */
  paint(): void {
    const { run, theme, look } = this;
    if (run === null) return;
    const frame = frameOf(this);
    const drawn = [run.begun.id, frame, run.held > 0, run.measured !== null];
    const key = [...drawn, look.colour, theme.dark].join("/");
    if (key === this.painted) return;
    this.painted = key;
    this.palette.fill(run.leadersAt(frame), look.colour, theme);
  }

  /** To be called after a picture was drawn. */
  drawn(): void {
    if (!this.unseen || this.run?.begun.id !== this.id) return;
    this.unseen = false;
    this.firstFrameMillis = performance.now() - this.asked;
  }

  // The address

  get state(): State {
    return {
      scene: this.scene,
      open: this.recording,
      at: this.run === null || this.playing ? null : frameOf(this),
      view: this.look,
    };
  }

  get fragment(): string {
    return encode(this.state, this.defaults);
  }

  keepAddress(): void {
    if (!this.recorded) this.address.follow(this);
  }

  /** Opens what a link names; words of complaint if it names nothing. */
  openLink(link: unknown): boolean {
    this.address.leave();
    try {
      this.load(decode(link, this.defaults));
      return true;
    } catch (error) {
      this.told.complain((error as Error).message);
      return false;
    }
  }
}
