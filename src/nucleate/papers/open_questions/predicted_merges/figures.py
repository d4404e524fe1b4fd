"""Predicted against simulated merges, and how often each part of the prediction is right."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.predicted_merges.data import cases
from nucleate.papers.open_questions.predicted_merges.measures import compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LARGEST_RATIO = 1.0  # of the logarithm to base 10 that is shown
FACTOR = 3.0  # dotted
TICKS = (-1, 0, 1, 2, 5, 10, 20, 50, 100)  # of the logarithm to base 10
# mark, number in CLUSTER_COLOURS and words of each group of lives
GROUPS = {
    "circle": ("o", 0, "circle"),
    "sphere3": ("s", 1, "d = 3"),
    "sphere4": ("D", 2, "d = 4"),
    "scores": ("x", 3, "Q, K drawn"),
}


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """One picture: every merge, and the shares."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 6.2), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=[1.15, 1.0])
    left, right = parts
    _merges(left.subplots(2, 1, height_ratios=[2.2, 1.0], sharex=True), data, p)
    _shares(right.subplots(), numbers, p)
    return {"predicted-merges": figure}


def _merges(axes: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    ax, ratio = axes
    palette, most, seen = tidy(ax), 1.0, set()
    tidy(ratio)
    for case in cases(p):
        found = compare(data[case.name], case)
        if not found:
            continue
        measured, law = (
            np.concatenate([getattr(one, name) for one in found]) / np.log(10.0)
            for name in ("measured", "predicted")
        )
        mark, number, words = GROUPS[case.group]
        style: dict[str, Any] = {"marker": mark, "s": 11, "linewidths": 0.7}
        colour = CLUSTER_COLOURS[number]
        style |= {"color": colour} if mark == "x" else {"facecolors": "none", "edgecolors": colour}
        label = words if case.group not in seen else None
        seen.add(case.group)
        ax.scatter(law, measured, label=label, alpha=0.8, **style)
        ratio.scatter(
            law, np.clip(measured - law, -LARGEST_RATIO, LARGEST_RATIO), clip_on=False, alpha=0.8, **style
        )
        most = max(most, 1.04 * float(np.max([*law[np.isfinite(law)], *measured])))
    ax.plot([-1.0, most], [-1.0, most], color=palette.grey(0.5), linewidth=0.8, zorder=0)
    ratio.axhline(0.0, color=palette.grey(0.5), linewidth=0.8, zorder=0)
    for side in (-1.0, 1.0):
        ratio.axhline(
            side * np.log10(FACTOR), color=palette.grey(0.5), linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=0
        )
    for one in (ax, ratio):
        one.set_xscale("function", functions=(_root, _square))  # room for the early merges
    ax.set_yscale("function", functions=(_root, _square))
    ticks = [tick for tick in TICKS if tick <= most]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set(xlim=(-1.0, most), ylim=(-1.0, most), ylabel=r"$\log_{10}$ of the simulated time")
    ratio.set(
        ylim=(-LARGEST_RATIO, LARGEST_RATIO),
        xlabel=r"$\log_{10}$ of the predicted time",
        ylabel=r"$\log_{10}$(simulated / predicted)",
    )
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _root(value: Any) -> Any:
    return np.sqrt(np.maximum(np.asarray(value, dtype=np.float64) + 1.0, 0.0))


def _square(root: Any) -> Any:
    return np.square(np.asarray(root, dtype=np.float64)) - 1.0


def _shares(ax: Any, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    every = [case for case in cases(p) if f"{case.name}_absorber" in numbers]
    row = np.arange(len(every))
    for name, mark, colour, label in (
        ("absorber", "o", palette.ink, "right absorber"),
        ("survivors", "s", CLUSTER_COLOURS[0], "right leaders left"),
        ("order", "^", palette.red, "whole order right"),
    ):
        found = [numbers[f"{case.name}_{name}"] for case in every]
        value, low, high = (
            np.array([getattr(one, part) for one in found]) for part in ("value", "low", "high")
        )
        ax.errorbar(
            value,
            row + {"absorber": -0.2, "survivors": 0.0, "order": 0.2}[name],
            xerr=[np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)],
            fmt=mark,
            markersize=4,
            color=colour,
            label=label,
            linewidth=1.0,
        )
    for name, label, size in (("chance", "absorber by chance", 6), ("linked", "by single linkage", 10)):
        ax.plot(
            [numbers[f"{case.name}_{name}"].value for case in every],
            row - 0.2,
            "|",
            markersize=size,
            color=palette.grey(0.55),
            label=label,
        )
    names = [
        f"d = {case.d}, β = {case.beta:g}, n = {case.n}" + (", Q, K" if case.scores == "drawn" else "")
        for case in every
    ]
    ax.set_yticks(row, names, fontsize=SMALL_POINTS)
    ax.set(ylim=(len(every) - 0.5, -0.5), xlim=(0.0, 1.02), xlabel="share, with 95 % intervals")
    ax.legend(fontsize=SMALL_POINTS, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, frameon=False)
