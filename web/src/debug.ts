/** What tests, and whoever opens the console, see of the page: `window.nucleate`. */

import { REVISION } from "three";
import type { App } from "./app.ts";
import type { Player } from "./player.ts";
import { currentFrame } from "./view_context.ts";

export interface PageFacts {
  scriptMillis: number[]; // of the last pictures
  draws(): number;
  error(): string | null;
  /** Where a token is drawn on the sphere, in pixels of its stage. */
  dot(token: number): [number, number] | null;
}

export function exposeDebug(app: App, player: Player, facts: PageFacts): void {
  Object.defineProperty(window, "nucleate", {
    value: {
      three: REVISION,
      scriptMillis: facts.scriptMillis,
      get draws() {
        return facts.draws();
      },
      get firstFrameMillis() {
        return app.firstFrameMillis;
      },
      get state() {
        return app.state;
      },
      get radius() {
        return app.run?.begun.radius ?? null; // that joins tokens into clusters
      },
      get fragment() {
        return app.fragment;
      },
      get record() {
        const { run } = app;
        if (run === null) return null;
        const { n, d, frameCount } = run;
        const i = currentFrame(app);
        return {
          id: run.begun.id,
          status: run.status,
          n,
          d,
          beta: run.begun.beta,
          frames: frameCount,
          cursor: app.cursor,
          time: run.t[i],
          measured: run.measured !== null,
          finalPositions: frameCount > 0 ? run.frame(frameCount - 1).slice() : new Float64Array(0),
          labels: Array.from(run.leadersAt(i) ?? []),
          centers: run.begun.centers,
        };
      },
      get ready() {
        return app.run !== null;
      },
      now: () => ({
        scene: app.scene,
        at: currentFrame(app),
        frames: app.run?.frameCount ?? 0,
        playing: app.playing,
        connected: app.connected,
        recorded: app.recorded,
        runId: app.run?.begun.id ?? null,
        status: app.status,
        clusters: app.run?.measured?.clusters[currentFrame(app)] ?? null,
        error: facts.error(),
      }),
      x: (frame = (app.run?.frameCount ?? 0) - 1) => app.run?.frame(frame).slice(),
      scriptTimes: () => {
        const sorted = [...facts.scriptMillis].sort((a, b) => a - b);
        return {
          mean: sorted.reduce((a, b) => a + b, 0) / sorted.length,
          median: sorted[sorted.length >> 1],
          worst: sorted.at(-1),
          frames: sorted.length,
        };
      },
      resetScriptTimes: () => void facts.scriptMillis.splice(0),
      seek: (frame: number) => player.seek(frame),
      highlight: (token: number | null) => app.highlight(token),
      dot: (token: number) => facts.dot(token),
    },
  });
}
