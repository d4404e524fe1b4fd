import assert from "node:assert/strict";
import test from "node:test";
import { DARK, hex, LIGHT, orderRange, rgb, viridis, type Theme } from "../src/colours.ts";

// What is promised. Two colours that differ by 2 to 3 in CIEDE2000 can just be told apart side by side.
const LEAST_DIFFERENCE = 14; // for deuteranopes, and for all others
const LEAST_FOR_PROTANOPES = 12;
const LEAST_CONTRAST = 3; // WCAG 2.2, 1.4.11

type Vector = [number, number, number];
type Matrix = [Vector, Vector, Vector];

// Machado, Oliveira and Fernandes (2009), severity 1.0; on linear RGB.
const DEUTERANOPIA: Matrix = [
  [0.367322, 0.860646, -0.227968],
  [0.280085, 0.672501, 0.047413],
  [-0.01182, 0.04294, 0.968881],
];
const PROTANOPIA: Matrix = [
  [0.152286, 1.052583, -0.204868],
  [0.114503, 0.786281, 0.099216],
  [-0.003882, -0.048116, 1.051998],
];
const IDENTITY: Matrix = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
// sRGB to XYZ, white D65
const TO_XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];

const times = (M: Matrix, v: Vector): Vector =>
  M.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as Vector;

const linear = (colour: string): Vector =>
  rgb(colour).map((c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  ) as Vector;

function lab(v: Vector): Vector {
  const white = times(TO_XYZ, [1, 1, 1]);
  const [x, y, z] = times(TO_XYZ, v).map((c, i) => {
    const share = c / white[i];
    return share > (6 / 29) ** 3 ? Math.cbrt(share) : share / (3 * (6 / 29) ** 2) + 4 / 29;
  });
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** A colour as people with this kind of sight see it, in CIELAB. */
const seen = (colour: string, sight: Matrix): Vector =>
  lab(times(sight, linear(colour)).map((c) => Math.min(1, Math.max(0, c))) as Vector);

const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** CIEDE2000, with the letters of Sharma, Wu and Dalal (2005). */
function difference([L1, a1, b1]: Vector, [L2, a2, b2]: Vector): number {
  const half = (C: number): number => Math.sqrt(C ** 7 / (C ** 7 + 25 ** 7));
  const G = 0.5 * (1 - half((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2));
  const [x1, x2] = [(1 + G) * a1, (1 + G) * a2];
  const [C1, C2] = [Math.hypot(x1, b1), Math.hypot(x2, b2)];
  const hue = (a: number, b: number): number => ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360;
  const [h1, h2] = [hue(x1, b1), hue(x2, b2)];
  let turn = C1 * C2 === 0 ? 0 : h2 - h1;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const dH = 2 * Math.sqrt(C1 * C2) * Math.sin(radians(turn / 2));
  const [L, C] = [(L1 + L2) / 2, (C1 + C2) / 2];
  const far = Math.abs(h1 - h2) > 180;
  const h = C1 * C2 === 0 ? h1 + h2 : far ? (h1 + h2 + (h1 + h2 < 360 ? 360 : -360)) / 2 : (h1 + h2) / 2;
  const T =
    1 -
    0.17 * Math.cos(radians(h - 30)) +
    0.24 * Math.cos(radians(2 * h)) +
    0.32 * Math.cos(radians(3 * h + 6)) -
    0.2 * Math.cos(radians(4 * h - 63));
  const [SL, SC, SH] = [
    1 + (0.015 * (L - 50) ** 2) / Math.sqrt(20 + (L - 50) ** 2),
    1 + 0.045 * C,
    1 + 0.015 * C * T,
  ];
  const RT = -Math.sin(radians(60 * Math.exp(-(((h - 275) / 25) ** 2)))) * 2 * half(C);
  const [l, c, s] = [(L2 - L1) / SL, (C2 - C1) / SC, dH / SH];
  return Math.sqrt(l * l + c * c + s * s + RT * c * s);
}

const luminance = (colour: string): number => times(TO_XYZ, linear(colour))[1];

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

function leastDifference(colours: readonly string[], sight: Matrix): { least: number; pair: string } {
  let found = { least: Infinity, pair: "" };
  colours.forEach((a, i) => {
    for (const b of colours.slice(0, i)) {
      const least = difference(seen(a, sight), seen(b, sight));
      if (least < found.least) found = { least, pair: `${a} and ${b}` };
    }
  });
  return found;
}

test("the difference of colours is that of published pairs", () => {
  // Sharma, Wu and Dalal (2005), Table 1, pairs 1, 11, 17 and 25
  const pairs: [Vector, Vector, number][] = [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, -0.001, 2.49], [50, 0.0009, -2.49], 4.8045],
    [[50, 2.5, 0], [73, 25, -18], 27.1492],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
  ];
  for (const [a, b, dE] of pairs) assert.ok(Math.abs(difference(a, b) - dE) < 6e-5, `${difference(a, b)}`);
});

const THEMES: [string, Theme][] = [
  ["light", LIGHT],
  ["dark", DARK],
];
for (const [name, theme] of THEMES) {
  const colours = [...theme.clusters, theme.waiting];

  test(`every two of the ${name} colours, waiting grey among them, differ, for deuteranopes too`, () => {
    assert.equal(new Set(theme.clusters).size, 8);
    for (const [sight, least] of [
      [IDENTITY, LEAST_DIFFERENCE],
      [DEUTERANOPIA, LEAST_DIFFERENCE],
      [PROTANOPIA, LEAST_FOR_PROTANOPES],
    ] as const) {
      const found = leastDifference(colours, sight);
      assert.ok(found.least >= least, `${found.pair} differ by ${found.least.toFixed(1)} only`);
    }
  });

  test(`dots have a contrast of 3:1 on the ${name} ground, by cluster and by place in the sequence`, () => {
    const [low, high] = orderRange(theme);
    const places = Array.from({ length: 101 }, (_, i) => hex(viridis(low + ((high - low) * i) / 100)));
    for (const colour of [...colours, theme.red, ...places]) {
      const found = contrast(colour, theme.paper);
      assert.ok(found >= LEAST_CONTRAST, `${colour} has ${found.toFixed(2)}:1`);
    }
  });
}
