/** Lines on an axis that is a circle: one that leaves at one edge comes back at the other. */

/**
 * Adds points (x, y) of a line over shares of an axis from 0 to 1, frames `first` to `last`; where the axis
 * is `periodic`, a step of more than half of it goes over the edge. `y` turns a share into pixels.
 */
export function addLine(
  shares: ArrayLike<number>,
  columns: ArrayLike<number>,
  first: number,
  last: number,
  periodic: boolean,
  y: (share: number) => number,
  into: number[],
): void {
  into.push(NaN, NaN, columns[first], y(shares[first]));
  for (let i = first + 1; i <= last; i++) {
    const [from, to] = [shares[i - 1], shares[i]];
    if (periodic && Math.abs(to - from) > 0.5) {
      const edge = to < from ? 1 : 0; // where it leaves
      const left = Math.abs(edge - from);
      const whole = left + Math.abs(to - (1 - edge));
      const at = columns[i - 1] + (columns[i] - columns[i - 1]) * (whole > 0 ? left / whole : 0);
      into.push(at, y(edge), NaN, NaN, at, y(1 - edge));
    }
    into.push(columns[i], y(to));
  }
}
