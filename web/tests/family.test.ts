import assert from "node:assert/strict";
import test from "node:test";
import {
  changed,
  familyText,
  headCount,
  headsKind,
  headsSeed,
  randomHeads,
  reachedTime,
  withHeads,
} from "../src/family.ts";
import { decode, encode, LOOK, SCENE } from "../src/state.ts";

test("what is as by default is not written", () => {
  assert.deepEqual(changed({ weights: "hardmax" }, { weights: "softmax", norm: "post", heads: 1 }), {});
  assert.deepEqual(changed({ alibi: 1 }, { alibi: undefined, rope: 10 }), { rope: 10 });
});

test("heads keep their kind when their number changes", () => {
  for (const kind of ["same", "betas", "factors", "V", "QKV"] as const) {
    const three = withHeads({ norm: "pre" }, 3, kind, 7);
    assert.equal(headsKind(three), kind);
    const five = withHeads(three, 5, headsKind(three), headsSeed(three));
    assert.deepEqual([headsKind(five), headCount(five), five.norm], [kind, 5, "pre"]);
    if (kind === "V" || kind === "QKV") assert.equal(headsSeed(five), 7);
  }
  assert.deepEqual(randomHeads("V", 2, 7), [{ V: "gaussian(7)" }, { V: "gaussian(8)" }]);
  assert.equal(headsKind({ heads: [{ beta: 1 }, { beta: 2, V: 1 }] }), "own");
  assert.deepEqual(withHeads({ heads: [{ V: 2 }, { V: -1 }] }, 3, "factors", 0).heads, [
    { V: 2 },
    { V: -1 },
    { V: 1 },
  ]);
});

test("a run ends with its layers, discrete ones at the end of one", () => {
  assert.equal(reachedTime({}, 150), 150);
  assert.equal(reachedTime({ layers: { count: 12 } }, 150), 12);
  assert.equal(reachedTime({ layers: { blocks: [{}, {}], dt: 0.5 } }, 0.7), 0.7);
  assert.equal(reachedTime({ layers: { count: 4, dt: 0.5, discrete: true } }, 0.8), 1);
});

test("a family is told in a few words", () => {
  assert.equal(familyText({}), "one softmax head");
  assert.equal(
    familyText({ weights: "exponential", norm: "pre", heads: 8, layers: { count: 12 } }),
    "12 layers, 8 heads, exponential, pre norm",
  );
});

test("a family survives the address", () => {
  const family = { heads: [{ V: -0.5 }, { V: "gaussian(3)" }], norm: "mix", tau: 1.5, noise: 1 / 3 };
  const scene = { ...SCENE, family, dt: 0.025 };
  const state = { scene, open: null, at: 3, view: LOOK };
  assert.deepEqual(decode(encode(state, SCENE), SCENE), state);
});
