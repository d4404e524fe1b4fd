"""The pictures of capture: shares of tokens near centers, displacements, where tokens crowd, and when."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.capture.data import dataset_name
from nucleate.papers.causal_clustering.capture.measures import (
    MIN_TOKENS,
    crowding_times,
    large_sizes,
    shares,
)
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.line_fits import half_width
from nucleate.papers.core.numbers import mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

BETA_COLOURS = {4.0: 5, 16.0: 0, 64.0: 3, 256.0: 2}  # of CLUSTER_COLOURS, the same in all panels


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares by n, displacements and where late tokens crowd; then times by n."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 0.9, 1.1])
    found = data[dataset_name(2, p["shares_beta"])]
    _draw_shares(left, found, p, numbers["chance"].value)
    _draw_displacements(middle, data, p)
    _draw_crowds(right, found, p)
    return {"capture": figure, "capture-time": _times_figure(data, numbers, p)}


def _draw_shares(ax: Any, found: Any, p: Parameters, chance: float) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, n = tidy(ax), found["tokens"].values
    for i, t in enumerate(p["shown"]):
        share = np.nanmean(shares(found, t), axis=-1)  # (run, tokens)
        error = np.array([half_width(mean_of(one, "")) for one in share.T])  # (tokens,)
        colour = CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]]
        mean = share.mean(0)
        ax.plot(n, mean, color=colour, linewidth=1.3, label=f"t = {t:g}")
        ax.fill_between(n, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    ax.axhline(chance, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.text(
        n[-1],
        chance * 0.96,
        "chance",
        fontsize=SMALL_POINTS,
        va="top",
        ha="right",
        color=palette.grey(0.7),
    )
    ax.set(xscale="log", ylim=(0.0, None), xlabel="n", ylabel="share of tokens near a Rényi center")
    ax.set_title("share of n tokens near a center", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")


def _draw_displacements(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    tidy(ax)
    for d, colour in zip(p["bound_n"], (CLUSTER_COLOURS[0], CLUSTER_COLOURS[3]), strict=False):
        found = data[f"bound-d{d}"]
        k = found["place"].values
        for one in found["moved"].values[:, -1]:
            ax.plot(k[1:], one[1:], color=colour, linewidth=0.8, alpha=0.7)
        bound = np.median(found["bound"].values[:, -1], axis=0)
        ax.plot(k, bound, color=colour, linestyle=(0, (4, 1.5)), linewidth=1.3)
        ax.plot([], [], color=colour, label=f"d = {d}")
    ax.axhline(np.pi, color=tidy(ax).grey(0.5), linewidth=0.8, zorder=0)
    ax.text(k[0], np.pi * 0.8, "π", fontsize=SMALL_POINTS, va="top", color=tidy(ax).grey(0.7))
    ax.set(xscale="log", yscale="log", xlabel="k, place in the sequence", ylabel="displacement")
    ax.set_title(f"displacements at t = {p['bound_times'][-1]:g}, bound dashed", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")


def _draw_crowds(ax: Any, found: Any, p: Parameters) -> None:
    """The first run: where the first tokens are and where all are, at the same time."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, t, n = tidy(ax), p["crowds_at"], found["tokens"].values
    frame = int(np.searchsorted(found["time"].values, t))
    angle = np.linspace(-np.pi, np.pi, found.sizes["bin"] + 1)[:-1]
    sizes = [int(np.searchsorted(n, MIN_TOKENS)), len(n) - 1]
    for i, colour, width in zip(sizes, (palette.grey(0.45), palette.ink), (1.0, 1.4), strict=True):
        density = found["histogram"].values[0, frame, i] / n[i] * found.sizes["bin"]
        ax.plot(
            angle, density, color=colour, linewidth=width, drawstyle="steps-post", label=f"first {n[i]:,}"
        )
    for place in found["place"].values[0, frame]:
        if np.isfinite(place):
            ax.axvline(place, color=palette.red, linewidth=0.9, zorder=3)
    highest = 1.3 * float((found["histogram"].values[0, frame, -1] / n[-1]).max() * found.sizes["bin"])
    ax.set(xlim=(-np.pi, np.pi), ylim=(0.0, max(highest, 4.0)), xlabel="angle", ylabel="density")
    ax.set_xticks([-np.pi, 0.0, np.pi], ["−π", "0", "π"])
    ax.set_title(f"tokens at t = {t:g}, Rényi centers red", fontsize=SMALL_POINTS + 1)
    ax.legend(
        fontsize=SMALL_POINTS,
        frameon=False,
        ncols=2,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.07),
    )


def _times_figure(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    """Times of crowding by n, a panel for each d."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    axes = figure.subplots(1, len(p["betas"]), squeeze=False)[0]
    for ax, (d, betas) in zip(axes, p["betas"].items(), strict=True):
        palette = tidy(ax)
        for i, beta in enumerate(betas):
            name = dataset_name(int(d), beta)
            shift = (0.97, 1.0, 1.03)[i % 3]  # so that intervals do not cover each other
            found, large = data[name], large_sizes(data[name])
            if not len(large):
                continue
            n, colour = found["tokens"].values[large], CLUSTER_COLOURS[BETA_COLOURS.get(beta, i)]
            mean = crowding_times(found)[:, large].mean(0)
            error = [half_width(mean_of(one, "")) for one in crowding_times(found)[:, large].T]
            ax.errorbar(
                shift * n,
                mean,
                error,
                fmt="o",
                markersize=4.5,
                capsize=2,
                color=colour,
                label=f"β = {beta:g}",
            )
            linear = crowding_times(found, "linear")[:, large].mean(0)
            ax.plot(n, linear, color=colour, linestyle=(0, (4, 1.5)), linewidth=1.2)
            slope = numbers[f"slope_{name}"].expected
            assert slope is not None
            ax.plot(n, mean[-1] + slope * np.log(n / n[-1]), color=palette.red, linewidth=0.9, zorder=0)
        ax.set(xscale="log", xlabel="n", ylabel="time")
        ax.set_title(f"d = {d}: when n tokens are crowded", fontsize=SMALL_POINTS + 1)
        ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
    return figure
