/**
 * Puts the page together: views, controls, player, the line to the server; and draws when something has
 * changed.
 */

import "./style/page.css";
import "./style/settings.css";
import "./style/views.css";
import "./style/player.css";
import "./style/narrow.css";
import "./style/trace.css";
import "./style/aloud.css";
import "./style/touch.css";
import { Announcer } from "./announcer.ts";
import { App, traceSummary } from "./app.ts";
import { Controls, type Preset } from "./controls.ts";
import { byId, download, el } from "./dom.ts";
import { whenForcedColoursChange } from "./forced_colours.ts";
import { listenToKeys } from "./keyboard.ts";
import type { MatrixPreset } from "./matrix_field.ts";
import { runFacts, OpenedRuns, type OpenedRun } from "./opened_runs.ts";
import { exposeDebug } from "./debug.ts";
import { Player } from "./player.ts";
import { fromExport, type Exported, type RunRecord } from "./run_record.ts";
import { currentFrame, type View } from "./view_context.ts";
import { helpDialog, ShareDialog } from "./dialogs.ts";
import type { Limits } from "./number_specs.ts";
import { completeScene, SCENE, type MatrixChoice, type Scene } from "./state.ts";
import { showStatus } from "./status.ts";
import { TakeAlong } from "./take_along.ts";
import { WhatHappened } from "./what_happened.ts";
import { AttentionView } from "./views/attention.ts";
import { Angles } from "./views/angles.ts";
import { Circle } from "./views/circle.ts";
import { Clusters } from "./views/clusters.ts";
import { Consumption } from "./views/consumption.ts";
import { DEPTH_CURVES, DepthCurves } from "./views/depth_curves.ts";
import { Lengths } from "./views/lengths.ts";
import { Sphere } from "./views/sphere.ts";
import { SpectrumView } from "./views/spectrum.ts";
import { Words } from "./views/words.ts";
import { socketAddress, Connection, type Message } from "./connection.ts";
import {
  CONNECTION_LOST,
  EXPLANATIONS,
  NOT_READ,
  SESSION_REFUSED,
  TRACE_EXPLANATIONS,
  WHY_DISABLED,
} from "./text.ts";

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

const KEPT_SCRIPT_TIMES = 240;
const root = document.documentElement;
const scriptMillis: number[] = [];
const colour = byId("colour", HTMLSelectElement);
const trails = byId("trails", HTMLInputElement);
let draws = 0;
let drawRequested = false;
let greeted = false;

const showMessage = (text: string): void => void (byId("messages").textContent = text);
let errorIsAboutRun = false; // then it disappears when the next run begins
function showError(text: string, aboutRun = false): void {
  errorIsAboutRun = aboutRun;
  byId("error-text").textContent = text;
  byId("errors").hidden = text === "";
}

const connection = new Connection(socketAddress(location), {
  onMessage,
  onBinaryMessage: (message) => {
    if (message.header.say === "file")
      download(String(message.header.name), new Blob([new Uint8Array(message.arrays.bytes.values)]));
    else app.onBinaryMessage(message);
  },
  onLost: (refused) => {
    app.connected = false;
    app.runFailed("interrupted");
    byId("lost").textContent = refused ? SESSION_REFUSED : CONNECTION_LOST;
    byId("lost").hidden = false;
    root.dataset.connection = "lost";
    app.redraw();
  },
});

const app = new App(connection, {
  redraw: requestDraw,
  updateSettings: showSettings,
  showMessage,
  showError,
});
const player = new Player(app, () => app.keepCursor());
const share = new ShareDialog(
  app,
  () => connection.send({ do: "python", scene: app.scene }),
  () => connection.send({ do: "data", id: app.id }),
);
const helpWindow = helpDialog();
let controls: Controls | null = null;
let openedRuns: OpenedRuns | null = null;

const views: View[] = [
  new Circle(app),
  ...sphere(),
  new Words(app),
  new Angles(app),
  new Clusters(app),
  new Consumption(app),
  new Lengths(app),
  new AttentionView(app),
  new SpectrumView(app),
  ...DEPTH_CURVES.map((curve) => new DepthCurves(curve, app)),
];
const OF_TRACES = new Set([...DEPTH_CURVES.map(({ view }) => view), "words"]);
const OF_BOTH = new Set(["sphere", "lengths"]);
const inWords = new WhatHappened(() => app.run);
byId("views").append(...views.map((view) => view.element), inWords.element);
const announcer = new Announcer(app);
document.body.append(announcer.element);
const along = new TakeAlong(app, views, () => connection.send({ do: "page", id: app.id }));
byId("share").querySelector("[data-control=link]")!.closest(".row")!.before(along.element);

