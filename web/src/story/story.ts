/**
 * The story: a strip above the views that sets scene, look and cursor of the page, step by step, and tells
 * what happens in the run that is shown. Which step it is stands in the address, with the look.
 */

import type { App } from "../app.ts";
import { byId, el } from "../dom.ts";
import { angleBetween } from "../end_verdict.ts";
import { explainWords } from "../explained_words.ts";
import type { RunRecord } from "../run_record.ts";
import type { Player } from "../player.ts";
import { completeScene, same, type Scene } from "../state.ts";
import { currentFrame } from "../view_context.ts";
import { InteractionPicture } from "./interaction.ts";
import { Invitation } from "./invitation.ts";
import { ParkingTool } from "./parking_tool.ts";
import { captionAt, type Caption } from "./run_events.ts";
import { sceneWithV, STEPS, VALUE_MATRICES, type Step } from "./steps.ts";

const SHORTEST_CAPTION_MILLIS = 900; // while playing, so that each can be read and heard

export class Story {
  private readonly opener = el(
    "button",
    { type: "button", id: "show-story", "data-action": "story" },
    "Story",
  );
  private readonly heading = el("h2", { tabindex: -1, id: "story-title" });
  private readonly text = el("p", { class: "story-text" });
  private readonly caption = el("p", { class: "story-caption", role: "status", "aria-live": "polite" });
  private readonly changed = el("p", { class: "story-changed", hidden: true });
  private readonly extra = el("div", { class: "story-extra" });
  private readonly dots: HTMLButtonElement[];
  private readonly back: HTMLButtonElement;
  private readonly next: HTMLButtonElement;
  private readonly section: HTMLElement;
  private readonly picture = new InteractionPicture();
  private readonly park: ParkingTool;
  private readonly invitation: Invitation;
  private shown = 0; // step, from 1; 0: none
  private captions: { run: RunRecord; measured: boolean; status: string; list: Caption[] } | null = null;
  private captionedAt = 0; // milliseconds
  private toBegin = false; // the cursor of the step is to be set once the run is measured
  private refusal = ""; // of the engine, in words
  private pointed: number | null = null; // the token that the step points at
  private checked: { scene: Scene; step: Step; belongs: boolean } | null = null;

  constructor(
    private readonly app: App,
    private readonly player: Player,
  ) {
    const button = (action: string, text: string, act: () => void): HTMLButtonElement =>
      el("button", { type: "button", class: "main", "data-action": action, click: act }, text);
    this.back = button("story-back", "Back", () => this.goTo(this.shown - 1));
    this.next = button("story-next", "Next", () =>
      this.shown < STEPS.length ? this.goTo(this.shown + 1) : this.leave(),
    );
    const again = button("story-again", "Again", () => this.goTo(this.shown));
    const leave = button("story-leave", "Leave", () => this.leave());
    this.dots = STEPS.map(({ title }, i) =>
      el("button", {
        type: "button",
        class: "story-dot",
        "data-step": i + 1,
        "aria-label": `Step ${i + 1}: ${title}`,
        title,
        click: () => this.goTo(i + 1),
      }),
    );
    this.park = new ParkingTool(app);
    this.changed.append(
      "The scene was changed. ",
      el(
        "button",
        { type: "button", class: "main", click: () => this.goTo(this.shown) },
        "Back to this step",
      ),
    );
    this.section = el(
      "section",
      { id: "story", "aria-labelledby": this.heading.id, hidden: true },
      el(
        "div",
        { class: "story-words" },
        this.heading,
        this.text,
        el("div", { class: "story-events" }, this.caption, this.changed),
      ),
      this.extra,
      el(
        "nav",
        { class: "story-steps", "aria-label": "Steps of the story" },
        el("div", { class: "story-dots" }, ...this.dots),
        el("div", { class: "story-buttons" }, this.back, this.next, again, leave),
      ),
    );
    this.section.addEventListener("keydown", (event) => this.key(event));
    this.opener.addEventListener("click", () => (this.shown > 0 ? this.leave() : this.goTo(1)));
    byId("explain").before(this.opener);
    byId("notices").append(this.section);
    this.invitation = new Invitation(STEPS.length, () => this.goTo(1));
    explainWords(this.section);
  }

