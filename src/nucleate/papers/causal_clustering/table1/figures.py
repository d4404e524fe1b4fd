"""The picture of Table 1: shares of runs that end at points, and clouds by their angles with L."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.shared.classify_end import classify_ends
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LEFT_EDGE = 0.01  # radians: a line of smaller angles lies on the axis
# of ATTENTIONS, in a few signs
SHORT = {
    "minus-V": r"$K^{\top}Q$ = −V",
    "V": r"$K^{\top}Q$ = V",
    "reversed": "reversed −V",
    "gaussian": "Gaussian Q, K",
}


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares with intervals on the left, clouds by their angles with L on the right, below for other Q and
    K."""
    figure = spaced_figure(11.0, 8.6, w_pad=0.12)
    axes = figure.subplots(2, 3, width_ratios=[1.15, 1.0, 1.0])
    _draw_points(axes[0, 0], numbers)
    _draw_two_clouds(axes[1, 0], numbers)
    for column, row in ((1, 4), (2, 5)):
        _draw_cloud(axes[0, column], data, row)
        _draw_other_attention(axes[1, column], data, row)
    return {"table1": figure}


def _draw_points(ax: Any, numbers: Numbers) -> None:
    named = {
        "row1_share": "row 1: at the first token",
        "row2_share": "row 2: at one point of L",
        "row3_share": "row 3: at ±ξ",
        "row3-oblique_share": "row 3, V not normal: at ±ξ",
        "defective_share": "λ_max defective: at ± eigenvector",
        "zero_share": "λ_max = 0: at ±ξ",
    }
    least = min(numbers[name].low or 0.0 for name in named)
    _draw_shares(ax, numbers, named, (min(0.97, least - 0.005), 1.0015))
    ax.set_title("ends at points, with 95 % intervals", fontsize=_title_points())


def _draw_two_clouds(ax: Any, numbers: Numbers) -> None:
    named = {
        f"row5{kind}_parted": words
        for kind, words in {
            "-low-beta": "Q = K = I, β = 1",
            "": "Q = K = I, β = 4",
            "-high-beta": "Q = K = I, β = 9",
            "-oblique": "Q = K = I, β = 1, not orthogonal",
            **{f"-{kind}": f"{words}, β = 4" for kind, words in SHORT.items()},
        }.items()
    }
    _draw_shares(ax, numbers, named, (-0.03, 1.03))
    ax.set_title("row 5: all within 60° of ±ξ, on both sides", fontsize=_title_points())


def _draw_shares(ax: Any, numbers: Numbers, named: dict[str, str], xlim: tuple[float, float]) -> None:
    """Shares of runs, one below the other; those outside the table are grey."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (name, words) in enumerate(named.items()):
        share = numbers[name]
        low, high = share.low or 0.0, share.high if share.high is not None else 1.0
        inside = name.startswith("row")
        colour = palette.red if inside else palette.grey(0.6)
        ax.plot([low, high], [i, i], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot([share.value], [i], "D" if inside else "o", color=colour, markersize=6)
        ax.text(
            0.0, i - 0.22, words, fontsize=SMALL_POINTS, color=palette.ink, transform=ax.get_yaxis_transform()
        )
    ax.set(ylim=(len(named) - 0.6, -0.7), xlim=xlim, xlabel="share of runs that end so")
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.spines["left"].set_visible(False)


def _title_points() -> float:
    from nucleate.plot.styles import SMALL_POINTS

    return float(SMALL_POINTS + 1)


def _draw_cloud(ax: Any, data: Data, row: int) -> None:
    """How far tokens are from L at the end, by β."""
    from nucleate.plot.styles import palette_of

    palette = palette_of(ax)
    lines = {
        f"row{row}-high-beta": ("β = 9", "-", palette.ink),
        f"row{row}": ("β = 4", (0, (5, 2)), palette.ink),
        f"row{row}-low-beta": ("β = 1", (0, (1, 1.5)), palette.ink),
        f"row{row}-oblique": ("β = 1, not orthogonal", "-", palette.red),
    }
    _draw_angles(ax, data, row, lines)
    ax.set_title(
        f"row {row}: {'a cloud around a plane' if row == 4 else 'two clouds around a line'}",
        fontsize=_title_points(),
    )


def _draw_other_attention(ax: Any, data: Data, row: int) -> None:
    """How far tokens are from L at the end with other Q and K."""
    from nucleate.plot.styles import CLUSTER_COLOURS, palette_of

    palette = palette_of(ax)
    styles = ("-", "-", (0, (3, 1, 1, 1)), (0, (1, 1.5)))
    colours = (CLUSTER_COLOURS[5], palette.red, CLUSTER_COLOURS[0], palette.ink)
    lines = {
        f"row{row}-{kind}": (words, style, colour)
        for (kind, words), style, colour in zip(SHORT.items(), styles, colours, strict=True)
    }
    _draw_angles(ax, data, row, lines)
    ax.set_title(f"row {row} with other Q and K, β = 4", fontsize=_title_points())


def _draw_angles(ax: Any, data: Data, row: int, lines: dict[str, tuple[str, Any, Any]]) -> None:
    """The share of tokens within an angle of L."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for name, (words, style, colour) in lines.items():
        angles = np.sort(classify_ends(data[name]).angles.reshape(-1))
        angles = angles[np.isfinite(angles)]
        ax.plot(
            angles,
            np.arange(1, len(angles) + 1) / len(angles),
            linestyle=style,
            color=colour,
            linewidth=1.5 if angles[-1] > LEFT_EDGE else 3.5,  # one that is all at the left edge
            label=words,
            clip_on=False,
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
    if row == 5:
        ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")
