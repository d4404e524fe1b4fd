/** The text: every token a word to point at or tap, centers marked, and what is known of the chosen one. */

import { pretty } from "../axis.ts";
import { el } from "../dom.ts";
import { Panel } from "../panel.ts";
import { cosineText, spaces, type Trace } from "../trace.ts";
import { currentFrame, type View, type ViewContext } from "../view_context.ts";

export class Words implements View {
  readonly name = "words";
  readonly element: HTMLElement;
  private readonly panel: Panel;
  private readonly text = el("p", { class: "text" });
  private readonly details = el("div", { class: "details" });
  private shown: Trace | null = null;
  private spans: HTMLElement[] = [];
  private detailsKey = "";

  constructor(private readonly context: ViewContext) {
    this.panel = new Panel(this.name, {
      png: () => Promise.reject(new Error("There is no picture of the text.")),
      svg: () => "",
    });
    this.element = this.panel.element;
    this.panel.stage.replaceWith(el("div", { class: "reader" }, this.details, this.text));
    const choose = (event: Event): void => {
      const token = (event.target as HTMLElement).closest<HTMLElement>("[data-token]")?.dataset.token;
      if (token !== undefined) context.highlight(Number(token));
    };
    this.text.addEventListener("pointerover", choose);
    this.element.addEventListener("click", choose); // words beside the text change under a pointer
    this.text.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") context.highlight(null);
    });
  }

  draw(): void {
    const trace = this.context.run?.trace ?? null;
    if (trace === null) return;
    if (trace !== this.shown) this.write(trace);
    const { hover } = this.context;
    const layer = currentFrame(this.context);
    const near = hover === null ? [] : trace.neighbours(layer, hover).map(({ token }) => token);
    this.spans.forEach((span, k) => {
      span.classList.toggle("here", k === hover);
      span.classList.toggle("near", near.includes(k));
    });
    const key = [trace.reading.name, trace.frame, layer, hover].join("/");
    if (key === this.detailsKey) return;
    this.detailsKey = key;
    this.details.replaceChildren(
      ...(hover === null ? this.overview(trace) : this.about(trace, layer, hover)),
    );
  }

  private write(trace: Trace): void {
    this.shown = trace;
    this.detailsKey = "";
    const spaced = spaces(trace.reading.words);
    this.spans = trace.words.map((word, k) => {
      const kind = { "strong center": " strong", "Rényi center": " renyi", "": "" }[trace.centerKind(k)];
      return el("span", { class: `word${kind}`, "data-token": k }, word);
    });
    this.text.replaceChildren(...this.spans.flatMap((span, k) => (spaced[k] ? [" ", span] : [span])));
    this.panel.showReading(trace.reading.name === "text" ? `${trace.n} tokens` : trace.reading.name);
  }

  /** Nothing is chosen: the centers by word. */
  private overview(trace: Trace): Node[] {
    const { renyi, strong } = trace.reading.centers;
    const listed = (tokens: number[]): Node[] =>
      tokens.flatMap((k, i) => [...(i > 0 ? [document.createTextNode(" ")] : []), this.chip(trace, k)]);
    const others = renyi.filter((k) => !strong.includes(k));
    const line = (name: string, tokens: number[]): Node[] =>
      tokens.length === 0 ? [] : [el("p", {}, el("b", {}, `${name} `), ...listed(tokens))];
    return [
      el("p", { class: "soft" }, "Point at a word or tap it; the keys [ and ] go from one to the next."),
      ...line("Strong centers:", strong),
      ...line(strong.length > 0 ? "Other Rényi centers:" : "Rényi centers:", others),
    ];
  }

  private about(trace: Trace, layer: number, token: number): Node[] {
    const kind = trace.centerKind(token);
    const norm = trace.normOf(layer, token);
    const near = trace.neighbours(layer, token);
    const where = layer === 0 ? "at the embedding" : `after block ${trace.data.layers[layer]}`;
    return [
      el(
        "p",
        {},
        el("strong", { class: "chosen" }, trace.words[token]),
        ` token ${token + 1} of ${trace.n}${kind === "" ? "" : `, ${kind}`}`,
      ),
      el(
        "p",
        {},
        `Norm ${pretty(norm)} ${where}, ${pretty(norm / trace.medianNorm(layer), 2)} × the median; `,
        `drawn with ${Math.round(100 * trace.keptOf(layer, token))} % of its squared length.`,
      ),
      el(
        "p",
        {},
        near.length === 0 ? "No token comes before it." : "Nearest earlier tokens, by cosine: ",
        ...near.flatMap((one, i) => [
          i > 0 ? ", " : "",
          this.chip(trace, one.token),
          ` ${cosineText(one.cosine)}`,
        ]),
      ),
    ];
  }

  private chip(trace: Trace, token: number): HTMLElement {
    return el("span", { class: "chip", "data-token": token }, trace.words[token]);
  }
}
