import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { leaders } from "../src/colours.ts";
import {
  describeMergers,
  mergerHistory,
  mergersBetween,
  neighbourEvent,
  notedSize,
  treeRows,
} from "../src/mergers.ts";

// five tokens: 2 joins 1, then 4 and 5 join 3, then 3 joins 1
const FRAMES = [
  [0, 1, 2, 3, 4],
  [0, 0, 2, 3, 4],
  [0, 0, 2, 2, 2],
  [0, 0, 2, 2, 2],
  [0, 0, 0, 0, 0],
];
const history = mergerHistory(Int32Array.from(FRAMES.flat()), 5);

test("every cluster that is lost is a merger, in the frame in which its leader follows another", () => {
  const found = history.mergers.map(({ frame, lost, into, tokens, left }) => [
    frame,
    lost,
    into,
    tokens,
    left,
  ]);
  assert.deepEqual(found, [
    [1, 1, 0, 1, 4],
    [2, 3, 2, 1, 2],
    [2, 4, 2, 1, 2],
    [4, 2, 0, 3, 1],
  ]);
  for (const { branch, lost, into } of history.mergers) {
    assert.equal(history.branches[branch].leader, lost);
    assert.equal(history.branches[history.branches[branch].parent].leader, into);
  }
  assert.deepEqual(
    mergersBetween(history, 1, 4).map(({ frame }) => frame),
    [2, 2, 4],
  );
  assert.deepEqual(history.eventFrames, [1, 2, 4]);
  assert.deepEqual(history.branches[0].sizes, [1, 2, 2, 2, 5]);
});

test("as many clusters as there are branches, less those that were lost, are left in every frame", () => {
  FRAMES.forEach((leaders, i) => {
    const alive = history.branches.filter(({ from, to }) => from <= i && i <= to);
    assert.deepEqual(alive.map(({ leader }) => leader).sort(), [...new Set(leaders)].sort(), `frame ${i}`);
    assert.equal(
      alive.reduce((sum, { from, sizes }) => sum + sizes[i - from], 0),
      5,
    );
  });
});

test("a token that leaves its cluster begins a branch there, and may join again", () => {
  const { branches, mergers } = mergerHistory(Int32Array.of(0, 0, 0, 1, 0, 0), 2);
  assert.deepEqual(
    branches.map(({ leader, from, to, parent, origin }) => [leader, from, to, parent, origin]),
    [
      [0, 0, 2, -1, -1],
      [1, 1, 1, 0, 0],
    ],
  );
  assert.equal(mergers.length, 1);
});

test("of many tokens, a small cluster that is lost is no event while many are left", () => {
  const n = 100;
  const first = Int32Array.from({ length: n }, (_, k) => k);
  const second = first.slice();
  second[1] = 0; // one token joins
  const third = second.slice();
  for (let k = 20; k < 40; k++) third[k] = 20;
  const fourth = third.map((k) => (k === 20 ? 2 : k)); // twenty join
  const { eventFrames } = mergerHistory(Int32Array.of(...first, ...second, ...third, ...fourth), n);
  assert.deepEqual(eventFrames, [3]);
});

test("next and previous events are those beside the cursor", () => {
  assert.equal(neighbourEvent([1, 2, 4], 2, 1), 4);
  assert.equal(neighbourEvent([1, 2, 4], 2, -1), 1);
  assert.equal(neighbourEvent([1, 2, 4], 4, 1), null);
  assert.equal(neighbourEvent([], 0, -1), null);
});

test("mergers are told with tokens counted from 1", () => {
  assert.equal(describeMergers(history, 4), "the cluster of token 3 (3 tokens) joins that of token 1");
  assert.match(describeMergers(history, 2, 1), /1 more merger/);
});

test("no line of a merger crosses a branch that lives then", () => {
  let state = 7;
  const random = (): number => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  for (let trial = 0; trial < 30; trial++) {
    const n = 24;
    const leader = Array.from({ length: n }, (_, k) => k);
    const frames = [leader.slice()];
    for (let step = 0; step < n - 1; step++) {
      const alive = [...new Set(leader)].sort((a, b) => a - b);
      const lost = alive[1 + Math.floor(random() * (alive.length - 1))];
      const into = alive[Math.floor(random() * alive.indexOf(lost))];
      for (let k = 0; k < n; k++) if (leader[k] === lost) leader[k] = into;
      frames.push(leader.slice());
    }
    const found = mergerHistory(Int32Array.from(frames.flat()), n);
    const rows = new Map(treeRows(found, 100).map(({ branch, at }) => [branch, at]));
    assert.equal(rows.size, n);
    for (const { frame, branch } of found.mergers) {
      const { parent } = found.branches[branch];
      const [low, high] = [rows.get(branch)!, rows.get(parent)!].sort((a, b) => a - b);
      const crossed = found.branches.filter(
        ({ from, to }, b) => rows.get(b)! > low && rows.get(b)! < high && from <= frame && to >= frame,
      );
      assert.equal(crossed.length, 0, `trial ${trial}, frame ${frame}`);
    }
  }
});

test("of too many branches those of note are kept, and every one that is kept joins one that is", () => {
  const rows = treeRows(history, 2).map(({ branch }) => branch);
  assert.ok(rows.length < history.branches.length);
  for (const branch of rows) {
    const { parent } = history.branches[branch];
    assert.ok(parent < 0 || rows.includes(parent));
  }
});

test("a cluster of note has 3 % of the tokens and three at least; of five tokens each one is", () => {
  assert.deepEqual([1, 5, 6, 100, 200].map(notedSize), [1, 1, 3, 3, 6]);
});

test("the page finds the mergers that nc.merges finds, between the same frames", () => {
  interface Recorded {
    t: number[];
    labels: number[][];
    events: [time: number, lost: number, into: number, left: number][];
  }
  const text = readFileSync("tests/engine_cases.json", "utf8");
  const { t, labels, events } = (JSON.parse(text) as { mergers: Recorded }).mergers;
  const n = labels[0].length;
  const leader = new Int32Array(t.length * n);
  labels.forEach((row, i) => leaders(row, leader.subarray(i * n, (i + 1) * n)));
  for (const [time, lost, into] of events) {
    const frame = t.findIndex((one) => one >= time);
    assert.equal(leader[frame * n + lost], leader[frame * n + into], `token ${lost} at ${time}`);
    assert.ok(leader[(frame - 1) * n + lost] !== leader[(frame - 1) * n + into], `token ${lost}, before`);
  }
  // Once the tokens of every cluster have come together, the two lists are the same.
  const gathered = t.findIndex((one, i) => one > events[5][0] && new Set(labels[i]).size === events[5][3]);
  const found = mergersBetween(mergerHistory(leader, n), gathered, t.length);
  assert.deepEqual(
    found.map(({ frame, lost, into, left, ofNote }) => [frame, lost, into, left, ofNote]),
    events
      .slice(6)
      .map(([time, lost, into, left]) => [t.findIndex((one) => one >= time), lost, into, left, true]),
  );
  assert.ok(found.length >= 3);
});
