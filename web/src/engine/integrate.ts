/**
 * The explicit solver of `nucleate.integrate`: the same method of order 8, the same error per step, the same
 * choice of steps and the same interpolant, for one run.
 *
 * A step is accepted when its error is at most rtol + atol radians for every token.
 */

import type { Drift } from "./equation.ts";
import { TABLEAU } from "./tableau.ts";

export type Status = "running" | "done" | "max steps" | "stalled" | "non-finite" | "cancelled" | "time limit";

const EPS = 2 ** -52;
const ROUNDING = 4 * EPS; // rows this close are unit already, and keep their bits
const MIN_DIVISOR = 1e-300;
const MIN_STEP = 1e-300;
const SAFETY = 0.9;
const MIN_FACTOR = 0.2;
const MAX_FACTOR = 8;
const NON_FINITE_FACTOR = 0.1;
const ERROR_BEFORE_EXPONENT = 0.04;
// Errors in tolerances.
const MIN_ERROR = 1e-10;
const INITIAL_ERROR_BEFORE = 1e-4;
const MIN_ERROR_FOR_DECAY = 1e-6;
const MAX_INTERPOLANT_ERROR = 4;
const MAX_DECAY_INTERPOLATED = 3;

const { order, max_stable_decay: MAX_STABLE_DECAY } = TABLEAU;
const STAGES = TABLEAU.B.length; // and one more, the next step's first
const EXTRA = TABLEAU.extra.length;

export class Integration {
  status: Status = "running";
  steps = 0;
  rejected = 0;
  saved = 0; // frames written
  t = 0;
  readonly frames: Float64Array; // (m, n, d)
  private readonly size: number;
  private readonly y: Float64Array;
  private readonly startAngles: Float64Array | null;
  private readonly trial: Float64Array;
  private readonly scratch: Float64Array;
  private readonly stages: Float64Array[];
  private h = 0;
  private wanted = 0;
  private error = 0; // radians
  private errorBefore = INITIAL_ERROR_BEFORE;
  private decay = 0;
  private interpolantError = 0;
  private afterRejection = false;

  constructor(
    private readonly drift: Drift,
    private readonly start: Float64Array, // (n, d)
    private readonly times: Float64Array, // (m,), the first 0
    private readonly end: number,
    private readonly tolerance: number,
    private readonly maxSteps: number,
  ) {
    const { n, d, width } = drift;
    this.size = n * width;
    this.frames = new Float64Array(times.length * n * d);
    this.y = new Float64Array(this.size);
    for (let k = 0; k < n; k++)
      if (d === 2) this.y[k] = Math.atan2(start[2 * k + 1], start[2 * k]);
      else for (let c = 0; c < d; c++) this.y[k * d + c] = start[k * d + c];
    this.startAngles = d === 2 ? this.y.slice() : null;
    this.trial = new Float64Array(this.size);
    this.scratch = new Float64Array(this.size);
    this.stages = Array.from({ length: STAGES + 1 + EXTRA }, () => new Float64Array(this.size));
    if (times[0] === 0) {
      this.frames.set(start);
      this.saved = 1;
    }
    this.firstStep();
  }

  private firstStep(): void {
    this.drift.into(this.y, this.stages[0]);
    let fastest = 0;
    for (const velocity of this.stages[0]) if (!(Math.abs(velocity) <= fastest)) fastest = Math.abs(velocity);
    if (!Number.isFinite(fastest)) {
      this.status = "non-finite";
      return;
    }
    const h = fastest > 0 ? Math.min(0.01, this.tolerance ** (1 / order)) / fastest : this.end;
    this.setNextStep(0, h);
  }

  /** No further step; a run that has ended stays as it is. */
  stop(why: Status): void {
    if (this.status === "running") this.status = why;
  }

  /** One step, tried. */
  step(): void {
    if (this.status !== "running") return;
    const { drift, stages, trial, scratch } = this;
    for (let i = 1; i < STAGES; i++) {
      this.combine(TABLEAU.A[i], i, trial);
      drift.into(trial, stages[i]);
    }
    this.combine(TABLEAU.B, STAGES, trial);
    drift.into(trial, stages[STAGES]);
    this.estimateError();
    if (this.passesAFrame()) {
      for (let i = 0; i < EXTRA; i++) {
        this.combine(TABLEAU.extra[i], STAGES + 1 + i, scratch);
        drift.into(scratch, stages[STAGES + 1 + i]);
      }
      this.estimateInterpolantError();
    }
    this.acceptOrReject();
  }

