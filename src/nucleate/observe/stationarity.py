"""Stationarity: how far centers move, and how long they stay where they began.

Lemma 5.1 (paper, d = 2) guarantees a time T_j up to which strong center s_j moves less than epsilon c
beta^(-1/2).  Here that distance is `limit`, and the lifetime is the first time at which the center has moved
farther; lifetime / T_j says how much longer it stays.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_array
from nucleate.observe.inputs import Centers, RunOrFrames, angle, check_centers, times_and_tokens

__all__ = ["Stationarity", "displacement", "stationarity"]


@dataclass(frozen=True, eq=False)
class Stationarity:
    """How centers stay.  Arrays have a leading axis of b where there are b runs; with fewer centers than c in
    one of them, the rest is NaN."""

    centers: NDArray[np.int64]  # (c,) indices of tokens; -1 for none
    t: Array  # (m,)
    displacement: Array  # (m, c) from where the center began
    limit: Array  # (c,)
    lifetime: Array  # (c,) when it had moved farther than the limit; infinity if it never did
    # () the last time that was reached: an infinite lifetime is longer than this, no more is known
    until: Array
    guaranteed: Array  # (c,) the time it had to stay according to theory; NaN where none was given

    @property
    def ratio(self) -> Array:
        """lifetime / guaranteed, (c,): below 1 it contradicts the guarantee."""
        return np.asarray(self.lifetime / self.guaranteed)

    @property
    def at_least(self) -> Array:
        """The same, (c,), with lifetimes that outlast the run cut off at its end."""
        return np.asarray(np.minimum(self.lifetime, self.until[..., None]) / self.guaranteed)


def displacement(run: RunOrFrames, centers: Centers) -> Array:
    """How far every center is, in geodesic distance, from where it was in the first frame: (m, c), or
    (b, m, c) for b runs; NaN for frames never reached.

    run        a Run, or a pair (t, x)
    centers    indices of tokens, such as renyi_centers(x0, delta); for b runs also one such list per run
    """
    _, x = times_and_tokens(run)
    table = check_centers(centers, x.shape)  # (b, c)
    block = x.reshape(-1, *x.shape[-3:])  # (b, m, n, d)
    there = np.take_along_axis(block, np.maximum(table, 0)[:, None, :, None], axis=2)  # (b, m, c, d)
    moved = np.where(table[:, None] < 0, np.nan, angle(there, there[:, :1]))  # (b, m, c)
    return moved.reshape(*x.shape[:-2], table.shape[1])


def stationarity(
    run: RunOrFrames, centers: Centers, limit: ArrayLike, guaranteed: ArrayLike | None = None
) -> Stationarity:
    """How far the centers move, when they have moved farther than `limit`, and how that compares with the
    time `guaranteed`.

    run, centers   as for `displacement`
    limit          a distance, epsilon c beta^(-1/2) in Lemma 5.1: one for all, or one per center (c,), (b, c)
    guaranteed     times, one for all or one per center

    Between two frames the displacement is taken to grow evenly.
    """
    t, x = times_and_tokens(run)
    moved = displacement(run, centers)  # ((b,) m, c)
    shape = (*moved.shape[:-2], moved.shape[-1])  # ((b,) c)
    far = _spread("limit", limit, shape)
    promised = np.full(shape, np.nan) if guaranteed is None else _spread("guaranteed", guaranteed, shape)
    table = check_centers(centers, x.shape).reshape(shape)
    there = ~np.isnan(x).any((-1, -2))  # ((b,) m)
    until = np.where(there, t, -np.inf).max(-1)  # ((b,))
    return Stationarity(table, t, moved, far, _lifetime(t, moved, far), np.asarray(until), promised)


def _lifetime(t: Array, moved: Array, limit: Array) -> Array:
    """The first time at which moved (..., m, c) exceeds limit (..., c); infinity for never, NaN where nothing
    moved is known."""
    never = np.where(np.isnan(moved).all(-2), np.nan, np.inf)  # (..., c)
    if len(t) < 2:  # in the first frame nothing has moved
        return never
    beyond = moved > limit[..., None, :]  # (..., m, c)
    frame = np.maximum(beyond.argmax(-2), 1)  # (..., c)
    after = np.take_along_axis(moved, frame[..., None, :], axis=-2)[..., 0, :]  # (..., c)
    before = np.take_along_axis(moved, frame[..., None, :] - 1, axis=-2)[..., 0, :]  # (..., c)
    with np.errstate(
        invalid="ignore", divide="ignore", over="ignore"
    ):  # where nothing moves, which is not used
        crossed = t[frame - 1] + (limit - before) / (after - before) * (t[frame] - t[frame - 1])  # (..., c)
    return np.where(beyond.any(-2), crossed, never)


def _spread(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = finite_array(name, value)
    if not (array > 0).all():
        raise InputError(f"{name} must be positive, but is as low as {array.min()}.")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(
            f"{name} must be one number or one per center {shape}, but has shape {array.shape}."
        ) from None
