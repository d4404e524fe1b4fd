/** Turning the sphere by pointer, wheel and keyboard. */

import { PerspectiveCamera, Vector3 } from "three";

export const FIELD_OF_VIEW_DEGREES = 36; // degrees of view
const MAX_HEIGHT_RADIANS = 1.5; // short of the pole, where left and right would swap
const MIN_CAMERA_DISTANCE = 1.6; // outside the ball
const MIN_INSIDE_DISTANCE = 0.2;
const MAX_CAMERA_DISTANCE = 9;

export class Orbit {
  readonly camera = new PerspectiveCamera(FIELD_OF_VIEW_DEGREES, 1, 0.05, 30);
  private inside = false; // whether the camera may come into the ball
  private target = [0, 0, 0]; // what it looks at

  constructor(
    public angles: number[], // azimuth, height, distance
    private readonly onTurn: (angles: number[]) => void,
  ) {
    this.camera.up.set(0, 0, 1);
    this.place();
  }

  place(): void {
    const [azimuth, height, far] = this.angles;
    const [x, y, z] = this.target;
    this.camera.position.set(
      x + far * Math.cos(height) * Math.cos(azimuth),
      y + far * Math.cos(height) * Math.sin(azimuth),
      z + far * Math.sin(height),
    );
    this.camera.lookAt(x, y, z);
    this.camera.updateMatrixWorld();
  }

  /** From what is looked at to the eye, of length 1. */
  get eye(): Vector3 {
    return this.camera.position
      .clone()
      .sub(new Vector3(...this.target))
      .normalize();
  }

  /** Looks at a place of the ball, null: at its middle from outside. */
  lookAt(target: number[] | null): void {
    this.inside = target !== null;
    const [x, y, z] = target ?? [0, 0, 0];
    const same = this.target[0] === x && this.target[1] === y && this.target[2] === z;
    if (same) return;
    this.target = [x, y, z];
    this.place();
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
      round(
        Math.max(
          this.inside ? MIN_INSIDE_DISTANCE : MIN_CAMERA_DISTANCE,
          Math.min(MAX_CAMERA_DISTANCE, far / closer),
        ),
      ),
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
