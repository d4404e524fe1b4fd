"""Uniform starts in any dimension: n tokens span at most n dimensions, which full attention with Q = K = V =
I never leaves, so that coordinates in their span are enough."""

import numpy as np

from nucleate.checks import Array
from nucleate.sphere import drawn_from, retract

__all__ = ["uniform_in_span"]


def uniform_in_span(runs: int, n: int, d: int, seed: int, stream: int) -> Array:
    """`runs` starts of n independent uniform tokens on the sphere of R^d, (runs, n, min(n, d)): where d > n
    in orthonormal coordinates of their span, with the same overlaps."""
    streams = [np.random.SeedSequence(seed, spawn_key=(d, stream, i)) for i in range(runs)]
    x = drawn_from(streams, n, d)  # (runs, n, d)
    if d <= n:
        return x
    _, r = np.linalg.qr(x.mT)  # (runs, n, n): its columns are the tokens in an orthonormal basis
    return retract(r.mT)
