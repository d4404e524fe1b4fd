/** The controls of a scene. They show a scene and hand back the next one; they know nothing of runs. */

import type { Theme } from "./colours.ts";
import { isCut } from "./cut_text.ts";
import { el, icon } from "./dom.ts";
import { ChoiceField, NumberField, UNKNOWN, type NumberSpec } from "./fields.ts";
import { drawsLayers, hasFixedSteps, reachedTime } from "./family.ts";
import { familyPanel, type FieldMaker } from "./family_panel.ts";
import { MatrixField, type MatrixPreset } from "./matrix_field.ts";
import { completeScene, same, type MatrixChoice, type Scene, type Start } from "./state.ts";
import { PresetPicker } from "./preset_picker.ts";
import type { Thumbnail } from "./sketch.ts";
import { DETAIL_SPECS, numberSpecs, type Limits, type NumberName } from "./number_specs.ts";
import { FIRST_PRESET } from "./text.ts";

export interface Preset {
  name: string;
  title: string;
  explain: string;
  scene: Partial<Scene>;
  thumbnail?: Thumbnail | null;
}

export interface ControlsHost {
  scene: Scene;
  recording: string | null; // the name of what is shown, if it was not run here
  story: number; // the step that is told, from 1; 0: none
  frozen: number; // tokens of it that never move
  model: string; // what moves it, in a few words, where it is more than one softmax head
  tooLarge: boolean; // its model has more numbers than a scene may hold
  unknown: ReadonlySet<string>; // settings that its file does not say
  defaults: Scene;
  presets: Preset[];
  firstThumbnail: Thumbnail | null; // of the scene the page opens with
  theme: Theme;
  matrices: MatrixPreset[];
  limits: Limits;
  /** The matrices of the run that is shown, to begin editing from. */
  matrixOf(name: "V" | "Q" | "K"): number[][];
  changed(next: Scene, live: boolean): void;
  chosePreset(next: Scene): void;
  /** Asks the server what a matrix that was typed stands for; it is told to `matrixRead`. */
  readMatrix(name: "V" | "Q" | "K", text: string, d: number): void;
  showError: (text: string) => void;
  showMessage: (text: string) => void;
}

const DICE_PIPS = ["5 4", "11 4", "8 7", "5 10", "11 10"]
  .map((at) => `M${at}a1 1 0 1 0 0 2 1 1 0 0 0 0-2z`)
  .join("");
const DICE_OUTLINE =
  "M3 1.5h10A1.5 1.5 0 0 1 14.5 3v10a1.5 1.5 0 0 1-1.5 1.5H3A1.5 1.5 0 0 1 1.5 13V3A1.5 1.5 0 0 1 3 1.5z";
const DICE = DICE_OUTLINE + DICE_PIPS;
const OWN_SCENE = "";

type Planted = Start & { kind: "planted" };
const STARTS = {
  uniform: { kind: "uniform" } as Start,
  cap: { kind: "cap", angle: 1 } as Start,
  planted: { kind: "planted", clusters: 6, spread: 0.1 } as Planted,
};

const get =
  <K extends keyof Scene>(name: K) =>
  (scene: Scene): Scene[K] =>
    scene[name];

const identity = (d: number): number[][] =>
  Array.from({ length: d }, (_, r) => Array.from({ length: d }, (_, c) => (r === c ? 1 : 0)));

export class Controls implements FieldMaker {
  private readonly shows: ((scene: Scene) => void)[] = [];
  private readonly matrixFields: { [name: string]: MatrixField } = {};

  constructor(
    private readonly place: HTMLElement,
    private readonly host: ControlsHost,
  ) {
    const number = this.numbers(numberSpecs(host.limits));
    const clocks = { log: "log-spaced times", linear: "even times" };
    const clock = this.choice(
      "clock",
      "Frames at",
      "When frames are taken",
      clocks,
      get("clock"),
      (value) => ({ clock: value as Scene["clock"] }),
    );
    const matrices = [this.matrix("V", "Value V"), this.matrix("Q", "Query Q"), this.matrix("K", "Key K")];
    const factor = number("c"); // of δ, which tells of one softmax head
    this.shows.push(({ family }) => (factor.hidden = Object.keys(family).length > 0));
    const tolerance = number("tolerance");
    this.shows.push(({ family }) => (tolerance.hidden = hasFixedSteps(family)));
    place.append(
      this.presetField(),
      this.group("Tokens", number("n"), number("d"), this.seedField(), ...this.startFields()),
      this.group("Attention", number("beta"), ...this.maskFields(), ...matrices, factor),
      familyPanel(this, host.limits),
      this.group("Time", number("t"), number("frames"), clock, tolerance),
    );
  }

