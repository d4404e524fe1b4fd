import assert from "node:assert/strict";
import test from "node:test";
import { publicLink } from "../src/export.ts";
import { decode, encode, LOOK, same, SCENE, type State } from "../src/state.ts";

const STRANGE: State = {
  scene: {
    ...SCENE,
    n: 33,
    d: 3,
    beta: 0.1 + 0.2,
    t: 1e60,
    seed: 9007199254740991,
    clock: "linear",
    mask: { window: 7 },
    start: { kind: "planted", clusters: 5, spread: 0.25 },
    moved: { "17": [0.1, -0.7000000000000001, 2 / 3] },
    V: {
      matrix: [
        [1, 0, 0],
        [0, -0.5, 1e-300],
        [0, 0, 2],
      ],
    },
    Q: { preset: "gaussian", seed: 4 },
  },
  open: null,
  at: 71,
  view: { ...LOOK, theme: "dark", camera: [1.25, -0.5, 4], speed: 2, trails: false },
};

test("a state survives the address to the last bit", () => {
  assert.deepEqual(decode(encode(STRANGE, SCENE), SCENE), STRANGE);
});

test("the defaults need no fragment, and an empty one gives the defaults", () => {
  assert.equal(encode({ scene: SCENE, open: null, at: null, view: LOOK }, SCENE), "");
  assert.deepEqual(decode("", SCENE), { scene: SCENE, open: null, at: null, view: LOOK });
});

test("only what differs from the defaults is written", () => {
  assert.deepEqual(
    JSON.parse(
      decodeURIComponent(
        encode({ scene: { ...SCENE, beta: 9 }, open: null, at: 3, view: LOOK }, SCENE).slice(1),
      ),
    ),
    {
      scene: { beta: 9 },
      at: 3,
    },
  );
});

test("a whole address, its fragment and the object inside are the same link", () => {
  const fragment = encode(STRANGE, SCENE);
  const whole = decode(`http://127.0.0.1:8000/?token=abc${fragment}`, SCENE);
  assert.deepEqual(whole, decode(fragment, SCENE));
  assert.deepEqual(whole, decode(JSON.parse(decodeURIComponent(fragment.slice(1))), SCENE));
});

test("a recording is named instead of a scene", () => {
  const state: State = { scene: { ...SCENE, n: 7 }, open: { name: "run.zarr", run: 2 }, at: 5, view: LOOK };
  assert.deepEqual(decode(encode(state, SCENE), SCENE), { ...state, scene: SCENE });
  assert.throws(() => decode({ open: { run: 1 } }, SCENE), /no name/);
});

test("what holds no state is no link, and is refused instead of giving the defaults", () => {
  for (const link of [
    "http://127.0.0.1:8000/",
    "http://127.0.0.1:8000/#",
    "#",
    "garbage",
    "https://example.org/a?b=c",
  ])
    assert.throws(() => decode(link, SCENE), /no link of the explorer/, link);
});

test("a copied link always has a #, so that it can be opened", () => {
  const page = { href: "http://127.0.0.1:8000/?token=abc#x" } as Location;
  const link = publicLink(page, encode({ scene: SCENE, open: null, at: null, view: LOOK }, SCENE));
  assert.ok(link.includes("#") && !link.includes("abc"));
  assert.deepEqual(decode(link, SCENE), { scene: SCENE, open: null, at: null, view: LOOK });
});

test("what a link must not say is refused in words", () => {
  const link = (state: unknown): string => "#" + encodeURIComponent(JSON.stringify(state));
  assert.throws(() => decode("#%7Bbroken", SCENE), /damaged/);
  assert.throws(() => decode(link({ scene: { betta: 2 } }), SCENE), /betta/);
  assert.throws(() => decode(link({ scene: { beta: "2" } }), SCENE), /beta/);
  assert.throws(() => decode(link({ scene: { mask: 5 } }), SCENE), /mask/);
  assert.throws(() => decode(link({ scene: { V: { matrix: [["a"]] } } }), SCENE), /“V”/);
  assert.throws(() => decode(link({ view: { theme: "pink" } }), SCENE), /theme/);
  assert.throws(() => decode(link({ at: "x" }), SCENE), /frame/);
  assert.throws(() => decode(link({ other: 1 }), SCENE), /other/);
  assert.throws(() => decode(link([1]), SCENE), /no settings/);
  assert.throws(() => decode('#{"scene":{"__proto__":{"n":1}}}', SCENE), /__proto__/);
});

test("decoding hands out a copy: changing it leaves the defaults alone", () => {
  decode("", SCENE).scene.moved["0"] = [1, 0];
  assert.deepEqual(SCENE.moved, {});
});

test("two values are the same whatever the order of their keys", () => {
  assert.ok(same({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }));
  assert.ok(!same({ a: 1 }, { a: 1, b: 2 }));
  assert.ok(!same([1, 2], [2, 1]));
});
