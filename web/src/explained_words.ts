/**
 * Words that explain themselves where they stand: by pointer, by keyboard and by touch. Each is a span that
 * Tab reaches; one popover serves all.
 */

import { el } from "./dom.ts";
import { DOCS_ADDRESS, PAPER_ADDRESS, WORDS, wordsIn } from "./word_texts.ts";

const SHOW_AFTER_MILLIS = 150; // of the pointer on a word
const HIDE_AFTER_MILLIS = 250; // time to come from the word to the popover
const EDGE_PIXELS = 8;

class Popover {
  readonly element = el("div", {
    id: "word-popover",
    class: "popover",
    role: "dialog",
    "aria-label": "What the word means",
    hidden: true,
  });
  private word: HTMLElement | null = null; // whose text is shown
  private pinned = false; // by a click or touch: stays until it is dismissed
  private timer = 0;

  constructor() {
    document.body.append(this.element);
    this.element.addEventListener("pointerenter", () => clearTimeout(this.timer));
    this.element.addEventListener("pointerleave", () => this.hideSoon());
    this.element.addEventListener("focusout", (event) => this.focusLeft(event.relatedTarget));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Tab") return;
      const links = [...this.element.querySelectorAll("a")];
      const edge = event.shiftKey ? links[0] : links.at(-1);
      if (event.target !== edge) return;
      if (event.shiftKey) event.preventDefault();
      this.word?.focus(); // forward: Tab then goes on from the word
    });
    addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || this.element.hidden) return;
        event.stopPropagation();
        if (this.element.contains(document.activeElement)) this.word?.focus();
        this.hide();
      },
      true,
    );
    addEventListener("pointerdown", (event) => {
      const target = event.target as Node;
      if (!this.element.contains(target) && !(this.word?.contains(target) ?? false)) this.hide();
    });
    for (const name of ["resize", "scroll"])
      addEventListener(name, () => (this.pinned ? this.place() : this.hide()), true);
  }

  showSoon(word: HTMLElement, fill: () => Node[]): void {
    clearTimeout(this.timer);
    if (this.pinned) return;
    this.timer = window.setTimeout(() => this.show(word, fill, false), SHOW_AFTER_MILLIS);
  }

  hideSoon(): void {
    clearTimeout(this.timer);
    if (!this.pinned) this.timer = window.setTimeout(() => this.hide(), HIDE_AFTER_MILLIS);
  }

  toggle(word: HTMLElement, fill: () => Node[]): void {
    if (this.word === word && this.pinned) this.hide();
    else this.show(word, fill, true);
  }

  show(word: HTMLElement, fill: () => Node[], pinned: boolean): void {
    clearTimeout(this.timer);
    this.word?.setAttribute("aria-expanded", "false");
    this.word = word;
    this.pinned = pinned;
    this.element.replaceChildren(...fill());
    this.element.hidden = false;
    this.element.dataset.word = word.dataset.word ?? "";
    word.setAttribute("aria-expanded", "true");
    word.setAttribute("aria-describedby", this.element.id);
    this.place();
  }

  hide(): void {
    clearTimeout(this.timer);
    this.pinned = false;
    this.element.hidden = true;
    this.word?.setAttribute("aria-expanded", "false");
    this.word?.removeAttribute("aria-describedby");
    this.word = null;
  }

  /** True if focus went into the popover. */
  enter(): boolean {
    const link = this.element.hidden ? null : this.element.querySelector("a");
    link?.focus();
    return link !== null;
  }

  focusLeft(to: EventTarget | null): void {
    if (to !== this.word && !(to instanceof Node && this.element.contains(to)) && !this.pinned) this.hide();
  }

  /** Under the word, or above it where there is no room; inside the window. */
  private place(): void {
    if (this.word === null || this.element.hidden) return;
    const at = this.word.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const left = Math.max(EDGE_PIXELS, Math.min(at.left, innerWidth - width - EDGE_PIXELS));
    const below = at.bottom + 6;
    const top =
      below + height <= innerHeight - EDGE_PIXELS ? below : Math.max(EDGE_PIXELS, at.top - height - 6);
    this.element.style.left = `${left}px`;
    this.element.style.top = `${top}px`;
  }
}

