/**
 * What is drawn over the tokens: where they ought to end (L, ±ξ, x₁(0)), and of the token that is pointed at
 * how far δ reaches and whom it listens to. The same shapes serve the circle and the sphere: all are lines
 * and points on or in the unit ball, and each view knows where a place of the ball is on its stage.
 */

import { predictedEnds } from "../dominant_space.ts";
import { listensTo } from "../listening.ts";
import type { RunRecord } from "../run_record.ts";

export interface Mark {
  at: number[]; // (3,)
  text: string;
}
export interface BallLine {
  points: number[]; // x, y, z, x, y, z …
  kind: "space" | "reach" | "heard";
  strength: number; // 0 to 1
}

const PIECES = 96; // of a circle

/** A place of d coordinates as it is drawn, (3,); above three dimensions by the directions of the picture. */
export function shownPlace(run: RunRecord, x: ArrayLike<number>): number[] {
  const w = run.directions;
  if (run.d <= 3 || w === null) return [0, 1, 2].map((c) => (c < run.d ? x[c] : 0));
  return [0, 1, 2].map((c) =>
    Array.from({ length: run.d }, (_, i) => x[i] * w[3 * i + c]).reduce((a, b) => a + b),
  );
}

/** Where the tokens ought to end, by the row of Table 1; nothing where it does not speak of the run. */
export function predictedMarks(run: RunRecord): Mark[] {
  const { spectrum } = run.begun;
  if (run.trace !== null || run.frameCount === 0 || spectrum === null || spectrum.row === null) return [];
  const first: Mark = { at: shownPlace(run, run.token(0, 0)), text: "x₁(0)" };
  if (spectrum.row === 1) return [first];
  const { L, point } = predictedEnds(run);
  if (L?.length === 1 && spectrum.row !== 2)
    return [
      first,
      { at: shownPlace(run, L[0]), text: "ξ" },
      {
        at: shownPlace(
          run,
          L[0].map((value) => -value),
        ),
        text: "−ξ",
      },
    ];
  return point === null ? [first] : [first, { at: shownPlace(run, point), text: "end in L" }];
}

/** The great circle of L, where it is one and the row speaks of it. */
export function predictedSpace(run: RunRecord): BallLine[] {
  const { spectrum } = run.begun;
  const L = predictedEnds(run).L ?? [];
  if (run.trace !== null || spectrum?.row == null || spectrum.row === 1 || run.d !== 3 || L.length !== 2)
    return [];
  const points: number[] = [];
  for (let i = 0; i <= PIECES; i++) {
    const angle = (2 * Math.PI * i) / PIECES;
    for (let c = 0; c < 3; c++) points.push(Math.cos(angle) * L[0][c] + Math.sin(angle) * L[1][c]);
  }
  return [{ points, kind: "space", strength: 1 }];
}

/** The rim of the cap of radius δ around a place on the sphere or circle; empty above three dimensions. */
export function capRim(run: RunRecord, at: number[]): number[] {
  const { delta } = run.begun;
  if (run.d > 3 || run.begun.centers.renyi.length === 0) return [];
  const points: number[] = [];
  if (run.d === 2) {
    const angle = Math.atan2(at[1], at[0]);
    const pieces = Math.max(2, Math.ceil((PIECES * delta) / Math.PI));
    for (let i = 0; i <= pieces; i++) {
      const here = angle + delta * ((2 * i) / pieces - 1);
      points.push(Math.cos(here), Math.sin(here), 0);
    }
    return points;
  }
  const axis = Math.abs(at[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  const u = unit(cross(at, axis));
  const v = cross(at, u);
  for (let i = 0; i <= PIECES; i++) {
    const turn = (2 * Math.PI * i) / PIECES;
    for (let c = 0; c < 3; c++)
      points.push(
        Math.cos(delta) * at[c] + Math.sin(delta) * (Math.cos(turn) * u[c] + Math.sin(turn) * v[c]),
      );
  }
  return points;
}

/** From the token that is pointed at to those it listens to, bent into the ball. */
export function heardLines(
  run: RunRecord,
  frame: number,
  token: number,
  places: ArrayLike<number>,
): BallLine[] {
  return listensTo(run, frame, token)
    .filter((one) => one.token !== token)
    .map(({ token: other, share }) => {
      const points: number[] = [];
      const chord = Math.hypot(...[0, 1, 2].map((c) => places[3 * token + c] - places[3 * other + c]));
      const bend = Math.min(0.25, chord / 2);
      for (let i = 0; i <= 24; i++) {
        const s = i / 24;
        const inward = 1 - 4 * bend * s * (1 - s);
        for (let c = 0; c < 3; c++)
          points.push(inward * ((1 - s) * places[3 * token + c] + s * places[3 * other + c]));
      }
      return { points, kind: "heard" as const, strength: share };
    });
}

const cross = (a: ArrayLike<number>, b: ArrayLike<number>): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const unit = (v: number[]): number[] => {
  const length = Math.hypot(...v) || 1;
  return v.map((value) => value / length);
};
