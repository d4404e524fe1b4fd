/** Numbers as Python writes them. */

/** Digits and power of ten of the shortest text that reads back as the same number. */
function parts(value: number, digits?: number): { sign: string; digits: string; exponent: number } {
  const [mantissa, exponent] = Math.abs(value).toExponential(digits).split("e");
  return {
    sign: value < 0 || Object.is(value, -0) ? "-" : "",
    digits: mantissa.replace(".", ""),
    exponent: Number(exponent),
  };
}

const power = (exponent: number): string =>
  `e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;

/** repr(value) of a float: 64.0, 1e-08, 1e+16. */
export function repr(value: number): string {
  const { sign, digits, exponent } = parts(value);
  if (value !== 0 && (exponent < -4 || exponent >= 16))
    return `${sign}${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ""}${power(exponent)}`;
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const padded = digits.padEnd(exponent + 1, "0");
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
}

/** f"{value:.{digits}g}". */
export function general(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const { sign, digits: all, exponent } = parts(value, digits - 1);
  const kept = all.replace(/0+$/, "") || "0";
  if (exponent < -4 || exponent >= digits)
    return `${sign}${kept[0]}${kept.length > 1 ? `.${kept.slice(1)}` : ""}${power(exponent)}`;
  if (exponent < 0) return kept === "0" ? `${sign}0` : `${sign}0.${"0".repeat(-exponent - 1)}${kept}`;
  const padded = kept.padEnd(exponent + 1, "0");
  const rest = padded.slice(exponent + 1);
  return `${sign}${padded.slice(0, exponent + 1)}${rest === "" ? "" : `.${rest}`}`;
}

/** repr of a list of floats, or of rows of such. */
export const reprList = (values: number[] | number[][]): string =>
  `[${values.map((value) => (Array.isArray(value) ? reprList(value) : repr(value))).join(", ")}]`;
