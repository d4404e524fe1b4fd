import assert from "node:assert/strict";
import test from "node:test";
import { RunRecord, type Begun } from "../src/run_record.ts";
import { stillHint } from "../src/still_hint.ts";

const IDENTITY = [
  [1, 0],
  [0, 1],
];

function run(beta: number, angles: number[][], part: Partial<Begun> = {}): RunRecord {
  const n = angles[0].length;
  const begun = { id: 1, scene: null, recorded: false, n, d: 2, beta, Q: IDENTITY, K: IDENTITY, V: IDENTITY };
  const rest = { frames: 2, delta: 1, radius: 0.1, centers: { renyi: [], strong: [] }, spectrum: null };
  const made = new RunRecord({ ...begun, ...rest, ...part });
  const x = angles.flatMap((frame) => frame.flatMap((a) => [Math.cos(a), Math.sin(a)]));
  made.addFrames(0, Float64Array.of(0, 150), Float64Array.from(x));
  return made;
}

test("the hint names how little moved, why, and a β at which tokens feel each other", () => {
  const hint =
    stillHint(
      run(64, [
        [0, 1, 2.1],
        [0, 1, 2.1001],
      ]),
    ) ?? "";
  assert.match(hint, /No token moves by more than 0\.0057° up to t = 150: with β = 64 in 2 dimensions/);
  assert.match(hint, /Try β = 4, or a later end\./);
  const start = Array.from({ length: 20 }, (_, k) => k / 4);
  const one = stillHint(run(640, [start, [0.1, ...start.slice(1)]]));
  assert.match(one ?? "", /Only 1 of 20 tokens move by 3° up to t = 150: with β = 640/);
  assert.equal(stillHint(run(640, [start, start.map((angle) => angle + 0.1)])), null);
});

test("there is no hint where something moves, where tokens are close, or where the model is another", () => {
  assert.equal(
    stillHint(
      run(64, [
        [0, 1],
        [0, 0.9],
      ]),
    ),
    null,
  );
  assert.equal(
    stillHint(
      run(64, [
        [0, 0.01],
        [0, 0.0099],
      ]),
    ),
    null,
  ); // they have met already
  assert.equal(stillHint(run(64, [[0], [0]])), null);
  assert.equal(
    stillHint(
      run(
        64,
        [
          [0, 1],
          [0, 1],
        ],
        {
          K: [
            [-1, 0],
            [0, 1],
          ],
        },
      ),
    ),
    null,
  );
  assert.equal(
    stillHint(
      run(
        64,
        [
          [0, 1],
          [0, 1],
        ],
        { blocks: [[]] },
      ),
    ),
    null,
  );
});
