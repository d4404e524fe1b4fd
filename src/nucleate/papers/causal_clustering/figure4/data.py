"""Figure 4: the interaction function on a grid, with Lemma A.1's bounds, and where it is largest."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """h, its slope and the lemma's bounds on a grid, and where h is largest, found by searching."""
    return {"h": workspace.dataset("h", lambda: curve(workspace.parameters))}


def curve(p: "Parameters") -> "Dataset":
    """h and Lemma A.1's bounds, over distances; and over several beta the place of the maximum, by golden
    section and by the formula."""
    import xarray

    from nucleate.theory.interaction import (
        interaction,
        interaction_bounds,
        interaction_slope,
        strongest_distance,
    )

    x = np.linspace(0.0, np.pi, p["points"] + 1)[1:]  # (points,) without 0, where all is 0
    betas = np.asarray(p["betas"])
    lower, upper = interaction_bounds(x, p["beta"])
    found = [found_maximum(beta) for beta in betas]
    beyond = np.linspace(np.pi, 2.0 * np.pi, 401)[1:-1]  # (399,) without 2 pi, where sin is rounding
    small = np.linspace(0.01, 1.0, 100)[:-1]  # (99,) beta below 1
    return xarray.Dataset(
        {
            "h": ("x", interaction(x, p["beta"]), {"long_name": "interaction function"}),
            "g": ("x", interaction_slope(x, p["beta"]), {"long_name": "its slope"}),
            "lower": ("x", lower, {"long_name": "lower bound of Lemma A.1"}),
            "upper": ("x", upper, {"long_name": "upper bound of Lemma A.1"}),
            "searched": ("beta", found, {"long_name": "where h is largest, by golden section"}),
            "formula": (
                "beta",
                strongest_distance(betas),
                {"long_name": "tau*, by the formula of Lemma A.1"},
            ),
            "beyond_margin": (
                "beyond",
                printed_lower_margin(beyond, p["beta"]),
                {"long_name": "h minus the printed lower bound beyond pi"},
            ),
            "small_margin": (
                "small",
                printed_slope_margin(small),
                {"long_name": "g minus the second printed lower bound on it, at the worst x, for beta < 1"},
            ),
        },
        {"x": x, "beta": betas, "beyond": beyond, "small": small},
    )


def found_maximum(beta: float) -> float:
    """Where h is largest on (0, pi), by golden section: no formula is used."""
    from scipy.optimize import minimize_scalar

    return float(
        minimize_scalar(
            lambda x: -np.exp(-2.0 * beta * np.sin(x / 2.0) ** 2) * np.sin(x),
            bounds=(0.0, np.pi),
            method="bounded",
            options={"xatol": 1e-12},
        ).x
    )


def printed_lower_margin(x: np.ndarray, beta: float) -> np.ndarray:
    """h minus e^{-beta x^2/2} (x - x^3/6), as printed for all x > 0, in units of the size of the latter."""
    from nucleate.theory.interaction import interaction

    bound = np.exp(-beta * x**2 / 2.0) * (x - x**3 / 6.0)
    return np.asarray((interaction(x, beta) - bound) / np.abs(bound))


def printed_slope_margin(betas: np.ndarray) -> np.ndarray:
    """The least of g + beta x^2 e^{-beta x^2/2 + beta x^4/24} over 0 < x <= pi, for each beta."""
    from nucleate.theory.interaction import interaction_slope

    x = np.linspace(0.0, np.pi, 2001)[1:]  # (2000,)
    rows = [
        interaction_slope(x, beta) + beta * x**2 * np.exp(-beta * x**2 / 2.0 * (1.0 - x**2 / 12.0))
        for beta in betas
    ]
    return np.array([row.min() for row in rows])