  /** Makes every control show this scene. */
  show(scene: Scene): void {
    for (const show of this.shows) show(scene);
  }

  /** What a matrix that was typed stands for. */
  matrixRead(name: string, choice: MatrixChoice, d: number): void {
    this.matrixFields[name].answered(choice, d);
  }

  /** For a recording: nothing can be changed, and only what is known of it is shown. */
  disable(why: string, known: (name: string) => boolean): void {
    this.place.prepend(el("p", { class: "note", id: "why-disabled" }, why));
    for (const field of this.place.querySelectorAll<HTMLInputElement>("input, select, button, textarea")) {
      field.disabled = true;
      field.title = why;
      field.setAttribute("aria-describedby", "why-disabled");
    }
    for (const field of this.place.querySelectorAll<HTMLElement>(".field")) {
      const name = field.querySelector<HTMLElement>("[data-control]")?.dataset.control ?? "";
      if (!known(name)) field.hidden = true;
    }
    for (const group of this.place.querySelectorAll<HTMLElement>("fieldset, .preset, details")) {
      if (![...group.querySelectorAll<HTMLElement>(".field")].some((field) => !field.hidden))
        group.hidden = true;
    }
  }

  private change(part: Partial<Scene>, live = false): void {
    const { scene, limits } = this.host;
    const { d } = { ...scene, ...part };
    if (limits.d !== undefined && d > limits.d) {
      this.host.showMessage(
        `With ${d} dimensions this can only be played: a scene has at most ${limits.d}. Lower d first.`,
      );
      return this.show(scene);
    }
    const filled = [...this.host.unknown].filter((name) => !(name in part));
    if (filled.length > 0)
      this.host.showMessage(`The recording does not say its ${filled.join(", ")}; the usual ones are taken.`);
    const next = this.fitting({ ...scene, ...part });
    if (!same(next, scene)) this.host.changed(next, live);
  }

  /** Drops what no longer fits when n or d change, and says so. */
  private fitting(next: Scene): Scene {
    const kept = Object.entries(next.moved).filter(([k, to]) => Number(k) < next.n && to.length === next.d);
    next.moved = Object.fromEntries(kept);
    const { matrices, defaults, limits } = this.host;
    for (const name of ["V", "Q", "K"] as const) {
      const choice = next[name];
      const dims =
        "preset" in choice
          ? matrices.find((preset) => preset.name === choice.preset)?.dims
          : [choice.matrix.length, choice.matrix.length];
      if (dims === undefined || (dims[0] <= next.d && next.d <= dims[1])) continue;
      next[name] = structuredClone(defaults[name]);
      this.host.showMessage(`${name} does not exist in ${next.d} dimensions and was set back.`);
    }
    const reached = reachedTime(next.family, next.t);
    if (next.t !== reached) {
      next.t = reached;
      this.host.showMessage(`The end time is ${reached}: the layers have an end there, and none later.`);
    }
    const most = Math.min(limits.frames ?? 1000, Math.floor((limits.numbers ?? 2e7) / (next.n * next.d)));
    if (next.frames > most) {
      next.frames = Math.max(3, most);
      this.host.showMessage(
        `Kept ${next.frames} frames: more would not fit with ${next.n} tokens in ${next.d} dimensions.`,
      );
    }
    return next;
  }

  private group(title: string, ...fields: HTMLElement[]): HTMLElement {
    return el("fieldset", {}, el("legend", {}, title), ...fields);
  }

  private numbers(table: { [name in NumberName]: NumberSpec }): (name: NumberName) => HTMLElement {
    return (name) => {
      const field = new NumberField(
        table[name],
        (value, live) => this.change({ [name]: value }, live),
        this.host.showError,
      );
      this.shows.push((scene) => field.show(this.host.unknown.has(name) ? null : scene[name]));
      return field.element;
    };
  }

