/** Pictures one after the other as a GIF (89a): one table of 256 colours for all, packed by LZW. */

const BITS = 5; // of each channel, by which colours are told apart that are unlike
const FINE_BITS = 7; // and by which soft shades are
const MAX_COLOURS = 256;
const UNLIKE_COLOURS = 160; // of them; the others are the commonest shades between
const MAX_CODES = 4096;

/** The place of a colour in a cube of 2^(3 bits). */
const cell = (r: number, g: number, b: number, bits: number): number =>
  ((r >> (8 - bits)) << (2 * bits)) | ((g >> (8 - bits)) << bits) | (b >> (8 - bits));

/** Colours (256, 3) for all pictures, and which of them is nearest to a pixel's. */
export class ColourTable {
  readonly colours = new Uint8Array(3 * MAX_COLOURS);
  private readonly known: number; // how many there are
  private readonly found = new Int16Array(1 << (3 * FINE_BITS)).fill(-1); // by place of the fine cube

  /** `samples`: some of the pictures, RGBA. */
  constructor(samples: Uint8ClampedArray[]) {
    const unlike = commonest(samples, BITS).slice(0, UNLIKE_COLOURS);
    const all = [...new Set([...unlike, ...commonest(samples, FINE_BITS)])].slice(0, MAX_COLOURS);
    all.forEach((colour, i) => this.colours.set([colour >> 16, (colour >> 8) & 255, colour & 255], 3 * i));
    this.known = all.length;
  }

  nearest(r: number, g: number, b: number): number {
    const at = cell(r, g, b, FINE_BITS);
    if (this.found[at] < 0) this.found[at] = this.search(r, g, b);
    return this.found[at];
  }

  private search(r: number, g: number, b: number): number {
    let [best, least] = [0, Infinity];
    for (let i = 0; i < this.known; i++) {
      const [red, green, blue] = [
        this.colours[3 * i] - r,
        this.colours[3 * i + 1] - g,
        this.colours[3 * i + 2] - b,
      ];
      const apart = 2 * red * red + 4 * green * green + 3 * blue * blue; // about as the eye weighs them
      if (apart < least) [best, least] = [i, apart];
    }
    return best;
  }
}

/** One colour of each place of the cube that has pixels, that of most if there is one; common ones first. */
function commonest(samples: Uint8ClampedArray[], bits: number): number[] {
  const count = new Uint32Array(1 << (3 * bits));
  const chosen = new Int32Array(count.length);
  const lead = new Int32Array(count.length);
  const met: number[] = [];
  for (const rgba of samples)
    for (let i = 0; i < rgba.length; i += 4) {
      const at = cell(rgba[i], rgba[i + 1], rgba[i + 2], bits);
      if (count[at]++ === 0) met.push(at);
      const colour = (rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2];
      if (lead[at] === 0) chosen[at] = colour;
      lead[at] += chosen[at] === colour ? 1 : -1;
    }
  return met.sort((a, b) => count[b] - count[a] || a - b).map((at) => chosen[at]);
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

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly table: ColourTable,
  ) {
    const ascii = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));
    const loop = [0x21, 0xff, 11, ...ascii("NETSCAPE2.0"), 3, 1, 0, 0, 0]; // for ever
    const screen = [...short(width), ...short(height), 0xf7, 0, 0];
    this.parts.push(Uint8Array.from([...ascii("GIF89a"), ...screen, ...table.colours, ...loop]));
  }

  add(rgba: Uint8ClampedArray, seconds: number): void {
    const pixels = new Uint8Array(this.width * this.height);
    for (let i = 0; i < pixels.length; i++)
      pixels[i] = this.table.nearest(rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2]);
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
