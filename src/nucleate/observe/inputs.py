"""What an instrument is given: a run or its times and tokens, and the indices of centers.  Frames that a run
never reached are NaN throughout."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_array, refuse_masked, shortened
from nucleate.integrate.run import Run

__all__ = [
    "Centers",
    "RunOrFrames",
    "angle",
    "center_table",
    "check_centers",
    "check_frames",
    "times_and_tokens",
]

RunOrFrames = Run | tuple[ArrayLike, ArrayLike]  # a run, or its times and tokens
# indices of tokens for all runs; or for each, ragged or filled up with -1
Centers = Sequence[Any] | NDArray[np.int64]


def times_and_tokens(run: RunOrFrames) -> tuple[Array, Array]:
    """The times (m,) and tokens (m, n, d) or (b, m, n, d) of a run, or of a pair (t, x)."""
    if isinstance(run, Run):
        return run.t, run.x
    if not (isinstance(run, tuple) and len(run) == 2):
        help = "Make one with nucleate.simulate."
        if hasattr(run, "study"):  # an Ensemble
            help = (
                "It keeps no tokens, but measures while it runs: give its study the function, with kind ="
                ' "function".'
            )
        raise InputError(f"run must be a Run or a pair (t, x), but is {type(run).__name__}. {help}")
    t, x = finite_array("t", run[0]), check_frames(run[1])[0]
    if t.ndim != 1 or x.ndim not in (3, 4) or x.shape[-3] != len(t):
        raise InputError(
            f"t and x must have shapes (m,) and (m, n, d) or (b, m, n, d), but have {t.shape} and {x.shape}."
            " One time for each frame."
        )
    if (np.diff(t) < 0).any():
        raise InputError("t must not fall, but does. Put the frames in the order of time.")
    return t, x


def check_frames(x: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """Tokens (..., n, d), checked, and which frames hold any, (...): the others are NaN throughout."""
    refuse_masked("x", x)
    try:
        missing = np.isnan(np.asarray(x)).all((-1, -2))  # (...)
    except Exception:
        # no numbers, or no axes for tokens and coordinates: the check says it better
        missing = np.zeros((), dtype=bool)
    if not missing.any() or missing.all():
        return check_tokens("x", x), ~missing
    full = np.array(x, dtype=np.float64)
    full[~missing] = check_tokens("x", full[~missing])
    return full, ~missing


def angle(x: Array, y: Array) -> Array:
    """Geodesic distance as in `distance`, but NaN stays NaN."""
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1)))


def center_table(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The numbers of the tokens that are marked, marks (b, n) -> (b, c), each row filled up with -1."""
    most = int(marks.sum(-1).max(initial=0))
    order = np.argsort(~marks, axis=-1, kind="stable")[:, :most]  # (b, c), the marked ones first
    return np.where(np.take_along_axis(marks, order, axis=-1), order, -1)


def check_centers(centers: Centers, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Indices of centers as a table (b, c), one row per run, filled up with -1; `shape` is that of the
    tokens, (..., n, d)."""
    n, runs = shape[-2], int(np.prod(shape[:-3], dtype=np.int64))
    refuse_masked("centers", centers)
    try:
        each = len(centers) > 0 and any(np.ndim(some) > 0 for some in centers)
        rows = [np.asarray(some).reshape(-1) for some in (centers if each else [centers])]
        most = max((len(row) for row in rows), default=0)
        table = np.full((len(rows), most), -1, dtype=np.int64)
        for i, row in enumerate(rows):
            if row.size and not np.issubdtype(row.dtype, np.integer):
                raise TypeError
            table[i, : len(row)] = row
    except Exception:  # objects may raise anything when asked to be an array
        raise InputError(
            f"centers must be whole numbers, but are {shortened(centers)}. Pass what renyi_centers gives, one"
            " list per run."
        ) from None
    if len(table) not in (1, runs):
        raise InputError(
            f"centers must be one list for all runs, or one for each of {runs}, but there are {len(table)}."
        )
    if table.size and (table.max() >= n or table.min() < -1):
        raise InputError(
            f"centers must be numbers of tokens, 0 to {n - 1}, but"
            f" {table.max() if table.max() >= n else table.min()} is among them."
        )
    return np.ascontiguousarray(np.broadcast_to(table, (runs, most)))
