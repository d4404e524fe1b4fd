import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import type { Message } from "../src/connection.ts";
import { Drift } from "../src/engine/equation.ts";
import { general, repr } from "../src/engine/format.ts";
import { Integration } from "../src/engine/integrate.ts";
import { chosenMatrix, readMatrix } from "../src/engine/matrices.ts";
import { pythonCode } from "../src/engine/python_code.ts";
import { Generator } from "../src/engine/random.ts";
import { prepare } from "../src/engine/scene.ts";
import { EngineSession, type Arrays, type Recorded } from "../src/engine/session.ts";
import { identity, product, transpose } from "../src/engine/linear.ts";
import { predictedPoint, spectrumFacts, type SpectrumFacts } from "../src/engine/spectrum.ts";
import { capAngle, capShare } from "../src/engine/starts.ts";
import { RunQueue, type Answer } from "../src/run_queue.ts";
import { completeScene, SCENE, type MatrixChoice, type Scene } from "../src/state.ts";

interface Case {
  name: string;
  scene: Scene;
  times: number[];
  start: number[][];
  begun: { [key: string]: unknown };
  end: number[][];
  middle: number[][];
  labels: number[][];
  consumed_renyi: number[] | null;
  consumed_strong: number[] | null;
  directions: number[][] | null;
  python: string;
}
interface Spectral {
  name: string;
  V: number[][];
  Q?: number[][]; // the identity if left out
  K?: number[][];
  spectrum: SpectrumFacts;
  predicted_point: number[] | null;
}
const CASES = JSON.parse(readFileSync("tests/engine_cases.json", "utf8")) as {
  random: { seed: number; uniform: number[]; normal: number[]; many: number; xor: string }[];
  matrices: { choice: MatrixChoice; d: number; M: number[][] }[];
  typed: { text: string; d: number; choice: MatrixChoice | null }[];
  spectra: Spectral[];
  scenes: Case[];
};

const farthest = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  assert.equal(a.length, b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
};

/** A session, what it said, and the arrays that came. */
function listening(recordings: Recorded[] = []): {
  session: EngineSession;
  said: Message[];
  arrays: { header: Message; arrays: Arrays }[];
} {
  const said: Message[] = [];
  const arrays: { header: Message; arrays: Arrays }[] = [];
  const session = new EngineSession((header, given) => {
    said.push(structuredClone(header));
    if (given !== undefined) arrays.push({ header, arrays: given });
  }, recordings);
  return { session, said, arrays };
}

test("the same seed draws the same numbers as NumPy, to the last bit", () => {
  for (const { seed, uniform, normal, many, xor } of CASES.random) {
    const rng = new Generator(seed);
    assert.deepEqual([rng.random(), rng.random(), rng.random()], uniform);
    const drawn = new Generator(seed).normals(many);
    assert.deepEqual(Array.from(drawn.subarray(0, normal.length)), normal);
    const bits = new BigUint64Array(drawn.buffer).reduce((all, one) => all ^ one, 0n);
    assert.equal(bits.toString(16).padStart(16, "0"), xor, `seed ${seed}`);
  }
});

test("matrices with a name are those of Python", () => {
  for (const { choice, d, M } of CASES.matrices) {
    const found = chosenMatrix("V", choice, d);
    const head = "preset" in choice && choice.preset === "head"; // a sum of 128 products, in another order
    if (head) assert.ok(farthest(found.flat(), M.flat()) < 1e-14);
    else assert.deepEqual(found, M, JSON.stringify(choice));
  }
});

test("a typed matrix is read as Python reads it, or refused where Python refuses", () => {
  for (const { text, d, choice } of CASES.typed)
    if (choice === null) assert.throws(() => readMatrix("V", text, d), /V|matrix/, text);
    else assert.deepEqual(readMatrix("V", text, d), choice, text);
});

