"""A scene as the lines of Python that redo its run, to the last bit."""

from typing import Any

import numpy as np

from nucleate.checks import Array
from nucleate.explorer.matrices import chosen_matrix
from nucleate.explorer.scene import Scene
from nucleate.integrate.simulate import FIRST_LOG_TIME

__all__ = ["python_code"]

MAX_WRITTEN_DIMENSION = 4  # larger preset matrices are named, not written out


def python_code(scene: Scene) -> str:
    """About ten lines; run afterwards holds the frames."""
    lines = _start(scene)
    arguments, imports = [f"beta={scene.beta!r}"], []
    for name in "QKV":
        M = chosen_matrix(getattr(scene, name), scene.d)
        if not np.array_equal(M, np.eye(scene.d)):
            lines.append(f"{name} = {_written(getattr(scene, name), M)}")
            arguments.append(f"{name}={name}")
            imports += (
                ["from nucleate.parse.named_matrices import named_matrix"]
                if "named_matrix(" in lines[-1]
                else []
            )
    if scene.start["kind"] != "uniform":
        imports.append(f"from nucleate.explorer.start_positions import {scene.start['kind']}")
    if scene.mask != "causal":
        arguments.append(
            f"mask={scene.mask!r}"
            if isinstance(scene.mask, str)
            else f"mask=nc.Window({scene.mask['window']})"
        )
    lines += [
        f"model = nc.Attention({', '.join(arguments)})",
        f"times = {_times(scene)}",
        (
            f"run = nc.simulate(model, x0, t={scene.t!r}, save=times, rtol={scene.tolerance!r},"
            f" atol={scene.tolerance / 100.0!r})"
        ),
        "print(run)",
    ]
    return "\n".join(
        ["import numpy as np", "", "import nucleate as nc", *sorted(set(imports)), "", *lines, ""]
    )


def _start(scene: Scene) -> list[str]:
    size = f"n={scene.n}, d={scene.d}"
    rest = "".join(f", {key}={value!r}" for key, value in scene.start.items() if key != "kind")
    call = "nc.uniform" if scene.start["kind"] == "uniform" else scene.start["kind"]
    return [
        f"x0 = {call}({size}{rest}, seed={scene.seed})",
        *(f"x0[{token}] = {place!r}" for token, place in scene.moved.items()),
    ]


def _times(scene: Scene) -> str:
    if scene.clock == "linear":
        return f"np.linspace(0.0, {scene.t!r}, {scene.frames})"
    return (
        f"np.concatenate([[0.0], np.geomspace({min(FIRST_LOG_TIME, scene.t / 100.0)!r}, {scene.t!r},"
        f" {scene.frames - 1})])"
    )


def _written(spec: Any, M: Array) -> str:
    """A diagonal by its diagonal, a small matrix by its entries, a large preset by its name."""
    if np.array_equal(M, np.diag(np.diag(M))):
        return f"np.diag({np.diag(M).tolist()!r})"
    if "preset" in spec and len(M) > MAX_WRITTEN_DIMENSION:
        seed = f", seed={spec['seed']}" if "seed" in spec else ""
        return f'named_matrix("{spec["preset"]}", d={len(M)}{seed})'
    return f"np.array({M.tolist()!r})"
