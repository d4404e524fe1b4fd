/** The interaction function of two tokens on the circle, Q = K = V = I, and a small picture of it. */

import { pretty } from "../axis.ts";

/** h(x) = exp(β(cos x − 1)) sin x: how strongly a token at distance x pulls. */
export const interaction = (beta: number, x: number): number =>
  Math.exp(-2 * beta * Math.sin(x / 2) ** 2) * Math.sin(x);

/** τ*, where h is largest (Lemma A.1). */
export const strongestDistance = (beta: number): number =>
  beta === 0 ? Math.PI / 2 : Math.acos((Math.sqrt(4 * beta * beta + 1) - 1) / (2 * beta));

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, FOOT] = [230, 104, 10, 18];

function shape(tag: string, attributes: { [name: string]: string | number }, text = ""): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

/** h over [0, π], with a dot where the two tokens are. */
export class InteractionPicture {
  readonly element = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "interaction",
    role: "img",
    "aria-label": "The interaction function",
  });
  private readonly curve = shape("path", { class: "curve" });
  private readonly dot = shape("circle", { class: "dot", r: 5 });
  private readonly line = shape("line", { class: "strongest" });
  private readonly label = shape("text", { class: "label", y: 12 });
  private beta = NaN;

  constructor() {
    const foot = HEIGHT - FOOT;
    this.element.append(
      shape("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: foot, y2: foot }),
      this.line,
      this.curve,
      this.dot,
      this.label,
      shape("text", { class: "label", x: LEFT, y: HEIGHT - 4 }, "0"),
      shape("text", { class: "label end", x: WIDTH - 4, y: HEIGHT - 4 }, "distance π"),
    );
  }

  private place(x: number): [number, number] {
    const most = interaction(this.beta, strongestDistance(this.beta));
    return [
      LEFT + ((WIDTH - LEFT - 4) * x) / Math.PI,
      HEIGHT - FOOT - ((HEIGHT - FOOT - 18) * interaction(this.beta, x)) / most,
    ];
  }

  show(beta: number, distance: number): void {
    if (beta !== this.beta) {
      this.beta = beta;
      const points = Array.from({ length: 121 }, (_, i) => this.place((Math.PI * i) / 120));
      this.curve.setAttribute("d", "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L"));
      const [at] = this.place(strongestDistance(beta));
      for (const end of ["x1", "x2"]) this.line.setAttribute(end, at.toFixed(1));
      this.line.setAttribute("y1", "16");
      this.line.setAttribute("y2", String(HEIGHT - FOOT));
      this.label.setAttribute("x", (at + 5).toFixed(1));
      this.label.textContent = `strongest at ${pretty(strongestDistance(beta))}`;
    }
    const [x, y] = this.place(distance);
    this.dot.setAttribute("cx", x.toFixed(1));
    this.dot.setAttribute("cy", y.toFixed(1));
    this.element.setAttribute(
      "aria-label",
      `The interaction function; the tokens are ${pretty(distance)} apart`,
    );
  }
}
