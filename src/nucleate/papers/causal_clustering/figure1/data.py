"""Figures 1 and 6: tokens on the sphere for one value matrix V per panel, to t = 5000 as in the paper, and on
to the end."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from nucleate.integrate.run import Run
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["LAST_STRETCH", "PANELS", "Panel", "run", "run_panels"]

LAST_STRETCH = 10.0  # units of time that are saved closely at the end


@dataclass(frozen=True)
class Panel:
    """One value matrix."""

    name: str
    V: tuple[tuple[float, ...], ...]
    words: str  # what it stands for

    @property
    def matrix(self) -> Array:
        """V as an array (d, d)."""
        return np.array(self.V)

    @property
    def written(self) -> str:
        """V in one line."""
        V = self.matrix
        if np.array_equal(V, np.diag(np.diag(V))):
            return "V = diag(" + ", ".join(f"{v:g}" for v in np.diag(V)).replace("-", "−") + ")"
        return "V = [" + "; ".join("  ".join(f"{v:g}" for v in row) for row in V).replace("-", "−") + "]"


def end_time(p: "Parameters") -> float:
    """100 n e^{2 beta}: long after two nearly opposite clusters would have merged."""
    return float(100.0 * p["n"] * np.exp(2.0 * p["beta"]))


def run(workspace: "ItemWorkspace") -> "Data":
    """The panels of Figure 1."""
    return run_panels(workspace, PANELS)


def run_panels(workspace: "ItemWorkspace", panels: tuple[Panel, ...]) -> dict[str, "Run"]:
    """Every panel to t = 5000, once more with tighter tolerances, and from t = 5000 on to the end or as far
    as the steps go."""
    p = workspace.parameters
    data: dict[str, Run] = {}

    def follow(name: str, compute: "Callable[[], Run]") -> "Run":
        data[name] = workspace.run(name, compute)
        return data[name]

    for i, panel in enumerate(panels):
        name = panel.name
        first = follow(name, partial(_to_T, p, panel, 1e-8, _frames(p)))
        follow(f"{name}-careful", partial(_to_T, p, panel, 1e-10, np.array([0.0, p["T"]])))
        workspace.progress(i + 0.5, len(panels))
        if follow(f"{name}-end", partial(_to_end, p, panel, first, 1e-8)).done:
            follow(f"{name}-end-careful", partial(_to_end, p, panel, first, 1e-10))
        workspace.progress(i + 1.0, len(panels))
    return data


def _frames(p: "Parameters") -> Array:
    """Many at first, when tokens move fast, then by powers of ten, and the last stretch again closely, for
    tokens that reach no equilibrium."""
    T = p["T"]
    times = np.concatenate(
        [
            np.linspace(0.0, min(40.0, T), 201),
            np.geomspace(min(40.0, T), T, 60),
            np.linspace(max(T - LAST_STRETCH, 0.0), T, 51),
        ]
    )
    return np.unique(np.minimum(times, T))


def _to_T(p: "Parameters", panel: Panel, rtol: float, frames: Array) -> "Run":
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.sphere import uniform

    run = simulate(
        Attention(p["beta"], V=panel.matrix),
        uniform(p["n"], p["d"], p["seed"]),
        p["T"],
        save=frames,
        rtol=rtol,
        atol=rtol / 100,
    )
    return replace(run, notes={"start": "uniform(n, d, seed)", "seed": p["seed"], "panel": panel.words})


def _to_end(p: "Parameters", panel: Panel, first: "Run", rtol: float) -> "Run":
    """On from t = T, whose frame is the first; `t` goes on counting from the start."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate

    end = end_time(p) - p["T"]
    times = np.concatenate([np.linspace(0.0, 20.0, 101), np.geomspace(20.0, end, 120)[1:]])
    times[-1] = end
    model = Attention(p["beta"], V=panel.matrix)
    run = simulate(model, first.x[-1], end, save=times, rtol=rtol, atol=rtol / 100, max_steps=p["max_steps"])
    t, x = run.t, run.x
    if run.status == "max steps":  # no equilibrium: a last stretch that the eye can follow
        more = simulate(model, x[-1], LAST_STRETCH, save=51)
        t, x = np.append(t, t[-1] + more.t[1:]), np.concatenate([x, more.x[1:]])
    return replace(
        run, t=t + p["T"], x=x, notes={"start": "the last frame of the run before", "panel": panel.words}
    )


def _diagonal(a: float, b: float, c: float) -> tuple[tuple[float, ...], ...]:
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


PANELS = (
    Panel("row1", _diagonal(1.0, 1.0, 1.0), "row 1: λ_max > 0, d times"),
    Panel("row2", _diagonal(1.0, 1.0, 0.3), "row 2: λ_max > 0, twice"),
    Panel("row3", _diagonal(1.0, 0.5, 0.2), "row 3: λ_max > 0, once"),
    Panel("row4", _diagonal(-0.5, -0.5, -1.0), "row 4: λ_max < 0, twice"),
    Panel("row5", _diagonal(-0.5, -0.9, -1.0), "row 5: λ_max < 0, once"),
    Panel(
        "complex",
        ((0.8, -0.6, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 0.2)),
        "complex dominant eigenvalues, 0.8 ± 0.6i",
    ),
    Panel(
        "defective",
        ((1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.3)),
        "defective dominant eigenvalue, a Jordan block of size 2",
    ),
    Panel("zero", _diagonal(0.0, -0.4, -0.8), "λ_max = 0, once"),
)
