"""One token under random V with every kind of dominant eigenvalue: simulated, and by the exact flow."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["EXACT_TIMES", "KINDS", "POWER_LAW_TIMES", "SIMULATED_TIMES", "Dominant", "run", "value_matrix"]

DIMENSION = 8  # d
GAPS = (0.3, 0.6)  # from the dominant real part to the next; all others are at least NEXT_GAP below that
NEXT_GAP = 0.4
# times gap, simulated: where the distance from L' has fallen to 1e-5 .. 1e-9
SIMULATED_TIMES = np.linspace(12.0, 21.0, 19)
# times gap, exact flow: where powers of t no longer count, and e^-600 is still a double
EXACT_TIMES = np.linspace(200.0, 600.0, 11)
# where the distance from L of a defective eigenvalue falls like 1/t: a start that has little of the largest
# block takes long to come there
POWER_LAW_TIMES = np.geomspace(1e5, 1e8, 13)


@dataclass(frozen=True)
class Dominant:
    """A kind of dominant eigenvalue."""

    name: str
    words: str
    blocks: tuple[int, ...]  # sizes of its Jordan blocks, the largest first
    is_complex: bool = False

    @property
    def block(self) -> int:
        """r, the size of the largest Jordan block."""
        return self.blocks[0]

    @property
    def generalised_dimension(self) -> int:
        """dim L'."""
        return sum(self.blocks) * (1 + self.is_complex)

    @property
    def dimension(self) -> int:
        """dim L."""
        return self.blocks.count(self.block) * (1 + self.is_complex)


KINDS = (
    Dominant("simple", "simple", (1,)),
    Dominant("multiple", "twofold, semisimple", (1, 1)),
    Dominant("complex", "complex pair", (1,), is_complex=True),
    Dominant("defective", "one block of 2", (2,)),
    Dominant("defective3", "one block of 3", (3,)),
    Dominant("unequal", "blocks of 3, 2 and 1", (3, 2, 1)),
    Dominant("two_large", "blocks of 2, 2 and 1", (2, 2, 1)),
    Dominant("complex_defective", "complex, one block of 2", (2,), is_complex=True),
    Dominant("complex_unequal", "complex, blocks of 2 and 1", (2, 1), is_complex=True),
)


def value_matrix(kind: Dominant, rng: np.random.Generator) -> tuple[Array, float, float]:
    """V with dominant real part 1, the gap below it, and its imaginary part.

    Block upper triangular, so that equal eigenvalues are equal to the last bit, with random entries above, so
    that V is not normal.  First come the eigenvectors of all Jordan blocks, the largest blocks first, then
    the second vectors of those that have one, and so on: L is spanned by the first unit vectors.
    """
    gap, speed = rng.uniform(*GAPS), rng.uniform(0.3, 1.0) if kind.is_complex else 0.0
    m, size = kind.generalised_dimension, 1 + kind.is_complex
    below = 1.0 - gap - np.concatenate([[0.0], NEXT_GAP + rng.random(DIMENSION - m - 1)])  # (d - m,)
    V = np.triu(0.5 * rng.standard_normal((DIMENSION, DIMENSION)), 1)
    V[:m, :m] = np.eye(m)
    if kind.is_complex:
        for i in range(0, m, 2):
            V[i, i + 1], V[i + 1, i] = -speed, speed
    order = [
        (level, block) for level in range(kind.block) for block, r in enumerate(kind.blocks) if level < r
    ]
    for i, (level, block) in enumerate(order):
        if level > 0:
            before = order.index((level - 1, block))
            V[size * before : size * (before + 1), size * i : size * (i + 1)] += rng.uniform(
                0.5, 1.5
            ) * np.eye(size)
    V[np.arange(m, DIMENSION), np.arange(m, DIMENSION)] = below
    return V, gap, speed


def simulate_kind(kind: Dominant, seed: int, runs: int) -> "Dataset":
    """One token under random V of a kind: simulated, by the exact flow, and by how much the two differ."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream
    from nucleate.theory.flows import one_token

    drawn = [value_matrix(kind, np.random.default_rng(stream(seed, run, 3))) for run in range(runs)]
    V = np.stack([one[0] for one in drawn])  # (b, d, d)
    start = uniform(1, DIMENSION, seed, runs=runs)  # (b, 1, d)
    simulated, long, late, wrong = [], [], [], []
    for i, (_, gap, _) in enumerate(drawn):
        model, times = Attention(1.0, V=V[i]), SIMULATED_TIMES / gap
        # (times, d)
        x = uninterrupted(
            simulate(model, start[i], times[-1], save=times, rtol=1e-12, atol=1e-13, method="explicit")
        ).x[:, 0]
        exact = one_token(V[i], start[i, 0], times)  # (times, d)
        simulated.append(x)
        long.append(one_token(V[i], start[i, 0], EXACT_TIMES / gap))
        wrong.append(np.linalg.norm(x - exact, axis=-1).max())
        if kind.block > 1:
            late.append(one_token(V[i], start[i, 0], POWER_LAW_TIMES))
    tables: dict[str, Any] = {
        "V": (("run", "row", "column"), V),
        "gap": ("run", np.array([one[1] for one in drawn])),
        "speed": ("run", np.array([one[2] for one in drawn])),
        "x": (("run", "time", "coordinate"), np.stack(simulated)),
        "long": (("run", "long_time", "coordinate"), np.stack(long)),
        "wrong": ("run", np.array(wrong)),
    }
    if kind.block > 1:
        tables["late"] = (("run", "late_time", "coordinate"), np.stack(late))
    return xarray.Dataset(tables)


def run(workspace: "ItemWorkspace") -> "Data":
    """Every kind of dominant eigenvalue."""
    p, data = workspace.parameters, {}
    for i, kind in enumerate(KINDS):
        data[kind.name] = workspace.dataset(kind.name, partial(simulate_kind, kind, p["seed"], p["runs"]))
        workspace.progress(i + 1, len(KINDS))
    return data
