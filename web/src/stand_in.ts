/**
 * While the server compiles its engine, which takes up to a minute once on every machine, the engine of this
 * page computes the same scene, where it can; the server's run takes its place when it is there.
 */

import type { BinaryMessage, Message } from "./connection.ts";
import { PageEngine } from "./engine/page_engine.ts";
import type { Scene } from "./state.ts";

/** Who shows the run meanwhile. */
export interface Waiting {
  onStandInMessage(message: Message): void;
  onStandInArrays(message: BinaryMessage): void;
}

export class StandIn {
  private engine: PageEngine | null = null;
  private asked: { id: number; scene: Scene } | null = null;

  constructor(private readonly waiting: Waiting) {}

  /** The server compiles before it computes this scene. */
  compute(id: number, scene: Scene): void {
    if (this.asked?.id === id) return;
    this.asked = { id, scene };
    if (this.engine !== null) return this.send();
    const listener = {
      onMessage: (message: Message) => this.waiting.onStandInMessage(message),
      onBinaryMessage: (message: BinaryMessage) => this.waiting.onStandInArrays(message),
    };
    const failed = (): void => undefined; // then the page waits for the server
    this.engine = new PageEngine([], listener, () => this.send(), failed);
    this.engine.connect();
  }

  private send(): void {
    this.engine?.send({ do: "run", ...this.asked! });
  }
}
