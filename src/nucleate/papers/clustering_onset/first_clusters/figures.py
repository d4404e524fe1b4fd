"""The picture: which mode is first, measured and raced, and the densities at the end of some runs."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.clustering_onset.first_clusters.measures import first_modes, raced_modes
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """For every beta the distribution of the first mode above the densities of all runs at the end."""
    from matplotlib.ticker import MaxNLocator

    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy
    from nucleate.theory.onset import fastest_mode, mode_growth

    figure = spaced_figure(11.0, 6.0, w_pad=0.08)
    axes = figure.subplots(2, len(p["betas"]), squeeze=False, height_ratios=[1.0, 1.15])
    for column, beta in enumerate(p["betas"]):
        found, fastest = data[f"beta{beta:g}"], fastest_mode(beta)
        k = found["k"].values
        first = first_modes(found, p["level"])
        share = np.array([(first == one).mean() for one in k])
        ax = axes[0, column]
        palette = tidy(ax)
        ax.bar(k, share, color=CLUSTER_COLOURS[0], width=0.72, label=f"{len(first)} runs")
        raced = raced_modes(mode_growth(k, beta), p["n"], p["level"], p["seed"])
        ax.plot(
            k, raced, "o-", color=palette.ink, markersize=3.6, linewidth=1.0, label="race of random modes"
        )
        top = 1.32 * max(share.max(), raced.max())  # with room for the legend, below which the line ends
        ax.axvline(fastest, ymax=0.79, color=palette.red, linewidth=0.9, linestyle=(0, (3, 2)), zorder=3)
        ax.set(xlim=(0.4, k[-1] + 0.6), ylim=(0.0, top), xlabel="mode that shows first")
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_title(f"β = {beta:g}: fastest k = {fastest}", fontsize=SMALL_POINTS + 1)
        if column == 0:
            ax.set_ylabel("share of runs")
            ax.legend(fontsize=SMALL_POINTS, loc="upper right")
        below = axes[1, column]
        tidy(below)
        density = found["histogram"].values * p["bins"] / p["n"]  # (runs, bins), 1 where uniform
        order = np.argsort(first, kind="stable")
        below.pcolormesh(
            found["bin"].values,
            np.arange(len(first)),
            _turned(density, first)[order],
            vmin=0.0,
            vmax=4.0,
            shading="nearest",
            rasterized=True,
        )
        below.set(xlabel="θ at the end, turned", xlim=(-np.pi, np.pi))
        below.set_xticks([-np.pi, 0.0, np.pi], ["−π", "0", "π"])
        below.set_yticks([])
        if column == 0:
            below.set_ylabel("runs, by their first mode")
    return {"first-clusters": figure}


def _turned(density: Array, first: Array) -> Array:
    """Every row (runs, bins) turned so that a peak of its first mode is in the middle."""
    bins = density.shape[1]
    angle = 2.0 * np.pi * (np.arange(bins) + 0.5) / bins - np.pi
    found = np.empty_like(density)
    for i, (row, k) in enumerate(zip(density, first, strict=True)):
        phase = np.angle((row * np.exp(1j * k * angle)).sum()) / max(k, 1)
        found[i] = np.roll(row, -round(phase * bins / (2.0 * np.pi)))
    return found
