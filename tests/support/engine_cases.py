"""Recorded cases for the engine of the page: what Python draws, computes, measures and says, as JSON.

    python tests/support/engine_cases.py record     writes web/tests/engine_cases.json and the tableau
    python tests/support/engine_cases.py compare    the error of the page's engine on fifty scenes, by Node
    python tests/support/engine_cases.py long       the same on five long causal runs

`web/tests/engine.test.ts` holds the page's engine to the file, `tests/explorer/test_page_engine.py` the file
to Python.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.matrices import MENU, chosen_matrix, matrix_choice
from nucleate.explorer.measurements import measure
from nucleate.explorer.model_facts import model_facts
from nucleate.explorer.predicted_end import predicted_point
from nucleate.explorer.prepared_run import begun_message, prepare_scene
from nucleate.explorer.python_code import python_code
from nucleate.explorer.scene import Scene, parse_scene
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.integrate.tableau import dormand_prince_8
from nucleate.parse.named_matrices import NAMED

WEB = Path(__file__).parents[2] / "web"
CASES = WEB / "tests" / "engine_cases.json"
TABLEAU = WEB / "src" / "engine" / "tableau.ts"
SEEDS = (0, 1, 12345, 2**40 + 3)
MANY_DRAWS = 20_000
COMPARED_SCENES = 50
LONG_SCENES = 5

SCENES: dict[str, dict[str, Any]] = {
    "circle": {"n": 40, "beta": 64.0, "t": 20.0, "frames": 12, "seed": 3},
    "linear": {"n": 30, "beta": 9.0, "t": 15.0, "frames": 9, "clock": "linear", "seed": 1},
    "sphere": {"n": 40, "d": 3, "beta": 20.0, "t": 50.0, "frames": 10, "seed": 4},
    "window": {"n": 30, "d": 3, "beta": 4.0, "t": 30.0, "frames": 8, "mask": {"window": 5}, "seed": 7},
    "full": {"n": 30, "d": 2, "beta": 16.0, "t": 30.0, "frames": 8, "mask": "full", "seed": 2},
    "repulsion": {"n": 30, "d": 3, "beta": 9.0, "t": 10.0, "frames": 8, "V": {"preset": "minus-identity"}},
    "row3": {"n": 25, "d": 5, "beta": 8.0, "t": 20.0, "frames": 8, "V": {"preset": "row3"}, "seed": 5},
    "turning": {"n": 20, "d": 3, "beta": 6.0, "t": 12.0, "frames": 8, "V": {"preset": "complex"}},
    "gaussian": {
        "n": 16,
        "d": 4,
        "beta": 3.0,
        "t": 10.0,
        "frames": 8,
        "V": {"preset": "gaussian", "seed": 1},
        "Q": {"preset": "gaussian", "seed": 2},
        "K": {"preset": "mirror"},
    },
    "eight": {"n": 30, "d": 8, "beta": 12.0, "t": 60.0, "frames": 8, "V": {"preset": "head", "seed": 3}},
    "cap": {"n": 40, "d": 4, "beta": 40.0, "t": 30.0, "frames": 8, "start": {"kind": "cap", "angle": 0.5}},
    "planted": {
        "n": 40,
        "d": 3,
        "beta": 50.0,
        "t": 100.0,
        "frames": 8,
        "start": {"kind": "planted", "clusters": 5, "spread": 0.2},
        "tolerance": 1e-6,
    },
    "moved": {
        "n": 2,
        "d": 2,
        "beta": 10.0,
        "t": 100.0,
        "frames": 12,
        "moved": {"0": [1.0, 0.0], "1": [0.3623577544766736, 0.9320390859672263]},
        "K": {"matrix": [[1.0, 0.5], [0.0, 1.0]]},
        "c": 1.0,
    },
    "alone": {
        "n": 1,
        "d": 3,
        "beta": 0.0,
        "t": 1e3,
        "frames": 5,
        "V": {"matrix": [[1, 2, 0], [0, 1, 0], [0, 0, 0.5]]},
    },
}

MERGING: dict[str, Any] = {"n": 60, "d": 3, "beta": 16.0, "t": 1e10, "frames": 80}

MATRICES: dict[str, list[list[float]]] = {
    "double": [[2, 1, 0], [0, 2, 0], [0, 0, 2]],
    "two equal": [[1, 0, 0.3], [0, 1, 0], [0, 0, 0.2]],
    "kept complement": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.2, 0.1], [0, 0, -0.1, 0.3]],
    "steep complement": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.2, 9.0], [0, 0, 0, 0.3]],
    "two pairs": [[0.5, -1, 0, 0], [1, 0.5, 0, 0], [0, 0, 0.5, -2], [0, 0, 2, 0.5]],
    "pair defective": [[0, -1, 1, 0], [1, 0, 0, 1], [0, 0, 0, -1], [0, 0, 1, 0]],
    "negative": [[-2, 0.4], [0.1, -1]],
    "zero": [[0, 0], [0, 0]],
    "nilpotent": [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
    "large": [[3e200, 1e200], [0, 1e200]],
}
_I2, _ROW_3 = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.4]]
DOUBTFUL: dict[str, tuple[list[list[float]], list[list[float]], list[list[float]]]] = {  # Q, K, V
    "proved": ([[2.0, 0.0], [0.0, 2.0]], _I2, _ROW_3),
    "proved, turned alike": ([[0.0, -1.0], [1.0, 0.0]], [[0.0, -1.0], [1.0, 0.0]], _ROW_3),
    "negative c": ([[-1.0, 0.0], [0.0, -1.0]], _I2, _ROW_3),
    "K turned": (_I2, [[0.0, -1.0], [1.0, 0.0]], _ROW_3),
    "not symmetric": (_I2, _I2, [[1.0, 0.3], [0.0, 0.4]]),
}
TYPED = {
    "2.0": 3,
    "identity": 3,
    "-identity": 2,
    "0.5*identity": 4,
    "diag(1, 1, -2)": 3,
    "[1, 2]": 2,
    "[[1, 2], [3, 4]]": 2,
    "row3": 5,
    "gaussian(7)": 3,
    "row2": 2,
    "diag(1, 2)": 3,
    "[[1, 2], [3]]": 2,
    "row3(1)": 3,
    "no such": 2,
    "1e400": 2,
}


def record() -> dict[str, Any]:
    """All recorded cases."""
    return {
        "random": [random_case(seed) for seed in SEEDS],
        "matrices": list(_named()),
        "typed": list(_typed()),
        "spectra": list(_spectra()),
        "scenes": [scene_case(name) for name in SCENES],
        "mergers": mergers_case(),
    }


def random_case(seed: int) -> dict[str, Any]:
    """What NumPy draws: numbers in full, and all bits of many together."""
    rng = np.random.default_rng(seed)
    uniform = rng.random(3).tolist()
    normal = np.random.default_rng(seed).standard_normal(MANY_DRAWS)
    bits = int(np.bitwise_xor.reduce(normal.view(np.uint64)))
    return {
        "seed": seed,
        "uniform": uniform,
        "normal": normal[:5].tolist(),
        "many": MANY_DRAWS,
        "xor": f"{bits:016x}",
    }


def scene_case(name: str) -> dict[str, Any]:
    """A scene, what the page is told of it, its start, its end, what is measured, and its lines of Python."""
    scene = parse_scene(SCENES[name])
    prepared = prepare_scene(scene)
    begun = begun_message(prepared, 1)
    run = _reference(scene)
    measured = measure(run.x, begun)
    assert measured is not None
    return {
        "name": name,
        "scene": {**scene.plain(), "moved": SCENES[name].get("moved", {})},  # as the page asks
        "times": prepared.times.tolist(),
        "start": prepared.x0.tolist(),
        "begun": begun,
        "end": run.x[-1].round(12).tolist(),
        "middle": run.x[len(run.x) // 2].round(12).tolist(),
        "labels": measured.labels.tolist(),
        "consumed_renyi": _listed(measured.consumed_renyi),
        "consumed_strong": _listed(measured.consumed_strong),
        "directions": _listed(measured.directions),
        "python": python_code(scene),
    }


def mergers_case() -> dict[str, Any]:
    """The clusters of all frames of a whole life, and the merges that nc.merges finds between the frames."""
    scene = parse_scene(MERGING)
    prepared = prepare_scene(scene)
    run = simulate(scene.model, scene.x0, save=scene.times, threads=1, **scene.settings)
    measured = measure(run.x, begun_message(prepared, 1))
    assert measured is not None
    found = nc.merges(run)
    return {
        "t": scene.times.tolist(),
        "labels": measured.labels.tolist(),
        "radius": found.radius,
        "t_f": found.t_f,
        "events": [[event.time, event.lost, event.into, event.left] for event in found],
    }


def tableau_text() -> str:
    """The source of the page's tableau."""
    table = dormand_prince_8()
    names = ("A", "B", "E", "E_low", "gap", "extra", "P", "last_term")
    return "\n".join(
        [
            "/* eslint-disable max-len */",
            "/**",
            " * Dormand and Prince's method of order 8(5,3), Hairer's version, as in `integrate.tableau`.",
            " * Written by tests/support/engine_cases.py; explorer/test_page_engine.py holds it to that.",
            " */",
            "",
            "// prettier-ignore",
            "export const TABLEAU = {",
            *(f"  {name}: {json.dumps(np.asarray(getattr(table, name)).tolist())}," for name in names),
            f"  order: {table.order},",
            f"  max_stable_decay: {table.max_stable_decay},",
            "};",
            "",
        ]
    )


