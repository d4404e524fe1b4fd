"""The number of clusters over ln t / beta, how fast curves become one, and the last merge."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.cluster_counts.measures import (
    GRID,
    counts,
    levels,
    limit_counts,
    relative_plateaus,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

COLOURS = (1, 0, 2, 3, 4)  # of CLUSTER_COLOURS, by the order of beta
PLATEAUS = (2, 3, 4, 5)
DISTANCE_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MAX_TICKS = 5
NULL_SHIFT = 1.12  # to the right, a factor in beta
LEAST_SHOWN = 0.1  # of a value, down to which its interval is drawn


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Curves, and the last merge."""
    from matplotlib.figure import Figure

    dimensions = list(p["limit_n"])
    figure = Figure(figsize=(10.4, 6.4), layout="constrained")
    axes = figure.subplots(2, len(dimensions), height_ratios=[1.7, 1.0], squeeze=False)
    for column, d in enumerate(dimensions):
        _curves(axes[0, column], data, p, d)
        _distances(axes[1, column], numbers, p, d)
    axes[0, 0].set_ylabel("clusters, mean")
    axes[1, 0].set_ylabel("mean |ln N − ln N'|")
    return {"cluster-counts": figure, "last-merge": _last(data, numbers, p)}


def _curves(ax: Any, data: Data, p: Parameters, d: str) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    limit = limit_counts(data[f"limit_d{d}"]["loss"].values)  # (starts, 99)
    simulated = {beta for dim, beta, _ in p["simulated"] if str(dim) == d}
    betas = sorted(simulated | {beta for dim, beta, _ in p["predicted"] if str(dim) == d})
    ax.plot(GRID, limit.mean(0), color=palette.grey(0.55), linewidth=3.0, label="limit, all starts")
    same = limit[p["first_start"] :][: p["starts"][d]]  # (starts, 99)
    ax.plot(GRID, same.mean(0), color=palette.ink, linewidth=1.4, label="limit, same starts")
    for i, beta in enumerate(betas):
        colour = CLUSTER_COLOURS[COLOURS[i % 5]]
        curve = counts(data[f"predicted_d{d}_beta{beta:g}"]["loss"].values, beta)
        ax.plot(GRID, curve.mean(0), color=colour, linewidth=1.2, label=f"β = {beta:g}")
        if beta in simulated:
            curve = counts(data[f"simulated_d{d}_beta{beta:g}"]["loss"].values, beta)
            ax.plot(GRID, curve.mean(0), "o", color=colour, markersize=2.5, label=f"β = {beta:g}, simulated")
    ax.set(yscale="log", xlim=(0.0, 2.0), xlabel="ln t / β", title=f"d = {d}")
    top = float(limit.mean(0)[0])
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500) if tick <= 1.5 * top]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.legend(fontsize=SMALL_POINTS - 1, frameon=False)


def _distances(ax: Any, numbers: Numbers, p: Parameters, d: str) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    betas = [beta for dim, beta, _ in p["predicted"] if str(dim) == d]
    grey = palette.grey(0.5)
    for name, some, label, style in (
        ("null", betas, "another start's limit", {"fmt": "s", "color": grey, "markersize": 4}),
        ("off", betas, "the limit", {"fmt": "o-", "color": palette.ink, "markersize": 5}),
        ("step", betas[:-1], "the next β", {"fmt": "o", "color": palette.red, "mfc": "none"}),
    ):
        found = [numbers[f"d{d}_beta{beta:g}_{name}"] for beta in some]
        value, low, high = (
            np.array([getattr(one, part) for one in found]) for part in ("value", "low", "high")
        )
        low = np.maximum(low, LEAST_SHOWN * value)  # the axis has no zero
        shift = NULL_SHIFT if name == "null" else 1.0  # so that both intervals are seen
        ends = [value - low, high - value]
        ax.errorbar(np.array(some) * shift, value, ends, linewidth=1.2, label=f"from {label}", **style)
    ax.set(xscale="log", yscale="log", xlabel="β")
    ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
    if d == list(p["limit_n"])[-1 if len(p["limit_n"]) == 1 else 1]:
        ax.legend(fontsize=SMALL_POINTS - 1, frameon=False, loc="lower left")
    low, high = ax.get_ylim()
    ax.set_ylim(low * 0.8, high * 1.25)
    ticks = [tick for tick in DISTANCE_TICKS if low * 0.8 <= tick <= high * 1.25]
    ticks = ticks if len(ticks) <= MAX_TICKS else ticks[::3]  # powers of ten
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def _last(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    left, right, law = figure.subplots(1, 3)
    for ax in (left, right, law):
        palette = tidy(ax)
    law.plot([0.0, 6.0], np.exp([0.0, -6.0]), color=palette.grey(0.5), linewidth=3.0, label="exponential")
    for i, d in enumerate(p["limit_n"]):
        colour = CLUSTER_COLOURS[COLOURS[i % 4]]
        level = np.sort(levels(data[f"limit_d{d}"]["loss"].values[:, 0]))
        left.plot(level, (np.arange(len(level)) + 0.5) / len(level), color=colour, label=f"d = {d}")
        seen = [beta for dim, beta, _ in p["simulated"] if str(dim) == d]
        if seen:
            last = np.sort(data[f"simulated_d{d}_beta{max(seen):g}"]["loss"].values[:, 0]) / max(seen)
            share, words = (np.arange(len(last)) + 0.5) / len(last), f"simulated, β = {max(seen):g}"
            left.plot(last, share, "osD"[i % 3], color=colour, markersize=4, label=words)
        found = [numbers[f"d{d}_plateau{clusters}"] for clusters in PLATEAUS]
        value, low, high = (
            np.array([getattr(one, part) for one in found]) for part in ("value", "low", "high")
        )
        right.errorbar(
            PLATEAUS, value, [value - low, high - value], fmt="osD"[i % 3] + "-", color=colour, markersize=4
        )
        every = levels(data[f"limit_d{d}"]["loss"].values)  # (starts, rank)
        for some, style in ((range(10, 40), "-"), (range(2, 3), (0, (3, 2)))):
            length = np.sort(relative_plateaus(every, some).ravel())
            share = 1.0 - np.arange(len(length)) / len(length)
            law.plot(length, share, color=colour, linestyle=style, linewidth=1.2)
    law.set(yscale="log", xlim=(0.0, 6.0), ylim=(2e-3, 1.0))
    law.set(xlabel="length of a plateau over its mean", ylabel="share that is longer")
    law.legend(fontsize=SMALL_POINTS, frameon=False)
    left.set(xlim=(0.0, 2.0), ylim=(0.0, 1.0), xlabel="ln t / β of the last merge", ylabel="share of starts")
    left.legend(fontsize=SMALL_POINTS, frameon=False)
    right.set(xlabel="clusters left", ylabel="length in ln t / β, mean", yscale="log")
    right.set_xticks(list(PLATEAUS))
    right.set_yticks([0.1, 0.2, 0.4, 0.8], ["0.1", "0.2", "0.4", "0.8"])
    right.minorticks_off()
    return figure
