"""The picture of Lemma 3.1: distances of one token from L' and L over time, and all rates."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.lemma31.data import KINDS, POWER_LAW_TIMES, SIMULATED_TIMES
from nucleate.papers.causal_clustering.lemma31.measures import RATE_ERROR, distance_from_span, rates
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """On the left distances from L' against time times gap, in the middle from L against time, on the right
    all rates."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(11.5, 3.9), layout="constrained")
    fast, slow, strip = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.9])
    palette = tidy(fast)
    tidy(slow)
    tidy(strip)
    for i, kind in enumerate(KINDS):
        found = data[kind.name]
        colour = CLUSTER_COLOURS[i] if i < len(CLUSTER_COLOURS) else palette.grey(0.55)
        distance = distance_from_span(found["x"].values, kind.generalised_dimension)  # (runs, times)
        fast.plot(
            SIMULATED_TIMES,
            np.median(distance, axis=0),
            marker="osD^vP<>X"[i],
            markersize=7 if i == 0 else 4,
            color=colour,
            linestyle="none",
            label=kind.words,
        )
        rate = rates(kind, found)
        strip.scatter(
            rate, np.full(len(rate), i) + np.linspace(-0.25, 0.25, len(rate)), s=6, color=colour, linewidths=0
        )
        if kind.block > 1:
            for one in distance_from_span(found["late"].values, kind.dimension)[:8]:
                slow.plot(POWER_LAW_TIMES, one, color=colour, linewidth=1.0)
    fast.plot(
        SIMULATED_TIMES,
        3.0 * np.exp(-SIMULATED_TIMES),
        color=palette.ink,
        linewidth=1.0,
        linestyle=(0, (5, 3)),
    )
    fast.text(SIMULATED_TIMES[9], 6.0 * np.exp(-SIMULATED_TIMES[9]), r"$e^{-s}$", fontsize=SMALL_POINTS)
    fast.set(
        yscale="log", ylim=(1e-17, None), xlabel="s = time × gap", ylabel="distance from L', median over V"
    )
    fast.legend(fontsize=SMALL_POINTS - 1, frameon=False, loc="lower left")
    slow.plot(
        POWER_LAW_TIMES, 0.05 / POWER_LAW_TIMES, color=palette.ink, linewidth=1.0, linestyle=(0, (5, 3))
    )
    slow.text(
        POWER_LAW_TIMES[6], 0.02 / POWER_LAW_TIMES[6], "1/t", fontsize=SMALL_POINTS, ha="right", va="top"
    )
    slow.set(xscale="log", yscale="log", xlabel="t", ylabel="distance from L, defective eigenvalues")
    strip.axvline(1.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    reach = 1.2 * max(RATE_ERROR, *(numbers[f"{kind.name}_rate_worst"].value for kind in KINDS))
    strip.set(xlabel="rate / gap", xlim=(1.0 - reach, 1.0 + reach), ylim=(len(KINDS) - 0.5, -0.5))
    strip.set_yticks(
        range(len(KINDS)), [kind.words.replace(", ", ",\n") for kind in KINDS], fontsize=SMALL_POINTS
    )
    return {"lemma31": figure}
