/** What tests and curious people see of the page from outside: `nucleate` in the console. */

import { REVISION } from "three";
import type { App } from "./app.ts";
import type { Player } from "./player.ts";
import { frameOf } from "./scope.ts";

export interface Facts {
  scriptMillis: number[]; // of the last pictures
  draws(): number;
  error(): string | null;
}

export function show(app: App, player: Player, facts: Facts): void {
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
      get fragment() {
        return app.fragment;
      },
      get record() {
        const { run } = app;
        if (run === null) return null;
        const { n, d, held } = run;
        const i = frameOf(app);
        return {
          id: run.begun.id,
          status: run.status,
          n,
          d,
          beta: run.begun.beta,
          frames: held,
          cursor: app.cursor,
          time: run.t[i],
          measured: run.measured !== null,
          finalPositions: held > 0 ? run.frame(held - 1).slice() : new Float64Array(0),
          labels: Array.from(run.leadersAt(i) ?? []),
          centers: run.begun.centers,
        };
      },
      get ready() {
        return app.run !== null;
      },
      now: () => ({
        scene: app.scene,
        at: frameOf(app),
        frames: app.run?.held ?? 0,
        playing: app.playing,
        connected: app.connected,
        recorded: app.recorded,
        runId: app.run?.begun.id ?? null,
        status: app.status,
        clusters: app.run?.measured?.clusters[frameOf(app)] ?? null,
        error: facts.error(),
      }),
      x: (frame = (app.run?.held ?? 0) - 1) => app.run?.frame(frame).slice(),
      script_ms: () => {
        const sorted = [...facts.scriptMillis].sort((a, b) => a - b);
        return {
          mean: sorted.reduce((a, b) => a + b, 0) / sorted.length,
          median: sorted[sorted.length >> 1],
          worst: sorted.at(-1),
          frames: sorted.length,
        };
      },
      reset_ms: () => void facts.scriptMillis.splice(0),
      seek: (frame: number) => player.go(frame),
      point: (token: number | null) => app.point(token),
    },
  });
}
