import assert from "node:assert/strict";
import test from "node:test";
import { bracketed, written } from "../src/matrix_field.ts";

test("rows of numbers are given their brackets, however they are separated", () => {
  const matrix = [
    [1, 0],
    [0, -2.5],
  ];
  const texts = ["1 0\n0 -2.5", "1, 0; 0, -2.5", " 1\t0\r\n 0  -2.5 \n", "1,0,\n0,-2.5;", "+1. 0;0 -25e-1"];
  for (const text of texts) assert.deepEqual(JSON.parse(bracketed(text)), matrix, text);
  assert.deepEqual(JSON.parse(bracketed(".5 1e300")), [[0.5, 1e300]]);
  assert.deepEqual(JSON.parse(written(matrix)), matrix);
});

test("any other text is left to the server", () => {
  const texts = ["2.0", " -.5e-1", "identity", "diag(1,1,-2)", "[1, 1, -2]", "[[1,2],[3,4]]", "row3", "1 x"];
  for (const text of texts) assert.equal(bracketed(text), text);
});

test("a long text is looked through in a moment", () => {
  const begun = performance.now();
  for (const text of ["1 ".repeat(2e5) + "x", " ".repeat(4e5), "1" + " ".repeat(4e5), "1".repeat(4e5) + "x"])
    bracketed(text);
  assert.ok(performance.now() - begun < 2000);
});
