"""The picture: measured rates of growth on their formula, one panel for every beta."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.clustering_onset.mode_growth.measures import growth_rates
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.line_fits import STANDARD_ERRORS_95

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Rates against k, with the fastest mode marked."""
    from matplotlib.ticker import MaxNLocator

    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy
    from nucleate.theory.onset import fastest_mode, mode_growth

    figure = spaced_figure(11.4, 3.8, w_pad=0.08)
    axes = figure.subplots(1, len(p["betas"]), sharey=True, squeeze=False)[0]
    for ax, beta in zip(axes, p["betas"], strict=True):
        palette = tidy(ax)
        found = data[f"beta{beta:g}"]
        k = found["k"].values
        rate, error = growth_rates(found)
        fine = np.arange(0, k[-1] + 1)
        ax.plot(fine, mode_growth(fine, beta), color=palette.ink, linewidth=1.1, label="formula")
        ax.errorbar(
            k,
            rate,
            STANDARD_ERRORS_95 * error,
            fmt="o",
            color=CLUSTER_COLOURS[0],
            markersize=3.6,
            linewidth=1.0,
            label="measured",
        )
        fastest = fastest_mode(beta)
        ax.axvline(fastest, color=palette.red, linewidth=0.9, linestyle=(0, (3, 2)), zorder=0)
        ax.set_title(f"β = {beta:g}: fastest k = {fastest}", fontsize=SMALL_POINTS + 1)
        ax.set(xlabel="k", xlim=(0.0, k[-1] + 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    highest = max(float(mode_growth(fastest_mode(beta), beta)) for beta in p["betas"])
    axes[0].set_ylim(0.0, 1.1 * highest)
    axes[0].set_ylabel("rate of growth of mode k")
    axes[-1].legend(fontsize=SMALL_POINTS, loc="upper right")
    return {"mode-growth": figure}
