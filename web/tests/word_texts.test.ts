import assert from "node:assert/strict";
import test from "node:test";
import { EXPLANATIONS, TABLE_1 } from "../src/text.ts";
import { WORD_PATTERNS, WORDS, wordsIn } from "../src/word_texts.ts";

const found = (text: string): string[] => wordsIn(text).map(({ word }) => word);

test("every word that the page must explain is found where it stands, each once", () => {
  assert.deepEqual(found("Rényi center"), ["renyi"]);
  assert.deepEqual(found("strong center, and strong centers"), ["strong"]);
  assert.deepEqual(found("Row 3 of Table 1"), ["table"]);
  for (const [label, word] of [
    ["Value V", "V"],
    ["Query Q", "Q"],
    ["Key K", "K"],
    ["Sharpness β", "beta"],
    ["Factor c", "delta"],
  ])
    assert.deepEqual(found(label), [word]);
  assert.deepEqual(found(TABLE_1[1][2]), ["L"]);
  assert.deepEqual(found(TABLE_1[2][2]), ["xi"]);
  assert.ok(found(EXPLANATIONS.consumption).includes("delta"));
});

test("a word is found at its own letters and not inside others", () => {
  const text = "one point in L, as Table 1 says";
  const parts = wordsIn(text).map(({ from, to }) => text.slice(from, to));
  assert.deepEqual(parts, ["L", "Table 1"]);
  assert.deepEqual(found("Lemma 3.1, Pre-LN, L' and a Label"), []);
  assert.deepEqual(found("0.1 β^(−1/2)"), []);
});

test("every rule leads to a text with a place in the paper and a page of the documentation", () => {
  for (const [, word] of WORD_PATTERNS) {
    const { text, paper, docs } = WORDS[word];
    assert.ok(text.endsWith(".") && paper !== "" && docs.startsWith("docs/"), String(word));
  }
});
