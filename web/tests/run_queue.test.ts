import assert from "node:assert/strict";
import test from "node:test";
import type { Outgoing } from "../src/connection.ts";
import { RunQueue, type Answer } from "../src/run_queue.ts";
import { SCENE } from "../src/state.ts";

const BEGUN = { n: 1, d: 2, frames: 1, recorded: false, scene: null, beta: 1, Q: [], K: [], V: [] };
const FACTS = { delta: 1, radius: 0.1, centers: { renyi: [], strong: [] }, spectrum: null };

class Bench {
  sent: Outgoing[] = [];
  busy = false;
  timers: (() => void)[] = [];
  answers: Answer[] = [];
  readonly queue = new RunQueue({
    send: (message) => this.sent.push(message) > 0,
    busy: () => this.busy,
    later: (act) => this.timers.push(act),
  });

  ask(seed: number): () => void {
    return this.queue.ask({ ...SCENE, seed }, (answer) => this.answers.push(answer));
  }

  get last(): number {
    return this.sent.at(-1)!.id!;
  }

  tick(): void {
    for (const act of this.timers.splice(0)) act();
  }

  finish(id = this.last): void {
    this.queue.onMessage({ say: "begun", id, ...BEGUN, ...FACTS });
    const array = (values: Float64Array | Int32Array): { values: typeof values; shape: number[] } => ({
      values,
      shape: [values.length],
    });
    const frames = { t: array(Float64Array.of(0)), x: array(Float64Array.of(1, 0)) };
    this.queue.onBinaryMessage({ header: { say: "frames", id, first: 0 }, arrays: frames });
    this.queue.onMessage({ say: "ended", id, status: "done" });
    const measured = { labels: array(Int32Array.of(0)), clusters: array(Int32Array.of(1)) };
    this.queue.onBinaryMessage({ header: { say: "measured", id }, arrays: measured });
  }
}

test("one run is asked for at a time, in order, and marked as aside", () => {
  const bench = new Bench();
  bench.ask(1);
  bench.ask(2);
  assert.equal(bench.sent.length, 1);
  assert.equal(bench.sent[0].aside, true);
  bench.finish();
  assert.equal(bench.sent.length, 1, "not before a pause");
  bench.tick();
  assert.deepEqual(
    bench.sent.filter(({ do: what }) => what === "run").map(({ scene }) => scene!.seed),
    [1, 2],
  );
  bench.finish();
  assert.deepEqual(
    bench.answers.map(({ run }) => run!.measured!.clusters[0]),
    [1, 1],
  );
});

test("the run that is shown comes first: one that it pushes aside is asked for again", () => {
  const bench = new Bench();
  bench.ask(1);
  const old = bench.last;
  bench.busy = true;
  bench.queue.pump();
  assert.ok(bench.queue.onMessage({ say: "ended", id: old, status: "cancelled" }));
  bench.finish(old); // too late
  assert.equal(bench.answers.length, 0);
  bench.busy = false;
  bench.queue.pump();
  assert.ok(bench.last > old);
  bench.finish();
  assert.equal(bench.answers.length, 1);
});

test("nothing is asked for while the engine is busy or gone", () => {
  const bench = new Bench();
  bench.busy = true;
  bench.ask(1);
  assert.equal(bench.sent.length, 0);
});

test("an error is an answer, and a wish that is taken back has none", () => {
  const bench = new Bench();
  bench.ask(1);
  bench.queue.onMessage({ say: "error", id: bench.last, text: "d must be at least 2." });
  assert.deepEqual(bench.answers, [{ run: null, error: "d must be at least 2." }]);
  bench.tick();
  const takeBack = bench.ask(2);
  const id = bench.last;
  takeBack();
  assert.deepEqual(bench.sent.at(-1), { do: "cancel", id });
  bench.finish(id);
  assert.equal(bench.answers.length, 1);
});

test("messages about the run that is shown are left alone", () => {
  const bench = new Bench();
  bench.ask(1);
  assert.ok(!bench.queue.onMessage({ say: "ended", id: 3, status: "done" }));
  assert.ok(!bench.queue.onMessage({ say: "error", id: null, text: "" }));
});
