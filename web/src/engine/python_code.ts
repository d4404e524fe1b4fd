/** A scene as the lines of Python that run it: `explorer.python_code`, for one softmax head. */

import type { MatrixChoice, Scene } from "../state.ts";
import { general, repr, reprList } from "./format.ts";
import { isIdentity, type Rows } from "./linear.ts";
import { chosenMatrix } from "./matrices.ts";
import { checkScene, FIRST_LOG_TIME } from "./scene.ts";
import { retract } from "./starts.ts";

const MAX_WRITTEN_DIMENSION = 4;
const IMPORTS: [string, string][] = [
  ["named_matrix(", "from nucleate.parse.named_matrices import named_matrix"],
  [" cap(", "from nucleate.explorer.start_positions import cap"],
  [" planted(", "from nucleate.explorer.start_positions import planted"],
];

export function pythonCode(scene: Scene): string {
  checkScene(scene, true);
  const { t, tolerance } = scene;
  const solver = `rtol=${repr(tolerance)}, atol=${repr(tolerance / 100)}`;
  const lines = [
    ...start(scene),
    ...model(scene),
    `times = ${times(scene)}`,
    `run = nc.simulate(model, x0, t=${repr(t)}, save=times, ${solver})`,
    "print(run)",
  ];
  const imports = IMPORTS.filter(([need]) => lines.some((line) => line.includes(need))).map(
    ([, line]) => line,
  );
  return ["import numpy as np", "", "import nucleate as nc", ...imports.sort(), "", ...lines, ""].join("\n");
}

function start({ n, d, seed, start: from, moved }: Scene): string[] {
  const rest =
    from.kind === "cap"
      ? `, angle=${repr(from.angle)}`
      : from.kind === "planted"
        ? `, clusters=${from.clusters}, spread=${repr(from.spread)}`
        : "";
  const call = from.kind === "uniform" ? "nc.uniform" : from.kind;
  const places = Object.entries(moved).sort(([a], [b]) => Number(a) - Number(b));
  return [
    `x0 = ${call}(n=${n}, d=${d}${rest}, seed=${seed})`,
    ...places.map(
      ([token, place]) => `x0[${token}] = ${reprList(Array.from(retract(Float64Array.from(place), d)))}`,
    ),
  ];
}

function model(scene: Scene): string[] {
  const { beta, mask, d } = scene;
  const lines: string[] = [];
  const head = [`beta=${repr(beta)}`];
  if (mask !== "causal")
    head.push(`mask=${typeof mask === "object" ? `nc.Window(${mask.window})` : `'${mask}'`}`);
  for (const name of ["Q", "K", "V"] as const) {
    const M = chosenMatrix(name, scene[name], d);
    if (isIdentity(M)) continue;
    lines.push(`${name} = ${written(scene[name], M)}`);
    head.push(`${name}=${name}`);
  }
  return [...lines, `model = nc.Attention(${head.join(", ")})`];
}

function times({ t, frames, clock }: Scene): string {
  if (clock === "linear") return `np.linspace(0.0, ${repr(t)}, ${frames})`;
  const first = Math.min(FIRST_LOG_TIME, t / 100);
  return `np.concatenate([[0.0], np.geomspace(${repr(first)}, ${repr(t)}, ${frames - 1})])`;
}

/** A diagonal by its diagonal, a small matrix by its entries, a large preset by its name. */
function written(choice: MatrixChoice, M: Rows): string {
  if (M.every((row, i) => row.every((value, j) => i === j || value === 0)))
    return `np.diag(${reprList(M.map((row, i) => row[i]))})`;
  if ("preset" in choice && M.length > MAX_WRITTEN_DIMENSION) {
    const seed = choice.seed === undefined ? "" : `, seed=${general(choice.seed, 17)}`;
    return `named_matrix("${choice.preset}", d=${M.length}${seed})`;
  }
  return `np.array(${reprList(M)})`;
}
