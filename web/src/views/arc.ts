/** The path of a token from one frame to the next, as it is drawn: an arc of a great circle. */

const ARC_STEP_RADIANS = 0.15; // up to here a straight line cannot be told from the arc
// Of a token that moves farther from frame to frame, as where V turns tokens around, the path is not known.
const MAX_ARC_RADIANS = 2;

/**
 * Points from one place to the next, the first left out: along the great circle, or straight in a projection
 * of a higher sphere; none where the path is not known.
 */
export function arc(shown: ArrayLike<number>, from: number, to: number, onSphere: boolean): number[] {
  const end = [shown[to], shown[to + 1], shown[to + 2]];
  if (!onSphere) return end;
  const product = shown[from] * end[0] + shown[from + 1] * end[1] + shown[from + 2] * end[2];
  const angle = Math.acos(Math.max(-1, Math.min(1, product)));
  if (angle > MAX_ARC_RADIANS) return [];
  const pieces = Math.max(1, Math.ceil(angle / ARC_STEP_RADIANS));
  const points: number[] = [];
  for (let piece = 1; piece < pieces; piece++) {
    const a = Math.sin(((pieces - piece) / pieces) * angle) / Math.sin(angle);
    const b = Math.sin((piece / pieces) * angle) / Math.sin(angle);
    for (let c = 0; c < 3; c++) points.push(a * shown[from + c] + b * end[c]);
  }
  points.push(...end);
  return points;
}
