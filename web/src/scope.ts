/**
 * What every view sees of the page: the run, the one cursor, the one highlighted token, colours; and what it
 * may ask for.
 */

import type { TimeScale } from "./axis.ts";
import type { Palette, Theme } from "./colours.ts";
import type { RunRecord } from "./record.ts";
import type { Look } from "./state.ts";

export interface Scope {
  run: RunRecord | null;
  scale: TimeScale;
  cursor: number; // frames, with a fraction while playing
  hover: number | null; // token, from 0
  look: Look;
  theme: Theme;
  palette: Palette;
  playing: boolean;
  /** Tokens can be moved by hand: at the start, and where there is an engine to run again. */
  movable: boolean;
  seek(cursor: number): void;
  point(token: number | null): void;
  /** A token under the hand; `done` when it is let go. */
  carry(token: number, to: number[], done: boolean): void;
  restyle(part: Partial<Look>): void;
  changed(): void;
}

/** The frame the cursor is in. */
export const frameOf = (scope: Scope): number =>
  Math.max(0, Math.min(Math.floor(scope.cursor + 1e-9), (scope.run?.held ?? 1) - 1));

export interface View {
  readonly name: string;
  readonly element: HTMLElement;
  draw(): void;
}
