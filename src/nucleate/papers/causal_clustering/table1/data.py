"""Random value matrices, row by row of Table 1 and outside it, and the runs that go with them."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import all_in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = [
    "ATTENTIONS",
    "FAMILIES",
    "GAP",
    "SPREAD",
    "Family",
    "attention_matrix",
    "run",
    "value_matrix",
]

RUNS_PER_BLOCK = 250  # computed and stored at a time
FRAMES = 26  # over the last decade of time
# diagonals; d = 2, two tokens
MIN_RUNS = 5  # runs of any family
DIMENSION = 3  # d
OBLIQUENESS = 0.5  # of eigenvectors that are not orthogonal, as in nucleate.ensemble
GAP, SPREAD = 0.2, 1.5  # other eigenvalues are uniform on [lambda_max - GAP - SPREAD, lambda_max - GAP]
# K^T Q other than I that rows 4 and 5 are tried with, V being symmetric and negative
ATTENTIONS = {
    "minus-V": "KᵀQ = −V",
    "V": "KᵀQ = V",
    "reversed": "KᵀQ with the eigenvectors of −V and its eigenvalues in reverse order",
    "gaussian": "Gaussian Q and K",
}


@dataclass(frozen=True)
class Family:
    """Random V with one kind of dominant eigenvalue."""

    name: str
    words: str
    row: int | None
    dominant: str  # "real", "complex" or "defective"
    lambda_max: float
    multiplicity: int
    oblique: str  # "no", "half" or "all" of the runs have eigenvectors that are not orthogonal
    beta: float
    n: int = 16
    share: float = 1.0  # of the runs of a main family
    t: float | None = None  # instead of 100 n e^{2 beta}
    attention: str = "I"  # K^T Q: I, or one of ATTENTIONS
    again: bool = False  # other random V and starts, for what was seen in those of the same kind

    @property
    def end(self) -> float:
        """The last time."""
        return self.t or float(np.ceil(100.0 * self.n * np.exp(2.0 * self.beta)))

    def runs(self, many: int) -> int:
        """How many, if a main family has `many`."""
        return max(round(self.share * many), MIN_RUNS)


FAMILIES = (
    Family("row1", "row 1: λ_max > 0, d times", 1, "real", 1.0, 3, "no", 4.0),
    Family("row2", "row 2: λ_max > 0, twice", 2, "real", 1.0, 2, "half", 4.0),
    Family("row3", "row 3: λ_max > 0, once, V symmetric", 3, "real", 1.0, 1, "no", 4.0),
    Family("row3-oblique", "row 3: λ_max > 0, once, V not normal", 3, "real", 1.0, 1, "all", 0.5, t=1e4),
    Family("row4", "row 4: λ_max < 0, twice", 4, "real", -0.5, 2, "no", 4.0),
    Family("row5", "row 5: λ_max < 0, once", 5, "real", -0.5, 1, "no", 4.0),
    Family("row4-oblique", "row 4, eigenvectors not orthogonal", 4, "real", -0.5, 2, "all", 1.0),
    Family("row5-oblique", "row 5, eigenvectors not orthogonal", 5, "real", -0.5, 1, "all", 1.0, share=0.5),
    Family("row4-low-beta", "row 4 at β = 1", 4, "real", -0.5, 2, "no", 1.0, share=0.5),
    Family("row5-low-beta", "row 5 at β = 1", 5, "real", -0.5, 1, "no", 1.0, share=0.5),
    Family(
        "row4-high-beta",
        "row 4 at the β = 9 of Figure 1, not followed to the end",
        4,
        "real",
        -0.5,
        2,
        "no",
        9.0,
        share=0.5,
        t=1e6,
    ),
    Family(
        "row5-high-beta",
        "row 5 at the β = 9 of Figure 1, not followed to the end",
        5,
        "real",
        -0.5,
        1,
        "no",
        9.0,
        share=0.5,
        t=1e6,
    ),
    *(
        Family(
            f"row{row}-{attention}",
            f"row {row} with {words}",
            row,
            "real",
            -0.5,
            6 - row,
            "no",
            4.0,
            share=0.2,
            t=1e4,
            attention=attention,
        )
        for row in (4, 5)
        for attention, words in ATTENTIONS.items()
    ),
    *(
        Family(
            f"row{row}-V-again",
            f"row {row} with {ATTENTIONS['V']}, other V and starts",
            row,
            "real",
            -0.5,
            6 - row,
            "no",
            4.0,
            share=0.4,
            t=1e4,
            attention="V",
            again=True,
        )
        for row in (4, 5)
    ),
    Family("complex", "complex dominant eigenvalues", None, "complex", 1.0, 2, "half", 1.0, n=8, share=0.4),
    Family("defective", "defective dominant eigenvalue", None, "defective", 1.0, 2, "half", 4.0),
    Family("zero", "λ_max = 0", None, "real", 0.0, 1, "half", 4.0),
)


def _block(family: Family, seed: int, runs: range) -> "Dataset":
    """Some runs: V, the start, and the tokens over the last decade of time."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    start = np.stack([uniform(family.n, DIMENSION, stream(seed, run)) for run in runs])  # (b, n, d)
    V = np.stack([value_matrix(family, seed, run) for run in runs])  # (b, d, d)
    times = np.geomspace(family.end / 10.0, family.end, FRAMES)
    times[-1] = family.end
    A = np.stack([attention_matrix(family, one, seed, run) for one, run in zip(V, runs, strict=True)])
    loose = family.dominant == "complex"  # tokens that rotate need explicit steps to the end
    run = uninterrupted(
        simulate(
            Attention(family.beta, Q=None if family.attention == "I" else A, V=V),  # K = I
            start,
            family.end,
            save=times,
            rtol=1e-6 if loose else 1e-8,
            atol=1e-9 if loose else 1e-10,
        )
    )
    axes = ("run", "time", "token", "coordinate")
    return xarray.Dataset(
        {
            "V": (("run", "row", "column"), V),
            "A": (("run", "row", "column"), A, {"long_name": "K^T Q"}),
            "start": (("run", "token", "coordinate"), start),
            "x": (axes, run.x, {"long_name": "tokens over the last decade of time; NaN: not reached"}),
            "done": ("run", np.array([status == "done" for status in run.status], dtype=np.int8)),
        },
        {"time": times, "run": np.array(runs)},
    )