  /** Where only some scenes have the choice, it is `shown` with those, as a detail. */
  choice(
    name: string,
    label: string,
    title: string,
    choices: { [value: string]: string },
    get: (scene: Scene) => string,
    set: (value: string, scene: Scene) => Partial<Scene>,
    shown?: (scene: Scene) => boolean,
  ): HTMLElement {
    const field = new ChoiceField(name, label, title, choices, (value) =>
      this.change(set(value, this.host.scene)),
    );
    field.element.classList.toggle("detail", shown !== undefined);
    this.shows.push((scene) => {
      field.element.hidden = shown !== undefined && !shown(scene);
      field.show(this.host.unknown.has(name) ? UNKNOWN : get(scene));
    });
    return field.element;
  }

  whenShown(show: (scene: Scene) => void): void {
    this.shows.push(show);
  }

  changeScene(part: (scene: Scene) => Partial<Scene>): void {
    this.change(part(this.host.scene));
  }

  showError(text: string): void {
    this.host.showError(text);
  }

  /** A number of one choice only, hidden with the others; `main` if it is a choice by itself. */
  detail(
    spec: NumberSpec,
    get: (scene: Scene) => number | undefined,
    set: (value: number, scene: Scene) => Partial<Scene>,
    main = false,
  ): HTMLElement {
    const field = new NumberField(
      spec,
      (value, live) => this.change(set(value, this.host.scene), live),
      this.host.showError,
    );
    field.element.classList.toggle("detail", !main);
    this.shows.push((scene) => {
      const value = get(scene);
      field.element.hidden = value === undefined;
      if (value !== undefined) field.show(value);
    });
    return field.element;
  }

  private presetField(): HTMLElement {
    const { host } = this;
    const first = { name: "start", ...FIRST_PRESET, scene: {}, thumbnail: host.firstThumbnail };
    const presets: Preset[] = [first, ...host.presets];
    const titles = (wanted: (name: string) => boolean): { [name: string]: string } =>
      Object.fromEntries(presets.filter(({ name }) => wanted(name)).map(({ name, title }) => [name, title]));
    const paper = (name: string): boolean => name.startsWith("figure");
    const family = (name: string): boolean => name.startsWith("family");
    const groups = {
      "Figures of the paper": titles(paper),
      "The family": titles(family),
      Others: titles((name) => !paper(name) && !family(name)),
    };
    const about = el("p", { class: "about", "aria-live": "polite" });
    const find = (scene: Scene): Preset | undefined =>
      presets.find((preset) => same(completeScene(preset.scene, host.defaults), scene));
    const field = new ChoiceField(
      "preset",
      "Preset",
      "Scenes of the paper and others worth seeing",
      { [OWN_SCENE]: "own scene" },
      (name) => {
        const preset = presets.find((candidate) => candidate.name === name);
        if (preset) host.chosePreset(completeScene(preset.scene, host.defaults));
      },
      groups,
    );
    const picker = new PresetPicker(
      presets,
      Object.entries(groups).map(([title, inside]) => [title, Object.keys(inside)]),
      (name) => {
        field.select.value = name;
        field.select.dispatchEvent(new Event("change"));
      },
      () => host.theme,
    );
    this.shows.push((scene) => {
      const preset = host.recording === null ? find(scene) : undefined;
      const told = host.story > 0;
      field.show(preset?.name ?? OWN_SCENE);
      picker.show(
        preset?.name ?? null,
        host.recording ?? preset?.title ?? (told ? "The story’s scene" : "Own scene"),
      );
      const without = [host.frozen > 0 ? "frozen tokens" : "", host.tooLarge ? "many weights" : ""];
      const left = without.filter(Boolean).join(" and ");
      const own = `Change a setting to run a scene of your own${left === "" ? "" : `, without its ${left}`}.`;
      const what = host.model === "" ? "" : `: ${host.model}`;
      const recording =
        host.recording === null ? null : `The recording ${host.recording} is shown${what}. ${own}`;
      const whose = told ? `Of step ${host.story} of the story, with what you change.` : "Your own scene.";
      const text = recording ?? preset?.explain ?? `${whose} Its link and its Python are under Share.`;
      if (about.dataset.text === `${preset?.title}/${text}`) return; // nothing is announced twice
      about.dataset.text = `${preset?.title}/${text}`;
      const title = preset !== undefined && isCut(field.select) ? el("strong", {}, preset.title) : null;
      about.replaceChildren(...(title === null ? [text] : [title, text]));
    });
    field.element.append(picker.button);
    return el("div", { class: "preset" }, field.element, about);
  }

