/**
 * Puts the page together: views, controls, player, the line to the server; and draws when something has
 * changed.
 */

import "./style/page.css";
import "./style/settings.css";
import "./style/views.css";
import "./style/player.css";
import "./style/narrow.css";
import { App } from "./app.ts";
import { Controls, type Preset } from "./controls.ts";
import { byId, download, el } from "./dom.ts";
import { listen } from "./keys.ts";
import type { MatrixPreset } from "./matrix.ts";
import { facts, OpenedRuns, type OpenedRun } from "./opened.ts";
import { show } from "./outside.ts";
import { Player } from "./player.ts";
import { fromExport, type Exported } from "./record.ts";
import { frameOf, type View } from "./scope.ts";
import { help, Share } from "./share.ts";
import type { Limits } from "./specs.ts";
import { completeScene, SCENE, type Scene } from "./state.ts";
import { tell } from "./status.ts";
import { AttentionView } from "./views/attention.ts";
import { Angles } from "./views/angles.ts";
import { Circle } from "./views/circle.ts";
import { Clusters } from "./views/clusters.ts";
import { Consumption } from "./views/consumption.ts";
import { Sphere } from "./views/sphere.ts";
import { SpectrumView } from "./views/spectrum.ts";
import { socketAddress, Wire, type Message } from "./wire.ts";
import { LOST, REFUSED, WHY_DISABLED } from "./words.ts";

interface Hello {
  version: string;
  defaults: Scene;
  limits: Limits;
  presets: Preset[];
  matrices: MatrixPreset[];
  opened?: OpenedRun[];
  open?: { name: string; run: number } | null; // at once
  link?: unknown;
}

const KEPT_TIMES = 240;
const root = document.documentElement;
const scriptMillis: number[] = [];
const colour = byId("colour", HTMLSelectElement);
const trails = byId("trails", HTMLInputElement);
let draws = 0;
let waiting = false;
let greeted = false;

const inform = (words: string): void => void (byId("messages").textContent = words);
let ofRun = false; // the complaint is about a run, so the next run that begins answers it
function complain(words: string, aboutRun = false): void {
  ofRun = aboutRun;
  byId("error-words").textContent = words;
  byId("errors").hidden = words === "";
}

const wire = new Wire(socketAddress(location), {
  opened: () => undefined, // the server greets first
  said: heard,
  sent: (parcel) => {
    if (parcel.header.say === "file")
      download(String(parcel.header.name), new Blob([new Uint8Array(parcel.arrays.bytes.values)]));
    else app.sent(parcel);
  },
  lost: (refused) => {
    app.connected = false;
    app.failed("interrupted");
    byId("lost").textContent = refused ? REFUSED : LOST;
    byId("lost").hidden = false;
    root.dataset.connection = "lost";
    app.changed();
  },
});

const app = new App(wire, { picture: ask, settings: showSettings, inform, complain });
const player = new Player(app, () => app.rest());
const share = new Share(
  app,
  () => wire.send({ do: "python", scene: app.scene }),
  () => wire.send({ do: "data", id: app.id }),
);
const helpWindow = help();
let controls: Controls | null = null;
let openedRuns: OpenedRuns | null = null;

const views: View[] = [
  new Circle(app),
  ...sphere(),
  new Angles(app),
  new Clusters(app),
  new Consumption(app),
  new AttentionView(app),
  new SpectrumView(app),
];
byId("views").append(...views.map((view) => view.element));

/** The sphere needs WebGL; where there is none, the page says so and the rest still works. */
function sphere(): View[] {
  try {
    return [new Sphere(app)];
  } catch {
    const words =
      "This browser has no WebGL, so the sphere cannot be drawn. The other views show the same run.";
    return [
      {
        name: "sphere",
        element: el("section", { class: "panel", "data-view": "sphere" }, el("p", { class: "sorry" }, words)),
        draw: () => undefined,
      },
    ];
  }
}

// Drawing, only when something changed

function ask(): void {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(draw);
}

function draw(now: number): void {
  const begun = performance.now();
  waiting = false;
  if (player.advance(now)) ask();
  const onCircle = (app.run?.d ?? app.scene.d) === 2;
  app.paint();
  for (const view of views) {
    if (view.name === "circle") view.element.hidden = !onCircle;
    if (view.name === "sphere") view.element.hidden = onCircle;
    if (!view.element.hidden) view.draw();
    view.element.dataset.at = String(frameOf(app));
  }
  player.draw();
  tell(app);
  app.drawn();
  draws++;
  scriptMillis.push(performance.now() - begun);
  if (scriptMillis.length > KEPT_TIMES) scriptMillis.shift();
}

function showSettings(): void {
  controls?.show(app.scene);
  openedRuns?.show(app.recording);
  const running = app.status === "running";
  byId("cancel", HTMLButtonElement).hidden = !running;
  byId("run", HTMLButtonElement).hidden = running;
  byId("summary").textContent = app.summary;
  const bar = byId("progress", HTMLProgressElement);
  bar.hidden = !running;
  bar.value = app.share;
  tell(app);
  ask();
}

// The server

