"""Capture over the depth of a traced model, or over the time of runs of ours: one call for a whole run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError, whole_number
from nucleate.integrate.run import Run
from nucleate.observe.capture import capture_scores, cover, design_capture, word_numbers

__all__ = ["Capture", "capture"]


@dataclass(frozen=True, eq=False)
class Capture:
    """Do tokens come to the earlier center that was nearest to them?  By text (or run) and frame."""

    delta: float  # the angle of the Renyi centers
    centers: NDArray[np.bool_]  # (texts, n) which tokens are centers
    followers: NDArray[np.int64]  # (texts,) how many tokens have enough earlier centers to be judged
    rank: Array  # (texts, m) share of the other earlier centers that are farther than the own; chance 1/2
    cover: Array  # (texts, m) cosine with the nearest center less that with as many other tokens; chance 0
    sight: Array  # (texts, m) contrast of the own center beyond that of unseen twins in other texts; chance 0


def capture(
    run: Run,
    *,
    share: float = 0.25,
    frame: int = 0,
    first: bool = False,
    same_word: bool = False,
    seed: int = 0,
) -> Capture:
    """Whether tokens come nearer to the earlier center that was nearest to them at a frame, and whether that
    is more than chance and more than memory.

    run        several texts from nucleate.trace, or several runs of ours; of one alone there are no twins in
               other texts, and sight is NaN
    share      of tokens that are to be Renyi centers at that frame; delta follows
    frame      whose directions decide who is a center and whose; for a trace it is the number of a layer
    first      whether the first token, often a sink, may be a center of others
    same_word  whether a token of the same word may be; runs without words have no two alike
    seed       of the labels that are permuted for `cover`

    Rank alone calls memory a capture: what was near stays nearer. Sight does not.
    """
    if not isinstance(run, Run):
        raise InputError(
            f"run must be a Run, but is {type(run).__name__}. Make one with nucleate.trace or"
            " nucleate.simulate."
        )
    x = run.x if run.x.ndim == 4 else run.x[None]  # (T, m, n, d)
    T, m, n, _ = x.shape
    frame = whole_number("frame", frame, least=0, help="Frames are counted from 0.")
    seed = whole_number("seed", seed, least=0)
    if frame >= m:
        raise InputError(f"frame must be at most {m - 1}, but is {frame}. The run has {m} frames.")
    if n < 2 or not np.isfinite(x).all():
        raise InputError(
            "run must have two tokens or more, and all its frames. Look at run.status, or take fewer frames."
        )
    design = design_capture(x[:, frame], _words(run, T, n), share, first=first, same_word=same_word)
    scores = [capture_scores(design, x[:, i]) for i in range(m)]
    covers = [cover(design, x[:, i], seed=seed) for i in range(m)]
    return Capture(
        design.delta,
        design.center,
        scores[0].followers,
        np.stack([one.rank for one in scores], 1),
        np.stack([real - null.mean(0) for real, null in covers], 1),
        np.stack([one.sight for one in scores], 1),
    )


def _words(run: Run, T: int, n: int) -> NDArray[np.int64]:
    """Numbers (T, n), equal where the words are."""
    if run.tokens is None:
        return np.arange(T * n).reshape(T, n)
    tokens: Any = run.tokens if run.x.ndim == 4 else (run.tokens,)
    return word_numbers(tokens)
