/** What the views of the second run see: its frames and colours, and all else as the page has it. */

import type { TimeScale } from "./axis.ts";
import { Palette, type Theme } from "./colours.ts";
import type { RunRecord } from "./run_record.ts";
import type { Look } from "./state.ts";
import { currentFrame, type ViewContext } from "./view_context.ts";

export class SideContext implements ViewContext {
  readonly palette = new Palette();
  readonly movable = false;
  readonly ghost = null;
  private second: RunRecord | null = null;
  private paintedKey = "";
  private learned = false; // the palette knows the clusters

  constructor(private readonly page: ViewContext) {}

  get run(): RunRecord | null {
    return this.second;
  }

  set run(run: RunRecord | null) {
    if (run === this.second) return;
    this.second = run;
    this.paintedKey = "";
    this.palette.begin(run?.n ?? 0);
    this.learned = false;
  }

  get scale(): TimeScale {
    return this.page.scale; // one axis for both
  }

  /** Where the second run is at the time of the page's cursor. */
  get cursor(): number {
    const { run: first, scale, cursor } = this.page;
    if (first === null || this.second === null) return 0;
    return cursorIn(this.second, scale.placeOf(cursor, first.t, first.frameCount), scale);
  }

  get hover(): number | null {
    const { hover } = this.page;
    return hover !== null && hover < (this.second?.n ?? 0) ? hover : null;
  }

  get focus(): Uint8Array | null {
    const { focus } = this.page;
    return focus !== null && focus.length === this.second?.n ? focus : null;
  }

  get look(): Look {
    return this.page.look;
  }

  get theme(): Theme {
    return this.page.theme;
  }

  get playing(): boolean {
    return this.page.playing;
  }

  /** A frame of the second run is a time, and the page goes there. */
  seek(cursor: number): void {
    const { run: first, scale } = this.page;
    if (first === null || this.second === null) return;
    const place = scale.placeOf(cursor, this.second.t, this.second.frameCount);
    this.page.seek(Math.round(cursorIn(first, place, scale)));
  }

  highlight(token: number | null): void {
    this.page.highlight(token !== null && token < (this.page.run?.n ?? 0) ? token : null);
  }

  focusOn(tokens: Uint8Array | null): void {
    this.page.focusOn(tokens);
  }

  moveToken(): void {
    // the second run follows the settings, it has none of its own
  }

  changeLook(part: Partial<Look>): void {
    this.page.changeLook(part);
  }

  redraw(): void {
    this.page.redraw();
  }

  updateColours(): void {
    const { second, theme, look, focus } = this;
    if (second === null) return;
    if (second.measured !== null && !this.learned) {
      this.palette.learn(second.measured.leader, second.n);
      this.learned = true;
      this.paintedKey = "";
    }
    const frame = currentFrame(this);
    const key = [second.frameCount > 0, frame, look.colour, theme.paper, focus === null].join("/");
    if (key === this.paintedKey && focus === null) return;
    this.paintedKey = key;
    this.palette.fill(second.leadersAt(frame), look.colour, theme, focus);
  }
}

/** The cursor of a run at a place of an axis; beyond its end, its end. */
export const cursorIn = (run: RunRecord, place: number, scale: TimeScale): number =>
  scale.cursor(place, run.t, run.frameCount);
