/** One page and its engine: the messages of `nucleate.explorer.session`, answered in this page. */

import type { Message, Numbers, Outgoing } from "../connection.ts";
import { numbersOf, type Begun } from "../run_record.ts";
import { same, type Scene } from "../state.ts";
import { Drift } from "./equation.ts";
import { InputError, OutsideError } from "./errors.ts";
import { Integration } from "./integrate.ts";
import { readMatrix } from "./matrices.ts";
import { clusters, consumed, principalDirections } from "./measure.ts";
import { pythonCode } from "./python_code.ts";
import { prepare, type Prepared } from "./scene.ts";

export type Arrays = { [name: string]: { values: Numbers; shape: number[] } };
export type Post = (header: Message, arrays?: Arrays) => void;

/** A run that nucleate computed and this page cannot: positions and lengths with 32 bits, base64. */
export interface Recorded {
  scene: Scene;
  begun: Begun;
  t: number[];
  x: string;
  norms: string | null;
  status: string;
  steps: number;
  python: string;
}

const MAX_STEPS = 1_000_000;
const MAX_MILLIS = 180_000; // after which a run is given up
const SLICE_MILLIS = 40; // of computing, between two looks at the messages
const POST_MILLIS = 150; // between two messages with frames: the page draws its trails anew for each

export class EngineSession {
  private newest = -1; // the id of the last run asked for
  private cancelled = -1;
  private shown: Promise<void> = Promise.resolve(); // ends with the run that the page shows

  constructor(
    private readonly post: Post,
    private readonly recordings: Recorded[] = [],
    private readonly pause = (): Promise<void> => new Promise((go) => setTimeout(go, 0)),
  ) {}

  /** Answers a message; the promise ends with the run that it asks for. */
  receive(message: Outgoing): Promise<void> {
    const answered = this.answerOrExplain(message);
    if (message.do === "run" && message.aside !== true) this.shown = answered;
    return answered;
  }

  private async answerOrExplain(message: Outgoing): Promise<void> {
    const id = message.id ?? null;
    try {
      await this.answer(message);
    } catch (error) {
      const outside = error instanceof OutsideError;
      const text =
        error instanceof InputError ? error.message : `The engine of this page failed: ${String(error)}.`;
      const refused = message.do === "python" || message.do === "data";
      this.post({ say: refused ? "refused" : "error", id, text, outside });
    }
  }

  private async answer(message: Outgoing): Promise<void> {
    const { id = 0, scene, name = "", d = 2, text = "" } = message;
    if (message.do === "cancel") this.cancelled = id;
    else if (message.do === "run") await this.run(id, scene!, message.aside === true);
    else if (message.do === "python")
      this.post({ say: "python", text: this.recordingOf(scene!)?.python ?? pythonCode(scene!) });
    else if (message.do === "matrix")
      this.post({ say: "matrix", name, d, choice: readMatrix(name, text, d) });
    else if (message.do === "data")
      throw new OutsideError("An NPZ file is written by nucleate, not by this page. CSV works here.");
    else throw new InputError("Stored runs are opened by nucleate explore, not by this page.");
  }

  private recordingOf(scene: Scene): Recorded | undefined {
    return this.recordings.find((one) => same(one.scene, scene));
  }

  /** The newest run is computed, and ends the one before; one aside waits for the one that is shown. */
  private async run(id: number, scene: Scene, aside: boolean): Promise<void> {
    if (aside) {
      let waited: Promise<void>;
      do {
        waited = this.shown;
        await waited;
      } while (waited !== this.shown);
    }
    this.newest = id;
    await this.pause(); // a newer request may wait already
    if (this.newest !== id) return;
    const recorded = this.recordingOf(scene);
    if (recorded !== undefined) return this.play(id, recorded);
    const prepared = prepare(scene, id);
    this.post(prepared.begun as unknown as Message);
    await this.compute(id, prepared);
  }

