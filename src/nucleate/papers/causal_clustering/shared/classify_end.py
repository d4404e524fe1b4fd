"""How the runs of a family end, run by run: against the point or points that V predicts, and as clouds around
L."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["END_DISTANCE", "Ends", "angle_with", "classify_ends"]

# radians: a token that is nearer than this to where it is predicted to end has ended there
END_DISTANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Ends:
    """One value per run, (runs,); NaN where the run did not reach its end."""

    row: NDArray[np.int64]  # of Table 1 by the atlas of V; 0 if outside
    within: NDArray[np.bool_]  # whether V meets what theorem or conjecture ask for
    distance: Array  # largest one of a token from the nearest predicted point; NaN where V predicts none
    moved: Array  # farthest that a token is from its end within the last decade of time
    # of the logarithm of the first token's distance from its limit against that of time, over that decade
    slope: Array
    angle: Array  # mean angle with L over tokens and the last decade
    max_angle: Array  # the largest of these
    angles: Array  # (runs, n) at the end
    smaller_side: Array  # tokens on the smaller side of L's first direction, at the end
    spread: Array  # largest distance of a token from the first one, or from its opposite, at the end


def classify_ends(data: "Dataset") -> Ends:
    """Measure every run of a family."""
    from nucleate.theory.atlas import atlas, limit_point

    rows = []
    t = data["time"].values
    # (d, d), (n, d), (m, n, d)
    for V, start, x in zip(data["V"].values, data["start"].values, data["x"].values, strict=True):
        known = atlas(V)
        point = (
            limit_point(known, start[0])
            if "complex" not in known.kind and (known.lambda_max > 0.0 or known.row is None)
            else None
        )
        distance = _farthest(x, point, both=known.row not in (1, 2) and known.basis.shape[1] == 1)  # (m,)
        angle = angle_with(x, known.basis)  # (m, n)
        side = x[-1] @ known.basis[:, 0]  # (n,)
        rows.append(
            (
                known.row or 0,
                known.within_conjecture,
                distance[-1],
                _distance(x, x[-1]).max(),
                _slope(t, _farthest(x[:, :1], point, both=False)),
                angle.mean(),
                angle.max(),
                angle[-1],
                min((side > 0).sum(), (side < 0).sum()) if np.isfinite(side).all() else np.nan,
                np.minimum(_distance(x[-1], x[-1, :1]), _distance(x[-1], -x[-1, :1])).max(),
            )
        )
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Ends(columns[0].astype(np.int64), columns[1].astype(bool), *columns[2:])


def _farthest(x: Array, point: Array | None, both: bool) -> Array:
    """The largest distance of a token of x (m, n, d) from `point`, or from it or its opposite; (m,)."""
    if point is None:
        return np.full(len(x), np.nan)
    apart = _distance(x, point)  # (m, n)
    return np.asarray((np.minimum(apart, _distance(x, -point)) if both else apart).max(-1))


def _distance(x: Array, y: Array) -> Array:
    """Geodesic distance of unit vectors along the last axis; NaN stays NaN."""
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1)))


def angle_with(x: Array, basis: Array) -> Array:
    """The angle of unit vectors x (..., d) with the span of orthonormal columns (d, k); (...)."""
    inside = x @ basis  # (..., k)
    return np.asarray(
        np.arctan2(np.linalg.norm(x - inside @ basis.T, axis=-1), np.linalg.norm(inside, axis=-1))
    )


def _slope(t: Array, distance: Array) -> float:
    """The power of t with which a distance (m,) falls; NaN where it is rounding already."""
    if not np.isfinite(distance).all() or distance.min() < 1e-11:
        return float("nan")
    return float(np.polyfit(np.log(t), np.log(distance), 1)[0])
