"""The picture: how often the order of merges is that of either linkage, against beta."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

APART = 1.04  # factor of beta between neighbouring kinds, so that intervals do not cover each other


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares with their intervals."""
    from matplotlib.ticker import NullLocator

    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(7.6, 3.9)
    ax = figure.subplots()
    palette = tidy(ax)
    kinds = {
        "nearest_first": ("the nearest pair merges first", palette.ink, "o"),
        "centroid": ("all merges as by centroid linkage", CLUSTER_COLOURS[0], "D"),
        "single": ("all merges as by single linkage", palette.red, "s"),
    }
    for i, (kind, (label, colour, mark)) in enumerate(kinds.items()):
        found = [numbers[f"{kind}_{beta:g}"] for beta in p["betas"]]
        value = np.array([one.value for one in found])
        low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
        ax.errorbar(
            np.array(p["betas"]) * APART ** (i - 1),
            value,
            [value - low, high - value],
            fmt=f"{mark}-",
            color=colour,
            markersize=5,
            linewidth=1.2,
            capsize=2,
            label=label,
        )
    both = numbers["linkages_agree"].value
    ax.axhline(both, color=palette.grey(0.5), linewidth=0.9, linestyle=(0, (3, 2)))
    ax.text(
        1.1 * p["betas"][0],
        both + 0.015,
        "both linkages agree",
        fontsize=SMALL_POINTS - 1,
        color=palette.grey(0.7),
    )
    ax.set(xscale="log", xlabel="β", ylabel="share of starts", ylim=(0.0, 1.03))
    ax.set_xticks(p["betas"], [f"{beta:g}" for beta in p["betas"]])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.legend(fontsize=SMALL_POINTS, loc="lower right")
    return {"merge-order": figure}
