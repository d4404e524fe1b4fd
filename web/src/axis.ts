/** Scales and their ticks. The time axis is shared by every view and by the scrubber. */

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const power = (exponent: number): string =>
  "10" +
  (exponent < 0 ? "⁻" : "") +
  Array.from(String(Math.abs(exponent)), (digit) => SUPERSCRIPT[+digit]).join("");

/** A number for people: three digits, powers of ten where it is large or small. */
export function pretty(value: number, digits = 3): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${mantissa.replace("-", "−")} × ${power(Number(exponent))}`;
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

export interface Tick {
  at: number; // 0 to 1
  text: string;
}

const ZERO_TIME_PLACE = 0.03; // where the time axis keeps t = 0, left of the logarithm

export class TimeScale {
  private readonly low: number;
  private readonly high: number;

  constructor(
    readonly log: boolean,
    first: number,
    private readonly end: number,
  ) {
    this.low = Math.log10(first);
    this.high = Math.max(this.low + 1e-9, Math.log10(end));
  }

  /**
   * The axis that fits these times: logarithmic when they span more than a decade and a half after the first.
   */
  static of(times: Float64Array, held: number, end: number, clock: "log" | "linear" | null): TimeScale {
    const last = held > 0 ? Math.max(end, times[held - 1]) : end;
    const first = held > 1 ? times[1] : Math.min(1e-2, last / 100);
    const log =
      clock === "log" || (clock === null && last / first > 30 && times[Math.floor(held / 2)] < last / 5);
    return new TimeScale(log && first > 0 && last > first, first > 0 ? first : 1, last > 0 ? last : 1);
  }

  /** Length of the axis in what the speed counts: decades, or tenths of a linear axis. */
  get decades(): number {
    return this.log ? (this.high - this.low) / (1 - ZERO_TIME_PLACE) : 10;
  }

  place(t: number): number {
    if (!this.log) return t / this.end;
    if (t <= 0) return 0;
    return (
      ZERO_TIME_PLACE +
      (1 - ZERO_TIME_PLACE) * Math.max(0, (Math.log10(t) - this.low) / (this.high - this.low))
    );
  }

  ticks(most: number): Tick[] {
    if (!this.log)
      return linearTicks(0, this.end, most).map(({ at, value }) => ({ at, text: pretty(value) }));
    const from = Math.ceil(this.low - 1e-9);
    const to = Math.floor(this.high + 1e-9);
    const step = Math.max(1, Math.ceil((to - from + 1) / Math.max(1, most - 1)));
    const ticks: Tick[] = [{ at: 0, text: "0" }];
    for (let e = from; e <= to; e++) {
      const at = this.place(10 ** e);
      if (e % step === 0 && at > 0.07)
        ticks.push({ at, text: e >= 0 && e <= 2 ? String(10 ** e) : power(e) });
    }
    return ticks;
  }

  /** The cursor (frames, with a fraction) at a place of the axis. */
  cursor(place: number, times: Float64Array, held: number): number {
    if (held < 2) return 0;
    let low = 0;
    let high = held - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.place(times[middle]) <= place) low = middle;
      else high = middle;
    }
    const a = this.place(times[low]);
    const b = this.place(times[high]);
    return low + Math.min(1, Math.max(0, b > a ? (place - a) / (b - a) : 0));
  }

  /** The place on the axis of a cursor. */
  placeOf(cursor: number, times: Float64Array, held: number): number {
    const low = Math.max(0, Math.min(Math.floor(cursor), held - 1));
    const high = Math.min(low + 1, held - 1);
    const a = this.place(times[low] ?? 0);
    return a + (cursor - low) * (this.place(times[high] ?? 0) - a);
  }
}

export function linearTicks(low: number, high: number, most: number): { at: number; value: number }[] {
  const raw = (high - low) / Math.max(1, most);
  if (!(raw > 0) || !Number.isFinite(raw)) return [{ at: 0, value: low }];
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= raw * 0.999) ?? 10);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    ticks.push({ at: (i * step - low) / (high - low), value: i * step });
  return ticks;
}