  private seedField(): HTMLElement {
    const field = new NumberField(
      DETAIL_SPECS.seed,
      (value) => this.change({ seed: value }),
      this.host.showError,
    );
    this.shows.push((scene) => field.show(this.host.unknown.has("seed") ? null : scene.seed));
    const roll = (): void => this.change({ seed: crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000 });
    const text = { "aria-label": "Another seed", title: "Another seed" };
    field.element.append(
      el(
        "button",
        { type: "button", class: "dice", "data-action": "dice", click: roll, ...text },
        icon(DICE),
      ),
    );
    field.element.classList.add("seed");
    return field.element;
  }

  private startFields(): HTMLElement[] {
    const names = { uniform: "uniform", cap: "in a cap", planted: "planted clusters" };
    const why = "Where tokens begin; at time 0 they can also be dragged";
    const planted = ({ start }: Scene): Planted | undefined => (start.kind === "planted" ? start : undefined);
    const part = (scene: Scene, change: Partial<Planted>): Partial<Scene> => ({
      start: { ...(planted(scene) ?? STARTS.planted), ...change },
    });
    return [
      this.choice(
        "start",
        "Start",
        why,
        names,
        ({ start }) => start.kind,
        (kind) => ({ start: STARTS[kind as keyof typeof STARTS] }),
      ),
      this.detail(
        DETAIL_SPECS.angle,
        ({ start }) => (start.kind === "cap" ? start.angle : undefined),
        (angle) => ({ start: { kind: "cap", angle } }),
      ),
      this.detail(
        DETAIL_SPECS.clusters,
        (scene) => planted(scene)?.clusters,
        (clusters, scene) => part(scene, { clusters }),
      ),
      this.detail(
        DETAIL_SPECS.spread,
        (scene) => planted(scene)?.spread,
        (spread, scene) => part(scene, { spread }),
      ),
      this.movedField(),
    ];
  }

  private movedField(): HTMLElement {
    const back = el("button", {
      type: "button",
      class: "plain",
      "data-action": "put-back",
      click: () => this.change({ moved: {} }),
    });
    const field = el("div", { class: "field wide detail" }, el("span", { class: "soft" }, "moved"), back);
    this.shows.push((scene) => {
      const count = Object.keys(scene.moved).length;
      field.hidden = count === 0;
      back.textContent = count === 1 ? "put 1 token back" : `put ${count} tokens back`;
    });
    return field;
  }

  private maskFields(): HTMLElement[] {
    const names = {
      causal: "causal: earlier",
      full: "full: all",
      window: "window: last few",
    };
    const kind = ({ mask }: Scene): string => (typeof mask === "string" ? mask : "window");
    const set = (value: string): Partial<Scene> => ({
      mask: value === "window" ? { window: 32 } : (value as "causal" | "full"),
    });
    const width = ({ mask }: Scene): number | undefined =>
      typeof mask === "string" ? undefined : mask.window;
    return [
      this.choice("mask", "Mask", "Which tokens a token sees", names, kind, set),
      this.detail(DETAIL_SPECS.window, width, (window) => ({ mask: { window } })),
    ];
  }

  private matrix(name: "V" | "Q" | "K", label: string): HTMLElement {
    const { host } = this;
    const current = (): number[][] => {
      const matrix = host.matrixOf(name);
      return matrix.length === host.scene.d ? matrix.map((row) => [...row]) : identity(host.scene.d);
    };
    const field = new MatrixField(
      name,
      label,
      host.matrices,
      current,
      (choice: MatrixChoice) => this.change({ [name]: choice }),
      (text, d) => host.readMatrix(name, text, d),
      host.showError,
    );
    this.matrixFields[name] = field;
    this.shows.push((scene) => {
      const choice = scene[name];
      const given = !("preset" in choice) || choice.preset !== "identity";
      field.element.hidden = drawsLayers(scene.family) && !given; // what is given has to be taken back there
      field.show(choice, scene.d);
    });
    return field.element;
  }
}