  private get step(): Step | null {
    return this.shown > 0 ? STEPS[this.shown - 1] : null;
  }

  /** The page greets: the first visitor is invited, unless a link says what to show. */
  greet(linked: boolean): void {
    if (!linked) this.invitation.offer();
  }

  /** A page with a recorded run has no engine to tell a story with. */
  disable(): void {
    this.opener.hidden = true;
  }

  /**
   * The engine refused what was asked for; where the step has another scene, that one is run. False while no
   * story is told, or where a link has something that cannot be run and nothing is shown yet.
   */
  refused(text: string): boolean {
    const { step } = this;
    if (step === null) return false;
    const { instead } = step;
    if (instead !== undefined && same(this.app.scene, this.sceneOf(step.scene))) {
      this.refusal = instead.text;
      this.app.watch(this.sceneOf(instead.scene));
    } else {
      if (this.app.run === null) return false;
      this.app.runFailed("error");
      this.refusal = `This could not be run here. ${text}`;
    }
    this.app.redraw();
    return true;
  }

  private sceneOf(part: Partial<Scene>): Scene {
    return completeScene(part, this.app.defaults);
  }

  goTo(number: number): void {
    const { app } = this;
    const chosen = Math.max(1, Math.min(number, STEPS.length));
    const step = STEPS[chosen - 1];
    this.invitation.done();
    this.refusal = "";
    app.highlight(null);
    const view = { ...app.look, ...step.look, story: chosen };
    const scene = this.sceneOf(step.scene);
    this.toBegin = step.from !== undefined;
    const waits = step.extra === "parking" || this.toBegin;
    app.load({ scene, open: null, at: waits ? 0 : null, view });
    this.enter(chosen);
    if (step.extra === "parking") this.park.begin();
    this.heading.focus({ preventScroll: true });
    app.updateAddress();
    app.redraw();
  }

  leave(): void {
    if (this.shown === 0) return;
    this.app.changeLook({ story: 0 });
    this.enter(0);
    this.opener.focus();
  }

