/**
 * The line to the server: JSON both ways, binary frames back; when it breaks, it is mended and the page is
 * told.
 */

import type { Scene } from "./state.ts";

export type Numbers = Float64Array | Int32Array | Uint8Array;
export interface Message {
  say: string;
  id?: number | null;
  [key: string]: unknown;
}
export interface Parcel {
  header: Message;
  arrays: { [name: string]: { values: Numbers; shape: number[] } };
}

interface Described {
  name: string;
  dtype: "f8" | "i4" | "u1";
  shape: number[];
}

/**
 * Takes a binary message apart: uint32 length, JSON header, then arrays, everything starting at multiples of
 * 8 bytes.
 */
export function unpack(buffer: ArrayBuffer): Parcel {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Message;
  const arrays: Parcel["arrays"] = {};
  let at = 4 + length;
  for (const { name, dtype, shape } of (header.arrays ?? []) as Described[]) {
    const count = shape.reduce((a, b) => a * b, 1);
    const Kind = dtype === "f8" ? Float64Array : dtype === "i4" ? Int32Array : Uint8Array;
    arrays[name] = { values: new Kind(buffer, at, count), shape };
    at += Math.ceil((count * Kind.BYTES_PER_ELEMENT) / 8) * 8;
  }
  return { header, arrays };
}

export interface Hears {
  said(message: Message): void;
  sent(parcel: Parcel): void;
  opened(): void;
  /** `refused`: the server is there, but closed the line itself (too many sessions, too many messages). */
  lost(refused: boolean): void;
}

const FIRST_WAIT = 400;
const LONGEST_WAIT = 4000;
const REFUSALS = [1008, 1013]; // against the rules; try again later

export class Wire {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;

  constructor(
    private readonly address: string,
    private readonly ears: Hears,
  ) {}

  connect(): void {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.ears.opened();
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.ears.said(JSON.parse(data) as Message);
      else this.ears.sent(unpack(data));
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      const refused = REFUSALS.includes(code);
      if (refused) this.wait = LONGEST_WAIT;
      this.ears.lost(refused);
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
    };
    this.socket = socket;
  }

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** False when there is no one to tell. */
  send(message: { do: string; id?: number; scene?: Scene; name?: string; run?: number }): boolean {
    if (!this.open) return false;
    this.socket!.send(JSON.stringify(message));
    return true;
  }
}

/** Where the websocket of this page is. */
export function socketAddress(page: Location): string {
  const token = new URLSearchParams(page.search).get("token") ?? "";
  return `${page.protocol === "https:" ? "wss" : "ws"}://${page.host}/socket?token=${encodeURIComponent(token)}`;
}
