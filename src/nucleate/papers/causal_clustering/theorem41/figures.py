"""The picture of Theorem 4.1: how tokens gather, how the last perturbations decay, and the rates by token."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.causal_clustering.theorem41.data import SLOWEST_DECAY_TIMES, rate_cases
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """On the left how tokens gather, in the middle how the last perturbations decay, on the right the rates
    token by token."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 3.9), layout="constrained")
    gather, late, rates = figure.subplots(1, 3)
    _draw_gather(gather, data, p)
    _draw_late(late, data, p)
    _draw_rates(rates, data, p)
    return {"theorem41": figure}


def _draw_gather(ax: Any, data: Data, p: Parameters) -> None:
    """The distance of the farthest token over powers of ten of time, a dozen runs at each beta."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    tidy(ax)
    d = 3 if 3 in p["d"] else p["d"][0]
    for i, beta in enumerate(p["betas"]):
        found = data[f"d{d}_beta{beta:g}"]
        # (runs, frames)
        powers = -1.0 + found["share"].values[None] * (np.log10(found["end"].values)[:, None] + 1.0)
        for j in range(min(len(powers), 12)):
            ax.plot(
                powers[j],
                np.maximum(found["apart"].values[j], 1e-16),
                color=CLUSTER_COLOURS[(0, 2, 3)[i % 3]],
                linewidth=0.9,
                alpha=0.75,
                label=f"β = {beta:g}" if j == 0 else None,
            )
    ax.set_yscale("log")
    ax.axhline(END_DISTANCE, color="grey", linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set(ylim=(1e-16, 5.0), xlabel=r"$\log_{10} t$", ylabel="distance of the farthest token from $x_1(0)$")
    ax.set_title(f"Gaussian Q and K, d = {d}, n = {p['n']}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _draw_late(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    colours = {beta: CLUSTER_COLOURS[(5, 0, 2, 3)[i % 4]] for i, beta in enumerate(p["rate_betas"])}
    for name, (d, beta, window) in rate_cases(p).items():
        if window is None:
            found = data[f"decay_{name}"]
            for i, widest in enumerate(found["widest"].values):
                ax.plot(
                    found["time"].values,
                    widest,
                    color=colours[beta],
                    linewidth=0.9,
                    label=f"β = {beta:g}" if i == 0 and d == p["d"][0] else None,
                )
    t = np.array([0.0, SLOWEST_DECAY_TIMES[1]])
    ax.plot(
        t,
        30.0 * np.exp(-t / 2.0),
        color=palette.ink,
        linewidth=1.0,
        linestyle=(0, (5, 3)),
        label=r"$e^{-t/2}$",
    )
    ax.set(yscale="log", xlabel="t", xlim=(0.0, SLOWEST_DECAY_TIMES[1]), ylabel="distance")
    ax.set_title("from starts near one point", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")


def _draw_rates(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy
    from nucleate.theory.consensus import consensus_spectrum

    palette = tidy(ax)
    w = p["windows"][-1]
    for name, (d, beta, window) in rate_cases(p).items():
        found = data[f"decay_{name}"]
        k = found["k"].values
        first = beta == p["rate_betas"][0] and d == (p["d"][0] if window is None else 3)
        if first:
            at = np.arange(2, int(k[-1]) + 1)
            ax.plot(
                at, -consensus_spectrum(int(k[-1]), 2, window)[1:, 0], color=palette.grey(0.5), linewidth=1.0
            )
        for i, rate in enumerate(found["rate"].values):
            ax.plot(
                k,
                -rate,
                "o" if window is None else "D",
                color=CLUSTER_COLOURS[0 if window is None else 3],
                markersize=3.5 if window is None else 7.0,
                markerfacecolor=None if window is None else "none",
                linestyle="none",
                label=("causal" if window is None else f"window of {w}") if first and i == 0 else None,
            )
    ax.set(xscale="log", xlabel="token k", ylabel="rate", ylim=(0.45, 1.02))
    ax.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    ax.minorticks_off()
    ax.set_title("rate with which token k comes back", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")