def _listed(array: Any) -> Any:
    return None if array is None else array.tolist()


def _reference(scene: Scene) -> Run:
    """The run at a tolerance so small that its own error does not count."""
    return simulate(
        scene.model, scene.x0, scene.t, save=scene.times, rtol=1e-13, atol=1e-15, method="explicit", threads=1
    )


def _named() -> Iterator[dict[str, Any]]:
    for entry in MENU:
        for d in (2, 3, 5, 8):
            if d >= NAMED[entry.name].least:
                choice = {"preset": entry.name, **({"seed": d} if NAMED[entry.name].random else {})}
                yield {"choice": choice, "d": d, "M": chosen_matrix(choice, d).tolist()}


def _typed() -> Iterator[dict[str, Any]]:
    for text, d in TYPED.items():
        try:
            yield {"text": text, "d": d, "choice": matrix_choice("V", text, d)}
        except InputError:
            yield {"text": text, "d": d, "choice": None}


def _spectra() -> Iterator[dict[str, Any]]:
    named = {
        f"{name} {d}": named_V(name, d) for name in NAMED for d in (2, 3, 6, 8) if d >= NAMED[name].least
    }
    rng = np.random.default_rng(0)
    turned = {}
    for name in ("two equal", "pair defective", "double"):  # the same seen from elsewhere
        M = np.array(MATRICES[name], dtype=float)
        U = np.linalg.qr(rng.standard_normal(M.shape))[0]
        turned[f"{name}, turned"] = (U @ M @ U.T).tolist()
    for name, V in {**MATRICES, **turned, **named}.items():
        yield {"name": name, "V": V, **_told(nc.Attention(1.0, V=np.array(V, dtype=float)), len(V))}
    for name, (Q, K, V) in DOUBTFUL.items():
        yield {"name": name, "Q": Q, "K": K, "V": V, **_told(nc.Attention(1.0, Q, K, V), len(V))}