/** Words and keys are equal, numbers to rounding, L as a space: its basis is free. */
function assertSameSpectrum(found: SpectrumFacts, told: SpectrumFacts, V: number[][], name: string): void {
  assert.deepEqual(Object.keys(found).sort(), Object.keys(told).sort(), name);
  const { eigenvalues, lambda_max, L, ...words } = told;
  for (const [key, value] of Object.entries(words))
    assert.equal(found[key as keyof typeof found], value, `${name}: ${key}`);
  const size = Math.hypot(...V.flat()) || 1;
  const defective = told.kind.includes("defective"); // a block of size nu moves by the nu-th root of rounding
  assert.ok(Math.abs(found.lambda_max[0] - lambda_max[0]) < 1e-12 * size, name);
  assert.ok(Math.abs(found.lambda_max[1] - lambda_max[1]) < (defective ? 1e-4 : 1e-9) * size, name);
  const far = farthest(found.eigenvalues.flat(), eigenvalues.flat());
  assert.ok(far < (defective ? 1e-4 : 1e-9) * size, `${name}: ${far}`);
  assert.equal(found.L.length, L.length, `${name}: dimension of L`);
  const onto = (basis: number[][]): number[] => product(transpose(basis), basis).flat();
  const apart = farthest(onto(found.L), onto(L));
  assert.ok(apart < (defective ? 1e-6 : 1e-9), `${name}: L is ${apart} away`);
}

test("the row of Table 1, its doubt, L and the eigenvalues are those of the atlas", () => {
  const doubts = CASES.spectra.filter(({ spectrum }) => spectrum.doubt !== null).length;
  assert.ok(doubts > 3 && doubts < CASES.spectra.length - 3);
  for (const { name, V, Q, K, spectrum, predicted_point } of CASES.spectra) {
    const d = V.length;
    const head = { Q: Q ?? identity(d), K: K ?? identity(d), V, mask: "causal" as const };
    const known = spectrumFacts(head, 9);
    assertSameSpectrum(known, spectrum, V, name);
    const length = Math.hypot(...V.map((_, i) => i + 1));
    const point = predictedPoint(
      known.row,
      V,
      V.map((_, i) => (i + 1) / length),
    );
    assert.equal(point === null, predicted_point === null, name);
    if (point !== null) assert.ok(farthest(point, predicted_point!) < 1e-9, name);
  }
});

test("a token without a part in L has no predicted end", () => {
  const V = [
    [1, 0, 0.7],
    [0, 1, 0.3],
    [0, 0, -0.5],
  ];
  const lost = [-7, -3, 15].map((value) => value / Math.hypot(7, 3, 15)); // the eigenvector of -1/2
  assert.equal(predictedPoint(2, V, lost), null);
  const y = [0.6 + (0.8 * 7) / 15, 0.8 / 5, 0]; // oblique: not the nearest point of L
  const expected = y.map((value) => value / Math.hypot(...y));
  assert.ok(farthest(predictedPoint(2, V, [0.6, 0, 0.8])!, expected) < 1e-12);
});

test("starts are those of Python: drawn ones to the last bit, caps to rounding", () => {
  for (const { name, scene, start, times } of CASES.scenes) {
    const prepared = prepare(scene, 1);
    const far = farthest(prepared.x0, start.flat());
    assert.ok(scene.start.kind === "cap" ? far < 1e-14 : far === 0, `${name}: ${far}`);
    prepared.times.forEach((t, i) => assert.ok(Math.abs(t - times[i]) <= 1e-14 * times[i], name));
  }
});

test("a cap of any share has the angle that has the share", () => {
  for (const d of [2, 3, 4, 5, 8])
    for (const share of [1e-20, 1e-6, 0.3, 0.5, 0.7, 0.999]) {
      const back = capShare(capAngle(share, d), d);
      assert.ok(Math.abs(back - share) < 1e-13 * share, `${d} ${share} ${back}`);
    }
});

test("what the page is told of a scene is what the server tells", () => {
  for (const { name, scene, begun } of CASES.scenes) {
    const told = prepare(scene, 1).begun as unknown as { [key: string]: unknown };
    assert.deepEqual(Object.keys(told).sort(), Object.keys(begun).sort(), name);
    for (const [key, value] of Object.entries(begun)) {
      if (key === "spectrum" || ["Q", "K", "V"].includes(key)) continue; // to rounding, above and below
      if (key === "predicted_point" && Array.isArray(value))
        assert.ok(farthest(told[key] as number[], value as number[]) < 1e-9, `${name}: ${key}`);
      else if (key === "scene")
        assert.deepEqual(completeScene(told[key], SCENE), completeScene(value, SCENE), name);
      else if (typeof value === "number")
        assert.ok(Math.abs(Number(told[key]) - value) <= 4e-16 * value, `${name}: ${key}`);
      else assert.deepEqual(told[key], value, `${name}: ${key}`);
    }
    const V = begun.V as number[][];
    assertSameSpectrum(told.spectrum as SpectrumFacts, begun.spectrum as SpectrumFacts, V, name);
  }
});

