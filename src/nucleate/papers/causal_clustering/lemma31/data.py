"""One token under random V with every kind of top: simulated, and by the exact flow (Lemma 3.1)."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

__all__ = ["FAST", "LATE", "LONG", "TOPS", "Top", "followed", "value"]

D = 6
GAPS = (0.3, 0.6)  # of the next real part below the top; all others are at least FURTHER below that
FURTHER = 0.4
# times gap, simulated: where the distance from L' has fallen to 1e-5 .. 1e-9
FAST = np.linspace(12.0, 21.0, 19)
# times gap, exact flow: where powers of t no longer count, and e^-600 is still a double
LONG = np.linspace(200.0, 600.0, 11)
LATE = np.geomspace(1e3, 1e6, 13)  # where the distance from L of a defective top falls like 1/t


@dataclass(frozen=True)
class Top:
    """A kind of top of the spectrum."""

    name: str
    words: str
    size: int  # dim L'
    inside: int  # dim L
    block: int  # r
    turns: bool = False


TOPS = (
    Top("simple", "simple", 1, 1, 1),
    Top("multiple", "twofold, semisimple", 2, 2, 1),
    Top("complex", "complex pair", 2, 2, 1, turns=True),
    Top("defective", "defective, r = 2", 2, 1, 2),
    Top("defective3", "defective, r = 3", 3, 1, 3),
    Top("complex_defective", "complex and defective, r = 2", 4, 2, 2, turns=True),
)


def value(top: Top, rng: np.random.Generator) -> tuple[Array, float, float]:
    """V with top 1, the gap below it, and how fast it turns.

    Block upper triangular, so that equal eigenvalues are equal to the last bit, with random entries above:
    eigenvectors lean.  L is spanned by the first unit vectors.
    """
    gap, speed = rng.uniform(*GAPS), rng.uniform(0.3, 1.0) if top.turns else 0.0
    below = 1.0 - gap - np.concatenate([[0.0], FURTHER + rng.random(D - top.size - 1)])  # (d - dim L',)
    V = np.triu(0.5 * rng.standard_normal((D, D)), 1)
    m = top.size
    V[:m, :m] = np.eye(m)
    step = 2 if top.turns else 1
    if top.turns:
        for i in range(0, m, 2):
            V[i, i + 1], V[i + 1, i] = -speed, speed
    if top.block > 1:
        V[np.arange(m - step), np.arange(step, m)] += rng.uniform(0.5, 1.5)
    V[np.arange(m, D), np.arange(m, D)] = below
    return V, gap, speed


def followed(desk: "Desk", top: Top, seed: int, runs: int) -> "Dataset":
    """All runs of a kind, from the disk or computed now."""
    return desk.dataset(top.name, partial(_followed, top, seed, runs))


def _followed(top: Top, seed: int, runs: int) -> "Dataset":
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream
    from nucleate.theory.flows import one_token

    drawn = [value(top, np.random.default_rng(stream(seed, run, 3))) for run in range(runs)]
    V = np.stack([one[0] for one in drawn])  # (b, d, d)
    start = np.stack([uniform(1, D, stream(seed, run)) for run in range(runs)])  # (b, 1, d)
    wide, long, late, wrong = [], [], [], []
    for i, (_, gap, _) in enumerate(drawn):
        model, times = Attention(1.0, V=V[i]), FAST / gap
        # (times, d)
        x = finished(
            simulate(model, start[i], times[-1], save=times, rtol=1e-12, atol=1e-13, method="explicit")
        ).x[:, 0]
        exact = one_token(V[i], start[i, 0], times)  # (times, d)
        wide.append(x)
        long.append(one_token(V[i], start[i, 0], LONG / gap))
        wrong.append(np.linalg.norm(x - exact, axis=-1).max())
        if top.block > 1:
            late.append(one_token(V[i], start[i, 0], LATE))
    tables: dict[str, Any] = {
        "V": (("run", "row", "column"), V),
        "gap": ("run", np.array([one[1] for one in drawn])),
        "speed": ("run", np.array([one[2] for one in drawn])),
        "x": (("run", "time", "coordinate"), np.stack(wide)),
        "long": (("run", "long_time", "coordinate"), np.stack(long)),
        "wrong": ("run", np.array(wrong)),
    }
    if top.block > 1:
        tables["late"] = (("run", "late_time", "coordinate"), np.stack(late))
    return xarray.Dataset(tables)
