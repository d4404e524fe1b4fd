"""A planted capture: the real tokens at the end of a model, moved a known part of the way to their centers.

With c(k) the own center of token k by the design, of the early layer alone, and x the directions at the end,

    y_k = ((1 - s) x_k + s x_c(k)) / |...|,    0 <= s <= 1;

tokens that follow none stay.  In a text whose center c was replaced, the followers of c move to the candidate
that is then nearest.  Everything else, words, places, topics and sinks, is the model's own: what s the answer
needs to turn to capture says how weak a capture the measures would still have seen.
"""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.capture import CaptureDesign, capture_scores, cover
from nucleate.tracing.pull import Replacement, pulls

__all__ = ["STRENGTHS", "measure_planted", "plant"]

STRENGTHS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)


def plant(design: CaptureDesign, x: Array, t: int, s: float, without: int | None = None) -> Array:
    """Directions x (n, d) of text t with every follower moved by s to its center; without: a center that is
    gone, whose followers move to their next candidate."""
    of_text = design.text == t
    token, center = design.token[of_text], design.candidates[of_text, 0]  # (F,) each
    if without is not None:
        center = np.where(center == without, design.candidates[of_text, 1], center)
    y = x.copy()
    y[token] = (1.0 - s) * x[token] + s * x[center]  # (F, d)
    return np.asarray(y / np.linalg.norm(y, axis=-1, keepdims=True))


def measure_planted(
    design: CaptureDesign,
    x: Array,
    changed: list[Array],
    chosen: list[Replacement],
    ids: NDArray[np.int64],
    seed: int,
) -> dict[str, NDArray[np.float64]]:
    """Rank, cover, sight and pull at every strength, (texts, strengths) each.

    x        (texts, n, d) directions at the end
    changed  for every replacement those of its text, (n, d)
    """
    columns: dict[str, list[Array]] = {"rank": [], "cover": [], "sight": [], "pull": []}
    for s in STRENGTHS:
        y = np.stack([plant(design, one, t, s) for t, one in enumerate(x)])  # (T, n, d)
        again = iter(
            plant(design, one, what.text, s, what.center) for what, one in zip(chosen, changed, strict=True)
        )
        by_text = pulls(lambda _: next(again)[None], ids, y[:, None], chosen, np.array([0]))[2]  # noqa: B023  # used at once
        found, (near, null) = capture_scores(design, y), cover(design, y, seed=seed)
        columns["rank"].append(found.rank)
        columns["cover"].append(near - null.mean(0))
        columns["sight"].append(found.sight)
        columns["pull"].append(by_text[:, 0])
    return {f"planted_{name}": np.stack(values, 1) for name, values in columns.items()} | {
        "planted_strengths": np.array(STRENGTHS)
    }
