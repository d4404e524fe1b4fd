"""The picture of Figure 2: snapshots of the tokens, and their angles over time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.figure2.data import SNAPSHOT_AFTER, SNAPSHOT_BEFORE, centers, losses
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SNAPSHOTS", "draw"]

SNAPSHOTS = (0.0, 5.0, 20.0, SNAPSHOT_BEFORE, SNAPSHOT_AFTER)


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """A row of snapshots above the angles over time."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    from nucleate import plot

    run = data["run"]
    strong, renyi = centers(run.x[0])
    shown = [loss for loss in losses(run, renyi) if loss.shown]
    room_above = ConstrainedLayoutEngine(rect=(0.0, 0.0, 1.0, 0.985))  # titles do not touch the edge
    figure = Figure(figsize=(11.0, 6.6), layout=room_above)
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.0, 1.75])
    top, bottom = parts
    for ax, time in zip(top.subplots(1, len(SNAPSHOTS)), SNAPSHOTS, strict=True):
        x = run.x[np.searchsorted(run.t, time)]  # (n, 2)
        plot.circle(x, ax, centers=renyi, strong=strong)
        ax.set_title(f"t = {time:g}")
        for loss in shown if time == SNAPSHOT_BEFORE else []:
            arrow = {"arrowstyle": "->", "lw": 0.8, "color": plot.palette_of(ax).ink}
            ax.annotate(
                "lost soon",
                x[loss.token],
                0.45 * x[loss.token],
                ha="center",
                va="center",
                fontsize=9,
                arrowprops=arrow,
            )
    ax = bottom.subplots()
    plot.angles(run, ax, first=0, centers=renyi, strong=strong)
    palette = plot.palette_of(ax)
    for time in SNAPSHOTS[1:-1]:
        ax.axvline(time, color=palette.grey(0.5), linewidth=0.8, linestyle=":")
    for loss in shown:
        at = np.arctan2(*run.x[np.searchsorted(run.t, loss.time), loss.to][::-1])
        ax.plot(
            loss.time,
            at,
            "o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=palette.ink,
            markeredgewidth=1.2,
        )
        ax.annotate(
            f"lost at t = {loss.time:.0f}", (loss.time, at), (10, 10), textcoords="offset points", fontsize=10
        )
    dot: dict[str, Any] = {"marker": "o", "linestyle": "-", "linewidth": 1.6, "markersize": 7}
    handles = [
        Line2D([], [], color=palette.red, label="strong Rényi center", **dot),
        Line2D([], [], color=palette.ink, markerfacecolor="none", label="Rényi center", **dot),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return {"figure2": figure}