def _told(model: nc.Attention, d: int) -> dict[str, Any]:
    """What the page is told of V, and the point where all end, of a token that sees all axes."""
    facts = model_facts(model, 9, d)
    x1 = np.arange(1.0, d + 1.0) / np.linalg.norm(np.arange(1.0, d + 1.0))  # (d,)
    point = predicted_point(facts["spectrum"], np.array(facts["V"]), x1)
    return {"spectrum": facts["spectrum"], "predicted_point": point}


def named_V(name: str, d: int) -> list[list[float]]:
    """A matrix with a name, as rows."""
    return chosen_matrix({"preset": name, "seed": 3}, d).tolist()


# The error on fifty scenes


def compared_scenes() -> list[Scene]:
    """Scenes drawn by a fixed seed from all that the page computes; none is left out afterwards."""
    rng = np.random.default_rng(20)
    scenes = []
    for number in range(COMPARED_SCENES):
        d = int(rng.integers(2, 9))
        presets = [name for name in NAMED if d >= NAMED[name].least]
        matrices = {
            name: {"preset": preset, **({"seed": int(rng.integers(100))} if NAMED[preset].random else {})}
            for name, preset in zip(
                "VQK",
                ["identity" if rng.random() < 0.5 else str(rng.choice(presets)) for _ in range(3)],
                strict=True,
            )
        }
        starts: list[dict[str, Any]] = [
            {"kind": "uniform"},
            {"kind": "cap", "angle": float(rng.uniform(0.2, 3.0))},
            {"kind": "planted", "clusters": 5, "spread": 0.3},
        ]
        masks: list[Any] = ["causal", "causal", "full", {"window": int(rng.integers(2, 30))}]
        table = {
            "n": int(rng.integers(5, 201)),
            "d": d,
            "beta": float(np.exp(rng.uniform(0.0, np.log(200.0)))),
            "t": float(np.exp(rng.uniform(0.0, np.log(200.0)))),
            "frames": 20,
            "clock": str(rng.choice(["log", "linear"])),
            "seed": number,
            "mask": masks[int(rng.integers(4))],
            "start": starts[int(rng.integers(3))],
            "tolerance": float(10.0 ** -rng.integers(4, 11)),
            **matrices,
        }
        scenes.append(parse_scene(table))
    return scenes


