import assert from "node:assert/strict";
import test from "node:test";
import { SessionToken, type TokenStore } from "../src/session_token.ts";

function store(kept: string | null, works = true): TokenStore & { kept: string | null } {
  const made = {
    kept,
    read: () => made.kept,
    write: (token: string) => {
      if (works) made.kept = token;
      return works;
    },
  };
  return made;
}

test("the token of the address comes first, then the one that the browser has kept, in turn", () => {
  const token = new SessionToken("address", store("kept"), () => undefined);
  assert.deepEqual([token.next(), token.next(), token.next()], ["address", "kept", "address"]);
  assert.equal(new SessionToken(null, store("kept"), () => undefined).next(), "kept");
  assert.equal(new SessionToken(null, store(null), () => undefined).next(), "");
});

test("a token that was taken is kept, and one kept meanwhile by another tab is tried", () => {
  const browser = store("old");
  let told = 0;
  const token = new SessionToken("new", browser, () => told++);
  token.accepted(token.next());
  assert.deepEqual([browser.kept, told], ["new", 1]);
  browser.kept = "newer"; // a server started anew, opened beside this tab
  assert.deepEqual([token.next(), token.next()], ["new", "newer"]);
});

test("where nothing can be kept the address keeps its token", () => {
  let told = 0;
  const token = new SessionToken("given", store(null, false), () => told++);
  token.accepted(token.next());
  assert.deepEqual([token.next(), told], ["given", 0]);
});
