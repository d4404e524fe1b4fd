"""The pictures of whole lives: one life, the number of clusters over time, and the law of the last merge."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.life.measures import last_lifetimes
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The life shown; the number of clusters over time; the law of the last merge."""
    return {
        "life": _life_figure(data),
        "life-counts": _counts_figure(data, p),
        "life-law": _law_figure(data, numbers, p),
    }


def _life_figure(data: Data) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.observe.life import Life
    from nucleate.observe.merges import merges
    from nucleate.plot.merges import LIFE_INCHES, life, life_axes

    figure = Figure(figsize=LIFE_INCHES, layout="constrained")
    life(Life(data["shown"], merges(data["shown"])), life_axes(figure))
    return figure


def _counts_figure(data: Data, p: Parameters) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.bands import band
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS
    from nucleate.plot.time_axis import log_time_axis

    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    ax = figure.add_subplot()
    styles: list[Any] = ["-", (0, (6, 1.5)), (0, (3, 1.5)), (0, (1, 1))]
    for i, beta in enumerate(p["betas"]):
        found = data[f"beta{beta:g}"]
        band(
            found["time"].values,
            found["count"].values,
            ax,
            f"β = {beta:g}",
            CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]],
            linestyle=styles[i % 4],
            log=True,
        )
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        labels,
        title="mean and 10% to 90% of runs",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=4,
        fontsize=SMALL_POINTS,
        title_fontsize=SMALL_POINTS,
        alignment="left",
    )
    end = max(float(np.nanmax(data[f"beta{beta:g}"]["last_time"].values)) for beta in p["betas"])
    log_time_axis(ax, 10.0 * end)
    ax.set_yscale("log")
    ax.set_yticks([1, 2, 3, 5, 10, 20, 50, 100, 200], ["1", "2", "3", "5", "10", "20", "50", "100", "200"])
    ax.minorticks_off()
    ax.set(ylim=(0.9, 1.15 * p["n"]), ylabel="clusters")
    return figure


def _law_figure(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    ax, beside = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
    palette = tidy(ax)
    tidy(beside)
    reach = max(1.3 * numbers["law_exact"].value, 1e-12)
    power = math.floor(math.log10(reach))
    unit = 10.0**power
    for i, beta in enumerate(p["betas"]):
        x, y, expected = last_lifetimes([data[f"beta{beta:g}"]], [beta])
        colour, mark = CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]], "osD^"[i % 4]
        ax.scatter(
            x / np.log(10),
            y / np.log(10),
            s=16,
            marker=mark,
            color=colour,
            linewidths=0,
            label=f"β = {beta:g}",
        )
        beside.scatter(
            x / np.log(10), (y - expected) / np.log(10) / unit, s=16, marker=mark, color=colour, linewidths=0
        )
    far = ax.get_xlim()[1]
    ax.plot([0, far], [0, far], color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.set(
        xlim=(0, far),
        ylim=(0, far),
        xlabel=r"$\beta(1 - \cos\Delta)\,/\,\ln 10$",
        ylabel=r"$\log_{10}$ of the last lifetime",
    )
    ax.set_title(f"slope {numbers['law_slope']!s}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
    beside.axhline(0.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    beside.set(
        xlim=(0, far), ylim=(-reach / unit, reach / unit), xlabel=r"$\beta(1 - \cos\Delta)\,/\,\ln 10$"
    )
    beside.set_ylabel(rf"$\log_{{10}}$(measured / two-token law), in $10^{{{power}}}$")
    return figure
