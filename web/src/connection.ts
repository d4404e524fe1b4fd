/** The connection to the server: JSON both ways, arrays back; when it is lost, it is opened again. */

import type { SessionToken } from "./session_token.ts";
import type { Scene } from "./state.ts";

export type Numbers = Float64Array | Int32Array | Uint8Array;
export interface Message {
  say: string;
  id?: number | null;
  [key: string]: unknown;
}
export interface BinaryMessage {
  header: Message;
  arrays: { [name: string]: { values: Numbers; shape: number[] } };
}

/** What the page asks of the server; `nucleate.explorer.page_requests` reads it. */
export interface Outgoing {
  do: string;
  id?: number;
  scene?: Scene;
  name?: string;
  run?: number;
  aside?: boolean; // of a run that is not shown: the data of the one that is stay at hand
  d?: number;
  text?: string;
}

interface ArrayHeader {
  name: string;
  dtype: "f8" | "i4" | "u1";
  shape: number[];
}

/**
 * Takes a binary message apart: uint32 length, JSON header, then arrays, everything starting at multiples of
 * 8 bytes.
 */
export function unpack(buffer: ArrayBuffer): BinaryMessage {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Message;
  const arrays: BinaryMessage["arrays"] = {};
  let at = 4 + length;
  for (const { name, dtype, shape } of (header.arrays ?? []) as ArrayHeader[]) {
    const count = shape.reduce((a, b) => a * b, 1);
    const Kind = dtype === "f8" ? Float64Array : dtype === "i4" ? Int32Array : Uint8Array;
    arrays[name] = { values: new Kind(buffer, at, count), shape };
    at += Math.ceil((count * Kind.BYTES_PER_ELEMENT) / 8) * 8;
  }
  return { header, arrays };
}

export interface ConnectionListener {
  onMessage(message: Message): void;
  onBinaryMessage(parcel: BinaryMessage): void;
  /** `refused`: the server is there, but closed the line itself (too many sessions, too many messages). */
  onLost(refused: boolean): void;
}

const FIRST_RETRY_MILLIS = 400;
const LONGEST_RETRY_MILLIS = 4000;
const MAX_MESSAGE_CHARACTERS = 1_000_000; // a longer one ends the session, and sent again the next one too
const TOO_LARGE =
  "This scene is too large for the server. Take fewer dimensions, or matrices that have a name.";
const REFUSAL_CODES = [1008, 1013]; // against the rules; try again later

export class Connection {
  private socket: WebSocket | null = null;
  private retryMillis = FIRST_RETRY_MILLIS;
  readonly starting = false; // it answers, or is lost

  constructor(
    private readonly page: Pick<Location, "protocol" | "host">,
    private readonly token: SessionToken,
    private readonly listener: ConnectionListener,
  ) {}

  connect(): void {
    const token = this.token.next();
    const socket = new WebSocket(socketAddress(this.page, token));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.retryMillis = FIRST_RETRY_MILLIS;
      this.token.accepted(token); // or it would not be open
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.listener.onMessage(JSON.parse(data) as Message);
      else this.listener.onBinaryMessage(unpack(data));
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      const refused = REFUSAL_CODES.includes(code);
      if (refused) this.retryMillis = LONGEST_RETRY_MILLIS;
      this.listener.onLost(refused);
      setTimeout(() => this.connect(), this.retryMillis);
      this.retryMillis = Math.min(LONGEST_RETRY_MILLIS, this.retryMillis * 2);
    };
    this.socket = socket;
  }

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** False when there is no connection. */
  send(message: Outgoing): boolean {
    if (!this.open) return false;
    const text = JSON.stringify(message);
    if (text.length <= MAX_MESSAGE_CHARACTERS) this.socket!.send(text);
    else this.refuse(message);
    return true;
  }

  /** Answers as the server would: later, when whoever asks has noted that it did. */
  private refuse(message: Outgoing): void {
    const say = message.do === "python" ? "refused" : "error";
    queueMicrotask(() => this.listener.onMessage({ say, id: message.id ?? null, text: TOO_LARGE }));
  }
}

/** Where the websocket of this page is. */
export function socketAddress(page: Pick<Location, "protocol" | "host">, token: string): string {
  return `${page.protocol === "https:" ? "wss" : "ws"}://${page.host}/socket?token=${encodeURIComponent(token)}`;
}
