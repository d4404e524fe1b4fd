"""A positive control: causal attention of ours, Q = K = V = I, from the very start of the model's tokens,
judged by the very design that judges the model.

beta = (4 / delta)^2, the paper's delta = 4 beta^(-1/2) turned around, delta that of the design: where capture
is true, rank and sight must say so for these texts, words and dimensions.
"""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.attention import Attention
from nucleate.integrate.simulate import simulate
from nucleate.observe.capture import capture_scores, design_capture
from nucleate.observe.cosines import mean_cosine
from nucleate.tracing.measures import SHARE, Numbers, Texts, Tick

if TYPE_CHECKING:
    from nucleate.models.forward import TransformerModel

__all__ = ["TIMES", "measure_positive_control"]

TIMES = (0.0, 3.0, 10.0, 30.0)
STEP = 1.0  # of rk4; the fastest token moves at most at speed 1


def measure_positive_control(
    model: "TransformerModel",
    texts: Texts,
    tick: Tick,
    times: tuple[float, ...] = TIMES,
    beta: float | None = None,
) -> Numbers:
    """Rank, contrast, sight and mean cosine of the simulated tokens at `times`, (texts, times) each; beta as
    above unless given."""
    x0 = []
    for ids in texts.ids:
        h = np.asarray(model.run(ids).states[0], dtype=np.float64)
        x0.append(h / np.linalg.norm(h, axis=-1, keepdims=True))
        tick()
    start = np.stack(x0)  # (T, n, d)
    design = design_capture(start, texts.words, SHARE)
    beta = (4.0 / design.delta) ** 2 if beta is None else beta
    attention = Attention(beta=beta)
    x = np.stack(
        [
            simulate(attention, one, t=times[-1], save=np.array(times), method="rk4", dt=STEP).x
            for one in start
        ]
    )  # (T, times, n, d)
    scores = [capture_scores(design, x[:, i]) for i in range(len(times))]
    return {
        "beta": np.array(beta),
        "times": np.array(times),
        "rank": np.stack([one.rank for one in scores], 1),
        "contrast": np.stack([one.contrast for one in scores], 1),
        "sight": np.stack([one.sight for one in scores], 1),
        "mean_cosine": mean_cosine(x, first=False),
    }