  /** out = y + h sum_{j < count} weights_j k_j. */
  private combine(weights: number[], count: number, out: Float64Array): void {
    const { y, stages, h, size } = this;
    out.fill(0);
    for (let j = 0; j < count; j++) {
      const weight = weights[j];
      if (weight === 0) continue;
      const k = stages[j];
      for (let i = 0; i < size; i++) out[i] += weight * k[i];
    }
    for (let i = 0; i < size; i++) out[i] = y[i] + h * out[i];
  }

  /** The error of the worst token, and h times the fastest rate of decay. */
  private estimateError(): void {
    const { stages, size, h } = this;
    const { E, E_low: low, gap } = TABLEAU;
    const { width } = this.drift;
    let worst = 0;
    let steep = 0;
    let apart = 0;
    for (let token = 0; token < size; token += width) {
      let square = 0;
      let other = 0;
      let turn = 0;
      let distance = 0;
      for (let i = token; i < token + width; i++) {
        let total = 0;
        let second = 0;
        let third = 0;
        for (let j = 0; j <= STAGES; j++) {
          const k = stages[j][i];
          total += E[j] * k;
          second += low[j] * k;
          third += gap[j] * k;
        }
        const change = stages[STAGES][i] - stages[STAGES - 1][i];
        square += total * total;
        other += second * second;
        turn += change * change;
        distance += third * third;
      }
      square *= square / (square + 0.01 * other + MIN_DIVISOR);
      if (Number.isNaN(square)) {
        this.error = NaN;
        this.decay = 0;
        return;
      }
      worst = Math.max(worst, square);
      steep = Math.max(steep, turn);
      apart = Math.max(apart, distance);
    }
    this.error = h * Math.sqrt(worst);
    this.decay = Math.sqrt(steep) / (Math.sqrt(apart) + MIN_DIVISOR);
  }

  private estimateInterpolantError(): void {
    const { stages, size } = this;
    const weights = TABLEAU.last_term;
    let worst = 0;
    for (let i = 0; i < size; i++) {
      let total = 0;
      for (let j = 0; j < weights.length; j++) total += weights[j] * stages[j][i];
      worst = Math.max(worst, Math.abs(total));
    }
    this.interpolantError = (Math.sqrt(this.drift.width) / this.tolerance) * this.h * worst;
  }

  private acceptOrReject(): void {
    const { t, h, times } = this;
    const error = this.error / this.tolerance;
    if (!(error <= 1)) return this.reject(error);
    const next = this.saved < times.length ? times[this.saved] : Infinity;
    if (this.doubtsInterpolant && t < next && next < (t + h) * (1 - 4 * EPS)) {
      this.setNextStep(t, h); // take the step again, up to the time asked for
      return;
    }
    this.steps += 1;
    let ends = t + h;
    const latest = this.latestEnd;
    if (ends >= latest * (1 - 4 * EPS)) ends = latest;
    this.writeFrames(t, ends);
    this.accept();
    this.t = ends;
    if (ends === this.end) this.status = "done";
    else if (this.stepsUsedUp) this.status = "max steps";
    else this.chooseNextStep(error);
  }

  private reject(error: number): void {
    this.rejected += 1;
    const factor = Number.isFinite(error)
      ? Math.max(MIN_FACTOR, SAFETY * error ** (-1 / order))
      : NON_FINITE_FACTOR;
    this.h *= factor;
    this.wanted = this.h;
    this.afterRejection = true;
    if (this.h <= 8 * EPS * this.t || this.h < MIN_STEP)
      this.status = Number.isFinite(error) ? "stalled" : "non-finite";
    else if (this.stepsUsedUp) this.status = "max steps";
  }

  /** The trial becomes the state, on the sphere; its velocity the first stage of the next step. */
  private accept(): void {
    const { y, trial, stages, size } = this;
    const { width } = this.drift;
    for (let token = 0; token < size; token += width) {
      let inverse = 1;
      if (width > 1) {
        let square = 0;
        for (let i = token; i < token + width; i++) square += trial[i] * trial[i];
        if (Math.abs(square - 1) > ROUNDING) inverse = 1 / Math.sqrt(square);
      }
      for (let i = token; i < token + width; i++) y[i] = trial[i] * inverse;
    }
    stages[0].set(stages[STAGES]);
  }