  private key(event: KeyboardEvent): void {
    const act = {
      PageDown: () => this.goTo(this.shown + 1),
      PageUp: () => this.goTo(this.shown - 1),
      Escape: () => this.leave(),
    }[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** Shows the words of a step; the page itself is already set, or a link sets it. */
  private enter(number: number): void {
    this.shown = number;
    this.captions = null;
    this.pointed = null;
    this.caption.textContent = "";
    this.park.end();
    this.section.hidden = number === 0;
    this.opener.setAttribute("aria-pressed", String(number > 0));
    document.documentElement.dataset.story = number === 0 ? "" : String(number);
    const { step } = this;
    for (const panel of document.querySelectorAll<HTMLElement>("section[data-view]"))
      panel.classList.toggle("told", step?.views.includes(panel.dataset.view ?? "") ?? false);
    if (step === null) return;
    this.heading.textContent = `${number} of ${STEPS.length}: ${step.title}`;
    this.text.textContent = step.text;
    this.back.disabled = number === 1;
    this.next.textContent = number === STEPS.length ? "Finish" : "Next";
    this.dots.forEach((dot, i) => {
      if (i + 1 === number) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    });
    this.extra.replaceChildren(...this.extraOf(step));
  }

  private extraOf({ extra }: Step): Node[] {
    if (extra === "interaction") return [this.picture.element];
    if (extra === "parking") return [this.park.element];
    if (extra !== "matrices") return [];
    const buttons = VALUE_MATRICES.map(({ name, V }) =>
      el(
        "button",
        {
          type: "button",
          class: "main",
          "data-matrix": name,
          click: () => this.app.watch(this.sceneOf(sceneWithV(V))),
        },
        name,
      ),
    );
    return [
      el("div", { class: "story-matrices", role: "group", "aria-label": "Value matrix V" }, ...buttons),
    ];
  }

  /** With every picture. */
  draw(now: number): void {
    const { app } = this;
    if (app.look.story !== this.shown) this.fromLink();
    const { step } = this;
    const { run } = app;
    if (step === null) return;
    const shown = run !== null && run.begun.id === app.id ? run : null;
    this.changed.hidden = this.belongs(step);
    if (shown !== null && shown.measured !== null && this.toBegin && shown.status !== "running")
      this.begin(step, shown);
    if (step.extra === "interaction" && shown !== null && shown.n > 1)
      this.picture.show(shown.begun.beta, angleBetween(...this.pair(shown)));
    if (step.extra === "matrices") this.markMatrix();
    if (shown !== null && app.playing && this.captions?.run === shown && this.captions.list.length > 0)
      this.pointAt(step.point?.(shown, currentFrame(app)) ?? null);
    const parked = step.extra === "parking" ? this.park.draw(now, shown) : null;
    this.say(parked ?? this.captionNow(step, shown), now);
  }

  private pair(run: RunRecord): [Float64Array, Float64Array] {
    const frame = currentFrame(this.app);
    return [run.token(frame, 0), run.token(frame, 1)];
  }

  private captionNow(step: Step, run: RunRecord | null): string {
    if (run === null || run.frameCount === 0) return this.refusal;
    const { captions } = this;
    const measured = run.measured !== null;
    if (captions?.run !== run || captions.measured !== measured || captions.status !== run.status) {
      const over = run.status !== "running" && measured;
      this.captions = { run, measured, status: run.status, list: over ? step.captions(run) : [] };
    }
    return [this.refusal, captionAt(this.captions!.list, currentFrame(this.app))].filter(Boolean).join(" ");
  }

  private say(text: string, now: number): void {
    if (this.caption.textContent === text) return;
    if (this.app.playing && now - this.captionedAt < SHORTEST_CAPTION_MILLIS) return;
    this.captionedAt = now;
    this.caption.textContent = text;
  }

  /** Whether what is shown is what the step is about. */
  private belongs(step: Step): boolean {
    const { scene: shown, recording } = this.app;
    if (this.checked?.scene === shown && this.checked.step === step && recording === null)
      return this.checked.belongs;
    const scenes = [step.scene, ...(step.instead === undefined ? [] : [step.instead.scene])];
    if (step.extra === "matrices") scenes.push(...VALUE_MATRICES.map(({ V }) => sceneWithV(V)));
    const belongs = recording === null && scenes.some((scene) => same(shown, this.sceneOf(scene)));
    this.checked = { scene: shown, step, belongs };
    return belongs;
  }

  /** The cursor and the token of a step, by what was measured on its run. */
  private begin(step: Step, run: RunRecord): void {
    this.toBegin = false;
    this.app.seek(step.from?.(run) ?? 0);
    if (!this.app.reducedMotion) this.player.toggle(true);
  }

  /** Only when it changes: the pointer of the reader may be elsewhere meanwhile. */
  private pointAt(token: number | null): void {
    if (token === this.pointed) return;
    this.pointed = token;
    this.app.highlight(token);
  }

  private markMatrix(): void {
    VALUE_MATRICES.forEach(({ V }, i) => {
      const chosen = same(this.app.scene.V, V);
      this.extra.querySelectorAll("button").item(i).setAttribute("aria-pressed", String(chosen));
    });
  }

  /** A link, or the way back, has set the step. A link that names only the step gets its scene too. */
  private fromLink(): void {
    const number = Math.min(STEPS.length, Math.max(0, Math.floor(this.app.look.story)));
    this.app.look.story = number;
    this.toBegin = false;
    this.refusal = "";
    if (number > 0 && this.app.recording === null && same(this.app.scene, this.app.defaults))
      return this.goTo(number);
    this.enter(number);
    const { step } = this;
    if (step?.extra === "parking") this.park.begin();
    this.toBegin = step?.from !== undefined && this.app.playing;
  }
}