let popover: Popover | null = null;
const thePopover = (): Popover => (popover ??= new Popover());

/** Any element that opens the popover with what `fill` gives. */
export function opensPopover(element: HTMLElement, fill: () => Node[]): void {
  const shown = thePopover();
  element.setAttribute("aria-expanded", "false");
  element.addEventListener("pointerenter", (event) => {
    if (event.pointerType === "mouse") shown.showSoon(element, fill);
  });
  element.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") shown.hideSoon();
  });
  element.addEventListener("focus", () => {
    if (element.matches(":focus-visible") && element.getAttribute("aria-expanded") === "false")
      shown.show(element, fill, false);
  });
  element.addEventListener("blur", (event) => shown.focusLeft(event.relatedTarget));
  element.addEventListener("click", (event) => {
    event.preventDefault(); // inside a label it would go on to the field
    event.stopPropagation();
    shown.toggle(element, fill);
  });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      shown.toggle(element, fill);
    } else if (event.key === "Tab" && !event.shiftKey && element.getAttribute("aria-expanded") === "true") {
      if (element.dataset.left === "yes") element.dataset.left = "";
      else if (shown.enter()) {
        element.dataset.left = "yes"; // coming back from the popover, Tab goes on
        event.preventDefault();
      }
    }
  });
}

function textOf(word: string): Node[] {
  const { title, text, paper, docs } = WORDS[word];
  const link = (address: string, content: string): HTMLElement =>
    el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, content);
  const page = DOCS_ADDRESS === null ? docs : link(DOCS_ADDRESS + docs.replace(/^docs\//, ""), docs);
  return [
    el("strong", {}, title),
    el("p", {}, text),
    el("p", { class: "sources" }, link(PAPER_ADDRESS, `The paper, ${paper}`), " · in the package: ", page),
  ];
}

/** A word with its explanation. */
function explained(word: string, content: string): HTMLElement {
  const span = el(
    "span",
    { class: "term", role: "button", tabindex: 0, title: "", "data-word": word },
    content,
  );
  opensPopover(span, () => textOf(word));
  return span;
}

const WATCHED =
  ".explain, .legend .entry, .verdict, .beside table, #controls label, #controls .about, .story-text, " +
  '[data-view="spectrum"] .reading';
const watched = new WeakSet<Element>();
let changes: MutationObserver | null = null;
const theChanges = (): MutationObserver => (changes ??= new MutationObserver(onChanges));

function onChanges(records: MutationRecord[]): void {
  const around = (node: Node): Element | null => (node instanceof Element ? node : node.parentElement);
  const touched = new Set(records.map(({ target }) => around(target)?.closest(WATCHED) ?? null));
  for (const element of touched) if (element !== null) wrap(element);
}

/** From now on the words of these texts explain themselves, also when the texts change. */
export function explainWords(root: ParentNode = document): void {
  for (const element of root.querySelectorAll(WATCHED)) {
    if (watched.has(element)) continue;
    watched.add(element);
    wrap(element);
    theChanges().observe(element, { childList: true, characterData: true, subtree: true });
  }
}

function wrap(element: Element): void {
  const known = new Set(
    [...element.querySelectorAll<HTMLElement>(".term")].map(({ dataset }) => dataset.word ?? ""),
  );
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node.parentElement?.closest(".term, button, select, input, option") == null) texts.push(node as Text);
  for (const node of texts) {
    const text = node.data;
    const found = wordsIn(text, known);
    if (found.length === 0) continue;
    const parts: (Node | string)[] = [];
    let at = 0;
    for (const { from, to, word } of found) {
      known.add(word);
      parts.push(text.slice(at, from), explained(word, text.slice(from, to)));
      at = to;
    }
    parts.push(text.slice(at));
    node.replaceWith(...parts.filter((part) => part !== ""));
  }
}
