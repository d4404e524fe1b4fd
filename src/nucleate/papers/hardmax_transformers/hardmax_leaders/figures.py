"""The picture: leaders in the plane, the nearest pair over time, and meetings against single linkage."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.hardmax_transformers.hardmax_leaders.data import layer
from nucleate.papers.hardmax_transformers.hardmax_leaders.measures import linkage_heights, mutual_pairs
from nucleate.theory.hardmax import nearest_gap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

SHOWN_LAYERS = 40
SHOWN_RUNS = 20  # of meetings
SHOWN_GAPS = 8  # nearest pairs


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Three panels."""
    from nucleate.papers.core.figure_layout import spaced_figure

    figure = spaced_figure(11.0, 3.8, w_pad=0.1)
    axes = figure.subplots(1, 3)
    _draw_leaders(axes[0], data, p)
    _draw_nearest(axes[1], data, p)
    _draw_meetings(axes[2], data, p)
    return {"hardmax-leaders": figure}


def _draw_leaders(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, layers = tidy(ax), data["layers"]
    z = layers["start"].values[0]  # (n, d)
    path = [z]
    for _ in range(SHOWN_LAYERS):
        z, _ = layer(z, p["alpha"])
        path.append(z)
    lines = np.stack(path)[:, :, :2]  # (layers, n, 2)
    leader, end = layers["leader"].values[0], layers["end"].values[0]  # (n,), (n, d)
    for i in range(lines.shape[1]):
        ax.plot(lines[:, i, 0], lines[:, i, 1], color=palette.grey(0.45), linewidth=0.7, zorder=1)
    ax.plot(*lines[0].T, "o", color=CLUSTER_COLOURS[0], markersize=3.5, label="start")
    ax.plot(*end[:, :2].T, "x", color=palette.ink, markersize=5, label="end")
    rings = {"markerfacecolor": "none", "markersize": 10, "linestyle": "none"}
    ax.plot(*end[leader, :2].T, "o", color=palette.red, label="leader", **rings)
    ax.plot(0.0, 0.0, "+", color=palette.grey(0.6), markersize=8)
    ax.set(xlabel="first coordinate", ylabel="second coordinate")
    ax.set_aspect("equal", "datalim")
    ax.legend(fontsize=SMALL_POINTS, loc="best")


def _draw_nearest(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, sphere = tidy(ax), data["sphere"]
    t = sphere["time"].values
    shown = t <= 4.0
    for k, gap in enumerate(sphere["nearest_gap"].values[:SHOWN_GAPS]):
        law = nearest_gap(gap[0], t)
        ax.plot(
            t[shown],
            gap[shown],
            color=CLUSTER_COLOURS[0],
            linewidth=1.6,
            alpha=0.5,
            label="nearest pair" if k == 0 else None,
        )
        ax.plot(
            t[shown],
            law[shown],
            color=palette.ink,
            linewidth=0.8,
            linestyle="--",
            label="law" if k == 0 else None,
        )
    ax.axhline(p["met"], color=palette.grey(0.5), linewidth=0.8, linestyle=":")
    ax.set(xlabel="t", ylabel="angle of the nearest pair", yscale="log", xlim=(0.0, 4.0))
    ax.legend(fontsize=SMALL_POINTS, loc="upper right")


def _draw_meetings(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, sphere = tidy(ax), data["sphere"]
    angle, met = sphere["angle"].values[:SHOWN_RUNS], sphere["met"].values[:SHOWN_RUNS]  # (runs, pairs)
    mutual = mutual_pairs(angle, p["n"])
    heights = np.stack([linkage_heights(one) for one in angle])  # (runs, pairs)
    together = np.isfinite(met)
    ax.plot(
        heights[together & ~mutual],
        met[together & ~mutual],
        "o",
        color=CLUSTER_COLOURS[4],
        markersize=2.5,
        label="other pairs",
    )
    ax.plot(
        heights[together & mutual],
        met[together & mutual],
        "s",
        color=CLUSTER_COLOURS[3],
        markersize=3.5,
        label="mutually nearest",
    )
    g = np.linspace(p["met"] * 1.01, heights[together].max(), 400)
    t = np.log(np.tan(g / 2.0) / np.tan(p["met"] / 2.0)) / 2.0
    ax.plot(g, t, color=palette.ink, linewidth=0.8, linestyle="--", zorder=3, label="law")
    ax.set(xlabel="angle at which single linkage joins a pair", ylabel="time of meeting")
    ax.set_ylim(0.0, None)
    ax.legend(fontsize=SMALL_POINTS, loc="lower right")
