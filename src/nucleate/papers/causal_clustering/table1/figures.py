"""The picture of Table 1: shares of runs that end at points, and clouds by their angles with L."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.shared.classify_end import classify_ends
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares with intervals on the left, clouds by their angles with L on the right."""
    figure = spaced_figure(11.0, 4.6, w_pad=0.12)
    shares, plane, line = figure.subplots(1, 3, width_ratios=[1.15, 1.0, 1.0])
    _draw_shares(shares, numbers)
    for ax, row in ((plane, 4), (line, 5)):
        _draw_cloud(ax, data, row)
    return {"table1": figure}


def _draw_shares(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    named = {
        "row1": "row 1: at the first token",
        "row2": "row 2: at one point of L",
        "row3": "row 3: at ±ξ",
        "row3-oblique": "row 3, V not normal: at ±ξ",
        "defective": "defective: at ± eigenvector",
        "zero": "zero: at ±ξ",
    }
    for i, (name, words) in enumerate(named.items()):
        share = numbers[f"{name}_share"]
        low, high = share.low or 0.0, share.high if share.high is not None else 1.0
        inside = name.startswith("row")
        colour = palette.red if inside else palette.grey(0.6)
        ax.plot([low, high], [i, i], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot([share.value], [i], "D" if inside else "o", color=colour, markersize=6)
        ax.text(
            0.0, i - 0.22, words, fontsize=SMALL_POINTS, color=palette.ink, transform=ax.get_yaxis_transform()
        )
    least = min(numbers[f"{name}_share"].low or 0.0 for name in named)
    ax.set(
        ylim=(len(named) - 0.6, -0.7),
        xlim=(min(0.97, least - 0.005), 1.0015),
        xlabel="share of runs that end so",
    )
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.spines["left"].set_visible(False)
    ax.set_title("ends at points, with 95 % intervals", fontsize=SMALL_POINTS + 1)


def _draw_cloud(ax: Any, data: Data, row: int) -> None:
    """How far tokens are from L at the end: the share within an angle."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    lines = {
        "-high-beta": ("β = 9", "-", palette.ink),
        "": ("β = 4", (0, (5, 2)), palette.ink),
        "-low-beta": ("β = 1", (0, (1, 1.5)), palette.ink),
        "-oblique": ("β = 1, oblique", "-", palette.red),
    }
    for kind, (words, style, colour) in lines.items():
        angles = np.sort(classify_ends(data[f"row{row}{kind}"]).angles.reshape(-1))
        angles = angles[np.isfinite(angles)]
        ax.plot(
            angles,
            np.arange(1, len(angles) + 1) / len(angles),
            linestyle=style,
            color=colour,
            linewidth=1.5,
            label=words,
        )
    at = np.linspace(0.0, np.pi / 2, 200)
    ax.plot(
        at,
        np.sin(at) if row == 4 else 1.0 - np.cos(at),
        color=palette.grey(0.45),
        linewidth=1.0,
        label="uniform",
    )
    ax.set(
        xlim=(0.0, np.pi / 2),
        ylim=(0.0, 1.01),
        xlabel="angle with L",
        ylabel="share of tokens within" if row == 4 else "",
    )
    ax.set_xticks([0.0, np.pi / 4, np.pi / 2], ["0", "π/4", "π/2"])
    ax.set_title(
        f"row {row}: {'a cloud around a plane' if row == 4 else 'two clouds around a line'}",
        fontsize=SMALL_POINTS + 1,
    )
    if row == 5:
        ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")
