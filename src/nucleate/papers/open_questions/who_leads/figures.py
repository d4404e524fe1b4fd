"""How well rules name the leaders."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.who_leads.data import cases

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LABELS = {
    "renyi": "Rényi centers",
    "strong": "strong centers",
    "linkage": "causal linkage",
    "gathered": "rule of weights",
}


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """F by case, and precision against recall."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.3, 1.0])
    palette = tidy(left)
    tidy(right)
    tests = [case for case in cases(p) if case.use == "test"]
    row = np.arange(len(tests))
    colours = [palette.grey(0.5), CLUSTER_COLOURS[0], CLUSTER_COLOURS[2], palette.red]
    for i, (rule, label) in enumerate(LABELS.items()):
        found = [numbers[f"{case.name}_{rule}_F"] for case in tests]
        value, low, high = (
            np.array([getattr(one, part) for one in found]) for part in ("value", "low", "high")
        )
        left.errorbar(
            value,
            row + 0.18 * (i - 1.5),
            xerr=[np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)],
            fmt="o",
            markersize=4,
            linewidth=1.0,
            color=colours[i],
            label=label,
        )
        precision, recall = (
            [numbers[f"{case.name}_{rule}_{name}"].value for case in tests]
            for name in ("precision", "recall")
        )
        right.plot(recall, precision, "o", markersize=3.5, color=colours[i], alpha=0.7)
        right.plot(
            numbers[f"{rule}_recall"].value,
            numbers[f"{rule}_precision"].value,
            "D",
            markersize=9,
            color=colours[i],
        )
    left.set_yticks(
        row, [f"d = {one.d}, β = {one.beta:g}, n = {one.n}" for one in tests], fontsize=SMALL_POINTS
    )
    left.set(ylim=(len(tests) - 0.5, -0.5), xlabel="F, starts not fitted on")
    left.legend(
        fontsize=SMALL_POINTS,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.4, 1.0),
        ncols=4,
        columnspacing=1.0,
    )
    right.set(xlabel="recall", ylabel="precision")
    return {"who-leads": figure}
