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
import "./style/mergers.css";
import "./style/gallery.css";
import "./style/compare.css";
import "./style/story.css";

import { Announcer } from "./announcer.ts";
import { App, traceSummary } from "./app.ts";
import { Compare } from "./compare.ts";
import { ComparePanel } from "./compare_panel.ts";
import { Connection, type BinaryMessage, type Message } from "./connection.ts";
import { Controls, type Preset } from "./controls.ts";
import { exposeDebug } from "./debug.ts";
import { helpDialog, ShareDialog } from "./dialogs.ts";
import { byId, download, el } from "./dom.ts";
import { EndBadge } from "./end_badge.ts";
import { explainWords } from "./explained_words.ts";
import { whenForcedColoursChange } from "./forced_colours.ts";
import { Grid } from "./grid.ts";
import { ExactOffer, liveOf, readEmbedded, type Live } from "./in_page.ts";
import { listenToKeys } from "./keyboard.ts";
import type { MatrixPreset } from "./matrix_field.ts";
import { Messages } from "./messages.ts";
import type { Limits } from "./number_specs.ts";
import { runFacts, OpenedRuns, type OpenedRun } from "./opened_runs.ts";
import { Player } from "./player.ts";
import { RunQueue } from "./run_queue.ts";
import { fromExport, type RunRecord } from "./run_record.ts";
import { ScrubberTicks } from "./scrubber_ticks.ts";
import { MAKE_ROOM, SecondViews } from "./second_views.ts";
import { browserStore, SessionToken } from "./session_token.ts";
import type { Thumbnail } from "./sketch.ts";
import { completeScene, same, SCENE, type MatrixChoice, type Scene } from "./state.ts";
import { StandIn } from "./stand_in.ts";
import { showStatus } from "./status.ts";
import { TakeAlong } from "./take_along.ts";
import {
  connectionLost,
  EXPLANATIONS,
  INSTEAD,
  NOT_READ,
  SESSION_REFUSED,
  TRACE_EXPLANATIONS,
  WHY_DISABLED,
} from "./text.ts";
import { currentFrame, type View } from "./view_context.ts";
import { WhatHappened } from "./what_happened.ts";
import { PageEngine } from "./engine/page_engine.ts";
import { Story } from "./story/story.ts";
import { Angles } from "./views/angles.ts";
import { AttentionView } from "./views/attention.ts";
import { Circle } from "./views/circle.ts";
import { Clusters } from "./views/clusters.ts";
import { Consumption } from "./views/consumption.ts";
import { DEPTH_CURVES, DepthCurves } from "./views/depth_curves.ts";
import { Lengths } from "./views/lengths.ts";
import { MergerTree } from "./views/merger_tree.ts";
import { SpectrumView } from "./views/spectrum.ts";
import { Sphere } from "./views/sphere.ts";
import { Words } from "./views/words.ts";