test("runs end where Python's do, to the tolerance shown, and are measured alike", async () => {
  for (const { name, scene, end, middle, labels, ...measured } of CASES.scenes) {
    const { session, said, arrays } = listening();
    await session.receive({ do: "run", id: 1, scene });
    const ended = said.find(({ say }) => say === "ended");
    assert.equal(ended?.status, "done", name);
    const frames = arrays.filter(({ header }) => header.say === "frames");
    const x = Float64Array.from(frames.flatMap(({ arrays: { x } }) => Array.from(x.values)));
    const size = scene.n * scene.d;
    assert.equal(x.length, scene.frames * size, name);
    // the error of a whole run is that of its steps, added up and stretched by the flow
    const allowed = 30 * scene.tolerance;
    const at = Math.floor(scene.frames / 2) * size;
    assert.ok(farthest(x.subarray(x.length - size), end.flat()) < allowed, name);
    assert.ok(farthest(x.subarray(at, at + size), middle.flat()) < allowed, name);
    const last = arrays.at(-1)!;
    assert.equal(last.header.say, "measured");
    assert.deepEqual(Array.from(last.arrays.labels.values), labels.flat(), name);
    for (const key of ["consumed_renyi", "consumed_strong"] as const)
      assert.deepEqual(Array.from(last.arrays[key].values), measured[key], `${name}: ${key}`);
    if (measured.directions !== null) {
      const far = farthest(last.arrays.directions.values, measured.directions.flat());
      assert.ok(far < 1e-5, `${name}: directions ${far}`);
    }
  }
});

test("a smaller tolerance is a smaller error, about in proportion", () => {
  const { scene, end } = CASES.scenes.find(({ name }) => name === "gaussian")!;
  const errors = [1e-4, 1e-6, 1e-8, 1e-10].map((tolerance) => {
    const { head, x0, times } = prepare({ ...scene, tolerance }, 1);
    const run = new Integration(new Drift(head, scene.n, scene.d), x0, times, scene.t, 1.01 * tolerance, 1e6);
    while (run.status === "running") run.step();
    return farthest(run.frames.subarray(-scene.n * scene.d), end.flat()) / tolerance;
  });
  for (const error of errors) assert.ok(error < 30, String(errors));
});

test("the lines of Python are those that the server writes", () => {
  for (const { name, scene, python } of CASES.scenes)
    if (name !== "alone") assert.equal(pythonCode(scene), python, name);
});

test("numbers are written as Python writes them", () => {
  const written = [1, 0, -0, 0.1, 1e-4, 1e-5, 1e15, 1e16, 123456.789, 1e22, -2.5e-8, 5e-324].map(repr);
  assert.deepEqual(written, [
    "1.0",
    "0.0",
    "-0.0",
    "0.1",
    "0.0001",
    "1e-05",
    "1000000000000000.0",
    "1e+16",
    "123456.789",
    "1e+22",
    "-2.5e-08",
    "5e-324",
  ]);
  assert.deepEqual(
    [64, 0.1, 1e60, 1234567, 0.0001, 0.00001, 0].map((value) => general(value)),
    ["64", "0.1", "1e+60", "1.23457e+06", "0.0001", "1e-05", "0"],
  );
});

test("what is outside is refused in words, and nonsense too", async () => {
  const asks: [Partial<Scene>, RegExp, boolean][] = [
    [{ n: 501 }, /at most 500 tokens, but n is 501/, true],
    [{ n: 1e9 }, /at most 500 tokens/, true],
    [{ d: 9 }, /at most 8 dimensions/, true],
    [{ t: 1e60 }, /up to 100,000, but the end is 1e\+60/, true],
    [{ family: { norm: "pre" } }, /one softmax head, but this scene has norm/, true],
    [{ n: 2.5 }, /whole/, false],
    [{ beta: -1 }, /beta must be at least 0/, false],
    [{ V: { matrix: [[1]] } }, /V must have 2 rows/, false],
    [{ moved: { "7": [1, 0] }, n: 3 }, /tokens are numbered from 0 to 2/, false],
  ];
  for (const [part, words, outside] of asks) {
    const { session, said } = listening();
    await session.receive({ do: "run", id: 3, scene: { ...SCENE, ...part } });
    assert.deepEqual([said.length, said[0].say, said[0].id, said[0].outside], [1, "error", 3, outside]);
    assert.match(String(said[0].text), words);
  }
});

