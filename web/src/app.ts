/**
 * The page as a whole: which scene runs, where the cursor is, what is highlighted; the parts of the
 * page ask it, and are told through callbacks.
 */

import { Address } from "./address.ts";
import { TimeScale } from "./axis.ts";
import { DARK, LIGHT, Palette, type Theme } from "./colours.ts";
import { forcedTheme } from "./forced_colours.ts";
import { RunRecord, type Begun } from "./run_record.ts";
import { stillHint } from "./still_hint.ts";
import { currentFrame, type ViewContext } from "./view_context.ts";
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
import type { Message, BinaryMessage, Outgoing } from "./connection.ts";
import type { Cause } from "./messages.ts";

export interface Engine {
  readonly starting: boolean; // it does not answer yet, but will
  send(message: Outgoing): boolean;
}

export interface PageCallbacks {
  /** Something is to be drawn. */
  redraw(): void;
  /** Scene or status changed: controls and status line. */
  updateSettings(): void;
  showMessage(text: string, about: Cause): void;
  showError(text: string): void;
}

const LIVE_RUN_PAUSE_MILLIS = 120; // between runs while a slider moves
const SHOW_PENDING_AFTER_MILLIS = 120; // a run that takes longer is shown while it grows
const SAME_PLACE = 1e-9; // where a token was put, up to rounding

