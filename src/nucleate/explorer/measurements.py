"""What the page shows beside the tokens, by the instruments: centers, clusters, consumption, principal
directions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.centers import renyi_centers
from nucleate.observe.clusters import clusters
from nucleate.observe.consumption import consumed
from nucleate.observe.merges import usual_radius

__all__ = ["Measurements", "length_scales", "measure", "start_facts"]

TOKENS_BETWEEN_CHECKS = 100_000  # `go_on` is asked again after so many tokens
SHOWN_DIRECTIONS = 3  # of a sphere in more dimensions


def length_scales(beta: float, c: float) -> tuple[float, float]:
    """delta = c beta^(-1/2), at most pi, and the radius that joins tokens into clusters."""
    delta = min(c * beta**-0.5, np.pi) if beta > 0.0 else np.pi
    return float(delta), float(min(usual_radius(beta), np.pi))


def start_facts(x0: Array, beta: float, c: float, has_centers: bool = True) -> dict[str, Any]:
    """What follows from the start x0 (n, d): the length scales, and the centers by token, none where they are
    not a matter of the model."""
    delta, radius = length_scales(beta, c)
    centers = {
        name: renyi_centers(x0, delta, strong=name == "strong").tolist() if has_centers else []
        for name in ("renyi", "strong")
    }
    return {"delta": delta, "radius": radius, "centers": centers}


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is measured on every frame."""

    labels: NDArray[np.int32]  # (m, n) the cluster of every token
    clusters: NDArray[np.int32]  # (m,) how many
    consumed_renyi: Array | None  # (m,) the share of tokens within delta of a moving center, if there is one
    consumed_strong: Array | None  # (m,)
    directions: Array | None  # (d, 3) above three dimensions

    def arrays(self) -> dict[str, NDArray[Any]]:
        """By the names they have on the wire."""
        return {name: array for name, array in vars(self).items() if array is not None}


def measure(x: Array, facts: dict[str, Any], go_on: Callable[[], bool] = lambda: True) -> Measurements | None:
    """Measure the frames x (m, n, d) with the scales and centers of `start_facts`; None if told to stop."""
    m, n, d = x.shape
    labels = np.empty((m, n), dtype=np.int32)
    share = {name: np.empty(m) for name, centers in facts["centers"].items() if centers}
    size = max(TOKENS_BETWEEN_CHECKS // n, 1)
    for first in range(0, m, size):
        if not go_on():
            return None
        some = slice(first, first + size)
        labels[some] = clusters(x[some], facts["radius"])
        for name in share:
            share[name][some] = consumed(x[some], np.array(facts["centers"][name]), facts["delta"])
    return Measurements(
        labels,
        labels.max(1) + np.int32(1),
        share.get("renyi"),
        share.get("strong"),
        _principal_directions(x) if d > SHOWN_DIRECTIONS else None,
    )


def _principal_directions(x: Array) -> Array:
    """The three directions (d, 3) in which the tokens of all frames x (m, n, d) reach farthest from the
    origin; signs by their largest entry."""
    y = x.reshape(-1, x.shape[-1])  # (m n, d)
    directions = np.linalg.eigh(y.T @ y)[1][:, : -SHOWN_DIRECTIONS - 1 : -1]  # (d, 3), the largest first
    largest = np.take_along_axis(directions, np.abs(directions).argmax(0)[None], axis=0)  # (1, 3)
    return np.asarray(directions * np.where(largest < 0.0, -1.0, 1.0))