  private async compute(id: number, prepared: Prepared): Promise<void> {
    const { scene, head, x0, times, begun } = prepared;
    const { n, d } = scene;
    const began = performance.now();
    const tolerance = scene.tolerance + scene.tolerance / 100;
    this.frames(id, 0, times.subarray(0, 1), x0, n, d); // the start is known
    const run = new Integration(new Drift(head, n, d), x0, times, scene.t, tolerance, MAX_STEPS);
    let sent = 1;
    let slice = performance.now();
    let posted = slice;
    while (run.status === "running") {
      run.step();
      const now = performance.now();
      if (now - slice < SLICE_MILLIS) continue;
      if (now - posted > POST_MILLIS) {
        posted = now;
        if (sent < run.saved) {
          this.frames(
            id,
            sent,
            times.subarray(sent, run.saved),
            run.frames.subarray(sent * n * d, run.saved * n * d),
            n,
            d,
          );
          sent = run.saved;
        }
        this.post({ say: "progress", id, share: sent / times.length, t: run.t, text: null });
      }
      await this.pause();
      if (this.newest !== id) return;
      if (this.cancelled === id) run.stop("cancelled");
      else if (now - began > MAX_MILLIS) run.stop("time limit");
      slice = performance.now();
    }
    if (sent < run.saved)
      this.frames(
        id,
        sent,
        times.subarray(sent, run.saved),
        run.frames.subarray(sent * n * d, run.saved * n * d),
        n,
        d,
      );
    const seconds = (performance.now() - began) / 1000;
    this.post({ say: "ended", id, status: run.status, steps: run.steps, seconds });
    await this.measure(id, run.frames.subarray(0, run.saved * n * d), begun, null);
  }

  /** A recorded run comes whole. */
  private async play(id: number, recorded: Recorded): Promise<void> {
    const { begun, t } = recorded;
    const { n, d } = begun;
    const x = Float64Array.from(numbersOf(recorded.x, Float32Array));
    this.post({ ...begun, say: "begun", id, recorded: true, frames: t.length });
    this.frames(id, 0, Float64Array.from(t), x, n, d, true);
    const { status, steps } = recorded;
    this.post({ say: "ended", id, status, steps });
    const norms = recorded.norms === null ? null : Float64Array.from(numbersOf(recorded.norms, Float32Array));
    await this.measure(id, x, begun, norms);
  }

  private frames(
    id: number,
    first: number,
    t: Float64Array,
    x: Float64Array,
    n: number,
    d: number,
    single = false,
  ): void {
    this.post(
      { say: "frames", id, first, single },
      {
        t: { values: t.slice(), shape: [t.length] },
        x: { values: x.slice(), shape: [t.length, n, d] },
      },
    );
  }

  private async measure(
    id: number,
    x: Float64Array,
    { n, d, radius, delta, centers }: Begun,
    norms: Float64Array | null,
  ): Promise<void> {
    const m = x.length / (n * d);
    const labels = new Int32Array(m * n);
    const counts = new Int32Array(m);
    const renyi = new Float64Array(centers.renyi.length > 0 ? m : 0);
    const strong = new Float64Array(centers.strong.length > 0 ? m : 0);
    let slice = performance.now();
    for (let i = 0; i < m; i++) {
      const frame = x.subarray(i * n * d, (i + 1) * n * d);
      counts[i] = clusters(frame, d, radius, labels.subarray(i * n, (i + 1) * n));
      if (renyi.length > 0) renyi[i] = consumed(frame, d, centers.renyi, delta);
      if (strong.length > 0) strong[i] = consumed(frame, d, centers.strong, delta);
      if (performance.now() - slice < SLICE_MILLIS) continue;
      await this.pause();
      if (this.newest !== id) return;
      slice = performance.now();
    }
    const arrays: Arrays = {
      labels: { values: labels, shape: [m, n] },
      clusters: { values: counts, shape: [m] },
    };
    if (renyi.length > 0) arrays.consumed_renyi = { values: renyi, shape: [m] };
    if (strong.length > 0) arrays.consumed_strong = { values: strong, shape: [m] };
    if (d > 3) arrays.directions = { values: principalDirections(x, d), shape: [d, 3] };
    if (norms !== null) arrays.norms = { values: norms, shape: [m, n] };
    this.post({ say: "measured", id }, arrays);
  }
}
