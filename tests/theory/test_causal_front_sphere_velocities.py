"""The compiled velocities of the limit equation on the sphere equal sums over pairs."""

import numpy as np

import nucleate as nc
from nucleate.checks import Array
from nucleate.theory.causal_front_sphere import _on_sphere, _starts, _System


def seen_and_velocities(y: Array, x: Array, weight: Array, beta: float) -> tuple[Array, Array]:
    """zeta - 1 and velocities at y (k, 3) among x (n, 3) of these weights: the equation."""
    even = -np.expm1(-2.0 * beta) / (2.0 * beta)
    some = weight * np.exp(beta * (y @ x.T - 1.0)) / (even * weight.sum())  # (k, n)
    zeta, pull = some.sum(1), some @ x  # (k,), (k, 3)
    return zeta - 1.0, (pull - (pull * y).sum(1, keepdims=True) * y) / zeta[:, None]


def test_compiled_velocities_are_those_of_the_equation() -> None:
    beta, L, rng = 2.0, 15, np.random.default_rng(0)  # degrees beyond weigh less than 1e-12
    starts, tokens = _starts(L, 1), np.exp(np.linspace(0.0, 6.0, 3))
    share = np.repeat(starts.share, starts.place.shape[1] // len(starts.share))
    far = np.array([1.0, 0.2, 1e-3])[:, None, None]
    moved = _on_sphere(starts.place, far * rng.standard_normal((3, *starts.place.shape)))
    first = nc.uniform(30, 3, 1)
    drift, way, seen = _System(tokens, starts, beta, L).velocities(first, moved)
    np.testing.assert_allclose(drift, nc.drift(nc.Attention(beta), first), atol=1e-13)
    x, weight = first, np.ones(30)
    for c in range(3):
        y, own = (starts.place + moved[c]).T, tokens[c] * share  # (P, 3), (P,)
        some = rng.permutation(len(y))[:200]
        before = np.concatenate([x, y]), np.concatenate([weight, own / 2.0])
        zeta, velocity = seen_and_velocities(y, *before, beta)
        np.testing.assert_allclose(way[c].T[some], velocity[some], atol=1e-11)
        np.testing.assert_allclose(seen[c], share @ zeta, atol=1e-11)
        x, weight = np.concatenate([x, y]), np.concatenate([weight, own])
