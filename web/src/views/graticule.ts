/** The lines on the ball. */

import { BufferAttribute, BufferGeometry } from "three";

/** Circles of latitude and longitude every 30 degrees. */
export function graticule(): BufferGeometry {
  const points: number[] = [];
  const ring = (at: (angle: number) => [number, number, number]): void => {
    for (let i = 0; i < 96; i++) points.push(...at((i * Math.PI) / 48), ...at(((i + 1) * Math.PI) / 48));
  };
  for (const height of [-60, -30, 0, 30, 60].map((degrees) => (degrees * Math.PI) / 180)) {
    ring((a) => [Math.cos(height) * Math.cos(a), Math.cos(height) * Math.sin(a), Math.sin(height)]);
  }
  for (let east = 0; east < 6; east++) {
    const turn = (east * Math.PI) / 6;
    ring((a) => [Math.cos(a) * Math.cos(turn), Math.cos(a) * Math.sin(turn), Math.sin(a)]);
  }
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
}
