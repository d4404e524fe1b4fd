/** Whether a menu shows the whole of what is chosen in it. */

import { el } from "./dom.ts";

const ARROW_PIXELS = 18; // that a menu keeps for its arrow

export function isCut(select: HTMLSelectElement): boolean {
  const text = select.selectedOptions.item(0)?.text ?? "";
  const probe = el("span", { class: "probe" }, text);
  select.after(probe);
  const { width } = probe.getBoundingClientRect();
  probe.remove();
  const style = getComputedStyle(select);
  const room = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return select.clientWidth > 0 && width > room - ARROW_PIXELS;
}