interface Hello {
  version: string;
  defaults: Scene;
  limits: Limits;
  presets: Preset[];
  first_thumbnail?: Thumbnail | null;
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

const messages = new Messages((text) => void (byId("messages").textContent = text));
let errorIsAboutRun = false; // then it disappears when the next run begins
function showError(text: string, aboutRun = false): void {
  errorIsAboutRun = aboutRun;
  exact?.show(false);
  byId("error-text").textContent = text;
  byId("errors").hidden = text === "";
}

function sessionToken(): SessionToken {
  return new SessionToken(
    new URLSearchParams(location.search).get("token"),
    browserStore,
    () => location.search !== "" && history.replaceState(null, "", location.pathname + location.hash),
  );
}

const embedded = readEmbedded(byId("recorded").textContent);
const inPage = embedded.site !== null || embedded.live !== null;
let exact: ExactOffer | null = null; // in a page that computes by itself
const listener = {
  onMessage,
  onBinaryMessage: (message: BinaryMessage) => {
    if (message.header.say === "file")
      download(String(message.header.name), new Blob([new Uint8Array(message.arrays.bytes.values)]));
    else if (!queue.onBinaryMessage(message)) app.onBinaryMessage(message);
  },
  onLost: (refused: boolean) => {
    app.connected = false;
    app.runFailed("interrupted");
    byId("lost").textContent = refused ? SESSION_REFUSED : connectionLost(location.port);
    byId("lost").hidden = false;
    root.dataset.connection = "lost";
    app.redraw();
  },
};
const connection = inPage
  ? new PageEngine(embedded.recordings, listener, engineReady, engineFailed)
  : new Connection(location, sessionToken(), listener);

const app = new App(connection, {
  redraw: requestDraw,
  updateSettings: showSettings,
  showMessage: (text, about) => messages.say(text, about),
  showError,
});
const standIn = new StandIn(app);
// Runs besides the one that is shown: they wait until it is measured
const queue = new RunQueue({
  send: (message) => connection.send(message),
  busy: () =>
    !app.connected || app.status === "running" || (app.run?.measured === null && app.run.abandoned === null),
  later: (act, millis) => window.setTimeout(act, millis),
});
const compare = new Compare(app, queue);
const grid = new Grid(queue, {
  get scene() {
    return app.scene;
  },
  get theme() {
    return app.theme;
  },
  open: (scene) => app.watch(scene),
  changed: (down) => app.look.grid !== down && app.changeLook({ grid: down }),
});
const comparePanel = new ComparePanel(app, compare, () => grid.open("n"));
byId("settings").append(comparePanel.element);
const player = new Player(app, () => app.keepCursor());
const ticks = new ScrubberTicks(
  app,
  player,
  (text) => messages.say(text, "change"),
  () => announcer.skip(),
);
const share = new ShareDialog(
  app,
  () => connection.send({ do: "python", scene: app.scene }),
  () => connection.send({ do: "data", id: app.run?.begun.id ?? app.id }),
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
  new MergerTree(app),
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
const along = new TakeAlong(
  app,
  views,
  () => connection.send({ do: "page", id: app.run?.begun.id ?? app.id }),
  (run) => liveOf(embedded, run),
);
byId("share").querySelector("[data-control=link]")!.closest(".row")!.before(along.element);

const secondViews = new SecondViews(app, compare, views);
const story = new Story(app, player);
const badge = new EndBadge();
explainWords();

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
  compare.update();
  for (const view of views) {
    const { name } = view;
    view.element.hidden = trace ? !OF_TRACES.has(name) && !OF_BOTH.has(name) : OF_TRACES.has(name);
    if (name === "circle") view.element.hidden ||= !onCircle;
    if (name === "sphere") view.element.hidden ||= onCircle && !trace;
    if (name === "lengths") view.element.hidden ||= !haveLengths;
    if (name === "consumption") view.element.hidden ||= haveLengths; // such models have no centers
    if (compare.sideBySide && MAKE_ROOM.has(name)) view.element.hidden = true;
    if (!view.element.hidden) view.draw();
    view.element.dataset.at = String(currentFrame(app));
  }
  secondViews.draw();
  comparePanel.draw();
  queue.pump();
  followGrid();
  const main = views.find(({ name, element }) => /circle|sphere/.test(name) && !element.hidden);
  badge.draw(app.run, main?.element.querySelector<HTMLElement>(".stage") ?? null);
  story.draw(now);
  player.draw();
  announcer.follow();
  inWords.show();
  ticks.draw();
  showStatus(app);
  app.pictureDrawn();
  draws++;
  scriptMillis.push(performance.now() - begun);
  if (scriptMillis.length > KEPT_SCRIPT_TIMES) scriptMillis.shift();
}

/** A link may hold an open grid. */
function followGrid(): void {
  const { grid: down } = app.look;
  if (down !== "" && !grid.dialog.open && app.run?.measured != null) grid.open(down);
  if (down === "" && grid.dialog.open) grid.close();
}

let facts: HTMLElement | null = null; // of the trace that is shown

let liveFacts: HTMLElement | null = null; // facts of the run that came with a live page, while it is shown

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
  if (app.run?.begun.recorded === false) liveFacts?.remove();
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
  queue.pump();
  requestDraw();
}

// The server

function onMessage(message: Message): void {
  if (message.say === "hello") return hello(message as unknown as Hello);
  if (queue.onMessage(message)) return;
  if (message.say === "python") return share.showPython(String(message.text));
  if (message.say === "refused") return share.refuse(String(message.text));
  if (message.say === "matrix") {
    showError("");
    return controls?.matrixRead(String(message.name), message.choice as MatrixChoice, Number(message.d));
  }
  if (message.say === "error") {
    showError(String(message.text), typeof message.id === "number");
    const outside = message.outside === true;
    exact?.show(outside);
    const text = String(message.text);
    if (message.id === app.id && !story.refused(text)) runRefused(text, outside);
    return;
  }
  if (message.say === "begun" && message.id === app.id) {
    if (errorIsAboutRun) showError("");
    messages.runBegan();
  }
  if (message.say === "progress" && message.compiling === true && message.id === app.id)
    if (app.recording === null) standIn.compute(app.id, app.scene);
  app.onMessage(message);
}