const counted = (count: number, what: string): string =>
  `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** A trace in a few words. */
export const traceSummary = (run: RunRecord): string =>
  `${counted(run.n, "token")} through ${counted(run.capacity - 1, "block")}`;

type Request = { do: "run"; scene: Scene } | ({ do: "open" } & Recording);

export class App implements ViewContext {
  run: RunRecord | null = null;
  scale = new TimeScale(true, 1e-2, 150);
  cursor = 0;
  hover: number | null = null;
  focus: Uint8Array | null = null;
  ghost: RunRecord | null = null;
  look: Look = structuredClone(LOOK);
  scene: Scene = structuredClone(SCENE);
  defaults: Scene = structuredClone(SCENE);
  palette = new Palette();
  playing = false;
  recorded = false; // an exported page: no engine
  unknown: ReadonlySet<string> = new Set(); // settings that the file of the shown recording does not say
  inPage = false; // the engine is in this page, not a server
  private embedded = false; // the run that came with the page is shown: its address names it already
  connected = false;
  id = 0;
  firstFrameMillis = NaN;
  summary = ""; // how the run went, in words
  readonly reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
  private pendingRun: RunRecord | null = null; // begun, not shown yet
  private standIn: RunRecord | null = null; // of this page's own engine, until the server has the run
  private targetFrame = 0; // frame the cursor goes to as frames come
  private request: Request | null = null;
  private requestedAt = 0; // milliseconds
  private awaitingAnswer = false; // sent, and no answer yet
  private firstFramePending = false; // no picture of this run was drawn yet
  private liveTimer = 0;
  private pendingTimer = 0;
  private held: { token: number; to: number[] } | null = null; // the token that is dragged, and where it is
  private paintedKey = "";
  private readonly address = new Address();

  constructor(
    private readonly engine: Engine,
    private readonly callbacks: PageCallbacks,
  ) {}

  // Looks

  get theme(): Theme {
    const forced = forcedTheme();
    if (forced !== null) return forced;
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
    return this.awaitingAnswer ? "running" : ((this.pendingRun ?? this.run)?.status ?? "idle");
  }

  get progress(): number {
    return this.awaitingAnswer ? 0 : ((this.pendingRun ?? this.run)?.progress ?? 0);
  }

  get movable(): boolean {
    const run = this.run;
    return (
      this.connected &&
      !this.recorded &&
      !this.playing &&
      run !== null &&
      run.frameCount > 0 &&
      run.begun.scene !== null &&
      run.d <= 3 &&
      this.cursor < 1e-6
    );
  }

  redraw(): void {
    this.callbacks.redraw();
  }

  changeLook(part: Partial<Look>): void {
    Object.assign(this.look, part);
    if (("reading" in part || "frame" in part) && this.run?.trace != null) this.rereadTrace(this.run);
    this.updateAddress();
    if ("story" in part) this.callbacks.updateSettings(); // whose scene it is
    this.redraw();
  }

  /** The same trace, another reading of it or other directions; the cursor stays. */
  private rereadTrace(old: RunRecord): void {
    const run = new RunRecord(old.begun, this.look);
    run.status = old.status;
    this.targetFrame = currentFrame(this);
    this.show(run);
  }

  highlight(token: number | null): void {
    if (token === this.hover) return;
    this.hover = token;
    this.redraw();
  }

  focusOn(tokens: Uint8Array | null): void {
    if (tokens === this.focus) return;
    this.focus = tokens;
    this.paintedKey = "";
    this.redraw();
  }

  seek(cursor: number): void {
    const last = Math.max(0, (this.run?.frameCount ?? 1) - 1);
    const end = Math.max(last, (this.run?.capacity ?? 1) - 1);
    this.targetFrame = Math.max(0, Math.min(cursor, end));
    this.cursor = Math.min(this.targetFrame, last);
    if (cursor >= end) this.targetFrame = Infinity;
    this.updateAddress();
    this.redraw();
  }

  /** Playing has ended here: a new run comes back to this place. */
  keepCursor(): void {
    if (this.run !== null) this.targetFrame = this.cursor >= this.run.capacity - 1 ? Infinity : this.cursor;
    this.updateAddress();
  }

  // Moving tokens by hand

  moveToken(token: number, to: number[], done: boolean): void {
    const { run } = this;
    if (!this.movable || run === null) return;
    this.hover = token;
    this.held = done ? null : { token, to };
    this.setScene({ ...this.scene, moved: { ...this.scene.moved, [String(token)]: to } }, !done);
    this.place(run, token, to);
    this.redraw();
  }

  private place(run: RunRecord, token: number, to: number[]): void {
    run.x.set(to, token * run.d);
    run.shown.set(to, token * 3);
  }

  /** A run that was asked for while a token was dragged has it where it was then, not where it is now. */
  private placeHeld(run: RunRecord): void {
    if (this.held === null || run.frameCount === 0 || run.d > 3) return;
    const { token, to } = this.held;
    if (this.scene.moved[String(token)] !== to) return void (this.held = null); // another scene
    const had = run.begun.scene?.moved[String(token)];
    if (had?.some((value, c) => Math.abs(value - to[c]) > SAME_PLACE)) this.place(run, token, to);
  }

  // Scenes and runs

  /** Another scene from here on; while a slider moves (`live`), runs follow at a pace. */
  setScene(scene: Scene, live: boolean): void {
    this.scene = scene;
    this.unknown = new Set();
    this.request = { do: "run", scene };
    this.callbacks.updateSettings();
    this.updateAddress(live);
    if (!live) return this.start();
    if (this.liveTimer !== 0) return;
    const pause = Math.max(0, this.requestedAt + LIVE_RUN_PAUSE_MILLIS - performance.now());
    this.liveTimer = window.setTimeout(() => this.start(), pause);
  }

  /** A scene to be watched from its beginning. */
  watch(scene: Scene): void {
    this.targetFrame = this.reducedMotion ? Infinity : 0;
    this.cursor = 0;
    this.playing = !this.reducedMotion;
    this.setScene(scene, false);
  }

  load(state: State): void {
    this.look = state.view;
    if (state.open !== null) return this.open(state.open.name, state.open.run, state.at);
    if (state.at === null) return this.watch(state.scene);
    this.playing = false;
    this.targetFrame = state.at;
    const shown = this.request?.do === "run" && same(state.scene, this.request.scene) && this.run !== null;
    this.address.pushed = state.scene;
    if (shown) this.seek(state.at);
    else this.setScene(state.scene, false);
  }

  open(name: string, run: number, at: number | null = null): void {
    this.request = { do: "open", name, run };
    this.targetFrame = at ?? (this.reducedMotion ? Infinity : 0);
    this.cursor = 0;
    this.playing = at === null && !this.reducedMotion;
    this.start();
    this.updateAddress();
  }

  /** A run that came with the page; `scene` computes it anew. */
  embed(run: RunRecord, scene: Scene): void {
    this.request = { do: "run", scene };
    this.scene = scene;
    this.embedded = true;
    this.id = run.begun.id;
    this.summary = "recorded run";
  }

  /** The recording that is asked for, if one is. */
  get recording(): Recording | null {
    return this.request?.do === "open" ? { name: this.request.name, run: this.request.run } : null;
  }

  /** The controls show what is known of a recording, and a change begins from there. */
  private adopt({ scene, n, d, beta, mask, V, Q, K, family, dt, known }: Begun): void {
    const choice = (M: number[][]): MatrixChoice =>
      M.every((row, r) => row.every((value, c) => value === (r === c ? 1 : 0)))
        ? { preset: "identity" }
        : { matrix: M };
    const head = { n, d, beta, mask: mask ?? "causal", V: choice(V), Q: choice(Q), K: choice(K) };
    const settings = Object.entries(known ?? {});
    const told = Object.fromEntries(settings.filter(([, value]) => value !== null));
    this.unknown = new Set(settings.filter(([, value]) => value === null).map(([name]) => name));
    const model = { ...head, family: family ?? {}, dt: dt ?? this.defaults.dt };
    this.scene = completeScene(scene ?? { ...model, ...told }, this.defaults);
  }

  /** Asks for the scene (or recording) that is set; again, if it was asked for before. */
  start(): void {
    clearTimeout(this.liveTimer);
    this.liveTimer = 0;
    if (this.request === null || this.recorded) return;
    this.embedded = false;
    this.id += 1;
    this.requestedAt = performance.now();
    this.firstFramePending = true;
    this.pendingRun = null;
    this.standIn = null;
    this.awaitingAnswer = this.engine.send({ id: this.id, ...this.request });
    if (!this.awaitingAnswer && this.run !== null)
      this.callbacks.showMessage(
        this.inPage
          ? this.engine.starting
            ? "This is computed as soon as the engine of this page has started."
            : "The engine of this page does not run."
          : "This runs as soon as the server answers again.",
        "change",
      );
    this.callbacks.updateSettings();
  }

  /** The engine of this page answers: what was changed meanwhile is computed; else a link is followed. */
  engineStarted(link: string): void {
    this.connected = true;
    if (!this.embedded) this.start();
    else if (link.length > 1) this.openLink(link);
  }

  cancel(): void {
    this.engine.send({ do: "cancel", id: this.id });
  }

  /** The server said something about a run. */
  onMessage(message: Message): void {
    if (message.id !== this.id) return;
    if (message.say === "progress" && this.awaitingAnswer) {
      this.summary = this.whyItWaits(String(message.text)); // nothing has begun yet
      return this.callbacks.updateSettings();
    }
    const run = this.pendingRun ?? this.run;
    if (message.say === "begun") this.begun(message as unknown as Begun);
    if (run === null || run.begun.id !== this.id) return;
    if (message.say === "progress") {
      run.progress = Number(message.share);
      this.summary =
        typeof message.text === "string"
          ? this.whyItWaits(message.text)
          : `running, ${Math.round(100 * run.progress)} %`;
      this.callbacks.updateSettings();
    }
    if (message.say === "ended") this.ended(run, message);
  }

  /** Whether what is shown was computed by this page, until the server has the run. */
  private get standsIn(): boolean {
    return this.standIn !== null && this.run === this.standIn;
  }

  private whyItWaits(text: string): string {
    return this.standsIn ? `${text} What is shown until then is computed in this page.` : text;
  }

  /** The engine of this page says something about the run that the server does not have yet. */
  onStandInMessage(message: Message): void {
    if (message.id !== this.id || (this.run?.begun.id === this.id && !this.standsIn)) return;
    if (message.say === "begun") this.standIn = new RunRecord(message as unknown as Begun, this.look);
    if (message.say !== "ended" || this.standIn === null) return;
    this.standIn.status = String(message.status);
    this.standIn.progress = 1;
    this.rescale();
    this.redraw();
  }

  onStandInArrays({ header, arrays }: BinaryMessage): void {
    const { standIn, pendingRun } = this;
    if (header.id !== this.id || standIn?.begun.id !== this.id) return;
    standIn.receive({ header, arrays });
    if (this.run !== standIn) {
      this.show(standIn);
      this.pendingRun = pendingRun; // the server's is still to come
    } else if (standIn.measured !== null) this.palette.learn(standIn.measured.leader, standIn.n);
    this.framesAdded();
  }

  private begun(begun: Begun): void {
    this.awaitingAnswer = false;
    this.pendingRun = new RunRecord(begun, this.look);
    if (this.request?.do === "open" && begun.trace === undefined) this.adopt(begun);
    this.summary = "running";
    clearTimeout(this.pendingTimer);
    if (!this.standsIn)
      this.pendingTimer = window.setTimeout(() => this.showPendingRun(), SHOW_PENDING_AFTER_MILLIS);
    this.callbacks.updateSettings();
  }

  private ended(run: RunRecord, message: Message): void {
    run.status = String(message.status);
    run.progress = 1;
    if (!this.standsIn || run.status !== "done") this.showPendingRun(); // or when it is measured
    const seconds = Number(message.seconds);
    const took =
      run.trace !== null
        ? traceSummary(run)
        : run.begun.recorded || !Number.isFinite(seconds)
          ? "recorded run"
          : `${counted(Number(message.steps), "step")} in ${seconds.toPrecision(2)} s, ` +
            (this.inPage ? "computed in this page" : "computed by the server");
    this.summary = run.status === "done" ? took : `${run.status}: ${took}`;
    if (run.status !== "done" && run.status !== "cancelled")
      this.callbacks.showMessage(
        `The run ended before its time: ${run.status.replaceAll("_", " ")}. The frames up to then are shown.`,
        "run",
      );
    const hint = run.status === "done" && !run.begun.recorded ? stillHint(run) : null;
    if (hint !== null) this.callbacks.showMessage(hint, "run");
    this.rescale();
    this.callbacks.updateSettings();
    this.redraw();
  }

  /** No more will come of what was asked for. */
  runFailed(why: "error" | "interrupted"): void {
    const unfinished = this.status === "running";
    this.awaitingAnswer = false;
    this.pendingRun = null;
    if (this.run !== null && this.run.status === "running") this.run.status = why;
    if (this.run !== null && this.run.measured === null) this.run.abandoned ??= why;
    if (this.playing) this.keepCursor();
    this.playing = false;
    if (unfinished) this.summary = why === "error" ? "not run" : why;
    this.callbacks.updateSettings();
  }

  onBinaryMessage({ header, arrays }: BinaryMessage): void {
    const run = this.pendingRun ?? this.run;
    if (header.id !== this.id || run?.begun.id !== this.id) return;
    run.receive({ header, arrays });
    if (header.say === "frames") {
      const wanted = run.frameCount > this.targetFrame || this.playing || this.run === null;
      if (run === this.pendingRun && wanted && !this.standsIn) this.showPendingRun();
    }
    if (header.say === "measured") {
      if (run === this.pendingRun) this.showPendingRun();
      else if (run === this.run) this.palette.learn(run.measured!.leader, run.n);
    }
    if (run === this.run) this.framesAdded();
  }

  /** The run that is coming becomes the one that is shown. */
  private showPendingRun(): void {
    clearTimeout(this.pendingTimer);
    if (this.pendingRun === null || this.pendingRun.frameCount === 0) return;
    this.show(this.pendingRun);
  }

  show(run: RunRecord): void {
    this.pendingRun = null;
    if (run !== this.standIn) this.standIn = null;
    this.run = run;
    this.placeHeld(run);
    this.palette.begin(run.n);
    this.paintedKey = ""; // the palette is empty, also where the same trace is shown again
    if (run.measured !== null) this.palette.learn(run.measured.leader, run.n);
    if (this.hover !== null && this.hover >= run.n) this.hover = null;
    this.focus = null;
    if (this.playing && this.cursor > run.frameCount - 1 && this.targetFrame === 0) this.cursor = 0;
    this.framesAdded();
    this.callbacks.updateSettings();
  }

  private framesAdded(): void {
    this.rescale();
    if (!this.playing) this.cursor = Math.min(this.targetFrame, this.run!.frameCount - 1);
    this.redraw();
  }

  private rescale(): void {
    const run = this.run;
    if (run === null) return;
    const end = run.status === "running" && run.begun.scene !== null ? run.begun.scene.t : 0;
    this.scale = TimeScale.of(run.t, run.frameCount, end, run.begun.scene?.clock ?? null);
  }

  /** Colours for the frame under the cursor; to be called before a picture is drawn. */
  updateColours(): void {
    const { run, theme, look } = this;
    if (run === null) return;
    const frame = currentFrame(this);
    const drawn = [run.begun.id, frame, run.frameCount > 0, run.measured !== null];
    const colouring = run.trace === null ? look.colour : "order"; // a trace has no clusters of ours
    const key = [...drawn, colouring, theme.paper].join("/");
    if (key === this.paintedKey) return;
    this.paintedKey = key;
    this.palette.fill(run.leadersAt(frame), colouring, theme, this.focus);
  }

  /** To be called after a picture was drawn. */
  pictureDrawn(): void {
    if (!this.firstFramePending || this.run?.begun.id !== this.id) return;
    this.firstFramePending = false;
    this.firstFrameMillis = performance.now() - this.requestedAt;
  }

  // The address

  get state(): State {
    return {
      scene: this.scene,
      open: this.recording,
      at: this.run === null || this.playing ? null : currentFrame(this),
      view: this.look,
    };
  }

  get fragment(): string {
    return encode(this.state, this.defaults);
  }

  updateAddress(live = false): void {
    if (!this.recorded && !this.embedded) this.address.follow(this, live);
  }

  /** Opens what a link names; if it names nothing, says so and returns false. */
  openLink(link: unknown): boolean {
    this.address.stopFollowing();
    try {
      this.load(decode(link, this.defaults));
      return true;
    } catch (error) {
      this.callbacks.showError((error as Error).message);
      return false;
    }
  }
}
