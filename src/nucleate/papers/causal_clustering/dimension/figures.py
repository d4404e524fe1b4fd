"""The picture of effective dimension: clusters against β, and where tokens are when they gather."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.dimension.measures import means, reduction_level
from nucleate.papers.core.figure_layout import beta_axes
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.line_fits import (
    STANDARD_ERRORS_95,
    half_width,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Left, clusters against β; middle, exponents for each V; right, where tokens are when they gather."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.2, 0.8, 1.2])
    _draw_clusters(left, data, numbers, p)
    _draw_exponents(middle, numbers, p)
    _draw_scan(right, numbers, p)
    return {"dimension": figure}


def _draw_clusters(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (dim_L, betas) in enumerate(p["betas"].items()):
        mean, error = means(data, "", int(dim_L), betas)
        colour = CLUSTER_COLOURS[(5, 0, 3)[i % 3]]
        ax.plot(
            betas,
            mean[-1] * (np.array(betas) / betas[-1]) ** ((int(dim_L) - 1) / 2.0),
            color=palette.grey(0.45),
            linewidth=0.9,
            zorder=1,
        )
        label = f"dim L = {dim_L}: exponent {round(numbers[f'exponent_{dim_L}'].value, 3) + 0.0:.3f}"
        ax.errorbar(
            betas,
            mean,
            STANDARD_ERRORS_95 * error,
            fmt="osD"[i % 3],
            color=colour,
            markersize=5,
            linewidth=1.0,
            label=label,
            zorder=3,
        )
        alone = [data[f"dimL{dim_L}-beta{beta:g}"]["alone"].values[:, -1].mean() for beta in betas]
        ax.plot(
            betas,
            alone,
            "o",
            markersize=9,
            markerfacecolor="none",
            markeredgecolor=palette.ink,
            linestyle="none",
            markeredgewidth=0.7,
            zorder=2,
        )
    beta_axes(ax, sorted({beta for betas in p["betas"].values() for beta in betas}))
    ax.set(ylabel=f"clusters at t = {p['at']:g}")
    ax.set_title(f"d = {p['d']}, gap {p['gap']:g}; rings: on L from the start", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_exponents(ax: Any, numbers: Numbers, p: Parameters) -> None:
    """The exponents of every V, one below the other."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    kinds = {"": f"gap {p['gap']:g}"} | {
        kind: f"gap {V['gap']:g}" if not V["spread"] else "not normal" if V["oblique"] else "spread"
        for kind, V in p["other_V"].items()
    }
    for dim_L, colour, marker in zip(
        p["betas"], (CLUSTER_COLOURS[i] for i in (5, 0, 3)), "osD", strict=False
    ):
        ax.axvline((int(dim_L) - 1) / 2.0, color=palette.grey(0.45), linewidth=0.9, zorder=0)
        for i, kind in enumerate(kinds):
            if one := numbers.get(f"exponent_{kind}{'-' * bool(kind)}{dim_L}"):
                ax.errorbar(
                    one.value, i, xerr=half_width(one), fmt=marker, color=colour, markersize=5, linewidth=1.2
                )
    ax.set_yticks(range(len(kinds)), list(kinds.values()), fontsize=SMALL_POINTS)
    ax.set(ylim=(len(kinds) - 0.5, -0.5), xlabel="exponent of β")
    ax.set_title(r"for each V; lines: $(d_1-1)/2$", fontsize=SMALL_POINTS + 1)


def _draw_scan(ax: Any, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (beta, colour) in enumerate(zip(p["gap_betas"], palette.tokens(len(p["gap_betas"])), strict=True)):
        levels = [numbers[f"on_L_beta{beta:g}_gap{gap:g}"] for gap in p["gaps"]]
        label = f"β = {beta:g}: {numbers[f'cap_beta{beta:g}'].value:.3g}"
        halves = [half_width(one) for one in levels]
        ax.errorbar(
            p["gaps"],
            [one.value for one in levels],
            halves,
            color=colour,
            marker="osD^v"[i % 5],
            markersize=4.5,
            linewidth=1.2,
            label=label,
        )
    ax.axhline(reduction_level(p), color=palette.grey(0.5), linewidth=0.9, zorder=0)
    ax.axhline(p["dim_L"] / p["d"], color=palette.grey(0.5), linewidth=0.9, linestyle=(0, (2, 2)), zorder=0)
    ax.text(
        p["gaps"][-1],
        p["dim_L"] / p["d"] + 0.01,
        "at the start",
        fontsize=SMALL_POINTS,
        ha="right",
        color=palette.grey(0.7),
    )
    ax.set_xscale("log")
    ax.set_xticks(p["gaps"], [f"{gap:g}" for gap in p["gaps"]])
    ax.minorticks_off()
    ax.set(ylim=(0.0, 1.03), xlabel="spectral gap", ylabel="part of |x|² in L when tokens have gathered")
    ax.set_title(f"which comes first, n = {p['n']}, dim L = {p['dim_L']}", fontsize=SMALL_POINTS + 1)
    ax.legend(
        title="tokens in a cap of the whole sphere",
        fontsize=SMALL_POINTS,
        title_fontsize=SMALL_POINTS,
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.27),
    )
