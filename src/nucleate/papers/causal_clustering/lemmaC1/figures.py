"""The picture of Lemma C.1: strong centers against the lemma, the way to jamming, and the constants."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.lemmaC1.data import dataset_name
from nucleate.papers.causal_clustering.lemmaC1.measures import PARABOLA, jammed
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.line_fits import (
    half_width,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LINE_POINT = 2  # the number of tokens, by its index, through whose point lines of the right power are drawn


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Left, strong centers against the lemma; middle, the way to jamming; right, the constants."""
    figure = spaced_figure(11.0, 4.4)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.9])
    _draw_strong(left, data, p)
    _draw_jamming(middle, data, p)
    _draw_constants(right, numbers)
    return {"lemmac1": figure}


def _draw_strong(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy
    from nucleate.theory.counts import cap_share

    palette = tidy(ax)
    at = np.geomspace(1.0, p["sizes"][-1], 200)
    for i, (d, delta) in enumerate(p["strong_at"]):
        found, colour = data[dataset_name("strong", d, delta)], CLUSTER_COLOURS[(0, 3, 2, 5)[d - 2]]
        sigma = cap_share(delta, d)
        ax.plot(
            at, -np.expm1(at * np.log1p(-sigma)) / sigma, color=palette.grey(0.45), linewidth=0.9, zorder=1
        )
        label = f"d = {d}" if (i == 0 or p["strong_at"][i - 1][0] != d) else None
        count = found["count"].values.mean(0)  # errors are smaller than the marks
        ax.plot(
            found["tokens"].values,
            count,
            "osD^"[d - 2],
            color=colour,
            markersize=4.5,
            linestyle="none",
            label=label,
            zorder=2,
        )
    ax.set(xscale="log", yscale="log", xlabel="tokens", ylabel="strong centers, mean")
    ax.set_title("Lemma C.1 (lines) and counts", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_jamming(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    tidy(ax)
    for d in range(2, 6):
        delta = min(delta for one, delta in p["renyi_at"] if one == d)
        found = data[dataset_name("renyi", d, delta)]
        count, tokens = found["count"].values, found["tokens"].values
        missing = 1.0 - count.mean(0) / jammed(count, tokens, d, *PARABOLA).mean()  # (tokens,)
        x, colour = np.array(p["per_cap"]), CLUSTER_COLOURS[(0, 3, 2, 5)[d - 2]]
        shown = missing > 5e-4
        ax.plot(x[shown], missing[shown], "osD^"[d - 2], color=colour, markersize=4.5, linestyle="none")
        power = missing[LINE_POINT] * (x / x[LINE_POINT]) ** (-1.0 / (d - 1))  # (tokens,)
        ax.plot(x, power, color=colour, linewidth=1.0)
        named = "$n^{-1}$" if d == 2 else f"$n^{{-1/{d - 1}}}$"
        ax.annotate(
            named, (x[-1], power[-1]), (7, 0), textcoords="offset points", color=colour, fontsize=SMALL_POINTS
        )
    ax.set(xscale="log", yscale="log", xlabel="tokens per cap of radius δ")
    ax.set_xlim(right=2.6 * p["per_cap"][-1])
    ax.set_title("share of Rényi centers still missing", fontsize=SMALL_POINTS + 1)


def _draw_constants(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for d in range(2, 6):
        number = numbers[f"constant_d{d}"]
        assert number.expected is not None
        apart, half = (
            100.0 * (number.value / number.expected - 1.0),
            100.0 * half_width(number) / number.expected,
        )
        ax.errorbar(
            [d],
            [apart],
            [half],
            fmt="osD^"[d - 2],
            color=CLUSTER_COLOURS[(0, 3, 2, 5)[d - 2]],
            markersize=5,
            capsize=3,
            linewidth=1.2,
        )
        ax.annotate(
            f"{number.value:.4f}",
            (d, apart + half),
            (0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=SMALL_POINTS,
            color=palette.ink,
        )
    ax.axhline(0.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    reach = 1.35 * max(abs(bound) for bound in ax.get_ylim())
    ax.set(xlim=(1.5, 5.5), ylim=(-reach, reach), xlabel="d", ylabel="measured / known − 1, in %")
    ax.set_xticks([2, 3, 4, 5])
    ax.set_title("share covered when jammed, δ → 0", fontsize=SMALL_POINTS + 1)
