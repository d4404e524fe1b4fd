"""The picture: rates close to opposite and shares of opposite ends over beta, on their formulas."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.theory.random_values import antipode_exponent, antipode_probability, critical_beta

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Two panels."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(9.4, 3.8, w_pad=0.1)
    left, right = figure.subplots(1, 2)
    betas, d = np.linspace(0.0, 1.1 * p["betas"][-1], 200), p["d"]
    for ax in (left, right):
        palette = tidy(ax)
        ax.axvline(critical_beta(d), color=palette.grey(0.5), linewidth=0.8, linestyle=":", zorder=0)
        ax.set(xlabel="β", xlim=(0.0, betas[-1]))
    left.axhline(0.0, color=palette.grey(0.4), linewidth=0.8, zorder=0)
    left.plot(betas, [antipode_exponent(beta, d) for beta in betas], color=palette.grey(0.6))
    right.plot(betas, [float(antipode_probability(beta, d)) for beta in betas], color=palette.grey(0.6))
    for ax, name, colour, marker, label in (
        (left, "rate", CLUSTER_COLOURS[0], "o", None),
        (right, "opposite_full", CLUSTER_COLOURS[0], "o", "full mask"),
        (right, "opposite_causal", CLUSTER_COLOURS[3], "x", "causal mask"),
    ):
        found = [numbers[f"{name}_{beta:g}"] for beta in p["betas"]]
        value = np.array([one.value for one in found])
        ends = np.array([[one.low, one.high] for one in found], dtype=float).T  # (2, betas)
        ax.errorbar(
            p["betas"],
            value,
            np.abs(ends - value),
            fmt=marker,
            color=colour,
            markersize=5,
            capsize=2,
            label=label,
        )
    left.set_ylabel("rate of log(1 + u) at u = −1")
    right.set_ylabel(f"share of runs opposite at T = {p['T']:g}")
    right.legend(fontsize=SMALL_POINTS, loc="lower right")
    return {"random-values": figure}
