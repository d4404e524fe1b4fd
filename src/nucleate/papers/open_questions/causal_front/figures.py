"""The front over the sequence, when it passes, and the masses of clusters it leaves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.causal_front.data import bins_of
from nucleate.papers.open_questions.causal_front.measures import crossing_times
from nucleate.theory.causal_front import front_speed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

SHOWN = 7  # frames of the front
COLOURS = (1, 0, 2, 3)  # of CLUSTER_COLOURS, by the order of beta


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Three panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 3.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.2, 1.2, 0.9])
    shown = 64.0 if 64.0 in p["betas"] else p["betas"][0]
    _profiles(left, data, p, shown)
    _passing(middle, data, numbers, p)
    _masses(right, data, p)
    return {"causal-front": figure}


def _profiles(ax: Any, data: Data, p: Parameters, beta: float) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    found, s = data[f"beta{beta:g}"], bins_of(p["first"], p["n"]).s
    times = np.array(p["times"])
    seen, limit = found["seen"].values.mean(0), found["own_seen"].values.mean(0)  # (time, bin)
    frames = np.unique(
        np.searchsorted(times, np.linspace(2.0, min(10.0, times[-1]), SHOWN)).clip(0, len(times) - 1)
    )
    for frame in frames:
        shade = palette.grey(0.25 + 0.7 * frame / frames[-1])
        ax.plot(np.exp(s), seen[frame], color=shade, linewidth=1.4)
        ax.plot(np.exp(s), limit[frame], ":", color=palette.red, linewidth=1.1)
        ax.annotate(f"t = {times[frame]:g}", (np.exp(s[-1]), seen[frame, -1]), fontsize=SMALL_POINTS - 1)
    ax.set(
        xscale="log",
        xlabel="place k in the sequence",
        ylabel="ζ − 1, what a token sees",
        title=f"β = {beta:g}",
    )


def _passing(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    s, times = bins_of(p["first"], p["n"]).s, np.array(p["times"])
    for i, beta in enumerate(p["betas"]):
        colour = CLUSTER_COLOURS[COLOURS[i % 4]]
        found, level = data[f"beta{beta:g}"], numbers[f"beta{beta:g}_level"].value
        crossing = crossing_times(found["seen"].values, times, level)  # (start, bin)
        mean = np.nanmean(crossing, 0)
        ax.plot(np.exp(s), mean, "o", color=colour, markersize=3.0, label=f"β = {beta:g}")
        for row in crossing:
            ax.plot(np.exp(s), row, color=colour, linewidth=0.4, alpha=0.6)
        slope, centre = 1.0 / front_speed(beta), s >= np.log(p["least"])
        line = mean[centre].mean() + slope * (s - s[centre].mean())
        ax.plot(np.exp(s), line, color=palette.red, linewidth=0.9)
        full = crossing_times(found["full"].values.swapaxes(1, 2), times, level).mean(0)  # (size,)
        ax.plot(p["full_n"], full, "o-", color=colour, markersize=5, markerfacecolor="none", linewidth=0.7)
    ax.set(xscale="log", xlabel="place k (rings: n, full mask)", ylabel="time at which the front passes")
    ax.legend(fontsize=SMALL_POINTS, frameon=False)


def _masses(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    top = 0.0
    for i, beta in enumerate(p["betas"]):
        found, colour = data[f"beta{beta:g}"], CLUSTER_COLOURS[COLOURS[i % 4]]
        mass, arc = found["mass"].values.ravel(), found["arc"].values.ravel()
        ax.plot(arc, mass, "o", color=colour, markersize=3.0, label=f"β = {beta:g}")
        top = max(top, float(np.nanmax(np.maximum(mass, arc))))
    ax.plot([0.0, top], [0.0, top], color=palette.grey(0.5), linewidth=0.8)
    ax.set(xlabel="share of the circle nearest to the leader", ylabel="share of the tokens")
    ax.legend(fontsize=SMALL_POINTS, frameon=False)