/** A link or a recording that cannot be run must not leave an empty page. */
function runRefused(why: string, outside: boolean): void {
  app.runFailed("error");
  if (app.run !== null || (app.recording === null && same(app.scene, app.defaults))) return;
  const refused = app.fragment;
  app.watch(structuredClone(app.defaults));
  showError(`${why} ${INSTEAD}`);
  exact?.show(outside, refused);
}

/** The engine of this page answers: a site begins as with a server, a recording goes on playing. */
function engineReady(): void {
  if (root.dataset.connection === "failed") showError(""); // it was late
  if (embedded.site !== null) return hello(embedded.site as Hello);
  root.dataset.connection = "recorded";
  app.engineStarted(location.hash);
}

function engineFailed(why: string): void {
  app.connected = false;
  app.runFailed("error");
  root.dataset.connection = "failed";
  showError(why);
}

function hello(greeting: Hello): void {
  app.connected = true;
  root.dataset.connection = "open";
  byId("lost").hidden = true;
  if (greeted) {
    messages.say("The server is back; the scene was run again.", "change");
    return app.start();
  }
  greeted = true;
  app.defaults = completeScene(greeting.defaults, SCENE);
  byId("version").textContent = greeting.version;
  build(greeting);
  const { open, link } = greeting;
  const wanted = location.hash.length > 1 ? location.hash : link;
  story.greet(Boolean(wanted) || Boolean(open));
  if (!wanted && open) app.open(open.name, open.run);
  else if (!wanted || !app.openLink(wanted)) app.watch(structuredClone(app.defaults));
}

function build(
  greeting: Pick<Hello, "presets" | "first_thumbnail" | "matrices" | "limits" | "opened">,
): void {
  const host = {
    get scene() {
      return app.scene;
    },
    get recording() {
      return app.recording?.name ?? null;
    },
    get story() {
      return app.look.story;
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
    get unknown() {
      return app.unknown;
    },
    get defaults() {
      return app.defaults;
    },
    get theme() {
      return app.theme;
    },
    presets: greeting.presets,
    firstThumbnail: greeting.first_thumbnail ?? null,
    matrices: greeting.matrices,
    limits: greeting.limits,
    showError,
    showMessage: (text: string) => messages.say(text, "change"),
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
  explainWords();
  if (greeting.opened === undefined || greeting.opened.length === 0) return;
  openedRuns = new OpenedRuns(greeting.opened, (name, run) => {
    showError("");
    app.open(name, run);
  });
  byId("controls").prepend(openedRuns.element);
}

/** A page with a run inside: plays it, and says what it cannot do. */
function playRecording(run: RunRecord, live: Live | null): void {
  app.recorded = live === null;
  if (live === null) story.disable();
  root.dataset.connection = "recorded";
  if (run.trace !== null) return playTrace(run);
  if (live !== null) return playLive(run, live);
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

/** A recorded run that the engine of this page can go on from: it plays first, and a change computes. */
function playLive(run: RunRecord, { greeting, scene }: Live): void {
  const { defaults, version, ...rest } = greeting as Hello;
  app.defaults = completeScene(defaults, SCENE);
  byId("version").textContent = version;
  app.embed(run, completeScene(scene, app.defaults));
  build(rest);
  liveFacts = runFacts(run);
  byId("controls").append(liveFacts);
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
listenToKeys(app, player, {
  help: () => helpWindow.showModal(),
  theme: changeTheme,
  explain: explainAll,
  event: (by) => ticks.go(by),
});

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

if (inPage) {
  root.dataset.engine = "page";
  app.inPage = true;
  exact = new ExactOffer(app, share);
  share.setAbout(byId("share").querySelector("p")!.textContent); // also when it is shown again
}
if (embedded.recording !== null) playRecording(fromExport(embedded.recording), embedded.live);
else root.dataset.connection = "connecting";
if (embedded.recording === null || inPage) connection.connect();
requestDraw();
