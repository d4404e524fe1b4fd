import assert from "node:assert/strict";
import test from "node:test";
import { attentionMatrix, attentionRow } from "../src/attention_matrix.ts";
import { listeningText, listensTo } from "../src/listening.ts";
import { RunRecord, type Begun } from "../src/run_record.ts";

const BEGUN = {
  id: 1,
  scene: null,
  recorded: false,
  n: 3,
  d: 2,
  beta: 2,
  Q: [[1, 0], [0, 1]], // prettier-ignore
  K: [[1, 0], [0, 1]], // prettier-ignore
  V: [],
  frames: 1,
  delta: 1,
  radius: 0.1,
  centers: { renyi: [0], strong: [0] },
  spectrum: null,
} as Begun;
const X = Float64Array.of(1, 0, 0, 1, 0.6, 0.8);

test("one row alone is the row of the matrix, bit by bit", () => {
  for (const mask of ["causal", "full", { window: 2 }] as const) {
    const head = { beta: 2, Q: null, K: null, mask, alibi: 0.1 };
    const whole = attentionMatrix(X, 3, 2, head).tokens;
    for (let k = 0; k < 3; k++)
      assert.deepEqual(attentionRow(X, 3, 2, head, k), whole.slice(3 * k, 3 * k + 3));
  }
});

test("a token is told whom it listens to, the most first; the first token hears only itself", () => {
  const run = new RunRecord(BEGUN);
  run.addFrames(0, Float64Array.of(0), X);
  assert.deepEqual(listensTo(run, 0, 0), [{ token: 0, share: 1 }]);
  const heard = listensTo(run, 0, 2);
  assert.deepEqual(
    heard.map(({ token }) => token),
    [2, 1, 0], // ⟨x₃, x₃⟩ = 1, ⟨x₃, x₂⟩ = .8, ⟨x₃, x₁⟩ = .6
  );
  assert.ok(Math.abs(heard.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-12);
  assert.match(listeningText(run, 0, 2), /^; listens to itself \(\d+ %\), token 2/);
});
