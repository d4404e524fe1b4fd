/**
 * What a run is compared with: one that was pinned, drawn as a ghost, or another setting beside it. What is
 * compared stands in the look, and so in the link; this follows it, and asks for the runs it needs.
 */

import type { App } from "./app.ts";
import { MAX_RUN_MILLIS, type RunQueue } from "./run_queue.ts";
import type { RunRecord } from "./run_record.ts";
import { SideContext } from "./side_context.ts";
import { completeScene, sceneDifferences, same, type Scene } from "./state.ts";
import { variant, whatDiffers } from "./variants.ts";

const NOTHING_TO_VARY =
  "This is a recording. Change a setting to run a scene of your own, then it has another.";

/** A run that is kept, or on its way. */
class WantedRun {
  run: RunRecord | null = null;
  error: string | null = null;
  private scene: Scene | null = null;
  private takeBack: (() => void) | null = null;

  constructor(
    private readonly queue: RunQueue,
    private readonly onChange: () => void,
  ) {}

  get pending(): boolean {
    return this.takeBack !== null;
  }

  /** Makes sure that the run of this scene is there or is coming; the last one stays until then. */
  want(scene: Scene | null): void {
    if (same(scene, this.scene)) return;
    this.scene = scene;
    this.error = null;
    this.takeBack?.();
    this.takeBack = null;
    if (scene === null) {
      this.run = null;
      return;
    }
    const show = (run: RunRecord | null): void => {
      this.run = run;
      this.onChange();
    };
    this.takeBack = this.queue.ask(
      scene,
      ({ run, error }) => {
        this.takeBack = null;
        this.error = error;
        show(run);
      },
      MAX_RUN_MILLIS,
      show, // a long one is seen while it grows
    );
  }

  /** A run that is there already. */
  take(scene: Scene | null, run: RunRecord): void {
    this.takeBack?.();
    this.takeBack = null;
    [this.scene, this.run, this.error] = [scene, run, null];
  }
}

export class Compare {
  readonly second: SideContext;
  private readonly pinned: WantedRun;
  private readonly other: WantedRun;
  private unlinked: RunRecord | null = null; // pinned, but made from no scene that a link could hold

  constructor(
    private readonly app: App,
    queue: RunQueue,
  ) {
    this.second = new SideContext(app);
    const changed = (): void => {
      app.redraw();
    };
    this.pinned = new WantedRun(queue, changed);
    this.other = new WantedRun(queue, changed);
  }

  get pinnedRun(): RunRecord | null {
    return this.unlinked ?? this.pinned.run;
  }

  get hasPin(): boolean {
    return this.unlinked !== null || this.app.look.pin !== null;
  }

  get sideBySide(): boolean {
    const { look, run } = this.app;
    return look.side !== "" && run !== null && run.trace === null && (look.side !== "pinned" || this.hasPin);
  }

  /** The scene of the run that is shown, if it was made here. */
  private get made(): Scene | null {
    const { recording, run, scene } = this.app;
    return recording === null && run?.begun.scene != null ? scene : null;
  }

  /** Keeps the run that is shown. */
  pin(): void {
    const { run, defaults } = this.app;
    if (run === null || run.measured === null || run.trace !== null) return;
    const scene = run.begun.recorded ? null : (run.begun.scene ?? null);
    this.unlinked = scene === null ? run : null;
    if (scene !== null) this.pinned.take(completeScene(scene, defaults), run);
    this.app.changeLook({ pin: scene === null ? null : sceneDifferences(scene, defaults) });
  }

  unpin(): void {
    this.unlinked = null;
    this.app.changeLook({ pin: null, ...(this.app.look.side === "pinned" ? { side: "" as const } : {}) });
  }

  /** What is pinned, as far as it differs from what is shown. */
  get pinnedWords(): string {
    const { app } = this;
    if (this.unlinked !== null) return this.unlinked.begun.title ?? "a recorded run";
    if (app.look.pin === null) return "";
    return whatDiffers(completeScene(app.look.pin, app.defaults), app.scene);
  }

  /** Names of the two runs side by side, and why the second is not there. */
  get words(): { first: string; second: string; why: string } {
    const { app } = this;
    const { side } = app.look;
    if (side === "pinned") {
      const pin = app.look.pin === null ? null : completeScene(app.look.pin, app.defaults);
      const first = pin === null ? "now" : `now: ${whatDiffers(app.scene, pin)}`;
      return { first, second: `pinned: ${this.pinnedWords}`, why: this.pinned.error ?? "being computed …" };
    }
    const next = variant(app.scene, side);
    if (next !== null && this.made === null) return { first: "", second: "", why: NOTHING_TO_VARY };
    if (next === null) return { first: "", second: "", why: "" };
    return {
      first: whatDiffers(app.scene, next),
      second: whatDiffers(next, app.scene),
      why: this.other.error ?? "being computed …",
    };
  }

  /** Above three dimensions two runs are seen in the same three directions, those of the one that is set. */
  private shareDirections(): void {
    const { run, ghost } = this.app;
    if (run === null || run.trace !== null) return;
    run.seeIn(null);
    if (ghost !== null && ghost !== run) ghost.seeIn(ghost.d === run.d ? run.directions : null);
  }

  /** What of the pinned run cannot be drawn beside the one that is shown, and why. */
  get pinnedGap(): string {
    const { run, look } = this.app;
    const ghost = this.pinnedRun;
    if (run === null || run.trace !== null || ghost === null || look.side !== "" || ghost.d === run.d)
      return "";
    const drawn =
      (ghost.d === 2) === (run.d === 2) ? "its curves are drawn" : "its number of clusters is drawn";
    return ` It has d = ${ghost.d}, this run d = ${run.d}, so ${drawn}, not its tokens.`;
  }

  /** Follows look and scene; to be called before a picture is drawn. */
  update(): void {
    const { app } = this;
    const { look } = app;
    if (look.pin !== null) this.unlinked = null; // a link was opened since
    if (!app.recorded) {
      this.pinned.want(look.pin === null ? null : completeScene(look.pin, app.defaults));
      this.other.want(this.made === null || !this.sideBySide ? null : variant(this.made, look.side));
    }
    this.second.run = !this.sideBySide ? null : look.side === "pinned" ? this.pinnedRun : this.other.run;
    this.second.updateColours();
    app.ghost = this.sideBySide ? this.second.run : this.pinnedRun;
    this.shareDirections();
  }
}
