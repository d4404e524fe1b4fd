/** The engine of this page, in the place of a connection to a server: the same messages, both ways. */

import type { ConnectionListener, Outgoing } from "../connection.ts";
import type { Recorded } from "./session.ts";
import type { FromWorker } from "./worker.ts";
import EngineWorker from "./worker.ts?worker&inline";

export const ENGINE_FAILED =
  "The engine of this page does not run in this browser, so that nothing can be computed here. What is" +
  " recorded still plays. Another browser may run it, and so does “nucleate explore”.";
export const ENGINE_SLOW =
  "The engine of this page has not started yet. What is recorded plays; changes are computed once it has.";
const READY_MILLIS = 20_000; // from then on the page says that it waits

export class PageEngine {
  private worker: Worker | null = null;
  private ready = false;
  private timer = 0;

  /** `begin` is called once the engine answers; `failed` when it cannot, or breaks. */
  constructor(
    private readonly recordings: Recorded[],
    private readonly listener: Pick<ConnectionListener, "onMessage" | "onBinaryMessage">,
    private readonly begin: () => void,
    private readonly failed: (why: string) => void,
  ) {}

  connect(): void {
    let worker: Worker;
    try {
      worker = new EngineWorker();
    } catch (error) {
      return this.fail(String(error));
    }
    this.worker = worker;
    this.timer = window.setTimeout(() => this.failed(ENGINE_SLOW), READY_MILLIS); // it may still come
    worker.onerror = (event) => this.fail((event as Partial<ErrorEvent>).message ?? "");
    worker.onmessageerror = () => this.fail("a broken message");
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    worker.postMessage({ recordings: this.recordings });
  }

  private receive({ header, arrays }: FromWorker): void {
    if (header.say === "ready") {
      clearTimeout(this.timer);
      this.ready = true;
      this.begin();
    } else if (arrays === undefined) this.listener.onMessage(header);
    else this.listener.onBinaryMessage({ header, arrays });
  }

  private fail(why: string): void {
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
    this.failed(why === "" ? ENGINE_FAILED : `${ENGINE_FAILED} (${why})`);
  }

  get starting(): boolean {
    return this.worker !== null && !this.ready;
  }

  /** False when there is no engine. */
  send(message: Outgoing): boolean {
    if (!this.ready || this.worker === null) return false;
    this.worker.postMessage(message);
    return true;
  }
}
