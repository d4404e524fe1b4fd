/**
 * A text over the layers of a real model. Everything was measured where the states are; the page holds three
 * directions of them.
 */

export type Frame = "all" | "own"; // three directions of all layers together, or of each layer
type Curve = (number | null)[]; // over layers; null where it is not measured

/** One text under one model, the text itself or a control, as the server sends it: arrays as base64. */
export interface Reading {
  name: string;
  words: string[];
  places: { [frame in Frame]: string };
  lost: { [frame in Frame]: Curve };
  norms: string;
  nearest: string;
  cosines: string;
  delta: number;
  centers: { renyi: number[]; strong: number[] };
  curves: { [name: string]: Curve | undefined };
}

export interface TraceData {
  facts: [string, string][];
  layers: number[];
  readings: Reading[]; // the text first
}

export interface Neighbour {
  token: number;
  cosine: number;
}

const bytes = (base64: string): ArrayBuffer => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;

/** One reading of a trace, in the three directions that were chosen. */
export class Trace {
  readonly reading: Reading;
  readonly words: string[]; // (n,) as they are shown
  readonly places: Float32Array; // (m, n, 3)
  readonly norms: Float64Array; // (m, n)
  private readonly nearest: Int32Array; // (m, n, 3)
  private readonly cosines: Float32Array; // (m, n, 3)

  constructor(
    readonly data: TraceData,
    name: string,
    readonly frame: Frame,
  ) {
    this.reading = data.readings.find((one) => one.name === name) ?? data.readings[0];
    this.words = this.reading.words.map(shownWord);
    this.places = new Float32Array(bytes(this.reading.places[frame]));
    this.norms = new Float64Array(bytes(this.reading.norms));
    this.nearest = new Int32Array(bytes(this.reading.nearest));
    this.cosines = new Float32Array(bytes(this.reading.cosines));
  }

  get n(): number {
    return this.words.length;
  }

  /** The share of squared length that the three directions lose in a layer, first token left out. */
  lostAt(layer: number): number {
    return this.reading.lost[this.frame][layer] ?? NaN;
  }

  /** The share of its own squared length with which a token is drawn. */
  keptOf(layer: number, token: number): number {
    const at = 3 * (layer * this.n + token);
    return this.places.subarray(at, at + 3).reduce((sum, value) => sum + value * value, 0);
  }

  normOf(layer: number, token: number): number {
    return this.norms[layer * this.n + token];
  }

  medianNorm(layer: number): number {
    const sorted = this.norms.slice(layer * this.n, (layer + 1) * this.n).sort();
    return (sorted[(this.n - 1) >> 1] + sorted[this.n >> 1]) / 2;
  }

  /** The earlier tokens nearest to a token in a layer, in all dimensions of the model, the nearest first. */
  neighbours(layer: number, token: number): Neighbour[] {
    const size = this.nearest.length / (this.data.layers.length * this.n);
    const at = size * (layer * this.n + token);
    return Array.from({ length: size }, (_, i) => ({
      token: this.nearest[at + i],
      cosine: this.cosines[at + i],
    })).filter((one) => one.token >= 0);
  }

  centerKind(token: number): "strong center" | "Rényi center" | "" {
    const { renyi, strong } = this.reading.centers;
    return strong.includes(token) ? "strong center" : renyi.includes(token) ? "Rényi center" : "";
  }

  /** A token in words: what a pointer, a finger or a key shows. */
  describe(layer: number, token: number): string {
    const near = this.neighbours(layer, token).map(
      (one) => `“${this.words[one.token]}” ${cosineText(one.cosine)}`,
    );
    const kind = this.centerKind(token);
    return [
      `“${this.words[token]}”`,
      `token ${token + 1} of ${this.n}${kind === "" ? "" : `, ${kind}`}`,
      `norm ${Number(this.normOf(layer, token).toPrecision(3))}`,
      near.length === 0 ? "no earlier token" : `nearest earlier ${near.join(", ")}`,
    ].join(" · ");
  }
}

/** A token as it is read: without the space before it, and with what cannot be seen made visible. */
export function shownWord(word: string): string {
  const plain = word
    .replace(/^[ ▁Ġ]+/u, "")
    .replace(/Ċ|\n/gu, "⏎")
    .replace(/\t/gu, "⇥");
  return plain === "" ? "␣" : plain;
}

/**
 * Before which tokens a space stands: those that begin with one; where no token does, as in BERT, all but
 * pieces of words and marks.
 */
export function spaces(words: string[]): boolean[] {
  const marked = words.some((word) => /^[ ▁Ġ]/u.test(word));
  return words.map((word, k) => k > 0 && (marked ? /^[ ▁Ġ]/u.test(word) : !/^(##|[.,;:!?)\]])/u.test(word)));
}

export const cosineText = (cosine: number): string =>
  cosine
    .toFixed(2)
    .replace("-", "−")
    .replace(/^(−?)0\./, "$1.");
