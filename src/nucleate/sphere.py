"""Geometry of the unit sphere S^{d-1}; points are rows, the last axis is the coordinate."""

import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import (
    Array,
    InputError,
    check_memory,
    check_tokens,
    finite_array,
    real_array,
    shortened,
    whole_number,
)

__all__ = ["distance", "drawn_from", "retract", "tangent", "uniform"]

NUMBERS_AT_ONCE = 10_000_000  # that are drawn in a fifth of a second


def tangent(x: ArrayLike, y: ArrayLike) -> Array:
    """P_x y = y - <x, y> x: the part of y tangent to the sphere at x."""
    x, y = real_array("x", x), real_array("y", y)
    _check_shapes(x, y)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite stays so, NaN or infinite
        return y - (x * y).sum(-1, keepdims=True) * x  # (..., d)


def _check_shapes(x: Array, y: Array) -> None:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise InputError(
            f"x and y must have shapes that go together, but have {x.shape} and {y.shape}."
        ) from None


def retract(x: ArrayLike) -> Array:
    """x / |x|: the nearest point of the sphere."""
    y = finite_array("x", x)
    if y.size == 0:
        raise InputError(f"x must hold at least one point, but has shape {y.shape}.")
    # (..., d), so that squares neither overflow nor vanish
    y = y / np.maximum(np.abs(y).max(-1, keepdims=True), np.finfo(float).tiny)
    length = np.sqrt((y * y).sum(-1, keepdims=True))  # (..., 1)
    if not length.all():
        raise InputError("x must have no zero row, but has one. The zero vector has no direction.")
    return y / length


def distance(x: ArrayLike, y: ArrayLike) -> Array:
    """Geodesic distance, accurate for close and for antipodal points: 2 atan2(|x - y|, |x + y|).

    Of points x (..., d) and y (..., d), one number each; of two single points (d,), a number.
    """
    x, y = real_array("x", x), real_array("y", y)
    single = x.ndim == y.ndim == 1
    x, y = check_tokens("x", np.atleast_2d(x)), check_tokens("y", np.atleast_2d(y))
    _check_shapes(x, y)
    near = np.linalg.norm(x - y, axis=-1)  # (...)
    far = np.linalg.norm(x + y, axis=-1)  # (...)
    angle = 2.0 * np.arctan2(near, far)  # (...)
    return angle[0] if single else np.asarray(angle)


def uniform(
    n: int, d: int, seed: int | np.random.SeedSequence | np.random.Generator = 0, runs: int | None = None
) -> Array:
    """n independent uniform points of S^{d-1}, (n, d); the same seed gives the same points.

    With runs=b there are b such starts, (b, n, d): start i is drawn from SeedSequence(seed, spawn_key=(i,)),
    whatever b is.
    """
    n = whole_number("n", n, least=1, help="It is the number of tokens.")
    d = whole_number("d", d, least=2, help="It is the dimension of the space around the sphere.")
    if runs is None:
        check_memory(3.0 * 8 * n * d, f"uniform(n={n}, d={d})")
        return retract(_normal(_generator(seed), n, d))
    b = whole_number("runs", runs, least=1, help="It is the number of starts.")
    root = whole_number(
        "seed", seed, least=0, help="With runs it is a number, from which each run has its own."
    )
    check_memory(4.0 * 8 * b * n * d, f"uniform(n={n}, d={d}, runs={b})")
    return drawn_from([np.random.SeedSequence(root, spawn_key=(i,)) for i in range(b)], n, d)


def _normal(generator: np.random.Generator, n: int, d: int) -> Array:
    """standard_normal((n, d)), in pieces, between which Ctrl-C gets through."""
    x = np.empty(n * d)
    for i in range(0, len(x), NUMBERS_AT_ONCE):
        generator.standard_normal(out=x[i : i + NUMBERS_AT_ONCE])
    return x.reshape(n, d)


def drawn_from(streams: Sequence[np.random.SeedSequence], n: int, d: int) -> Array:
    """What `uniform` draws from each of b streams, (b, n, d)."""
    return retract(np.stack([_normal(np.random.default_rng(stream), n, d) for stream in streams]))


def _generator(seed: int | np.random.SeedSequence | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.SeedSequence | np.random.Generator):
        return np.random.default_rng(seed)
    try:
        number = operator.index(seed)
    except Exception:  # objects may raise anything when asked to be a number
        number = -1
    if number < 0 or isinstance(seed, bool):
        raise InputError(
            f"seed must be a whole number of at least 0, but is {shortened(seed)}. Any such number will do."
        )
    return np.random.default_rng(number)
