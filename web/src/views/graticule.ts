/** The lines on the ball. */

import { BufferAttribute, BufferGeometry } from "three";

const STEPS_PER_CIRCLE = 96;

/**
 * Circles of latitude and longitude every 30 degrees, each as points one after the other, the first again at
 * its end.
 */
export function circles(): number[][] {
  const ring = (at: (angle: number) => [number, number, number]): number[] =>
    Array.from({ length: STEPS_PER_CIRCLE + 1 }, (_, i) => at((2 * i * Math.PI) / STEPS_PER_CIRCLE)).flat();
  const latitudes = [-60, -30, 0, 30, 60].map((degrees) => {
    const height = (degrees * Math.PI) / 180;
    return ring((a) => [Math.cos(height) * Math.cos(a), Math.cos(height) * Math.sin(a), Math.sin(height)]);
  });
  const longitudes = Array.from({ length: 6 }, (_, east) => {
    const turn = (east * Math.PI) / 6;
    return ring((a) => [Math.cos(a) * Math.cos(turn), Math.cos(a) * Math.sin(turn), Math.sin(a)]);
  });
  return [...latitudes, ...longitudes];
}

export function graticule(): BufferGeometry {
  const segments = circles().flatMap((points) =>
    Array.from({ length: STEPS_PER_CIRCLE }, (_, i) => points.slice(3 * i, 3 * i + 6)).flat(),
  );
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(segments), 3));
}