def long_scenes() -> list[Scene]:
    """Causal runs so long that Python leaves its explicit solver, drawn by a fixed seed."""
    rng = np.random.default_rng(21)
    return [
        parse_scene(
            {
                "n": int(rng.integers(20, 101)),
                "d": int(rng.integers(2, 5)),
                "beta": float(np.exp(rng.uniform(np.log(4.0), np.log(100.0)))),
                "t": float(np.exp(rng.uniform(np.log(1e3), np.log(1e5)))),
                "frames": 30,
                "seed": number,
                "tolerance": float(10.0 ** -rng.integers(6, 11)),
            }
        )
        for number in range(LONG_SCENES)
    ]


def compare(scenes: list[Scene]) -> None:
    """Print, scene by scene and together, how far page and Python are from the truth and from each other."""
    tasks = json.dumps([scene.plain() for scene in scenes])
    subprocess.run(["npx", "tsc", "-p", "tsconfig.test.json"], cwd=WEB, check=True, capture_output=True)
    done = subprocess.run(
        ["node", "node_modules/.cache/tests/tests/engine_runs.js"],
        input=tasks,
        cwd=WEB,
        check=True,
        capture_output=True,
        text=True,
    )
    results = json.loads(done.stdout)
    rows = []
    for scene, result in zip(scenes, results, strict=True):
        page = np.array(result["x"]).reshape(-1, scene.n, scene.d)
        truth = _reference(scene).x
        python = simulate(scene.model, scene.x0, save=scene.times, threads=1, **scene.settings).x
        errors = [
            float(np.linalg.norm(a - b, axis=-1).max())
            for a, b in ((page, truth), (python, truth), (page, python))
        ]
        rows.append((scene.tolerance, *errors, result["seconds"]))
        print(
            f"{scene.n:4d} {scene.d} beta={scene.beta:6.1f} t={scene.t:6.1f} tol={scene.tolerance:.0e}"
            f" page {errors[0]:.1e} python {errors[1]:.1e} apart {errors[2]:.1e} {result['seconds']:.2f} s"
            f" {result['status']}"
        )
    table = np.array(rows)
    ratio = table[:, 1:4] / table[:, :1]
    for name, column in zip(("page", "Python", "apart"), ratio.T, strict=True):
        print(
            f"{name:8s} error / tolerance: median {np.median(column):.2g}, 90 %"
            f" {np.quantile(column, 0.9):.2g}, largest {column.max():.2g}"
        )
    print(
        f"page no worse than twice Python's error, or within the tolerance: "
        f"{int(((table[:, 1] <= 2 * table[:, 2]) | (ratio[:, 0] <= 1)).sum())} of {len(table)}"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        CASES.write_text(
            json.dumps(record(), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
        TABLEAU.write_text(tableau_text(), encoding="utf-8")
        print(f"wrote {CASES}, {CASES.stat().st_size / 1e3:.0f} kB, and {TABLEAU}")
    elif sys.argv[1:] == ["compare"]:
        compare(compared_scenes())
    elif sys.argv[1:] == ["long"]:
        compare(long_scenes())
    else:
        sys.exit(__doc__)
