/**
 * What every view sees of the page: the run, the one cursor, the one highlighted token, colours; and what it
 * may ask for.
 */

import type { TimeScale } from "./axis.ts";
import type { Palette, Theme } from "./colours.ts";
import type { RunRecord } from "./run_record.ts";
import type { Look } from "./state.ts";

export interface ViewContext {
  run: RunRecord | null;
  scale: TimeScale;
  cursor: number; // frames, with a fraction while playing
  hover: number | null; // token, from 0
  ghost: RunRecord | null; // another run, drawn faintly
  focus: Uint8Array | null; // (n,) 1 for the tokens of a branch that is looked at; null: all are
  look: Look;
  theme: Theme;
  palette: Palette;
  playing: boolean;
  /** Tokens can be moved by hand: at the start, and where there is an engine to run again. */
  movable: boolean;
  seek(cursor: number): void;
  highlight(token: number | null): void;
  /** Dims all tokens but these, (n,); null: none is dimmed. */
  focusOn(tokens: Uint8Array | null): void;
  /** Puts a token at another place; `done` when it is let go, and the run begins anew. */
  moveToken(token: number, to: number[], done: boolean): void;
  changeLook(part: Partial<Look>): void;
  redraw(): void;
}

export const NUDGE_RADIANS = Math.PI / 90; // by which a key moves a token

/** The frame the cursor is in. */
export const currentFrame = (context: ViewContext): number =>
  Math.max(0, Math.min(Math.floor(context.cursor + 1e-9), (context.run?.frameCount ?? 1) - 1));

export interface View {
  readonly name: string;
  readonly element: HTMLElement;
  draw(): void;
  /** So many times as dense as on the screen; `whole`: nothing is veiled. Views of text have none. */
  pictureAt?(scale: number, whole: boolean): HTMLCanvasElement;
  svg?(): string;
}
