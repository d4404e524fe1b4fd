"""The picture of Conjecture 2: shares of runs that end at p, and growth at other equilibria."""

from typing import TYPE_CHECKING, Any

from nucleate.papers.causal_clustering.conjectures.random_models import (
    FAMILIES_2,
)
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares on the left; growth against its bound on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.3), layout="constrained")
    shares, growth = figure.subplots(1, 2, width_ratios=[1.35, 1.0])
    _draw_shares(shares, numbers)
    _draw_growth(growth, data["growth_elsewhere"])
    return {"conjecture2": figure}


def _typeset(words: str) -> str:
    """The words of a family, for a label of their own."""
    words = words.replace("beyond it:", "beyond the conjecture:")
    return words.replace("KᵀQ", r"$K^{\top}Q$").replace("L^⊥", r"$L^{\perp}$")


def _draw_shares(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, family in enumerate(FAMILIES_2):
        share = numbers[f"{family.name}_there"]
        low, high = share.low or 0.0, share.high if share.high is not None else 1.0
        colour = palette.ink if numbers[f"{family.name}_elsewhere"].value == 0.0 else palette.red
        ax.plot([low, high], [i, i], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot([share.value], [i], "o", color=colour, markersize=5.5, clip_on=False)
    ax.set_yticks(
        range(len(FAMILIES_2)),
        [_typeset(family.words) for family in FAMILIES_2],
        fontsize=SMALL_POINTS,
    )
    least = min(numbers[f"{family.name}_there"].low or 0.0 for family in FAMILIES_2)
    ax.set(
        ylim=(len(FAMILIES_2) - 0.4, -0.6),
        xlim=(least - 0.1 * (1.0 - least), 1.0),
        xlabel="share of runs that end at p, with 95 % intervals",
    )
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    ax.locator_params(axis="x", nbins=5)


def _draw_growth(ax: Any, found: "Dataset") -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    opposite = found["opposite"].values.astype(bool)
    for mask, words, mark, colour in (
        (opposite, "at −p", "o", CLUSTER_COLOURS[0]),
        (~opposite, "with a part across L", "D", CLUSTER_COLOURS[3]),
    ):
        ax.scatter(
            found["bound"].values[mask],
            found["growth"].values[mask],
            s=13,
            marker=mark,
            color=colour,
            linewidths=0,
            alpha=0.7,
            label=words,
        )
    low = float(min(found["bound"].values.min(initial=1.0), found["growth"].values.min(initial=1.0)))
    ends = [0.7 * max(low, 1e-12), 1.5]
    ax.plot(ends, ends, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=ends,
        ylim=(ends[0], 4.0),
        xlabel=r"bound: $(1-a)(\lambda-w)$ or $a\lambda$",
        ylabel="measured growth of perturbations",
    )
    ax.legend(
        fontsize=SMALL_POINTS,
        frameon=False,
        loc="lower right",
        title="equilibria of token 2",
        title_fontsize=SMALL_POINTS,
    )
