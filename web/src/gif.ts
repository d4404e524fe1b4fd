/** Pictures one after the other as a GIF (89a): one table of 256 colours for all, packed by LZW. */

const BITS = 5; // of each channel, by which colours are told apart
const MAX_COLOURS = 256;
const MAX_CODES = 4096;

/** The place of a colour in a cube of 2^15. */
const cell = (r: number, g: number, b: number): number =>
  ((r >> (8 - BITS)) << (2 * BITS)) | ((g >> (8 - BITS)) << BITS) | (b >> (8 - BITS));

/** The colours that occur most, (256, 3), and for every place of the cube the nearest of them, (2^15,). */
export function colourTable(samples: Uint8ClampedArray[]): { colours: Uint8Array; nearest: Uint8Array } {
  const count = new Float64Array(1 << (3 * BITS));
  const chosen = new Int32Array(count.length); // the colour that most of a place have, if most have one
  const lead = new Int32Array(count.length);
  for (const rgba of samples)
    for (let i = 0; i < rgba.length; i += 4) {
      const at = cell(rgba[i], rgba[i + 1], rgba[i + 2]);
      count[at]++;
      const colour = (rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2];
      if (lead[at] === 0) chosen[at] = colour;
      lead[at] += chosen[at] === colour ? 1 : -1;
    }
  const common = Array.from(count.keys())
    .filter((at) => count[at] > 0)
    .sort((a, b) => count[b] - count[a])
    .slice(0, MAX_COLOURS);
  const colours = new Uint8Array(3 * MAX_COLOURS);
  common.forEach((at, i) => {
    colours.set([chosen[at] >> 16, (chosen[at] >> 8) & 255, chosen[at] & 255], 3 * i);
  });
  const nearest = Uint8Array.from({ length: count.length }, (_, at) => nearestOf(at, colours, common.length));
  return { colours, nearest };
}

function nearestOf(at: number, colours: Uint8Array, known: number): number {
  const middle = 1 << (7 - BITS);
  const mask = (1 << BITS) - 1;
  const wanted = [at >> (2 * BITS), (at >> BITS) & mask, at & mask].map((v) => (v << (8 - BITS)) + middle);
  let [best, least] = [0, Infinity];
  for (let i = 0; i < known; i++) {
    const [r, g, b] = [0, 1, 2].map((c) => colours[3 * i + c] - wanted[c]);
    const apart = 2 * r * r + 4 * g * g + 3 * b * b; // about as the eye weighs them
    if (apart < least) [best, least] = [i, apart];
  }
  return best;
}

/** LZW with codes of at most twelve bits, in blocks of at most 255 bytes. */
export function compressed(pixels: Uint8Array, out: number[]): void {
  const [clear, end] = [MAX_COLOURS, MAX_COLOURS + 1];
  let [bits, held, width] = [0, 0, 9];
  let block: number[] = [];
  const flush = (): void => {
    if (block.length > 0) out.push(block.length, ...block);
    block = [];
  };
  const put = (code: number): void => {
    held |= code << bits;
    bits += width;
    for (; bits >= 8; bits -= 8, held >>>= 8) {
      block.push(held & 255);
      if (block.length === 255) flush();
    }
  };
  let codes = new Map<number, number>();
  let next = end + 1;
  out.push(8); // bits of a pixel
  put(clear);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const key = (prefix << 8) | pixels[i];
    const known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    prefix = pixels[i];
    if (next < MAX_CODES) {
      codes.set(key, next);
      if (next === 1 << width) width++;
      next++;
    } else {
      put(clear);
      codes = new Map();
      next = end + 1;
      width = 9;
    }
  }
  put(prefix);
  put(end);
  if (bits > 0) block.push(held & 255);
  flush();
  out.push(0);
}

const short = (value: number): number[] => [value & 255, value >> 8];

export class GifWriter {
  private readonly parts: Uint8Array<ArrayBuffer>[] = [];

  /** `samples`: some of the pictures, from which the colours are taken; RGBA of width x height. */
  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly table: { colours: Uint8Array; nearest: Uint8Array },
  ) {
    const ascii = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));
    const loop = [0x21, 0xff, 11, ...ascii("NETSCAPE2.0"), 3, 1, 0, 0, 0]; // for ever
    const screen = [...short(width), ...short(height), 0xf7, 0, 0];
    this.parts.push(Uint8Array.from([...ascii("GIF89a"), ...screen, ...table.colours, ...loop]));
  }

  add(rgba: Uint8ClampedArray, seconds: number): void {
    const pixels = new Uint8Array(this.width * this.height);
    for (let i = 0; i < pixels.length; i++)
      pixels[i] = this.table.nearest[cell(rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2])];
    const hundredths = Math.max(2, Math.round(100 * seconds)); // browsers slow down what is faster
    const frame = [0x21, 0xf9, 4, 4, ...short(hundredths), 0, 0, 0x2c, 0, 0, 0, 0];
    frame.push(...short(this.width), ...short(this.height), 0);
    compressed(pixels, frame);
    this.parts.push(Uint8Array.from(frame));
  }

  /** The whole file. */
  bytes(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.parts.reduce((sum, part) => sum + part.length, 1));
    let at = 0;
    for (const part of this.parts) {
      all.set(part, at);
      at += part.length;
    }
    all[at] = 0x3b;
    return all;
  }
}
