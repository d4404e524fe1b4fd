/** Turning the sphere by pointer, wheel and keyboard. */

import { PerspectiveCamera } from "three";

export const FIELD_OF_VIEW_DEGREES = 36; // degrees of view
const MAX_HEIGHT_RADIANS = 1.5; // short of the pole, where left and right would swap
const MIN_CAMERA_DISTANCE = 1.6;
const MAX_CAMERA_DISTANCE = 9;

export class Orbit {
  readonly camera = new PerspectiveCamera(FIELD_OF_VIEW_DEGREES, 1, 0.05, 30);

  constructor(
    public angles: number[], // azimuth, height, distance
    private readonly onTurn: (angles: number[]) => void,
  ) {
    this.camera.up.set(0, 0, 1);
    this.place();
  }

  place(): void {
    const [azimuth, height, far] = this.angles;
    this.camera.position.set(
      far * Math.cos(height) * Math.cos(azimuth),
      far * Math.cos(height) * Math.sin(azimuth),
      far * Math.sin(height),
    );
    this.camera.lookAt(0, 0, 0);
    this.camera.updateMatrixWorld();
  }

  set(angles: number[]): void {
    if (angles.every((value, i) => value === this.angles[i])) return;
    this.angles = [...angles];
    this.place();
  }

  turn(right: number, up: number, closer = 1): void {
    const [azimuth, height, far] = this.angles;
    const round = (value: number): number => Math.round(value * 1e4) / 1e4; // keeps addresses short
    this.angles = [
      round((azimuth - right) % (2 * Math.PI)),
      round(Math.max(-MAX_HEIGHT_RADIANS, Math.min(MAX_HEIGHT_RADIANS, height + up))),
      round(Math.max(MIN_CAMERA_DISTANCE, Math.min(MAX_CAMERA_DISTANCE, far / closer))),
    ];
    this.place();
    this.onTurn(this.angles);
  }

  /** True when the key meant something here. */
  key(key: string): boolean {
    const step = 0.09;
    const moves: { [key: string]: (() => void) | undefined } = {
      ArrowLeft: () => this.turn(-step, 0),
      ArrowRight: () => this.turn(step, 0),
      ArrowUp: () => this.turn(0, step),
      ArrowDown: () => this.turn(0, -step),
      "+": () => this.turn(0, 0, 1.1),
      "=": () => this.turn(0, 0, 1.1),
      "-": () => this.turn(0, 0, 1 / 1.1),
    };
    moves[key]?.();
    return key in moves;
  }
}
