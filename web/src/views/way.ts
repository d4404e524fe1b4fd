/** The way of a token from one frame to the next, as it is drawn. */

const STEP = 0.15; // radians: up to here a straight line is no different from the sphere
// radians: what moves farther from frame to frame, as under a V that turns, went ways that nobody knows
const FARTHEST = 2;

/**
 * Points on the way between two places, the first left out: along the great circle, or straight in a shadow;
 * none where it is not known.
 */
export function way(shown: ArrayLike<number>, from: number, to: number, onSphere: boolean): number[] {
  const end = [shown[to], shown[to + 1], shown[to + 2]];
  if (!onSphere) return end;
  const product = shown[from] * end[0] + shown[from + 1] * end[1] + shown[from + 2] * end[2];
  const angle = Math.acos(Math.max(-1, Math.min(1, product)));
  if (angle > FARTHEST) return [];
  const pieces = Math.max(1, Math.ceil(angle / STEP));
  const points: number[] = [];
  for (let piece = 1; piece < pieces; piece++) {
    const a = Math.sin(((pieces - piece) / pieces) * angle) / Math.sin(angle);
    const b = Math.sin((piece / pieces) * angle) / Math.sin(angle);
    for (let c = 0; c < 3; c++) points.push(a * shown[from + c] + b * end[c]);
  }
  points.push(...end);
  return points;
}
