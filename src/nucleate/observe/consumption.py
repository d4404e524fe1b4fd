"""Consumption: the share of tokens near the moving centers (paper, Figure 3), and the centers that are lost
to earlier ones.

Centers are tokens, chosen at time 0; from then on each is where its token is.  The paper does not say when a
token is consumed: here it is when its geodesic distance to some center is at most a radius, so the centers
themselves always are.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import UNIT_TOLERANCE, Array, InputError, check_tokens, real_array
from nucleate.kernels.compile import compiled
from nucleate.kernels.threads import Stop, interruptible_if_long
from nucleate.observe.clusters import check_radius
from nucleate.observe.inputs import Centers, RunOrFrames, angle, check_centers, check_frames, times_and_tokens

__all__ = ["Loss", "consumed", "consumption", "lost_centers"]

SMALLEST_CHANGE = 1e-150  # of a distance, for there is a division by it


def consumption(run: RunOrFrames, centers: Centers, radius: float) -> Array:
    """The share of tokens within `radius` of a center at every saved time: (m,), or (b, m) for b runs; NaN
    for frames never reached.

    run        a Run, or a pair (t, x)
    centers    indices of tokens, such as renyi_centers(x0, delta); for b runs also one such list per run
    """
    return consumed(check_frames(times_and_tokens(run)[1])[0], centers, radius)


def consumed(x: Array, centers: Centers, radius: float) -> Array:
    """The share of tokens within `radius` of a center, of bare tokens: x (..., n, d) -> (...).

    x          of one frame (n, d), of a run (m, n, d), or of a batch of runs (b, m, n, d)
    centers    indices for all of x; or, for a batch, a list of b such lists, or an array (b, c) filled up
               with -1

    A frame with a NaN in it gives NaN; tokens that are not of length 1 are refused.
    """
    x = _tokens(x)
    block = x.reshape(-1, 1 if x.ndim == 2 else x.shape[-3], *x.shape[-2:])  # (b, m, n, d)
    table = check_centers(centers, x.shape)  # (b, c)
    share = np.empty(block.shape[:2])
    job = partial(_consume, block, table, (2.0 * np.sin(check_radius(radius) / 2.0)) ** 2, share)
    if interruptible_if_long(job, float(table.shape[-1]) * x.size):
        check_tokens("x", x[~np.isnan(x).any((-1, -2))] if x.ndim > 2 else x)  # says which
    return share.reshape(x.shape[:-2])


@dataclass(frozen=True)
class Loss:
    """A center that came within the radius of an earlier one.  Tokens are counted from 0."""

    token: int
    to: int  # the nearest earlier center at that moment
    time: float


def lost_centers(run: RunOrFrames, centers: Centers, radius: float) -> tuple[Any, ...]:
    """The centers that come within `radius` of an earlier center, in the order of tokens: a Loss each; for b
    runs one tuple per run.

    A center named twice is one center.  The time is where a straight line between the distances at two frames
    crosses the radius; at the first frame it is that frame's.
    """
    radius = check_radius(radius)
    t, x = times_and_tokens(run)
    table = check_centers(centers, x.shape)  # (b, c)
    block = check_frames(x)[0].reshape(-1, *x.shape[-3:])  # (b, m, n, d)
    found = tuple(
        _losses(t, one, np.unique(some[some >= 0]), radius) for one, some in zip(block, table, strict=True)
    )
    return found if x.ndim == 4 else found[0]


def _losses(t: Array, x: Array, centers: NDArray[np.int64], radius: float) -> tuple[Loss, ...]:
    losses = []
    for i in range(1, len(centers)):
        # (m, i) to each earlier center; NaN where a frame is missing
        apart = angle(x[:, centers[:i]], x[:, centers[i], None])
        near = (apart <= radius).any(1)  # (m,)
        if near.any():
            frame = int(near.argmax())
            j = int(apart[frame].argmin())
            before, after = apart[frame - 1 : frame + 1, j] if frame else (radius, radius)
            # of the time between the two frames
            share = (before - radius) / max(before - after, SMALLEST_CHANGE)
            begin, end = t[max(frame - 1, 0)], t[frame]
            losses.append(
                Loss(
                    int(centers[i]),
                    int(centers[j]),
                    float(begin + share * (end - begin)) if frame else float(end),
                )
            )
    return tuple(losses)


def _tokens(x: Array) -> Array:
    x = real_array("x", x)
    if x.ndim < 2 or x.size == 0:
        raise InputError(
            f"x must have shape (..., n, d) and hold at least one token, but has shape {x.shape}."
        )
    return x


@compiled
def _consume(x: Array, centers: NDArray[np.int64], limit: float, share: Array, stop: Stop) -> bool:
    """share (b, m) of the tokens x (b, m, n, d) whose squared chord to one of the centers (b, c) is at most
    `limit`; whether a token of a frame without NaN is not of length 1.  Returns at once when stop[0] is
    set."""
    b, m, n, d = x.shape
    off_sphere = False
    y, square, near = np.empty((d, n)), np.empty(n), np.empty(n, np.bool_)
    for run in range(b):
        for frame in range(m):
            near[:] = False
            missing, off = False, False
            for k in range(n):  # coordinates apart, so that the loops below go through whole vectors
                length = 0.0
                for c in range(d):
                    y[c, k] = x[run, frame, k, c]
                    missing |= y[c, k] != y[c, k]
                    length += y[c, k] ** 2
                off |= abs(length - 1.0) > 2.0 * UNIT_TOLERANCE
            off_sphere |= off and not missing
            for center in centers[run]:
                if stop[0]:
                    return False
                if center < 0:
                    continue
                for k in range(n):
                    square[k] = (y[0, k] - y[0, center]) ** 2
                for c in range(1, d):
                    for k in range(n):
                        square[k] += (y[c, k] - y[c, center]) ** 2
                for k in range(n):
                    near[k] |= square[k] <= limit
            share[run, frame] = np.nan if missing else near.sum() / n
    return off_sphere
