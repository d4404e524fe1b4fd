"""The picture of capture: shares of tokens near centers, times of crowding, and where tokens crowd."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.capture.measures import MIN_TOKENS, crowding_times, shares
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares by n, times by n, and where late tokens crowd."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 0.85, 1.1])
    _draw_shares(left, data, p, numbers["chance"].value)
    _draw_times(middle, data, numbers)
    _draw_crowds(right, data, p)
    return {"capture": figure}


def _draw_shares(ax: Any, data: Data, p: Parameters, chance: float) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    curves = [("many", t, "-") for t in p["shown"]] + [("long", p["long_times"][-1], (0, (4, 1.5)))]
    for i, (name, t, dash) in enumerate(curves):
        share = np.nanmean(shares(data[name], t, p["radius"]), axis=-1)  # (run, tokens)
        error = share.std(0, ddof=1) / np.sqrt(len(share))
        colour = CLUSTER_COLOURS[(0, 2, 3, 5, 7, 6)[i % 6]]
        ax.errorbar(
            data[name]["tokens"].values,
            share.mean(0),
            2.0 * error,
            color=colour,
            linestyle=dash,
            linewidth=1.3,
            capsize=2,
            label=f"t = {t:g}",
        )
    ax.axhline(chance, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.text(
        data["many"]["tokens"].values[-1],
        chance * 0.97,
        "chance",
        fontsize=SMALL_POINTS,
        va="top",
        ha="right",
        color=palette.grey(0.7),
    )
    ax.set(xscale="log", ylim=(0.0, None), xlabel="n", ylabel="share of tokens near a Rényi center")
    ax.set_title("share of n tokens held by a center", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left", ncols=2)


def _draw_times(ax: Any, data: Data, numbers: Numbers) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    n, times = data["many"]["tokens"].values, crowding_times(data["many"])
    some = np.isfinite(times).all(0) & (n >= MIN_TOKENS)
    for one in times:
        ax.plot(n, one, color=palette.grey(0.35), linewidth=0.8)
    mean = times[:, some].mean(0)
    ax.plot(n[some], mean, "o", color=CLUSTER_COLOURS[0], markersize=5)
    slope = numbers["time_per_log"].expected
    assert slope is not None
    if some.any():
        middle = np.log(n[some]).mean()
        ax.plot(
            n[some],
            mean.mean() + slope * (np.log(n[some]) - middle),
            color=palette.red,
            linewidth=1.2,
            label=f"slope {slope:.2f}, of a front in the limit",
        )
        ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
    ax.set(xscale="log", xlabel="n", ylabel="time")
    ax.set_title("when n tokens are crowded", fontsize=SMALL_POINTS + 1)


def _draw_crowds(ax: Any, data: Data, p: Parameters) -> None:
    """The first run: where the first tokens are and where all are, at the same time."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    found, t = data["many"], p["crowds_at"]
    frame, n = int(np.searchsorted(found["time"].values, t)), found["tokens"].values
    angle = np.linspace(-np.pi, np.pi, found.sizes["bin"] + 1)[:-1]
    sizes = [int(np.searchsorted(n, MIN_TOKENS)), len(n) - 1]
    for i, colour, width in zip(sizes, (palette.grey(0.45), palette.ink), (1.0, 1.4), strict=True):
        density = found["histogram"].values[0, frame, i] / n[i] * found.sizes["bin"]
        ax.plot(angle, density, color=colour, linewidth=width, drawstyle="steps-post", label=f"first {n[i]}")
    for place in found["place"].values[0, frame]:
        if np.isfinite(place):
            ax.axvline(place, color=palette.red, linewidth=0.9, zorder=0)
    highest = 1.3 * float((found["histogram"].values[0, frame, -1] / n[-1]).max() * found.sizes["bin"])
    ax.set(xlim=(-np.pi, np.pi), ylim=(0.0, max(highest, 4.0)), xlabel="angle", ylabel="density")
    ax.set_xticks([-np.pi, 0.0, np.pi], ["−π", "0", "π"])
    ax.set_title(f"tokens at t = {t:g}, Rényi centers red", fontsize=SMALL_POINTS + 1)
    ax.legend(
        fontsize=SMALL_POINTS,
        frameon=True,
        facecolor=palette.paper,
        edgecolor="none",
        framealpha=0.85,
        loc="upper right",
    )
