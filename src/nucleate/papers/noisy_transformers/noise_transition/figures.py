"""The picture: rates of the first harmonic, and the order over kappa in both directions, on the theory."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.line_fits import STANDARD_ERRORS_95
from nucleate.papers.noisy_transformers.noise_transition.data import DIRECTIONS
from nucleate.papers.noisy_transformers.noise_transition.measures import growth_rates
from nucleate.theory.noise_threshold import kappa_c, ordered_states

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Three panels."""
    from nucleate.papers.core.figure_layout import spaced_figure

    figure = spaced_figure(11.0, 3.7, w_pad=0.1)
    axes = figure.subplots(1, 1 + len(p["sweeps"]))
    _draw_growth(axes[0], data, p)
    for ax, beta in zip(axes[1:], p["sweeps"], strict=True):
        _draw_sweep(ax, numbers, p, beta)
    return {"noise-transition": figure}


def _draw_growth(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    ratio = np.asarray(p["growth_ratios"])  # (ratios,)
    ends = np.array([ratio[0] - 0.1, ratio[-1] + 0.1])
    ax.plot(ends, ends - 1.0, color=palette.grey(0.6), label=r"$\kappa/\kappa_c - 1$")
    ax.axhline(0.0, color=palette.grey(0.4), linewidth=0.8, zorder=0)
    for i, (beta, marker) in enumerate(zip(p["sweeps"], "os", strict=False)):
        rate, error = growth_rates(data, p, beta)
        shift = 0.012 * (2 * i - 1)  # so that both can be seen
        colour = CLUSTER_COLOURS[3 * i]
        ax.errorbar(
            ratio + shift,
            rate,
            STANDARD_ERRORS_95 * error,
            fmt=marker,
            color=colour,
            markersize=4,
            capsize=2,
            label=f"β = {beta}",
        )
    ax.set(xlabel=r"$\kappa/\kappa_c$", ylabel="κ × rate of the first harmonic", xlim=ends)
    ax.legend(fontsize=SMALL_POINTS, loc="upper left")


def _draw_sweep(ax: Any, numbers: Numbers, p: Parameters, beta: str) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    ratios, least = np.asarray(p["sweeps"][beta]), numbers[f"fold_{beta}"].value
    margin = 0.05 * (ratios[-1] - ratios[0])
    branch = ordered_states(float(beta), 2)
    kappa = branch.kappa / kappa_c(float(beta), 2)  # (states,)
    for stable, line in ((True, "-"), (False, "--")):
        order = np.where(branch.stable == stable, branch.order, np.nan)
        ax.plot(kappa, order, color=palette.grey(0.6), linestyle=line, zorder=1)
    ax.plot([0.0, 1.0], [0.0, 0.0], color=palette.grey(0.6), zorder=1)
    ax.plot([1.0, 2.0], [0.0, 0.0], color=palette.grey(0.6), linestyle="--", zorder=1)
    if least < 1.0:
        ax.axvspan(least, 1.0, color=palette.grey(0.12), linewidth=0.0, zorder=0)
    for way, marker, colour in zip(DIRECTIONS, "^v", (CLUSTER_COLOURS[0], CLUSTER_COLOURS[3]), strict=True):
        found = [numbers[f"{way}_{beta}_{ratio:g}"] for ratio in ratios]
        value = np.array([one.value for one in found])
        ends = np.array([[one.low, one.high] for one in found], dtype=float).T  # (2, ratios)
        ax.errorbar(
            ratios,
            value,
            np.abs(ends - value),
            fmt=f"{marker}-",
            color=colour,
            markersize=5,
            linewidth=0.8,
            capsize=2,
            label=f"κ {'raised' if way == 'up' else 'lowered'}",
        )
    ax.set(
        xlabel=r"$\kappa/\kappa_c$",
        ylabel="order |mean token|",
        xlim=(ratios[0] - margin, ratios[-1] + margin),
        ylim=(-0.03, 1.03),
    )
    ax.set_title(f"β = {beta}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, loc="upper left")