def value_matrix(family: Family, seed: int, run: int) -> Array:
    """V of one run: B T B^-1 with T block diagonal, the dominant block first, and B orthogonal or not."""
    from nucleate.studies.matrices import drawn
    from nucleate.studies.points import stream

    oblique = family.oblique == "all" or (family.oblique == "half" and run % 2 == 1)
    spec: dict[str, Any] = {
        "random": "real",
        "top": family.lambda_max,
        "multiplicity": family.multiplicity,
        "gap": GAP,
        "spread": SPREAD,
        "oblique": oblique,
    }
    if family.dominant == "real":
        V = drawn(spec, DIMENSION, [stream(seed, run, 3)])
        assert V is not None
        return np.asarray(V[0])
    rng = np.random.default_rng(stream(seed, run, 3))
    largest = family.lambda_max
    T = np.diag([largest, largest, largest - GAP - SPREAD * rng.random()])  # (d, d)
    T[0, 1] = rng.uniform(0.2, 1.0)
    if family.dominant == "complex":
        T[1, 0] = -T[0, 1]
    B = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0]
    if oblique:
        B = B @ (
            np.eye(DIMENSION) + OBLIQUENESS * rng.standard_normal((DIMENSION, DIMENSION)) / np.sqrt(DIMENSION)
        )
    return np.asarray(np.linalg.solve(B.T, (B @ T).T).T)


def attention_matrix(family: Family, V: Array, seed: int, run: int) -> Array:
    """A = K^T Q of one run, in which K = I."""
    from nucleate.studies.points import stream

    if family.attention == "I":
        return np.eye(DIMENSION)
    if family.attention in ("V", "minus-V"):
        return V if family.attention == "V" else -V
    if family.attention == "reversed":
        values, vectors = np.linalg.eigh(V)  # (d,), (d, d)
        return np.asarray((vectors * -values[::-1]) @ vectors.T)
    Q, K = np.random.default_rng(stream(seed, run, 4)).standard_normal((2, DIMENSION, DIMENSION))
    return np.asarray(K.T @ Q / DIMENSION)


def run(workspace: "ItemWorkspace") -> "Data":
    """All families, those with other Q and K among them; first those that take longest."""
    p = workspace.parameters

    def slow(family: Family) -> bool:
        return family.dominant == "complex" or (family.oblique == "all" and family.lambda_max < 0.0)

    jobs = {
        family.name: partial(
            workspace.blocks,
            family.name,
            family.runs(p["runs"]),
            RUNS_PER_BLOCK,
            partial(_block, family, p["seed"] + family.again),
        )
        for family in sorted(FAMILIES, key=slow, reverse=True)
    }
    return all_in_threads(jobs, workspace.progress)
