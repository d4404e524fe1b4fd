/** A run as a small picture, of a preset or a cell of a grid: some of its tokens at some of its times. */

import { CLUSTERS, ranks, type Theme } from "./colours.ts";
import { LOOK } from "./state.ts";
import type { RunRecord } from "./run_record.ts";

const MAX_TOKENS = 40;
const MAX_FRAMES = 24;
const HOLE = 0.16; // radius of time 0 on a circle, in that of the rim
const MARGIN_PIXELS = 4;

/** As the server sends it with a preset; `nucleate.explorer.thumbnails` writes it. */
export interface Thumbnail {
  flat: boolean; // a circle: one byte for an angle; else three for right, up, towards the eye
  tokens: number;
  frames: number;
  places: string; // base64
  colours: string;
}

export interface Sketch {
  flat: boolean;
  tokens: number;
  frames: number;
  places: Float32Array; // (frames, tokens, 3): right, up, towards the eye
  colours: Int8Array; // (tokens,) of the eight; -1: none
}

const bytesOf = (text: string): Uint8Array => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

export function sketchOfThumbnail({ flat, tokens, frames, places, colours }: Thumbnail): Sketch {
  const bytes = bytesOf(places);
  const signed = new Int8Array(bytes.buffer);
  const at = new Float32Array(tokens * frames * 3);
  for (let i = 0; i < tokens * frames; i++) {
    const angle = (2 * Math.PI * bytes[i]) / 256;
    if (flat) at.set([Math.cos(angle), Math.sin(angle), 0], 3 * i);
    else for (let c = 0; c < 3; c++) at[3 * i + c] = signed[3 * i + c] / 127;
  }
  return { flat, tokens, frames, places: at, colours: new Int8Array(bytesOf(colours).buffer) };
}

/** Whole numbers from 0 up to `count`, evenly chosen, at most `most` of them, the last one among them. */
function some(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1)));
}

export function sketchOf(run: RunRecord): Sketch {
  const tokens = some(run.n, MAX_TOKENS);
  const frames = some(run.frameCount, MAX_FRAMES);
  const flat = run.d === 2;
  const places = new Float32Array(tokens.length * frames.length * 3);
  frames.forEach((i, row) =>
    tokens.forEach((k, column) => {
      const from = 3 * (i * run.n + k);
      const seen = Array.from(run.shown.subarray(from, from + 3));
      places.set(flat ? seen : towardsEye(seen), 3 * (row * tokens.length + column));
    }),
  );
  const leader = run.measured?.leader ?? null;
  const rank = leader === null || leader.length === 0 ? null : ranks(leader, run.n);
  const colourOf = (k: number): number => {
    for (let at = k; rank !== null && at < leader!.length; at += run.n)
      if (rank[leader![at]] >= 0) return rank[leader![at]] % CLUSTERS.length;
    return -1;
  };
  return {
    flat,
    tokens: tokens.length,
    frames: frames.length,
    places,
    colours: Int8Array.from(tokens, colourOf),
  };
}

/** A place as it is seen from where the page looks at first: to the right, up, towards the eye. */
function towardsEye([x, y, z]: number[]): number[] {
  const [azimuth, height] = LOOK.camera;
  const [sa, ca, sh, ch] = [Math.sin(azimuth), Math.cos(azimuth), Math.sin(height), Math.cos(height)];
  return [-sa * x + ca * y, -sh * (ca * x + sa * y) + ch * z, ch * (ca * x + sa * y) + sh * z];
}

/** Draws it into a canvas, as large as that is on the page. */
export function drawSketch(canvas: HTMLCanvasElement, sketch: Sketch, theme: Theme): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = Math.max(1, devicePixelRatio);
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const to = canvas.getContext("2d")!;
  to.scale(scale, scale);
  const [x, y, rim] = [width / 2, height / 2, Math.min(width, height) / 2 - MARGIN_PIXELS];
  to.strokeStyle = theme.faint;
  to.lineWidth = 1.5;
  to.beginPath();
  to.arc(x, y, rim, 0, 2 * Math.PI);
  to.stroke();
  const { flat, tokens, frames, places, colours } = sketch;
  const colour = (k: number): string => (colours[k] >= 0 ? theme.clusters[colours[k]] : theme.waiting);
  to.lineWidth = 1;
  to.lineJoin = "round";
  for (let k = 0; k < tokens; k++) {
    to.strokeStyle = colour(k);
    to.globalAlpha = flat ? 0.6 : 0.5;
    to.beginPath();
    const radius = (i: number): number =>
      flat ? rim * (HOLE + ((0.92 - HOLE) * i) / Math.max(1, frames - 1)) : rim;
    for (let i = 0; i < frames; i++) {
      const at = 3 * (i * tokens + k);
      if (flat && i > 0) arc(to, places, at - 3 * tokens, at, x, y, radius(i - 1), radius(i));
      to.lineTo(x + radius(i) * places[at], y - radius(i) * places[at + 1]);
    }
    to.stroke();
  }
  for (let k = tokens - 1; k >= 0; k--) {
    const at = 3 * ((frames - 1) * tokens + k);
    to.fillStyle = colour(k);
    to.globalAlpha = flat || places[at + 2] >= 0 ? 1 : 0.45;
    to.beginPath();
    to.arc(x + rim * places[at], y - rim * places[at + 1], 2.6, 0, 2 * Math.PI);
    to.fill();
  }
  to.globalAlpha = 1;
}

/** Between two times a token of a circle follows the circle, the short way; frames may be far apart. */
function arc(
  to: CanvasRenderingContext2D,
  places: Float32Array,
  a: number,
  b: number,
  x: number,
  y: number,
  from: number,
  until: number,
): void {
  const angle = Math.atan2(places[a + 1], places[a]);
  const turn = Math.atan2(
    places[a] * places[b + 1] - places[a + 1] * places[b],
    places[a] * places[b] + places[a + 1] * places[b + 1],
  );
  const steps = Math.ceil(Math.abs(turn) / 0.15);
  for (let step = 1; step < steps; step++) {
    const radius = from + ((until - from) * step) / steps;
    const at = angle + (turn * step) / steps;
    to.lineTo(x + radius * Math.cos(at), y - radius * Math.sin(at));
  }
}