/** The sphere needs WebGL; where there is none, the page says so and the rest still works. */
function sphere(): View[] {
  try {
    return [new Sphere(app)];
  } catch {
    const text =
      "This browser has no WebGL, so the sphere cannot be drawn. The other views show the same run.";
    return [
      {
        name: "sphere",
        element: el(
          "section",
          { class: "panel", "data-view": "sphere" },
          el("p", { class: "sorry" }, text),
          el("p", { class: "explain", id: "explain-sphere" }), // as every view has
        ),
        draw: () => undefined,
      },
    ];
  }
}

// Drawing, only when something changed

function requestDraw(): void {
  if (drawRequested) return;
  drawRequested = true;
  requestAnimationFrame(draw);
}

function draw(now: number): void {
  const begun = performance.now();
  drawRequested = false;
  if (player.advance(now)) requestDraw();
  const onCircle = (app.run?.d ?? app.scene.d) === 2;
  const haveLengths = app.run?.begun.lengths ?? false;
  const trace = app.run?.trace != null;
  app.updateColours();
  for (const view of views) {
    const { name } = view;
    view.element.hidden = trace ? !OF_TRACES.has(name) && !OF_BOTH.has(name) : OF_TRACES.has(name);
    if (name === "circle") view.element.hidden ||= !onCircle;
    if (name === "sphere") view.element.hidden ||= onCircle && !trace;
    if (name === "lengths") view.element.hidden ||= !haveLengths;
    if (name === "consumption") view.element.hidden ||= haveLengths; // such models have no centers
    if (!view.element.hidden) view.draw();
    view.element.dataset.at = String(currentFrame(app));
  }
  player.draw();
  announcer.follow();
  inWords.show();
  showStatus(app);
  app.pictureDrawn();
  draws++;
  scriptMillis.push(performance.now() - begun);
  if (scriptMillis.length > KEPT_SCRIPT_TIMES) scriptMillis.shift();
}

let facts: HTMLElement | null = null; // of the trace that is shown

function showTrace(): void {
  facts?.remove();
  facts = app.run?.trace == null ? null : runFacts(app.run);
  for (const name of OF_BOTH)
    byId(`explain-${name}`).textContent = facts === null ? EXPLANATIONS[name] : TRACE_EXPLANATIONS[name];
  if (facts === null) return;
  byId("controls").append(facts);
  document.title = `${app.run!.begun.title ?? "trace"}: nucleate explorer`;
}

function showSettings(): void {
  controls?.show(app.scene);
  showTrace();
  openedRuns?.show(app.recording);
  openedRuns?.tell(app.run?.begun.about ?? "");
  const running = app.status === "running";
  byId("cancel", HTMLButtonElement).hidden = !running;
  byId("run", HTMLButtonElement).hidden = running;
  byId("summary").textContent = app.summary;
  const bar = byId("progress", HTMLProgressElement);
  bar.hidden = !running;
  bar.value = app.progress;
  showStatus(app);
  requestDraw();
}

// The server

function onMessage(message: Message): void {
  if (message.say === "hello") return hello(message as unknown as Hello);
  if (message.say === "python") return share.showPython(String(message.text));
  if (message.say === "matrix") {
    showError("");
    return controls?.matrixRead(String(message.name), message.choice as MatrixChoice, Number(message.d));
  }
  if (message.say === "error") {
    showError(String(message.text), typeof message.id === "number");
    if (message.id === app.id) app.runFailed("error");
    return;
  }
  if (message.say === "begun" && message.id === app.id && errorIsAboutRun) showError("");
  app.onMessage(message);
}

