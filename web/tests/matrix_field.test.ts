import assert from "node:assert/strict";
import test from "node:test";
import { readMatrix } from "../src/matrix_field.ts";

test("a matrix is read from rows of numbers, and complaints are in words", () => {
  assert.deepEqual(readMatrix("1 0\n0, -2.5", 2), [
    [1, 0],
    [0, -2.5],
  ]);
  assert.throws(() => readMatrix("1 0", 2), /2 rows of 2 numbers/);
  assert.throws(() => readMatrix("1 0\n0 x", 2), /not a number/);
});
