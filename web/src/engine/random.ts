/**
 * Random numbers as NumPy's `default_rng(seed)` draws them: SeedSequence, PCG64, doubles and normal numbers,
 * so that a seed is the same start in this page and in Python.
 */

import { HEIGHTS, INSIDE, INVERSE_TAIL_BEGIN, TAIL_BEGIN, WIDTHS } from "./ziggurat.ts";

const MASK_64 = (1n << 64n) - 1n;
const MASK_128 = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const POOL = 4;

/** Four 64-bit words from a seed: NumPy's SeedSequence. */
export function seedWords(seed: number): bigint[] {
  const entropy: number[] = [];
  for (let rest = BigInt(seed); rest > 0n || entropy.length === 0; rest >>= 32n)
    entropy.push(Number(rest & 0xffffffffn));
  let constant = 0x43b0d7e5;
  const hash = (value: number): number => {
    value ^= constant;
    constant = Math.imul(constant, 0x931e8875);
    value = Math.imul(value, constant);
    return value ^ (value >>> 16);
  };
  const mix = (x: number, y: number): number => {
    const value = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) | 0;
    return value ^ (value >>> 16);
  };
  const pool = Array.from({ length: POOL }, (_, i) => hash(i < entropy.length ? entropy[i] | 0 : 0));
  for (let from = 0; from < POOL; from++)
    for (let to = 0; to < POOL; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  constant = 0x8b51f9dd;
  const words = Array.from({ length: 8 }, (_, i) => {
    let value = pool[i % POOL] ^ constant;
    constant = Math.imul(constant, 0x58f38ded);
    value = Math.imul(value, constant);
    return BigInt((value ^ (value >>> 16)) >>> 0);
  });
  return Array.from({ length: 4 }, (_, i) => words[2 * i] | (words[2 * i + 1] << 32n));
}

export class Generator {
  private state = 0n;
  private readonly increment: bigint;

  constructor(seed: number) {
    const [a, b, c, d] = seedWords(seed);
    this.increment = ((((c << 64n) | d) << 1n) | 1n) & MASK_128;
    this.step();
    this.state = (this.state + ((a << 64n) | b)) & MASK_128;
    this.step();
  }

  private step(): void {
    this.state = (this.state * MULTIPLIER + this.increment) & MASK_128;
  }

  private next(): bigint {
    this.step();
    const value = ((this.state >> 64n) ^ this.state) & MASK_64;
    const turn = this.state >> 122n;
    return ((value >> turn) | (value << (64n - turn))) & MASK_64;
  }

  /** A number in [0, 1). */
  random(): number {
    return Number(this.next() >> 11n) * 2 ** -53;
  }

  /** A normal number: the ziggurat, in the order in which NumPy takes its bits. */
  normal(): number {
    for (;;) {
      const bits = this.next();
      const layer = Number(bits & 0xffn);
      const whole = (bits >> 9n) & 0xfffffffffffffn;
      const size = Number(whole) * WIDTHS[layer];
      const x = (bits >> 8n) & 1n ? -size : size;
      if (whole < INSIDE[layer]) return x;
      if (layer === 0) {
        for (;;) {
          const xx = -INVERSE_TAIL_BEGIN * Math.log1p(-this.random());
          const yy = -Math.log1p(-this.random());
          if (yy + yy > xx * xx) return (whole >> 8n) & 1n ? -(TAIL_BEGIN + xx) : TAIL_BEGIN + xx;
        }
      }
      const height = (HEIGHTS[layer - 1] - HEIGHTS[layer]) * this.random() + HEIGHTS[layer];
      if (height < Math.exp(-0.5 * x * x)) return x;
    }
  }

  normals(count: number): Float64Array {
    return Float64Array.from({ length: count }, () => this.normal());
  }
}
