"""A positive control: causal attention of ours, Q = K = V = I, from the very start of the model's tokens,
judged by the very design that judges the model.

beta = (4 / delta)^2, the paper's delta = 4 beta^(-1/2) turned around, delta that of the design: where capture
is true, rank, sight and pull must say so for these texts, words and dimensions.  For pull the same centers
are replaced by the same words as in the model, and the simulation is run again.
"""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.integrate.simulate import simulate
from nucleate.observe.capture import capture_scores, cover, design_capture
from nucleate.observe.cosines import mean_cosine
from nucleate.tracing.measures import SHARE, Indices, Numbers, Texts, Tick
from nucleate.tracing.pull import choose_replacements, pulls

if TYPE_CHECKING:
    from nucleate.models.forward import TransformerModel

__all__ = ["TIMES", "measure_positive_control"]

TIMES = (0.0, 3.0, 10.0, 30.0)
STEP = 1.0  # of rk4; the fastest token moves at most at speed 1


def measure_positive_control(
    model: "TransformerModel",
    texts: Texts,
    most: int,
    seed: int,
    tick: Tick,
    times: tuple[float, ...] = TIMES,
    beta: float | None = None,
) -> Numbers:
    """Rank, contrast, cover, sight, pull and mean cosine of the simulated tokens at `times`, (texts, times)
    each; at most `most` centers of a text are replaced; beta as above unless given."""
    design = design_capture(_start(model, texts.ids), texts.words, SHARE)
    beta = (4.0 / design.delta) ** 2 if beta is None else beta
    attention = Attention(beta=beta)

    def simulated(ids: Indices) -> Array:
        """(times, n, d)"""
        save = np.array(times)
        x = simulate(attention, _start(model, ids), t=times[-1], save=save, method="rk4", dt=STEP).x
        tick()
        return x

    x = np.stack([simulated(ids) for ids in texts.ids])  # (T, times, n, d)
    chosen = choose_replacements(design, texts.ids, texts.words, most, seed)
    scores = [capture_scores(design, x[:, i]) for i in range(len(times))]
    covers = [cover(design, x[:, i], seed=seed) for i in range(len(times))]
    return {
        "beta": np.array(beta),
        "times": np.array(times),
        "rank": np.stack([one.rank for one in scores], 1),
        "contrast": np.stack([one.contrast for one in scores], 1),
        "cover": np.stack([real - null.mean(0) for real, null in covers], 1),
        "sight": np.stack([one.sight for one in scores], 1),
        "pull": pulls(simulated, texts.ids, x, chosen, np.arange(len(times)))[2],
        "mean_cosine": mean_cosine(x, first=False),
    }


def _start(model: "TransformerModel", ids: Indices) -> Array:
    """Directions of the stream that the first block reads, (..., n, d)."""
    h = np.asarray(model.start(ids), dtype=np.float64)
    return np.asarray(h / np.linalg.norm(h, axis=-1, keepdims=True))
