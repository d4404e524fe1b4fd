"""Matrices with a name, for any dimension they make sense in: one per row of Table 1, some outside the table.

In three dimensions those of Table 1 are the matrices of Figure 1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nucleate.checks import Array, InputError, check_memory, shortened

__all__ = ["NAMED", "Named", "check_named", "named_matrix"]

HEAD_WIDTH = 16  # of the model of a head, in heads: W_V is d x 16 d


@dataclass(frozen=True)
class Named:
    """A matrix for any dimension from `least`."""

    make: Callable[[int, int], Array]  # dimension, seed -> (d, d)
    least: int = 2
    random: bool = False


def named_matrix(name: str, d: int, seed: int = 0) -> Array:
    """The matrix `name` in dimension d, (d, d); the seed matters to random ones only."""
    check_named(name, d)
    return NAMED[name].make(d, seed)


def check_named(name: str, d: int) -> None:
    """Refuse a name that there is not, and a dimension in which it has no meaning."""
    if name not in NAMED:
        raise InputError(f"There is no matrix named {shortened(name)}. There is {', '.join(NAMED)}.")
    if d < NAMED[name].least:
        raise InputError(
            f"The matrix {name} needs a dimension of at least {NAMED[name].least}, but d is {d}. Choose"
            " another matrix or dimension."
        )


def _diagonal(dominant: list[float], first: float, last: float) -> Callable[[int, int], Array]:
    """The dominant eigenvalues, then evenly spaced numbers from `first` to `last` (alone, `first`)."""

    def make(d: int, seed: int) -> Array:
        others = np.linspace(first, last, d - len(dominant)).round(12)  # 0.35, not 0.35000000000000003
        return np.diag([*dominant, *others.tolist()])

    return make


def _block(corner: list[list[float]], other: float) -> Callable[[int, int], Array]:
    """A 2 x 2 corner, then `other` along the diagonal."""

    def make(d: int, seed: int) -> Array:
        M = other * np.eye(d)
        M[:2, :2] = corner
        return M

    return make


def _gaussian(d: int, seed: int) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_normal((d, d)) / np.sqrt(d))


def _head(d: int, seed: int) -> Array:
    """W_V W_O of independent Gaussians, scaled so that its eigenvalues fill the unit disc."""
    from threadpoolctl import threadpool_limits

    check_memory(32.0 * HEAD_WIDTH * d * d, f"The matrix head of dimension {d}")
    rng = np.random.default_rng(seed)
    W_V, W_O = rng.standard_normal((d, HEAD_WIDTH * d)), rng.standard_normal((HEAD_WIDTH * d, d))
    with threadpool_limits(1, user_api="blas"):  # else the last bits depend on the machine's cores
        return np.asarray(W_V @ W_O / (d * np.sqrt(HEAD_WIDTH)))


NAMED = {
    "identity": Named(lambda d, seed: np.eye(d)),
    "row2": Named(_diagonal([1.0, 1.0], 0.3, 0.1), least=3),
    "row3": Named(_diagonal([1.0], 0.5, 0.2)),
    "row4": Named(_diagonal([-0.5, -0.5], -1.0, -1.5)),
    "row5": Named(_diagonal([-0.5], -0.9, -1.0)),
    "complex": Named(_block([[0.8, -0.6], [0.6, 0.8]], 0.2)),
    "defective": Named(_block([[1.0, 1.0], [0.0, 1.0]], 0.3)),
    "marginal": Named(_diagonal([0.0], -0.4, -0.8)),
    "minus-identity": Named(lambda d, seed: np.diag([-1.0] * d)),
    "gaussian": Named(_gaussian, random=True),
    "head": Named(_head, random=True),
    "mirror": Named(lambda d, seed: np.diag([-1.0] + [1.0] * (d - 1))),
}
