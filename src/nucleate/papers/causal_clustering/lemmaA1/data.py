"""Lemma A.1: its inequalities proved on whole intervals, and its bounds on a grid."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.lemmaA1.proofs import proofs, second_bound_threshold

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["BOUNDS", "BOUND_ROUNDING", "distances", "grid", "margins", "proved", "run"]

# of a bound, in units of the sizes that cancel in it: some ten roundings, and beta x^2 <= 700 of them in the
# exponent do not count
BOUND_ROUNDING = 1e-14
BOUNDS = ("lower_h", "upper_h", "near_g", "far_g")
MINIMA_BEYOND_PI = 1.5 * np.pi + 2.0 * np.pi * np.arange(40)  # (40,) where sin x = -1


def run(workspace: "ItemWorkspace") -> "Data":
    """Proofs on intervals; margins on a grid; where the bounds cease to hold."""
    p = workspace.parameters
    proof = workspace.dataset("proofs", proved)
    workspace.progress(0.4, 1.0)
    return {"proofs": proof, "grid": workspace.dataset("grid", lambda: grid(p["betas"], p["points"]))}


def proved() -> "Dataset":
    """What is proved, in the order of PROOFS, and between which two beta the second bound on g begins
    to hold for every x."""
    import xarray

    found = list(proofs().values())
    false, true = second_bound_threshold()
    return xarray.Dataset(
        {
            "holds": ("claim", np.array([one.holds for one in found], dtype=np.int8)),
            "least": ("claim", np.array([one.least for one in found])),
            "pieces": ("claim", np.array([one.pieces for one in found])),
            "undecided": ("claim", np.array([one.undecided for one in found])),
            "far_false": ((), false, {"long_name": "a beta at which the second bound on g is refuted"}),
            "far_true": (
                (),
                true,
                {"long_name": "a beta at which it is proved for every x > 0, and so for all larger beta"},
            ),
        }
    )


def distances(beta: float, points: int) -> Array:
    """Half of them evenly over (0, pi], half by powers of ten from 0.02 of the natural length on."""
    least = 0.02 * min(1.0, beta**-0.5)
    return np.unique(
        np.concatenate(
            [np.linspace(0.0, np.pi, points // 2 + 1)[1:], np.geomspace(least, np.pi, points - points // 2)]
        )
    )


def margins(x: Array, beta: float) -> Array:
    """(4, x): by how much each of the BOUNDS holds, over the size of what is compared; as printed, with no
    regard to hypotheses."""
    from nucleate.theory.interaction import interaction, interaction_slope

    h, g = interaction(x, beta), interaction_slope(x, beta)
    with np.errstate(under="ignore"):
        low, high = np.exp(-beta * x**2 / 2.0), np.exp(-beta * x**2 / 2.0 * (1.0 - x**2 / 12.0))
        parts = [
            (h, low * (x - x**3 / 6.0)),
            (x * high, h),
            (g, low * (1.0 - x**2 / 2.0 - beta * x**2)),
            (g, -beta * x**2 * high),
        ]
        sizes = [x * high, x * high, high * (1.0 + beta * x**2), high * (1.0 + beta * x**2)]
        return np.array(
            [
                (above - below) / np.maximum(size, 1e-300)
                for (above, below), size in zip(parts, sizes, strict=True)
            ]
        )


def grid(betas: int, points: int) -> "Dataset":
    """Over many beta: how often each bound fails within its hypotheses, how often h turns, and how far the
    first bound on g reaches."""
    import xarray

    from nucleate.theory.interaction import interaction, strongest_distance

    beta = np.geomspace(1e-2, 1e4, betas)  # (betas,)
    fails, turns, reach = np.zeros((4, betas)), np.zeros(betas), np.zeros(betas)
    for i, b in enumerate(beta):
        x = distances(b, points)
        held = margins(x, b) > -BOUND_ROUNDING  # (4, x)
        where = [np.ones_like(x, dtype=bool)] * 2 + [x < (b + 0.5) ** -0.5, np.full(x.shape, b >= 1.0)]
        fails[:, i] = [(~ok & here).sum() for ok, here in zip(held, where, strict=True)]
        h = interaction(x, b)
        rising = np.diff(h[h > 1e-290]) > 0.0
        turns[i] = (rising[1:] != rising[:-1]).sum()
        reach[i] = x[np.argmin(held[2])] if not held[2].all() else np.inf
    X = np.linspace(np.pi / 2, np.pi, 402)[1:]  # (401,) cos is negative
    return xarray.Dataset(
        {
            "fails": (
                ("bound", "beta"),
                fails,
                {"long_name": "points at which the bound fails within its hypotheses"},
            ),
            "turns": ("beta", turns, {"long_name": "times that h turns on (0, pi)"}),
            "reach": (
                "beta",
                reach,
                {"long_name": "first x at which the first bound on g fails; infinity for none up to pi"},
            ),
            "tau": ("beta", strongest_distance(beta), {"long_name": "tau*"}),
            "beyond": (
                ("beta", "turn"),
                np.array([_lower_bound_fails(b) for b in beta]),
                {"long_name": "1 where the lower bound on h fails at (2k + 3/2) pi"},
            ),
            "far_beta": (
                "X",
                [_second_bound_beta(x) for x in X],
                {"long_name": "beta from which the second bound on g holds at this x"},
            ),
        },
        {"beta": beta, "X": X},
    )


def _lower_bound_fails(beta: float) -> Array:
    """Where the printed lower bound on h fails beyond pi, at x = (2k + 3/2) pi, by logarithms: e^{-beta} >
    e^{-beta x^2/2} (x^3/6 - x)."""
    # (40,)
    return np.asarray(
        -beta > -beta * MINIMA_BEYOND_PI**2 / 2.0 + np.log(MINIMA_BEYOND_PI**3 / 6.0 - MINIMA_BEYOND_PI),
        dtype=np.int8,
    )


def _second_bound_beta(x: float) -> float:
    """The beta at which F(beta, x) = beta (x^2 e^{beta r} - sin^2 x) + cos x is 0; F rises with beta."""
    from scipy.optimize import brentq

    r = x**4 / 24.0 - x**2 / 2.0 + 1.0 - np.cos(x)
    return float(brentq(lambda beta: beta * (x**2 * np.exp(beta * r) - np.sin(x) ** 2) + np.cos(x), 0.0, 2.0))
