"""The picture: mean cosines over time with their bands, and how they approach 1."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.norms import NORMS
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

BAND = (0.05, 0.95)  # quantiles of the runs
LEAST_SHOWN = 1e-6  # of 1 - mean cosine


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Two panels."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(9.4, 4.0, w_pad=0.1)
    left, right = figure.subplots(1, 2)
    for i, norm in enumerate(NORMS):
        gap, t = data[norm]["gap"].values, data[norm]["time"].values  # (runs, times), (times,)
        colour = CLUSTER_COLOURS[i]
        low, high = np.quantile(1.0 - gap, BAND, axis=0)  # (times,) each
        left.fill_between(t, low, high, color=colour, alpha=0.18, linewidth=0)
        left.plot(t, 1.0 - np.median(gap, 0), color=colour, linewidth=1.5, label=norm)
        right.plot(t, np.median(gap, 0), color=colour, linewidth=1.5)
    for ax in (left, right):
        palette = tidy(ax)
        ax.set(xlabel="t", xlim=(0.0, p["T"]))
    every = slice(0, None, max(1, len(t) // 16))
    clock = np.median(data["post"]["in_clock"].values, 0)  # (times,)
    right.plot(
        t[every], clock[every], "o", color=palette.ink, markersize=3, label="post at 2√(t+1) − 2", zorder=5
    )
    left.set(ylabel="mean cosine of two tokens", ylim=(-0.03, 1.03))
    right.set(ylabel="1 − mean cosine", yscale="log", ylim=(LEAST_SHOWN, 1.5))
    left.legend(fontsize=SMALL_POINTS, loc="lower right")
    right.legend(fontsize=SMALL_POINTS, loc="lower left")
    return {"mean-cosine": figure}
