"""The pictures of whole lives: one life, the number of clusters over time, and the law of merges."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.life.data import dataset_name
from nucleate.papers.causal_clustering.life.measures import merge_lifetimes
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LARGEST_RATIO = 1.0  # of the logarithm to base 10 of measured over law that is shown


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The life shown; the number of clusters over time; the law of merges."""
    return {
        "life": _life_figure(data),
        "life-counts": _counts_figure(data, p),
        "life-law": _law_figure(data, p),
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


def _law_figure(data: Data, p: Parameters) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    axes = figure.subplots(2, 2, height_ratios=[1.6, 1.0], sharex="col")
    for column, (d, betas) in enumerate(((2, p["betas"]), (3, p["sphere_betas"]))):
        _draw_law(axes[0, column], axes[1, column], data, d, betas)
    return figure


def _draw_law(ax: Any, ratio: Any, data: Data, d: int, betas: list[float]) -> None:
    """Measured lifetimes against the law, and over it."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, most = tidy(ax), 1.0
    tidy(ratio)
    for i, beta in enumerate(betas):
        found = merge_lifetimes(data[dataset_name(d, beta)], beta)
        law, measured = found.law / np.log(10.0), found.measured / np.log(10.0)
        style = {
            "s": 16,
            "marker": "osD^"[i % 4],
            "color": CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]],
            "linewidths": 0,
            "alpha": 0.9,
        }
        ax.scatter(law, measured, label=f"β = {beta:g}", **style)
        ratio.scatter(law, np.clip(measured - law, -LARGEST_RATIO, LARGEST_RATIO), clip_on=False, **style)
        most = max(most, 1.04 * float(np.max([*law, *measured])))
    ax.plot([0.0, most], [0.0, most], color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ratio.axhline(0.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    for side in (-1.0, 1.0):
        ratio.axhline(
            side * np.log10(3.0), color=palette.grey(0.5), linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=0
        )
    ax.set(xlim=(0.0, most), ylim=(0.0, most))
    ratio.set(
        ylim=(-LARGEST_RATIO, LARGEST_RATIO),
        xlabel=r"$\log_{10}$ of the law $e^{\beta(1-\cos\Delta)}/(m\beta\,\sin^2\Delta)$",
    )
    if d == 2:
        ax.set_ylabel(r"$\log_{10}$ of the lifetime")
        ratio.set_ylabel(r"$\log_{10}$(lifetime / law)")
    ax.set_title(f"{'circle' if d == 2 else 'sphere'}, d = {d}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
