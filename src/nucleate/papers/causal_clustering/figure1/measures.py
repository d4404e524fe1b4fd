"""How the tokens of one panel of Figures 1 and 6 end: at the points that V predicts, or around L."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.figure1.data import Panel
from nucleate.papers.causal_clustering.shared.classify_end import angle_with
from nucleate.papers.core.item import Data, Parameters

if TYPE_CHECKING:
    from nucleate.theory.atlas import Atlas

__all__ = [
    "EQUILIBRIUM_DISTANCE",
    "ROUNDING",
    "UNIFORM_ANGLE",
    "UNIFORM_ANGLE_DEVIATION",
    "VISIBLE_DISTANCE",
    "PanelEnd",
    "panel_end",
]

VISIBLE_DISTANCE = 1e-3  # tokens that move less than this after t = 5000 had reached the end to the eye
EQUILIBRIUM_DISTANCE = 1e-6  # tokens that move less than this in the last decade of time are at equilibrium
# mean angle, in radians, of uniform tokens in three dimensions with a line, a plane, everything
UNIFORM_ANGLE = {1: 1.0, 2: np.pi / 2 - 1.0, 3: 0.0}
UNIFORM_ANGLE_DEVIATION = (np.pi - 3.0) ** 0.5  # the standard deviation of the first two
ROUNDING = float(np.finfo(float).eps)  # of a coordinate near 1: no weaker force is felt there


@dataclass(frozen=True)
class PanelEnd:
    """How the tokens of one panel end."""

    atlas: "Atlas"
    points: Array | None  # (1 or 2, d) where the tokens ought to end; None if V predicts no points
    reached: float  # the last time
    at_equilibrium: bool  # whether the tokens are at equilibrium there
    moved_after: float  # how far a token went from t = T to the end
    # largest difference at the end to a run with tighter tolerances; NaN where there is no end
    error_end: float
    distance_T: float  # largest distance of a token from those points, or its angle with L, at t = T
    distance_end: float  # and at the end, the worse of two tolerances
    angle: float  # mean angle with L at the end, the larger of two tolerances
    # tokens on the smaller side of the plane across the first direction of L, the fewer of two tolerances
    smaller_side: int
    mean_length: float  # |mean of the tokens| at the end
    weakest_force: float  # that decides where tokens end; infinity where none is known to be weak
    clusters_T: int
    clusters_end: int

    @property
    def resolved(self) -> bool:
        """Whether two tolerances lead to the same end, where there is one, and rounding does not choose
        it."""
        return not self.error_end > VISIBLE_DISTANCE and self.weakest_force > ROUNDING


def panel_end(data: Data, p: Parameters, panel: Panel) -> PanelEnd:
    """Measure one panel."""
    from nucleate.observe.clusters import count_clusters
    from nucleate.observe.merges import usual_radius
    from nucleate.sphere import distance
    from nucleate.theory.atlas import atlas, limit_point

    first, end, again = data[panel.name], data[f"{panel.name}-end"], data.get(f"{panel.name}-end-careful")
    known = atlas(panel.matrix)
    points: Array | None = None
    if "complex" not in known.kind and (known.lambda_max > 0.0 or known.row is None):
        point = limit_point(known, first.x[0, 0])  # (d,)
        points = point[None] if known.row in (1, 2) or known.basis.shape[1] > 1 else np.stack([point, -point])
    x_T, x_end = first.x[-1], end.x[-1]  # (n, d)
    late = end.t >= end.t[-1] / 10.0  # (m,) the last decade of time
    moved = float(distance(end.x[late], x_end).max())
    radius = usual_radius(p["beta"])
    ends = [run.x[-1] for run in (end, again) if run is not None]  # (n, d) each
    sides = [x @ known.basis[:, 0] for x in ends]  # (n,) each
    return PanelEnd(
        known,
        points,
        float(end.t[-1]),
        moved < EQUILIBRIUM_DISTANCE,
        float(distance(end.x, x_T).max()),
        float(distance(x_end, again.x[-1]).max()) if again is not None else np.nan,
        _distance_from(x_T, points, known.basis),
        max(_distance_from(x, points, known.basis) for x in ends),
        max(float(angle_with(x, known.basis).mean()) for x in ends),
        min(int((sign * side > 0).sum()) for side in sides for sign in (-1.0, 1.0)),
        float(np.linalg.norm(x_end.mean(0))),
        _weakest_force(known, p["beta"]),
        int(count_clusters(x_T, radius)),
        int(count_clusters(x_end, radius)),
    )


def _weakest_force(known: "Atlas", beta: float) -> float:
    """With a defective dominant eigenvalue, the force e^{-4 beta} / (4 kappa) that holds a token beside the
    eigenvector (docs/conjectures.md), kappa the size of V - lambda_max on L'; else infinity."""
    if known.kind != "defective":
        return np.inf
    nilpotent = known.V @ known.basis_prime - known.lambda_max * known.basis_prime  # (d, dim L')
    return float(np.exp(-4.0 * beta) / (4.0 * np.linalg.norm(nilpotent, 2)))


def _distance_from(x: Array, points: Array | None, basis: Array) -> float:
    """The largest distance of tokens x (n, d) from the nearest of `points`, or, without points, their largest
    angle with L."""
    from nucleate.sphere import distance

    return float(
        distance(x[:, None], points[None]).min(1).max() if points is not None else angle_with(x, basis).max()
    )