function heard(message: Message): void {
  if (message.say === "hello") return hello(message as unknown as Hello);
  if (message.say === "python") return share.gotPython(String(message.text));
  if (message.say === "error") {
    complain(String(message.text), typeof message.id === "number");
    if (message.id === app.id) app.failed("error");
    return;
  }
  if (message.say === "begun" && message.id === app.id && ofRun) complain("");
  app.said(message);
}

function hello(greeting: Hello): void {
  app.connected = true;
  root.dataset.connection = "open";
  byId("lost").hidden = true;
  if (greeted) {
    inform("The server is back; the scene was run again.");
    return app.start();
  }
  greeted = true;
  app.defaults = completeScene(greeting.defaults, SCENE);
  byId("version").textContent = greeting.version;
  build(greeting);
  const { open, link } = greeting;
  const wanted = location.hash.length > 1 ? location.hash : link;
  if (!wanted && open) app.open(open.name, open.run);
  else if (!wanted || !app.openLink(wanted)) app.watch(structuredClone(app.defaults));
}

function build(greeting: Pick<Hello, "presets" | "matrices" | "limits" | "opened">): void {
  const host = {
    get scene() {
      return app.scene;
    },
    get recording() {
      return app.recording?.name ?? null;
    },
    get frozen() {
      return app.run?.frozen ?? 0;
    },
    get defaults() {
      return app.defaults;
    },
    presets: greeting.presets,
    matrices: greeting.matrices,
    limits: greeting.limits,
    complain,
    inform,
    matrixOf: (name: "V" | "Q" | "K") => app.run?.begun[name] ?? [],
    changed: (next: Scene, live: boolean) => {
      complain("");
      app.setScene(next, live);
    },
    chosePreset: (next: Scene) => {
      complain("");
      app.watch(next);
    },
  };
  controls = new Controls(byId("controls"), host);
  controls.show(app.scene);
  if (greeting.opened === undefined || greeting.opened.length === 0) return;
  openedRuns = new OpenedRuns(greeting.opened, (name, run) => {
    complain("");
    app.open(name, run);
  });
  byId("controls").prepend(openedRuns.element);
}

/** A page with a run inside: plays it, and says what it cannot do. */
function playRecording(text: string): void {
  app.recorded = true;
  root.dataset.connection = "recorded";
  const run = fromExport(JSON.parse(text) as Exported);
  const { scene } = run.begun;
  app.scene =
    scene === null
      ? { ...app.scene, n: run.n, d: run.d, beta: run.begun.beta, mask: run.mask }
      : completeScene(scene, SCENE);
  app.defaults = app.scene;
  const matrices = (["V", "Q", "K"] as const).flatMap((name) => {
    const choice = app.scene[name];
    return "preset" in choice
      ? [{ name: choice.preset, title: choice.preset, dims: [1, run.d] as [number, number] }]
      : [];
  });
  build({
    presets: [],
    matrices: matrices.filter(({ name }, i) => matrices.findIndex((other) => other.name === name) === i),
    limits: {},
  });
  controls!.disable(
    WHY_DISABLED,
    (name) => name !== "preset" && (scene !== null || ["n", "d", "beta", "mask", "window"].includes(name)),
  );
  byId("controls").append(facts(run));
  share.disable(WHY_DISABLED);
  byId("run", HTMLButtonElement).disabled = true;
  byId("run").title = WHY_DISABLED;
  app.id = run.begun.id;
  app.summary = "recorded run";
  app.playing = !app.calm;
  app.show(run);
  if (app.calm) app.seek(Infinity);
}

// Buttons of the page itself

function changeTheme(): void {
  app.restyle({ theme: app.theme.dark ? "light" : "dark" });
}
function explainAll(): void {
  app.restyle({ explain: app.explains ? "no" : "yes" });
}

const press = (id: string, act: () => void): void => byId(id).addEventListener("click", act);
press("skip", () => byId("views").focus());
press("run", () => app.start());
press("cancel", () => app.cancel());
press("theme", changeTheme);
press("explain", explainAll);
press("show-share", () => share.show());
press("show-help", () => helpWindow.showModal());
press("dismiss", () => complain(""));
const settings = byId("settings");
press("show-settings", () =>
  byId("show-settings").setAttribute("aria-expanded", String(settings.classList.toggle("open"))),
);
colour.addEventListener("change", () => app.restyle({ colour: colour.value as "cluster" | "order" }));
trails.addEventListener("change", () => app.restyle({ trails: trails.checked }));
listen(app, player, { help: () => helpWindow.showModal(), theme: changeTheme, explain: explainAll });

addEventListener("popstate", () => app.openLink(location.hash));
addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text") ?? "";
  if (!(event.target as HTMLElement).matches("input, textarea") && /^https?:\S+#/.test(text))
    app.openLink(text);
});
for (const query of ["(prefers-color-scheme: dark)", "(min-width: 1500px) and (min-height: 1000px)"])
  matchMedia(query).addEventListener("change", ask);

show(app, player, { scriptMillis, draws: () => draws, error: () => byId("error-words").textContent || null });

const inside = byId("recorded").textContent.trim();
if (inside !== "") playRecording(inside);
else {
  root.dataset.connection = "connecting";
  wire.connect();
}
ask();
