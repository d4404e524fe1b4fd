/** The engine on a thread of its own: the page stays smooth while it computes. */

import type { Outgoing } from "../connection.ts";
import { EngineSession, type Arrays, type Recorded } from "./session.ts";
import type { Message } from "../connection.ts";

export type ToWorker = { recordings: Recorded[] } | Outgoing;
export interface FromWorker {
  header: Message;
  arrays?: Arrays;
}

const scope = self as unknown as {
  postMessage(message: FromWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

function post(header: Message, arrays?: Arrays): void {
  const buffers = Object.values(arrays ?? {}).map(({ values }) => values.buffer as ArrayBuffer);
  scope.postMessage(arrays === undefined ? { header } : { header, arrays }, buffers);
}

let session = new EngineSession(post);
scope.onmessage = ({ data }) => {
  if ("recordings" in data) {
    session = new EngineSession(post, data.recordings);
    post({ say: "ready" });
  } else void session.receive(data);
};
