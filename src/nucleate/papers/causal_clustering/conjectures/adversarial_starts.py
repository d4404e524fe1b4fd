"""Starts chosen to stay away from the poles as long as they can: evolution by small random changes, then
followed to the end."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.attention import Attention
    from nucleate.papers.causal_clustering.conjectures.random_models import ModelFamily

__all__ = ["LOOK_TIME", "evolve_starts"]

LOOK_TIME = 60.0  # when the distance from the poles is made as large as possible
CHILDREN = 8  # changed starts that are tried in every round, for every model


def evolve_starts(family: "ModelFamily", seed: int, models: int, rounds: int) -> "Dataset":
    """For some models of a family: how far from the poles an evolved start still is at LOOK_TIME, a random
    one, and where the evolved one ends."""
    import xarray

    from nucleate.attention import Attention  # not only a type here
    from nucleate.papers.causal_clustering.conjectures.random_models import matrices
    from nucleate.sphere import retract, uniform
    from nucleate.studies.points import stream

    n, d = family.n, family.d
    V, Q, K = matrices(family, seed, range(models))
    rng = np.random.default_rng(stream(seed, models, 7))
    best = uniform(n, d, seed, runs=models)  # (b, n, d)
    repeated = [None if M is None else np.repeat(M, CHILDREN, axis=0) for M in (Q, K, V)]  # (b c, d, d)
    model = Attention(family.beta, Q=Q, K=K, V=V)
    children_model = Attention(family.beta, Q=repeated[0], K=repeated[1], V=repeated[2])
    score = first = _distance_at(model, V, best, LOOK_TIME)  # (b,)
    for i in range(rounds):
        size = 0.5 * 0.01 ** (i / rounds)  # from bold to careful
        # (b, c, n, d)
        children = retract(best[:, None] + size * rng.standard_normal((models, CHILDREN, n, d)))
        scores = _distance_at(
            children_model, np.repeat(V, CHILDREN, axis=0), children.reshape(-1, n, d), LOOK_TIME
        ).reshape(models, CHILDREN)
        pick = scores.argmax(1)  # (b,)
        better = scores.max(1) > score
        best = np.where(better[:, None, None], children[np.arange(models), pick], best)
        score = np.maximum(score, scores.max(1))
    return xarray.Dataset(
        {
            "random": ("run", first),
            "evolved": ("run", score),
            "end": ("run", _distance_at(model, V, best, family.t)),
        }
    )


def _distance_at(model: "Attention", V: Array, start: Array, t: float) -> Array:
    """The largest distance of a token from both poles at the time t, for every start (b, n, d); (b,)."""
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.causal_clustering.conjectures.counterexamples import poles_distance
    from nucleate.papers.core.interruption import uninterrupted

    x = uninterrupted(simulate(model, start, t, save=[t])).x[:, -1]  # (b, n, d)
    return np.array([poles_distance(V[i], x[i]).max() for i in range(len(x))])
