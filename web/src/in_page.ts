/**
 * What a page that computes by itself has: the greeting of a site, or a recording that can be changed; and
 * the words that are true of such a page only.
 */

import type { App } from "./app.ts";
import { byId, el } from "./dom.ts";
import type { ShareDialog } from "./dialogs.ts";
import type { Recorded } from "./engine/session.ts";
import type { Exported, RunRecord } from "./run_record.ts";
import type { Scene } from "./state.ts";

/** What Python wrote into the page: nothing, a recorded run, or a site. */
export interface Embedded {
  site: unknown; // the greeting that a server would send
  recording: Exported | null;
  live: Live | null; // where the engine of this page can go on from the recording
  recordings: Recorded[]; // presets that this page cannot compute
}

export interface Live {
  greeting: unknown;
  scene: Scene; // which computes the recording anew
}

/** What makes a page with this run inside live, in a page that can itself; null where it would only play. */
export function liveOf({ site, live }: Embedded, { begun }: RunRecord): Live | null {
  const greeting = site ?? live?.greeting ?? null;
  if (greeting === null || begun.scene === null) return null;
  if (begun.recorded) return live;
  return { greeting: { ...greeting, presets: [] }, scene: begun.scene };
}

export function readEmbedded(text: string): Embedded {
  const nothing = { site: null, recording: null, live: null, recordings: [] };
  if (text.trim() === "") return nothing;
  const given = JSON.parse(text) as Partial<Embedded> & Partial<Exported>;
  if (given.site !== undefined) return { ...nothing, site: given.site, recordings: given.recordings ?? [] };
  return { ...nothing, recording: given as Exported, live: given.live ?? null };
}

/** The command that opens what is shown in nucleate itself; a quotation mark would end its text. */
export const exactCommand = (fragment: string): string =>
  `nucleate explore --link '${(fragment || "#%7B%7D").replaceAll("'", "%27")}'`;

const ABOUT_SHARING =
  "A link holds the whole scene, its seed, the cursor and the view; it opens wherever this page lies. " +
  "This page computes runs by itself, to the tolerance that is set. The Python lines and the command run " +
  "the same scene in nucleate.";
const WHY_NO_NPZ = "NPZ files are written by nucleate, not by this page. CSV has the same numbers.";

/** Makes the window “Share” and the line of errors say what holds in such a page. */
export class ExactOffer {
  private readonly button: HTMLButtonElement;
  private refused: string | null = null; // the fragment of what was refused, where something else is shown

  constructor(app: App, share: ShareDialog) {
    const dialog = byId("share", HTMLDialogElement);
    dialog.querySelector("p")!.textContent = ABOUT_SHARING;
    const npz = dialog.querySelector<HTMLButtonElement>('[data-action="npz"]')!;
    npz.disabled = true;
    npz.title = WHY_NO_NPZ;
    const offer = (fragment: string): void => void share.offerText(exactCommand(fragment), "Command");
    dialog
      .querySelector(".row")!
      .append(
        el(
          "button",
          { type: "button", "data-action": "open-exactly", click: () => offer(app.fragment) },
          "Open exactly in nucleate",
        ),
      );
    this.button = el(
      "button",
      {
        type: "button",
        id: "open-exactly",
        class: "main",
        hidden: true,
        click: () => {
          share.show();
          offer(this.refused ?? app.fragment);
        },
      },
      "Open exactly in nucleate",
    );
    byId("dismiss").before(this.button, " ");
  }

  /** Offered beside an error that nucleate does not have, for what is shown or for what was refused. */
  show(outside: boolean, refused: string | null = null): void {
    this.button.hidden = !outside;
    this.refused = refused;
  }
}