function hello(greeting: Hello): void {
  app.connected = true;
  root.dataset.connection = "open";
  byId("lost").hidden = true;
  if (greeted) {
    showMessage("The server is back; the scene was run again.");
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
    get model() {
      const { model, blocks } = app.run?.begun ?? {};
      return blocks === undefined || blocks === null ? "" : (model ?? "");
    },
    get tooLarge() {
      return app.run?.begun.family === null;
    },
    get defaults() {
      return app.defaults;
    },
    presets: greeting.presets,
    matrices: greeting.matrices,
    limits: greeting.limits,
    showError,
    showMessage,
    matrixOf: (name: "V" | "Q" | "K") => app.run?.begun[name] ?? [],
    changed: (next: Scene, live: boolean) => {
      showError("");
      app.setScene(next, live);
    },
    readMatrix: (name: string, text: string, d: number) => {
      if (!connection.send({ do: "matrix", name, text, d })) showError(NOT_READ);
    },
    chosePreset: (next: Scene) => {
      showError("");
      app.watch(next);
    },
  };
  controls = new Controls(byId("controls"), host);
  controls.show(app.scene);
  if (greeting.opened === undefined || greeting.opened.length === 0) return;
  openedRuns = new OpenedRuns(greeting.opened, (name, run) => {
    showError("");
    app.open(name, run);
  });
  byId("controls").prepend(openedRuns.element);
}

/** A page with a run inside: plays it, and says what it cannot do. */
function playRecording(text: string): void {
  app.recorded = true;
  root.dataset.connection = "recorded";
  const run = fromExport(JSON.parse(text) as Exported);
  if (run.trace !== null) return playTrace(run);
  const { scene } = run.begun;
  app.scene =
    scene === null
      ? {
          ...app.scene,
          n: run.n,
          d: run.d,
          beta: run.begun.beta,
          mask: run.mask,
          family: run.begun.family ?? {},
        }
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
  const ofRecording = (name: string): boolean =>
    ["n", "d", "beta", "mask", "window"].includes(name) ||
    (name.startsWith("family-") && Object.keys(run.begun.family ?? {}).length > 0);
  controls!.disable(WHY_DISABLED, (name) => name !== "preset" && (scene !== null || ofRecording(name)));
  byId("controls").append(runFacts(run));
  share.disable(WHY_DISABLED);
  byId("run", HTMLButtonElement).disabled = true;
  byId("run").title = WHY_DISABLED;
  app.id = run.begun.id;
  app.summary = "recorded run";
  app.playing = !app.reducedMotion;
  app.show(run);
  if (app.reducedMotion) app.seek(Infinity);
}

/** A page with a trace inside: there is nothing to set. */
function playTrace(run: RunRecord): void {
  share.disable(WHY_DISABLED);
  app.id = run.begun.id;
  app.summary = traceSummary(run);
  app.playing = !app.reducedMotion;
  app.show(run);
  if (app.reducedMotion) app.seek(Infinity);
}

// Buttons of the page itself

function changeTheme(): void {
  app.changeLook({ theme: app.theme.dark ? "light" : "dark" });
}
function explainAll(): void {
  app.changeLook({ explain: app.explains ? "no" : "yes" });
}

const press = (id: string, act: () => void): void => byId(id).addEventListener("click", act);
press("skip", () => byId("views").focus());
press("run", () => app.start());
press("cancel", () => app.cancel());
press("theme", changeTheme);
press("explain", explainAll);
press("show-share", () => {
  along.show();
  share.show();
});
press("show-help", () => helpWindow.showModal());
press("dismiss", () => showError(""));
const settings = byId("settings");
press("show-settings", () =>
  byId("show-settings").setAttribute("aria-expanded", String(settings.classList.toggle("open"))),
);
colour.addEventListener("change", () => app.changeLook({ colour: colour.value as "cluster" | "order" }));
trails.addEventListener("change", () => app.changeLook({ trails: trails.checked }));
listenToKeys(app, player, { help: () => helpWindow.showModal(), theme: changeTheme, explain: explainAll });

addEventListener("popstate", () => app.openLink(location.hash));
addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text") ?? "";
  if (!(event.target as HTMLElement).matches("input, textarea") && /^https?:\S+#/.test(text))
    app.openLink(text);
});
whenForcedColoursChange(requestDraw);
for (const query of ["(prefers-color-scheme: dark)", "(min-width: 1500px) and (min-height: 1000px)"])
  matchMedia(query).addEventListener("change", requestDraw);

exposeDebug(app, player, {
  scriptMillis,
  draws: () => draws,
  error: () => byId("error-text").textContent || null,
  dot: (token) => {
    const view = views.find((one) => one.name === "sphere");
    return view instanceof Sphere ? view.dotOf(token) : null;
  },
});

const recordingText = byId("recorded").textContent.trim();
if (recordingText !== "") playRecording(recordingText);
else {
  root.dataset.connection = "connecting";
  connection.connect();
}
requestDraw();
