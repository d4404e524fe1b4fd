"""The largest exponent of a run, free of the luck of the largest of many; what cannot be told from zero."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Parameters
from nucleate.papers.core.numbers import Number
from nucleate.papers.open_questions.clouds.data import table
from nucleate.papers.open_questions.clouds.drawn import Draw
from nucleate.papers.open_questions.clouds.late_runs import late_halves

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "RESTING",
    "held_out",
    "late_means",
    "of_kind",
    "of_runs",
    "resolution",
    "rule_hits",
    "seed_means",
    "seed_share",
]

RESTING = 1e-6  # a token that moves less than this between two frames at the end rests


def held_out(first: Array, second: Array) -> Array:
    """The exponent, in the second half of the window, of the token whose exponent was largest in the first:
    (runs, n) twice -> (runs,)."""
    return np.asarray(second[np.arange(len(first)), first.argmax(1)])


def of_runs(
    data: Data, p: Parameters, names: list[str], chosen: Callable[[Draw], bool] = lambda draw: True
) -> tuple[list[Draw], Array]:
    """The chosen runs of some sets, and the held-out exponent of each, (runs,)."""
    draws: list[Draw] = []
    values = []
    for name in names:
        every = table(p, name)
        keep = np.array([chosen(draw) for draw in every], dtype=bool)
        found = held_out(data[name]["first"].values, data[name]["second"].values)
        draws += [draw for draw, kept in zip(every, keep, strict=True) if kept]
        values.append(found[keep])
    return draws, np.concatenate(values)


def of_kind(
    data: Data, p: Parameters, names: list[str], kind: str, value: Callable[["Dataset"], Array]
) -> tuple[list[Draw], Array]:
    """The runs of one kind of some sets, and what `value` makes of each, (runs,)."""
    draws = [draw for name in names for draw in table(p, name)]
    values = np.concatenate([value(data[name]) for name in names])
    keep = np.array([draw.kind == kind for draw in draws])
    return [draw for draw, kept in zip(draws, keep, strict=True) if kept], values[keep]


def late_means(data: Data, name: str) -> Array:
    """The mean exponent of the second half of the tokens, in both halves of the window, (runs, 2)."""
    return late_halves(data[name], data[name].sizes["token"])


def resolution(data: Data, p: Parameters) -> float:
    """The largest held-out exponent of runs that cannot be chaotic, at least 0."""
    return max(0.0, float(of_runs(data, p, ["circle", "gradient"])[1].max()))


def seed_means(draws: list[Draw], values: Array) -> Array:
    """The mean over beta for every seed and dimension, which share V and start: (runs,) -> (groups,)."""
    groups: dict[tuple[int, int, str], list[float]] = {}
    for draw, value in zip(draws, values, strict=True):
        groups.setdefault((draw.seed, draw.d, draw.kind), []).append(float(value))
    return np.array([np.mean(one) for one in groups.values()])


def seed_share(draws: list[Draw], hits: NDArray[np.bool_], about: str) -> Number:
    """A share of runs.  Its interval is Clopper's and Pearson's for as many trials as there are seeds,
    dimensions and kinds, as if all beta of one went the same way, which is the widest."""
    from scipy.stats import beta

    trials = len({(draw.seed, draw.d, draw.kind) for draw in draws})
    share = float(hits.mean())
    good, bad = share * trials, (1.0 - share) * trials
    low = 0.0 if good == 0.0 else float(beta.ppf(0.025, good, bad + 1.0))
    high = 1.0 if bad == 0.0 else float(beta.ppf(0.975, good + 1.0, bad))
    how = f"95 % interval, Clopper and Pearson with {trials} trials"
    return Number(share, about, low, high, how, None, (int(hits.sum()), len(hits)))


def rule_hits(
    feature: NDArray[np.bool_], chaotic: NDArray[np.bool_], fit: NDArray[np.bool_]
) -> tuple[bool, NDArray[np.bool_], NDArray[np.bool_]]:
    """A rule from a feature of V, and the best that pays no heed to it, both made from the runs `fit`:
    whether the feature makes a difference there, and which of the other runs each gets right."""
    constant = bool(chaotic[fit].mean() > 0.5)
    told = np.full(len(chaotic), constant)
    for value in (False, True):
        some = feature == value
        if (some & fit).any():
            told[some] = chaotic[some & fit].mean() > 0.5
    test = ~fit
    return bool((told != constant).any()), (told == chaotic)[test], (chaotic == constant)[test]
