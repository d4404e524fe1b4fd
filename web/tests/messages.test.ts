import assert from "node:assert/strict";
import test from "node:test";
import { Messages } from "../src/messages.ts";

test("a message about a run goes when the next begins, one about a change with the run after its own", () => {
  let shown = "";
  const messages = new Messages((text) => (shown = text));
  messages.say("ended early", "run");
  assert.equal(shown, "ended early");
  messages.runBegan();
  assert.equal(shown, "");
  messages.say("V was set back", "change");
  messages.runBegan(); // the run that the change asked for
  assert.equal(shown, "V was set back");
  messages.runBegan();
  assert.equal(shown, "");
});
