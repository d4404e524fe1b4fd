"""Sets of runs of 128 tokens, kind of V by kind, each on the same seeds as general V at β = 16, which the
measure of these runs has to find chaotic.

V, Q, K and start belong to the seed: general V is the same with Q = K = I and with drawn ones, and at every
β. Each set and β has runs of its own that cannot be chaotic, and so a limit of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.item import Parameters
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.clouds.drawn import Draw, drawn_model
from nucleate.papers.open_questions.clouds.late import Cell
from nucleate.papers.open_questions.clouds.late_runs import (
    cannot_be_chaotic,
    late_halves,
    late_table,
    limit_above,
    one_late,
)

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = [
    "KIND_SETS",
    "KindSet",
    "kind_late",
    "kind_limits",
    "late_speed",
    "null_limit",
    "null_rows",
    "run_kinds",
]

RUNS_PER_BLOCK = 8  # computed and stored at a time
CONTROL, CONTROL_BETA = "general", 16.0  # of whose V some are chaotic: what the measure has to find
TOKENS, T, SINCE, TOLERANCE = 128, 900.0, 300.0, 1e-4
DRAWS, NULL_DRAWS = 24, 6  # V and starts of a kind; of each kind that cannot be chaotic


@dataclass(frozen=True)
class KindSet:
    """Four kinds of V at one d and β, and the control."""

    d: int
    beta: float
    first_seed: int

    @property
    def control(self) -> Cell:
        """General V with Q = K = I at β = 16."""
        return Cell(CONTROL, self.d, CONTROL_BETA)

    @property
    def asked(self) -> list[Cell]:
        """The kinds that may have no chaotic clouds: all but the control."""
        kinds = ("general", "symmetric", "scores", "all")
        every = [Cell(kind, self.d, self.beta) for kind in kinds]
        return [cell for cell in every if cell != self.control]

    @property
    def betas(self) -> list[float]:
        """That of the kinds, and that of the control."""
        return sorted({self.beta, CONTROL_BETA})

    @property
    def parameters(self) -> Parameters:
        """Of the runs, as late_table reads them: kind, d, β, V and starts of every cell."""
        kinds = ("symmetric", "general", "all", "scores")
        cells: list[list[object]] = [[kind, self.d, self.beta, DRAWS] for kind in kinds]
        cells += [[*self.control, DRAWS]] * (self.beta != CONTROL_BETA)
        for beta in self.betas:
            cells += [["gradient", self.d, beta, NULL_DRAWS], ["general", 2, beta, NULL_DRAWS]]
        window = {"n": [32, 64, TOKENS], "t": T, "since": SINCE, "tol": TOLERANCE}
        return {"late": {"cells": cells, **window, "first_seed": self.first_seed}}


KIND_SETS = {
    "d8": KindSet(8, 16.0, 80_001),
    "d3": KindSet(3, 16.0, 81_001),
    "d4": KindSet(4, 16.0, 82_001),
    "beta1-d8": KindSet(8, 1.0, 83_001),
    "beta1-d4": KindSet(4, 1.0, 84_001),
}


def late_speed(draw: Draw, t: float) -> float:
    """The mean speed of the second half of the tokens at the time t."""
    from nucleate.attention import Attention, drift
    from nucleate.integrate.simulate import simulate
    from nucleate.sphere import uniform

    model = Attention(draw.beta, *drawn_model(draw.kind, draw.d, draw.seed))
    found = simulate(model, uniform(draw.n, draw.d, draw.seed), t, save=2)
    assert found.status == "done", f"{draw}: {found.status}"
    x = found.x[-1]  # (n, d)
    return float(np.linalg.norm(drift(model, x)[draw.n // 2 :], axis=-1).mean())


def run_kinds(workspace: "ItemWorkspace", name: str, progress: Callable[[float, float], object]) -> "Dataset":
    """Exponents of every token in both halves of the window, (runs, n), and the mean speed of late tokens
    where the window begins, (runs,); some runs at a time."""
    import xarray

    late, draws = workspace.parameters["late"], late_table(workspace.parameters)

    def block(numbers: range) -> "Dataset":
        found = in_threads(lambda i: one_late(late["t"], late["since"], late["tol"], draws[i]), list(numbers))
        halves = {half: np.stack([one[half] for one in found]) for half in ("first", "second")}
        speed = in_threads(lambda i: late_speed(draws[i], late["since"]), list(numbers))
        rows = {half: (("run", "token"), value) for half, value in halves.items()}
        return xarray.Dataset({**rows, "speed": ("run", np.array(speed))})

    return workspace.blocks(f"kinds-{name}", len(draws), RUNS_PER_BLOCK, block, "run", progress)


def kind_late(found: "Dataset", one: KindSet) -> Array:
    """The late exponent of every run in both halves of the window, (runs, 2)."""
    return late_halves(found, int(one.parameters["late"]["n"][-1]))


def null_rows(one: KindSet, beta: float) -> NDArray[np.intp]:
    """The runs that cannot be chaotic at this β."""
    draws = late_table(one.parameters)
    return np.flatnonzero([cannot_be_chaotic(draw) and draw.beta == beta for draw in draws])


def null_limit(one: KindSet, nulls: Array) -> float:
    """The limit that runs which cannot be chaotic make, (runs, 2)."""
    window = one.parameters["late"]
    return limit_above(nulls, window["since"], (window["t"] - window["since"]) / 2.0)


def kind_limits(found: "Dataset", one: KindSet) -> dict[float, float]:
    """Above which late exponents are taken for chaos at every β."""
    late = kind_late(found, one)
    return {beta: null_limit(one, late[null_rows(one, beta)]) for beta in one.betas}
