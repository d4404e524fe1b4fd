"""Norms, the sink and massive activations of the residual stream, layer by layer.

A sink is a token, nearly always the first, that takes much of all attention; its state often has a few
entries hundreds of times larger than the rest ("massive activations", Sun et al., arXiv 2402.17762).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_array

__all__ = ["Massive", "first_norm_ratio", "massive_activations", "sink_share"]

LARGEST = 3  # entries that are told


@dataclass(frozen=True, eq=False)
class Massive:
    """The largest |entries| of the states of each layer."""

    largest: Array  # (..., 3) falling
    token: NDArray[np.int64]  # (..., 3) of which token
    coordinate: NDArray[np.int64]  # (..., 3) in which coordinate
    median: Array  # (...) of all |entries|


def massive_activations(h: ArrayLike) -> Massive:
    """The three largest |entries| of states h (..., n, d), where they are, and the median of all."""
    h = _states(h)
    n, d = h.shape[-2:]
    flat = np.abs(h).reshape(*h.shape[:-2], n * d)  # (..., n d)
    top = np.argpartition(flat, -LARGEST, axis=-1)[..., -LARGEST:]  # (..., 3) in any order
    falling = np.argsort(np.take_along_axis(flat, top, -1), axis=-1)[..., ::-1]  # (..., 3)
    top = np.take_along_axis(top, falling, -1)
    return Massive(
        np.take_along_axis(flat, top, -1),
        top // d,
        top % d,
        np.asarray(2.0 * np.median(0.5 * flat, axis=-1)),  # of two numbers half their sum
    )


def first_norm_ratio(norms: ArrayLike) -> Array:
    """The first token's norm over the median norm of the others: norms (..., n) -> (...); NaN for a single
    token, and where that median is 0."""
    norms = finite_array("norms", norms)
    if norms.ndim < 1 or norms.shape[-1] < 1:
        raise InputError(f"norms must have shape (..., n), but have shape {norms.shape}. Pass run.norms.")
    if norms.shape[-1] == 1:
        return np.full(norms.shape[:-1], np.nan)
    median = np.median(norms[..., 1:], axis=-1)  # (...)
    return np.asarray(np.divide(norms[..., 0], median, out=np.full_like(median, np.nan), where=median > 0.0))


def sink_share(weights: ArrayLike) -> tuple[Array, float]:
    """The mean weight that the other tokens give the first one: weights (..., n, n), rows of sum 1 -> (...);
    and what equal weights on all that a token sees would give, under the mask that the zeros show."""
    w = finite_array("weights", weights)
    n = w.shape[-1] if w.ndim >= 2 else 0
    if n < 2 or w.shape[-2] != n:
        raise InputError(
            f"weights must have shape (..., n, n) with at least two tokens, but have shape {w.shape}."
        )
    causal = not np.triu(w, 1).any()
    equal = float(np.mean(1.0 / np.arange(2, n + 1))) if causal else 1.0 / n
    return np.asarray(w[..., 1:, 0].mean(-1)), equal


def _states(h: ArrayLike) -> Array:
    h = finite_array("h", h)
    if h.ndim < 2 or h.shape[-1] * h.shape[-2] < LARGEST:
        raise InputError(f"h must have shape (..., n, d) and {LARGEST} entries, but has shape {h.shape}.")
    return h
