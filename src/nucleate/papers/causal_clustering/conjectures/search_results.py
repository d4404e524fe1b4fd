"""What the items on the conjectures compute beside their random families: searches, replays, and where the
criterion holds."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.conjectures.counterexample_search import (
    REGIMES,
    Setting,
    rests,
    searched,
)
from nucleate.papers.causal_clustering.conjectures.counterexamples import examples, replay
from nucleate.papers.causal_clustering.conjectures.equilibria import Plane, level

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["SHARP", "criterion", "leaving", "replays", "reported", "search_result"]

# second entry of K^T Q = diag(1, a) for which the criterion is looked at; 1.5 lies between two of them
DIAGONAL = np.linspace(0.25, 3.15, 30)
SHARP = (0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 300.0)  # values of beta there


def reported(starts: int, seed: int) -> "Dataset":
    """Where the second token of the first counter-example ends, from many uniform starts."""
    import xarray

    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    example = next(one for one in examples() if one.name == "reported")
    start = np.stack([uniform(2, 2, stream(seed, i)) for i in range(starts)])  # (b, 2, 2)
    x = finished(simulate(example.model, start, example.t, save=[example.t])).x[:, -1]  # (b, 2, 2)
    return xarray.Dataset({"x": (("run", "token", "coordinate"), x)})


def search_result(name: str, seed: int, rounds: int) -> "Dataset":
    import xarray

    found = searched(next(regime for regime in REGIMES if regime.name == name), seed, rounds)
    return xarray.Dataset(
        {
            "growth": found.growth,
            "models": found.models,
            "rests": found.rests,
            "beta": found.setting.beta,
            "x": ("coordinate", found.x),
        }
    )


def replays() -> "Dataset":
    """Every counter-example that is kept, followed and checked; `path` is the way of the last token, once
    round, of the one that never rests."""
    import xarray

    found = [replay(example) for example in examples()]
    rounds = [one for one in found if one.period > 0.0]
    columns = {
        name: ("example", np.array([getattr(one, name) for one in found], dtype=np.float64))
        for name in ("off", "speed", "reached", "growth", "period", "holds")
    }
    path = rounds[0].path if rounds else np.zeros((1, 3))
    others = rounds[0].x[:-1] if rounds else np.zeros((1, 3))
    return xarray.Dataset(
        {**columns, "path": (("at", "coordinate"), path), "others": (("token", "coordinate"), others)}
    )


def criterion() -> "Dataset":
    """For K^T Q = diag(1, a): whether at some beta there is a rest off the poles that attracts, by looking at
    F."""
    import xarray

    phi = np.linspace(1e-4, np.pi / 2 - 1e-3, 4000)
    there = []
    for a in DIAGONAL:
        planes = [Plane(1.0, 0.0, 1.0, np.diag([1.0, a]), beta, np.eye(2)) for beta in SHARP]
        there.append(any(_attracts(level(plane, phi)) for plane in planes))
    return xarray.Dataset({"there": ("a", np.array(there, dtype=np.int8))}, {"a": DIAGONAL})


def _attracts(log_F: Array) -> bool:
    """Whether F rises somewhere away from -xi where it is above 1: m r = F has a solution there for some
    second eigenvalue."""
    return bool(((np.diff(log_F) > 0.0) & (log_F[1:] > 0.0)).any())


def leaving(models: int, seed: int) -> "Dataset":
    """Conjecture 2 with Gaussian Q and K, beta = 2: where a second token could rest elsewhere than at p, and
    how pushes grow there.

    With a the share of attention that goes to p, a push along L grows like (1 - a)(lambda - w) where the
    token has a part across L, W z = w z there, and like a lambda at -p.
    """
    import xarray

    from nucleate.papers.causal_clustering.conjectures.random_models import CONJECTURE2, matrices
    from nucleate.sphere import uniform
    from nucleate.theory.atlas import atlas

    kind = next(one for one in CONJECTURE2 if one.name == "gaussian")
    beta, starts = 2.0, uniform(60, kind.d, seed)
    V, Q, K = matrices(kind, seed, range(models))
    assert Q is not None
    assert K is not None
    rows = []
    for i in range(models):
        L = atlas(V[i]).basis  # (d, 2)
        p, A = L[:, 0], K[i].T @ Q[i]
        x, growth, _ = rests(Setting(V[i], A, beta, p[None], np.ones(1), p[None]), starts)
        for at, rate in _distinct(x, growth):
            a = 1.0 / (1.0 + np.exp(beta * float((at - p) @ A @ at)))
            z = at - L @ (L.T @ at)
            opposite = float(np.linalg.norm(z)) < 1e-6
            w = float(z @ V[i] @ z / (z @ z)) if not opposite else np.nan
            rows.append((rate, a if opposite else (1.0 - a) * (1.0 - w), opposite))
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return xarray.Dataset(
        {
            name: ("rest", np.array(column, dtype=np.float64))
            for name, column in zip(("growth", "bound", "opposite"), columns, strict=True)
        }
    )


def _distinct(x: Array, growth: Array) -> list[tuple[Array, float]]:
    """Each rest once."""
    kept: list[tuple[Array, float]] = []
    for at, rate in zip(x, growth, strict=True):
        if all(np.linalg.norm(at - other) > 1e-6 for other, _ in kept):
            kept.append((at, float(rate)))
    return kept
