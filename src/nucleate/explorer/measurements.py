"""What the page shows beside the tokens, by the instruments: centers, clusters, consumption, principal
directions, the spectrum of V."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, Window
from nucleate.checks import Array
from nucleate.observe.centers import renyi_centers
from nucleate.observe.clusters import clusters
from nucleate.observe.consumption import consumed
from nucleate.observe.merges import usual_radius
from nucleate.theory.atlas import atlas
from nucleate.theory.table import OTHER_MODEL, other_model

__all__ = ["Measurements", "length_scales", "measure", "model_facts", "start_facts"]

TOKENS_BETWEEN_CHECKS = 100_000  # `go_on` is asked again after so many tokens
SHOWN_DIRECTIONS = 3  # of a sphere in more dimensions


def length_scales(beta: float, c: float) -> tuple[float, float]:
    """delta = c beta^(-1/2), at most pi, and the radius that joins tokens into clusters."""
    delta = min(c * beta**-0.5, np.pi) if beta > 0.0 else np.pi
    return float(delta), float(min(usual_radius(beta), np.pi))


def start_facts(x0: Array, beta: float, c: float) -> dict[str, Any]:
    """What follows from the start x0 (n, d): the length scales, and the centers by token."""
    delta, radius = length_scales(beta, c)
    centers = {
        name: renyi_centers(x0, delta, strong=name == "strong").tolist() for name in ("renyi", "strong")
    }
    return {"delta": delta, "radius": radius, "centers": centers}


def model_facts(model: Attention, n: int, d: int) -> dict[str, Any]:
    """beta, the matrices written out, the mask, frozen tokens, and what Table 1 says of n tokens under V."""
    beta, Q, K, V = model.parameters(d)
    return {
        "beta": float(beta.reshape(-1)[0]),
        "Q": Q.tolist(),
        "K": K.tolist(),
        "V": V.tolist(),
        "mask": {"window": model.mask.w} if isinstance(model.mask, Window) else model.mask,
        "frozen": (
            None
            if model.frozen is None
            else {"x": model.frozen.x.tolist(), "weight": model.frozen.weight.tolist()}
        ),
        "spectrum": _spectrum(V) | _outside_table(model, n),
    }


def _spectrum(V: Array) -> dict[str, Any]:
    known = atlas(V)
    return {
        "eigenvalues": [[float(z.real), float(z.imag)] for z in known.eigenvalues],
        "lambda_max": [known.lambda_max, float(known.dominant[0].imag)],
        "row": known.row,
        "name": f"row {known.row} of Table 1" if known.row else "outside Table 1",
        "verdict": known.final,
        "status": known.status,
        "why": known.why,
        "rate": known.rate,
        "kind": known.kind,
    }


def _outside_table(model: Attention, n: int) -> dict[str, Any]:
    """What replaces the verdict of V where Table 1 is not about the model."""
    why = other_model(model, n)
    if why is None:
        return {}
    return {
        "row": None,
        "name": "outside Table 1",
        "verdict": OTHER_MODEL,
        "status": "outside the table",
        "why": why,
        "rate": "",
    }


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is measured on every frame."""

    labels: NDArray[np.int32]  # (m, n) the cluster of every token
    clusters: NDArray[np.int32]  # (m,) how many
    consumed_renyi: Array  # (m,) the share of tokens within delta of a moving center
    consumed_strong: Array  # (m,)
    directions: Array | None  # (d, 3) above three dimensions

    def arrays(self) -> dict[str, NDArray[Any]]:
        """By the names they have on the wire."""
        return {name: array for name, array in vars(self).items() if array is not None}


def measure(x: Array, facts: dict[str, Any], go_on: Callable[[], bool] = lambda: True) -> Measurements | None:
    """Measure the frames x (m, n, d) with the scales and centers of `start_facts`; None if told to stop."""
    m, n, d = x.shape
    labels = np.empty((m, n), dtype=np.int32)
    share = {name: np.empty(m) for name in facts["centers"]}
    size = max(TOKENS_BETWEEN_CHECKS // n, 1)
    for first in range(0, m, size):
        if not go_on():
            return None
        some = slice(first, first + size)
        labels[some] = clusters(x[some], facts["radius"])
        for name, centers in facts["centers"].items():
            share[name][some] = consumed(x[some], np.array(centers), facts["delta"])
    return Measurements(
        labels,
        labels.max(1) + np.int32(1),
        share["renyi"],
        share["strong"],
        _principal_directions(x) if d > SHOWN_DIRECTIONS else None,
    )


def _principal_directions(x: Array) -> Array:
    """The three directions (d, 3) in which the tokens of all frames x (m, n, d) reach farthest from the
    origin; signs by their largest entry."""
    y = x.reshape(-1, x.shape[-1])  # (m n, d)
    directions = np.linalg.eigh(y.T @ y)[1][:, : -SHOWN_DIRECTIONS - 1 : -1]  # (d, 3), the largest first
    largest = np.take_along_axis(directions, np.abs(directions).argmax(0)[None], axis=0)  # (1, 3)
    return np.asarray(directions * np.where(largest < 0.0, -1.0, 1.0))
