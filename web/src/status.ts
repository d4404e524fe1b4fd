/** The state of the page as attributes and words. */

import type { App } from "./app.ts";
import { byId } from "./dom.ts";
import { listeningText } from "./listening.ts";
import { currentFrame } from "./view_context.ts";

/** What tests, style sheets and assistive technology read. */
export function showStatus(app: App): void {
  const onCircle = (app.run?.d ?? app.scene.d) === 2;
  const { run, hover } = app;
  const root = document.documentElement;
  const facts: { [name: string]: string } = {
    status: app.status,
    run: String(run?.begun.id ?? ""),
    frames: String(run?.frameCount ?? 0),
    cursor: String(currentFrame(app)),
    playing: app.playing ? "yes" : "no",
    measured: run !== null && run.measured !== null ? "yes" : "no",
    hover: hover === null ? "" : String(hover),
    theme: app.theme.dark ? "dark" : "light",
    viewMain: onCircle ? "circle" : "sphere",
    kind: run?.trace == null ? "run" : "trace",
  };
  for (const [name, value] of Object.entries(facts))
    if (root.dataset[name] !== value) root.dataset[name] = value;
  document.body.classList.toggle("explain-all", app.explains);
  byId("explain").setAttribute("aria-pressed", String(app.explains));
  byId("colour", HTMLSelectElement).value = app.look.colour;
  byId("trails", HTMLInputElement).checked = app.look.trails;
  const text = tokenText(app);
  if (byId("token").textContent !== text) byId("token").textContent = text;
}

/** The highlighted token in words. */
function tokenText(app: App): string {
  const { run, hover } = app;
  if (run?.trace != null) return hover === null ? "" : run.trace.describe(currentFrame(app), hover);
  if (run === null || hover === null) return app.movable ? "At time 0: drag a token to move it." : "";
  const leader = run.leadersAt(currentFrame(app));
  const size = leader === null ? 0 : leader.reduce((count, k) => count + (k === leader[hover] ? 1 : 0), 0);
  const leads = `, leads ${size} ${size === 1 ? "token" : "tokens"}`;
  const cluster =
    leader === null
      ? ""
      : leader[hover] === hover
        ? leads
        : `, one of ${size} led by token ${leader[hover] + 1}`;
  const { renyi, strong } = run.begun.centers;
  const center = strong.includes(hover) ? ", strong center" : renyi.includes(hover) ? ", Rényi center" : "";
  const heard = app.playing ? "" : listeningText(run, currentFrame(app), hover);
  return `Token ${hover + 1}${cluster}${center}${heard}`;
}
