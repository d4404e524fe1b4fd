/** The paths of the tokens so far, as lines for the graphics card. */

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, LineSegments, type ShaderMaterial } from "three";
import type { Palette } from "../colours.ts";
import type { RunRecord } from "../run_record.ts";
import { arc } from "./arc.ts";

const MAX_TRAIL_SEGMENTS = 120_000; // between frames; long ones are drawn in several pieces
const ATTRIBUTE_SIZES = { position: 3, token: 1, leader: 1, frame: 1 };

export class Trails {
  readonly lines: LineSegments<BufferGeometry, ShaderMaterial>;
  tokens: number[] = []; // those that have one
  private vertexCounts: number[] = []; // up to each frame: what is drawn up to the cursor is one range
  private directions: Float64Array | null = null;
  private colouring = -1; // the version of the palette whose leaders the buffers hold
  private vertexCapacity = 0;

  constructor(material: ShaderMaterial) {
    this.lines = new LineSegments(new BufferGeometry(), material);
  }

  begin(run: RunRecord): void {
    const frames = Math.max(1, run.capacity - 1);
    const count = Math.max(1, Math.min(run.n, Math.floor(MAX_TRAIL_SEGMENTS / frames)));
    this.tokens = Array.from({ length: count }, (_, i) => Math.floor((i * run.n) / count));
    this.vertexCounts = [0];
    this.directions = null;
    this.colouring = -1;
    this.allocate(2 * count * frames, 0);
  }

  /** Buffers for so many vertices; the first `kept` ones stay. */
  private allocate(vertices: number, kept: number): void {
    const old = this.lines.geometry;
    const geometry = new BufferGeometry();
    for (const [name, size] of Object.entries(ATTRIBUTE_SIZES)) {
      const values = new Float32Array(size * vertices);
      if (kept > 0) values.set((old.attributes[name].array as Float32Array).subarray(0, size * kept));
      geometry.setAttribute(name, new BufferAttribute(values, size).setUsage(DynamicDrawUsage));
    }
    old.dispose();
    this.lines.geometry = geometry;
    this.vertexCapacity = vertices;
  }

  private get arrays(): Float32Array[] {
    return Object.keys(ATTRIBUTE_SIZES).map(
      (name) => this.lines.geometry.attributes[name].array as Float32Array,
    );
  }

  /** Adds the frames that have come since. */
  grow(run: RunRecord, palette: Palette): void {
    const directions = run.directions;
    if (directions !== this.directions) this.vertexCounts = [0];
    this.directions = directions;
    const grown = this.vertexCounts.length < run.frameCount;
    if (!grown && this.colouring === palette.trailVersion) return;
    for (let i = this.vertexCounts.length; i < run.frameCount; i++) this.vertexCounts.push(this.add(run, i));
    this.paint(run, palette);
    for (const name of Object.keys(ATTRIBUTE_SIZES)) this.lines.geometry.attributes[name].needsUpdate = true;
  }

  /** The segments from frame i - 1 to frame i; the number of vertices then. */
  private add(run: RunRecord, i: number): number {
    let at = this.vertexCounts[i - 1];
    let [position, token, , frame] = this.arrays;
    for (const k of this.tokens) {
      const from = 3 * ((i - 1) * run.n + k);
      const points = arc(run.shown, from, from + 3 * run.n, run.d <= 3);
      const pieces = points.length / 3;
      if (at + 2 * pieces > this.vertexCapacity) {
        this.allocate(2 * this.vertexCapacity + 2 * pieces, at);
        [position, token, , frame] = this.arrays;
      }
      for (let piece = 0; piece < pieces; piece++) {
        for (let end = 0; end < 2; end++) {
          const point = piece + end - 1; // the first one begins where the token was
          for (let c = 0; c < 3; c++)
            position[3 * at + c] = point < 0 ? run.shown[from + c] : points[3 * point + c];
          token[at] = k;
          frame[at] = i - 1 + (piece + end) / pieces;
          at++;
        }
      }
    }
    return at;
  }

  /** Whose colour every piece has. */
  private paint(run: RunRecord, palette: Palette): void {
    this.colouring = palette.trailVersion;
    const { leader, token, frame } = this.lines.geometry.attributes;
    const leaders = run.measured?.leader ?? null;
    const whose = new Map(
      this.tokens.map((k) => [k, palette.trailLeaders(leaders, run.frameCount, k)] as const),
    );
    const vertices = this.vertexCounts.at(-1)!;
    for (let at = 0; at < vertices; at += 2) {
      const piece = Math.floor((frame.array[at] + frame.array[at + 1]) / 2); // both ends have one colour
      const of = whose.get(token.array[at])![piece];
      leader.array[at] = leader.array[at + 1] = of;
    }
  }

  /** Draws up to a cursor. */
  show(cursor: number): void {
    this.lines.geometry.setDrawRange(
      0,
      this.vertexCounts[Math.min(Math.ceil(cursor), this.vertexCounts.length - 1)],
    );
  }
}
