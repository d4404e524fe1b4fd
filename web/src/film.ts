/**
 * A view over the whole run as a film: GIF, written picture by picture, or WebM or MP4, recorded by the
 * browser while it plays.
 */

import { ColourTable, GifWriter } from "./gif.ts";

export const FILM_SECONDS = 10;
const GIF_RATE = 12; // pictures a second
const VIDEO_RATE = 30;
const VIDEO_BITS_PER_SECOND = 8_000_000;
const VIDEO_TYPES = {
  mp4: ["video/mp4;codecs=avc1.42E01F", "video/mp4;codecs=avc1.640028", "video/mp4;codecs=vp9", "video/mp4"],
  webm: ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"],
};

export type FilmKind = "gif" | keyof typeof VIDEO_TYPES;

export interface Film {
  /** The picture at a share of the film, 0 to 1; always of the same size. */
  picture(share: number): HTMLCanvasElement;
  progress(share: number): void;
  cancelled(): boolean;
}

/** What this browser can write. */
export function filmKinds(): FilmKind[] {
  return ["gif", ...(["webm", "mp4"] as const).filter((kind) => videoType(kind) !== null)];
}

/** Why a kind of video is not among them; "" where all are. */
export function missingKinds(): string {
  const missing = (["webm", "mp4"] as const).filter((kind) => videoType(kind) === null);
  if (missing.length === 0) return "";
  const names = missing.map((kind) => ({ webm: "WebM", mp4: "MP4" })[kind]).join(" and ");
  return `${names}: this browser cannot record it, so it is not offered. GIF is written by the page itself.`;
}

function videoType(kind: keyof typeof VIDEO_TYPES): string | null {
  if (typeof MediaRecorder === "undefined" || !("captureStream" in HTMLCanvasElement.prototype)) return null;
  return VIDEO_TYPES[kind].find((type) => MediaRecorder.isTypeSupported(type)) ?? null;
}

/** The film as a file; null if it was cancelled. */
export async function filmed(film: Film, kind: FilmKind): Promise<Blob | null> {
  return kind === "gif" ? writeGif(film) : recordVideo(film, videoType(kind) ?? "");
}

const pause = (millis: number): Promise<void> => new Promise((done) => setTimeout(done, millis));

function pixelsOf(canvas: HTMLCanvasElement): Uint8ClampedArray {
  return canvas
    .getContext("2d", { willReadFrequently: true })!
    .getImageData(0, 0, canvas.width, canvas.height).data;
}

async function writeGif(film: Film): Promise<Blob | null> {
  const count = FILM_SECONDS * GIF_RATE;
  const samples = [0, 0.35, 0.7, 1].map((share) => film.picture(share));
  const writer = new GifWriter(samples[0].width, samples[0].height, new ColourTable(samples.map(pixelsOf)));
  for (let i = 0; i < count; i++) {
    writer.add(pixelsOf(film.picture(i / (count - 1))), i < count - 1 ? 1 / GIF_RATE : 2);
    film.progress((i + 1) / count);
    await pause(0); // the page stays alive
    if (film.cancelled()) return null;
  }
  return new Blob([writer.bytes()], { type: "image/gif" });
}

/** In real time; a machine that is too slow leaves pictures out, and the film is as long as ever. */
async function recordVideo(film: Film, mimeType: string): Promise<Blob | null> {
  const first = film.picture(0);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [first.width & ~1, first.height & ~1]; // codecs take even numbers
  const to = canvas.getContext("2d")!;
  to.drawImage(first, 0, 0);
  const stream = canvas.captureStream(VIDEO_RATE);
  const recorder = new MediaRecorder(stream, { mimeType, videoBitsPerSecond: VIDEO_BITS_PER_SECOND });
  const parts: Blob[] = [];
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  const stopped = new Promise((done) => recorder.addEventListener("stop", done));
  try {
    recorder.start();
    const begun = performance.now();
    let share = 0;
    while (share < 1) {
      await pause(1000 / VIDEO_RATE);
      if (film.cancelled()) return null;
      share = Math.min(1, (performance.now() - begun) / (1000 * FILM_SECONDS));
      to.drawImage(film.picture(share), 0, 0);
      film.progress(share);
    }
    await pause(300); // the last picture, too, is taken
    recorder.stop();
    await stopped;
    return film.cancelled() ? null : new Blob(parts, { type: mimeType.split(";")[0] });
  } finally {
    if (recorder.state !== "inactive") recorder.stop();
    for (const track of stream.getTracks()) track.stop();
  }
}
