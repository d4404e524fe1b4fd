"""The picture: overlaps of equiangular tokens over time, and how they approach 1."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

MIN_SHOWN_GAP = 1e-9


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The overlaps under the full mask on their formula, those under the causal mask as bands, and 1 -"
    " rho."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(11.0, 4.2, w_pad=0.12)
    left, middle, right = figure.subplots(1, 3)
    full, causal = data["full"], data["causal"]
    rho = p["rhos"][0]
    t = full["time"].values
    every = max(1, len(t) // 16)
    for i, beta in enumerate(p["betas"]):
        colour = CLUSTER_COLOURS[i]
        one, other = full.sel(beta=beta, rho=rho), causal.sel(beta=beta, rho=rho)
        left.plot(t, one["formula"], color=colour, linewidth=1.3, label=f"β = {beta:g}")
        left.plot(t[::every], one["least"][::every], "o", color=colour, markersize=4)
        if i % 2:  # bands of all would cover each other
            middle.fill_between(t, other["least"], other["largest"], color=colour, alpha=0.25, linewidth=0)
            middle.plot(t, other["formula"], color=colour, linewidth=1.3)
        gap = one["gap"].values
        shown = gap > MIN_SHOWN_GAP
        right.plot(t[shown], gap[shown], color=colour, linewidth=1.5)
    palettes = [tidy(ax) for ax in (left, middle, right)]
    late = np.linspace(0.36, 0.66, 2) * t[-1]
    right.plot(
        late,
        np.exp(-2.0 * (late - late[0])),
        color=palettes[2].ink,
        linestyle=(0, (4, 2)),
        linewidth=1.1,
        label=r"slope of $e^{-2t}$",
    )
    left.set(xlabel="t", ylabel="overlap", ylim=(-0.03, 1.03), xlim=(0.0, t[-1]))
    left.set_title("full mask: tokens stay equiangular", fontsize=SMALL_POINTS + 1)
    left.legend(fontsize=SMALL_POINTS, loc="lower right")
    middle.set(xlabel="t", ylim=(-0.03, 1.03), xlim=(0.0, t[-1]))
    middle.set_title("causal mask: overlaps spread (bands)", fontsize=SMALL_POINTS + 1)
    right.set(xlabel="t", ylabel="1 − ρ", yscale="log", xlim=(0.0, t[-1]), ylim=(MIN_SHOWN_GAP, 2.0))
    right.set_title("full mask: the last approach", fontsize=SMALL_POINTS + 1)
    right.legend(fontsize=SMALL_POINTS, loc="upper right")
    return {"equiangular-tokens": figure}
