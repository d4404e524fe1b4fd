/**
 * Runs besides the one that is shown (a pinned one, the other of two, the cells of a grid), one after
 * another and by the same engine. The engine does one thing at a time, and the run that is shown comes first:
 * a run of this queue that it pushes aside is asked for again later.
 */

import type { BinaryMessage, Message, Outgoing } from "./connection.ts";
import { RunRecord, type Begun } from "./run_record.ts";
import type { Scene } from "./state.ts";

const FIRST_ID = 2 ** 40; // far from the numbers of runs that are shown
const PAUSE_MILLIS = 50; // between two runs: the server takes fifty messages a second
export const MAX_RUN_MILLIS = 60_000; // then a run is cancelled, and what there is of it is taken

export interface Answer {
  run: RunRecord | null;
  error: string | null; // why there is none
}

interface Job {
  scene: Scene;
  done: (answer: Answer) => void;
  id: number;
  run: RunRecord | null;
  grown: (run: RunRecord) => void; // more frames have come
  limitMillis: number;
}

export interface QueueHost {
  send(message: Outgoing): boolean;
  /** Whether the run that is shown needs the engine, or there is none. */
  busy(): boolean;
  later(act: () => void, millis: number): number;
}

export class RunQueue {
  private waiting: Job[] = [];
  private current: Job | null = null;
  private nextId = FIRST_ID;
  private paused = false;
  private limit = 0;

  constructor(private readonly host: QueueHost) {}

  /** Asks for a run; what is returned takes the wish back. */
  ask(
    scene: Scene,
    done: (answer: Answer) => void,
    limitMillis = MAX_RUN_MILLIS,
    grown: (run: RunRecord) => void = () => undefined,
  ): () => void {
    const job: Job = { scene, done, id: 0, run: null, grown, limitMillis };
    this.waiting.push(job);
    this.pump();
    return () => {
      this.waiting = this.waiting.filter((other) => other !== job);
      if (this.current !== job) return;
      this.host.send({ do: "cancel", id: job.id });
      this.finish();
    };
  }

  /** To be called when the run that is shown begins or has ended, and when the engine is there again. */
  pump(): void {
    if (this.host.busy()) return this.giveWay();
    if (this.current !== null || this.paused || this.waiting.length === 0) return;
    const job = this.waiting.shift()!;
    job.id = this.nextId++;
    job.run = null;
    if (!this.host.send({ do: "run", id: job.id, scene: job.scene, aside: true })) {
      this.waiting.unshift(job);
      return;
    }
    this.current = job;
    const { id } = job;
    this.limit = this.host.later(() => {
      if (this.current?.id === id) this.host.send({ do: "cancel", id });
    }, job.limitMillis);
  }

  private giveWay(): void {
    if (this.current === null) return;
    this.waiting.unshift(this.current);
    this.current = null;
    clearTimeout(this.limit);
  }

  private finish(): void {
    this.current = null;
    clearTimeout(this.limit);
    this.paused = true;
    this.host.later(() => {
      this.paused = false;
      this.pump();
    }, PAUSE_MILLIS);
  }

  private answer(answer: Answer): void {
    const { done } = this.current!;
    this.finish();
    done(answer);
  }

  /** True if the message was about a run of this queue. */
  onMessage(message: Message): boolean {
    if (typeof message.id !== "number" || message.id < FIRST_ID) return false;
    const job = this.current;
    if (job === null || message.id !== job.id) return true; // it was pushed aside
    if (message.say === "begun") job.run = new RunRecord(message as unknown as Begun);
    if (message.say === "ended" && job.run !== null) job.run.status = String(message.status);
    if (message.say === "error") this.answer({ run: null, error: String(message.text) });
    return true;
  }

  onBinaryMessage(message: BinaryMessage): boolean {
    const { id } = message.header;
    if (typeof id !== "number" || id < FIRST_ID) return false;
    const job = this.current;
    if (job === null || job.run === null || id !== job.id) return true;
    job.run.receive(message);
    if (message.header.say === "frames") job.grown(job.run);
    if (message.header.say === "measured") this.answer({ run: job.run, error: null });
    return true;
  }
}
