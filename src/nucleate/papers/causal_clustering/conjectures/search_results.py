"""What the items on the conjectures compute beside their random families: searches, the stored
counterexamples, and where the criterion holds."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.conjectures.counterexample_search import (
    REGIMES,
    Setting,
    other_equilibria,
    search,
)
from nucleate.papers.causal_clustering.conjectures.counterexamples import stored_counterexamples, verify
from nucleate.papers.causal_clustering.conjectures.equilibria import Plane, log_F
from nucleate.papers.causal_clustering.conjectures.exact_sinks import FAMILIES, exactly

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "CRITERION_BETAS",
    "criterion_on_diagonals",
    "exact_checks",
    "growth_elsewhere",
    "search_result",
    "verifications",
]

# the second entry of K^T Q = diag(1, a), for which the criterion is looked at; 1.5 lies between two of them
CRITERION_DIAGONALS = np.linspace(0.25, 3.15, 30)
CRITERION_BETAS = (0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 300.0)


def search_result(name: str, seed: int, rounds: int) -> "Dataset":
    """The equilibrium of least growth that a search in one regime finds."""
    import xarray

    found = search(next(regime for regime in REGIMES if regime.name == name), seed, rounds)
    return xarray.Dataset(
        {
            "growth": found.growth,
            "models": found.models,
            "equilibria": found.equilibria,
            "beta": found.setting.beta,
            "x": ("coordinate", found.x),
        }
    )


def verifications() -> "Dataset":
    """Every stored counterexample, verified, and what interval arithmetic proves of it (box_); `path` is the
    periodic orbit of the one that has one, `others` the tokens before it."""
    import xarray

    found = [verify(counterexample) for counterexample in stored_counterexamples()]
    orbits = [one for one in found if one.period > 0.0]
    columns = {
        name: ("counterexample", np.array([getattr(one, name) for one in found], dtype=np.float64))
        for name in ("off", "speed", "reached", "growth", "period", "holds")
    }
    columns |= {
        f"box_{name}": (
            "counterexample",
            np.array([getattr(one.box, name) for one in found], dtype=np.float64),
        )
        for name in ("holds", "rate", "off", "ball")
    }
    path = orbits[0].path if orbits else np.zeros((1, 3))
    others = orbits[0].x[:-1] if orbits else np.zeros((1, 3))
    return xarray.Dataset(
        {**columns, "path": (("at", "coordinate"), path), "others": (("token", "coordinate"), others)}
    )


def exact_checks() -> "Dataset":
    """What is shown in rational numbers of the sinks that can be checked by hand."""
    import xarray

    found = {sink.name: exactly(sink) for sink in FAMILIES}
    names = list(found[FAMILIES[0].name])
    shown = [[found[sink.name][name] for name in names] for sink in FAMILIES]
    return xarray.Dataset({"shown": (("family", "what"), np.array(shown, dtype=np.int8))})


def criterion_on_diagonals() -> "Dataset":
    """For K^T Q = diag(1, a): whether at some beta an equilibrium off the poles attracts, by looking at F."""
    import xarray

    phi = np.linspace(1e-4, np.pi / 2 - 1e-3, 4000)
    there = []
    for a in CRITERION_DIAGONALS:
        planes = [Plane(1.0, 0.0, 1.0, np.diag([1.0, a]), beta, np.eye(2)) for beta in CRITERION_BETAS]
        there.append(any(_attracts(log_F(plane, phi)) for plane in planes))
    return xarray.Dataset({"there": ("a", np.array(there, dtype=np.int8))}, {"a": CRITERION_DIAGONALS})


def _attracts(values: Array) -> bool:
    """Whether F, given by its logarithm, rises somewhere away from -xi where it is above 1: m r = F has a
    solution there for some second eigenvalue."""
    return bool(((np.diff(values) > 0.0) & (values[1:] > 0.0)).any())


def growth_elsewhere(models: int, seed: int) -> "Dataset":
    """Conjecture 2 with Gaussian Q and K, beta = 2: equilibria of a second token elsewhere than at p, and how
    perturbations grow there.

    With a the share of attention that goes to p, a perturbation along L grows like (1 - a)(lambda - w) where
    the token has a part across L, W z = w z there, and like a lambda at -p.
    """
    import xarray

    from nucleate.papers.causal_clustering.conjectures.random_models import FAMILIES_2, matrices
    from nucleate.papers.core.interruption import go_on
    from nucleate.sphere import uniform
    from nucleate.theory.atlas import atlas

    family = next(one for one in FAMILIES_2 if one.name == "gaussian")
    beta, starts = 2.0, uniform(60, family.d, seed)
    V, Q, K = matrices(family, seed, range(models))
    assert Q is not None
    assert K is not None
    rows = []
    for i in range(models):
        go_on()
        L = atlas(V[i]).basis  # (d, 2)
        p, A = L[:, 0], K[i].T @ Q[i]
        x, growth, _ = other_equilibria(Setting(V[i], A, beta, p[None], np.ones(1), p[None]), starts)
        for at, rate in _distinct_equilibria(x, growth):
            a = 1.0 / (1.0 + np.exp(beta * float((at - p) @ A @ at)))
            z = at - L @ (L.T @ at)
            opposite = float(np.linalg.norm(z)) < 1e-6
            w = float(z @ V[i] @ z / (z @ z)) if not opposite else np.nan
            rows.append((rate, a if opposite else (1.0 - a) * (1.0 - w), opposite))
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return xarray.Dataset(
        {
            name: ("equilibrium", np.array(column, dtype=np.float64))
            for name, column in zip(("growth", "bound", "opposite"), columns, strict=True)
        }
    )


def _distinct_equilibria(x: Array, growth: Array) -> list[tuple[Array, float]]:
    """Each equilibrium once."""
    distinct: list[tuple[Array, float]] = []
    for at, rate in zip(x, growth, strict=True):
        if all(np.linalg.norm(at - other) > 1e-6 for other, _ in distinct):
            distinct.append((at, float(rate)))
    return distinct