  private chooseNextStep(error: number): void {
    const exponent = -1 / order + 0.75 * ERROR_BEFORE_EXPONENT;
    let factor = SAFETY * Math.max(error, MIN_ERROR) ** exponent * this.errorBefore ** ERROR_BEFORE_EXPONENT;
    factor = Math.min(this.afterRejection ? 1 : MAX_FACTOR, Math.max(MIN_FACTOR, factor));
    // stay inside the region of stability: at its edge errors no longer decay
    if (error > MIN_ERROR_FOR_DECAY && this.decay > 0)
      factor = Math.min(factor, Math.max(0.5, MAX_STABLE_DECAY / this.decay));
    const next = this.h < this.wanted ? Math.max(this.h * factor, this.wanted) : this.h * factor;
    this.errorBefore = Math.max(error, INITIAL_ERROR_BEFORE);
    this.afterRejection = false;
    this.interpolantError *= 0.5; // it gets another chance
    this.setNextStep(this.t, next);
    if (this.t + this.h === this.t) this.status = "stalled";
  }

  /** As long as wanted, or up to the time it may not pass, or half-way there rather than leaving a sliver. */
  private setNextStep(t: number, wanted: number): void {
    const left = this.latestEnd - t;
    this.wanted = wanted;
    this.h = wanted >= left * (1 - 1e-9) ? left : wanted > 0.5 * left ? 0.5 * left : wanted;
  }

  private get doubtsInterpolant(): boolean {
    return this.decay > MAX_DECAY_INTERPOLATED || this.interpolantError > MAX_INTERPOLANT_ERROR;
  }

  private get latestEnd(): number {
    return this.doubtsInterpolant && this.saved < this.times.length
      ? Math.min(this.times[this.saved], this.end)
      : this.end;
  }

  private passesAFrame(): boolean {
    if (!(this.error <= this.tolerance) || this.saved >= this.times.length) return false;
    const next = this.times[this.saved];
    return next < this.t + this.h && next < this.latestEnd;
  }

  private get stepsUsedUp(): boolean {
    return this.steps + this.rejected >= this.maxSteps;
  }

  /** Every time asked for in (t, ends], by the interpolant. */
  private writeFrames(t: number, ends: number): void {
    const { times } = this;
    while (this.saved < times.length && times[this.saved] <= ends) {
      const asked = times[this.saved];
      this.interpolate(asked < ends ? (asked - t) / (ends - t) : 1);
      this.writePoints(this.saved);
      this.saved += 1;
    }
  }

  private interpolate(theta: number): void {
    const { scratch, stages, size, h } = this;
    if (theta === 1) return scratch.set(this.trial);
    scratch.set(this.y);
    TABLEAU.P.forEach((row, j) => {
      let weight = 0;
      for (let p = row.length - 1; p >= 0; p--) weight = (weight + row[p]) * theta;
      weight *= h;
      const k = stages[j];
      for (let i = 0; i < size; i++) scratch[i] += weight * k[i];
    });
  }

  /** `scratch` as points: the start turned by how far each angle went, or coordinates made unit. */
  private writePoints(frame: number): void {
    const { scratch, frames, start, startAngles } = this;
    const { n, d } = this.drift;
    const at = frame * n * d;
    for (let k = 0; k < n; k++) {
      if (startAngles !== null) {
        const turn = scratch[k] - startAngles[k];
        const [c, s] = [Math.cos(turn), Math.sin(turn)];
        const [x, y] = [start[2 * k], start[2 * k + 1]];
        frames[at + 2 * k] = x * c - y * s;
        frames[at + 2 * k + 1] = y * c + x * s;
        continue;
      }
      let square = 0;
      for (let c = 0; c < d; c++) square += scratch[k * d + c] ** 2;
      const inverse = Math.abs(square - 1) > ROUNDING ? 1 / Math.sqrt(square) : 1;
      for (let c = 0; c < d; c++) frames[at + k * d + c] = scratch[k * d + c] * inverse;
    }
  }
}