test("the newest request wins, and a cancelled run keeps what there is", async () => {
  const { session, said } = listening();
  const long = { ...SCENE, n: 200, t: 5e4 };
  const runs = [
    session.receive({ do: "run", id: 1, scene: long }),
    session.receive({ do: "run", id: 2, scene: long }),
  ];
  while (!said.some(({ say }) => say === "progress")) await new Promise<void>((go) => setTimeout(go, 10));
  await session.receive({ do: "cancel", id: 2 });
  await Promise.all(runs);
  assert.ok(said.every(({ id }) => id === 2));
  assert.ok(said.some(({ say, share }) => say === "progress" && Number(share) > 0));
  assert.equal(said.find(({ say }) => say === "ended")?.status, "cancelled");
  assert.equal(said.at(-1)?.say, "measured");
});

test("a run aside waits for the one that is shown, and gives way to a newer one", async () => {
  const { session, said } = listening();
  const small = { ...SCENE, n: 5, t: 1, frames: 5 };
  const long = { ...SCENE, n: 200, t: 5e4 };
  const aside = 2 ** 40;
  const first = session.receive({ do: "run", id: 1, scene: { ...long, t: 5 } });
  const beside = session.receive({ do: "run", id: aside, scene: small, aside: true });
  const second = session.receive({ do: "run", id: 2, scene: small });
  await Promise.all([first, beside, second]);
  const order = said
    .filter(({ say }) => say === "begun" || say === "measured")
    .map(({ say, id }) => [say, id]);
  assert.deepEqual(order, [
    ["begun", 2],
    ["measured", 2],
    ["begun", aside],
    ["measured", aside],
  ]);
  const pushed = session.receive({ do: "run", id: aside + 1, scene: long, aside: true });
  while (!said.some(({ say, id }) => say === "begun" && id === aside + 1))
    await new Promise<void>((go) => setTimeout(go, 5));
  await Promise.all([session.receive({ do: "run", id: 3, scene: small }), pushed]);
  assert.equal(said.at(-1)?.id, 3, "nothing more is said of the one that gave way");
  assert.equal(said.at(-1)?.say, "measured");
});

test("the queue of runs aside is served by the engine, and takes back what was pushed aside", async () => {
  let showing = false;
  const answers: Answer[] = [];
  const queue: RunQueue = new RunQueue({
    send: (message) => {
      void session.receive(message);
      return true;
    },
    busy: () => showing,
    later: (act, millis) => setTimeout(act, millis),
  });
  const shown: Message[] = [];
  const session = new EngineSession((header, arrays) => {
    if (arrays === undefined ? queue.onMessage(header) : queue.onBinaryMessage({ header, arrays })) return;
    shown.push(header);
  });
  const small = { ...SCENE, n: 5, t: 1, frames: 5 };
  const asked = [1, 2, 3].map(
    (seed) =>
      new Promise<void>((done) =>
        queue.ask({ ...small, seed }, (answer) => {
          answers.push(answer);
          done();
        }),
      ),
  );
  queue.ask({ ...small, n: 501 }, (answer) => answers.push(answer));
  showing = true; // a drag: the first of the queue is pushed aside
  const run = session.receive({ do: "run", id: 1, scene: small });
  queue.pump();
  await run;
  assert.equal(answers.length, 0);
  assert.equal(shown.at(-1)?.say, "measured");
  showing = false;
  queue.pump();
  await Promise.all(asked);
  while (answers.length < 4) await new Promise<void>((go) => setTimeout(go, 5));
  assert.deepEqual(
    answers.map((one) => one.run?.begun.scene?.seed ?? one.error?.slice(0, 35)),
    [1, 2, 3, "This page computes at most 500 tokens".slice(0, 35)],
  );
  assert.ok(answers.slice(0, 3).every((one) => one.run?.measured != null));
});

test("Python, matrices and data are answered by their own messages", async () => {
  const { session, said } = listening();
  await session.receive({ do: "python", scene: SCENE });
  await session.receive({ do: "python", scene: { ...SCENE, family: { norm: "pre" } } });
  await session.receive({ do: "matrix", name: "V", d: 2, text: "diag(1, 2)" });
  await session.receive({ do: "matrix", name: "V", d: 2, text: "nonsense" });
  await session.receive({ do: "data", id: 1 });
  assert.deepEqual(
    said.map(({ say }) => say),
    ["python", "refused", "matrix", "error", "refused"],
  );
  assert.match(String(said[0].text), /nc\.simulate/);
  assert.match(String(said[1].text), /has norm/);
  assert.match(pythonCode({ ...SCENE, t: 1e60, n: 5000 }), /n=5000.*\n.*\n.*1e\+60/);
});
