"""The picture of Lemma A.1: margins of the bounds, τ* between its bounds, and where the bounds hold."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.lemmaA1.data import BOUNDS, margins
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Margins of the four bounds; tau* between its bounds; where the bounds hold."""
    figure = spaced_figure(11.0, 4.2)
    held, tau, where = figure.subplots(1, 3, width_ratios=[1.15, 0.9, 1.15])
    _draw_margins(held)
    _draw_tau(tau, data)
    _draw_where(where, data, numbers)
    return {"lemmaA1": figure}


def _draw_margins(ax: Any) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, beta = tidy(ax), 10.0
    x = np.linspace(0.0, np.pi, 2001)[1:]
    names = {
        "lower_h": "below h",
        "upper_h": "above h",
        "near_g": "first, below g",
        "far_g": "second, below g",
    }
    for i, (bound, margin) in enumerate(zip(BOUNDS, margins(x, beta), strict=True)):
        shown = np.where(margin > 0.0, margin, np.nan)
        ax.plot(
            x * beta**0.5,
            shown,
            color=CLUSTER_COLOURS[(0, 2, 3, 5)[i]],
            linewidth=1.8,
            label=names[bound],
            linestyle=("-", "--", "-.", ":")[i],
        )
    limit = (beta / (beta + 0.5)) ** 0.5
    ax.axvline(limit, color=palette.grey(0.45), linewidth=0.9)
    ax.text(
        limit + 0.12,
        2e-6,
        "the first bound on g\nis printed up to here",
        fontsize=SMALL_POINTS,
        color=palette.grey(0.7),
        ha="left",
        va="center",
    )
    ax.set(
        yscale="log",
        xlim=(0.0, np.pi * beta**0.5),
        ylim=(1e-8, 3.0),
        xlabel=r"$x\,/\,\beta^{-1/2}$",
        ylabel="margin, relative",
    )
    ax.set_title("how tight the bounds are, β = 10", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _draw_tau(ax: Any, data: Data) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, seen = tidy(ax), data["grid"]
    beta, tau = seen["beta"].values, seen["tau"].values
    ax.fill_between(
        beta,
        (1.0 + 0.5 / beta) ** -0.5,
        1.0,
        color=palette.grey(0.18),
        linewidth=0,
        label="between the bounds",
    )
    ax.plot(beta, tau * beta**0.5, color=palette.red, linewidth=1.8, label="τ*")
    ax.set(
        xscale="log",
        xlim=(beta[0], beta[-1]),
        ylim=(0.0, 1.05),
        xlabel="β",
        ylabel=r"in units of $\beta^{-1/2}$",
    )
    ax.set_title("where h is largest", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _draw_where(ax: Any, data: Data, numbers: Numbers) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, seen = tidy(ax), data["grid"]
    beta, reach = seen["beta"].values, np.minimum(seen["reach"].values, np.pi)
    x = np.linspace(np.pi, 2.0 * np.pi, 401)[1:-1]
    # beta above which the lower bound on h fails here
    lower = np.log((x**3 / 6.0 - x) / -np.sin(x)) / (x**2 / 2.0 - 1.0 + np.cos(x))
    ax.fill_between(x, lower, beta[-1], color=CLUSTER_COLOURS[0], alpha=0.4, linewidth=0)
    ax.text(
        4.75,
        20.0,
        "the bound\nbelow h\nfails",
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="center",
        va="center",
    )
    ax.fill_betweenx(beta, reach, np.pi, color=CLUSTER_COLOURS[3], alpha=0.4, linewidth=0)
    ax.text(
        1.85,
        90.0,
        "the first\nbelow g\nfails",
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="center",
        va="center",
    )
    ax.plot((beta + 0.5) ** -0.5, beta, color=palette.ink, linewidth=1.0, linestyle=(0, (3, 2)))
    ax.text(
        0.12,
        0.06,
        "printed\nlimit of\nthe first",
        fontsize=SMALL_POINTS,
        color=palette.grey(0.75),
        ha="left",
        va="center",
    )
    ax.fill_between(
        seen["X"].values, beta[0], seen["far_beta"].values, color=CLUSTER_COLOURS[5], alpha=0.55, linewidth=0
    )
    ax.annotate(
        f"the second fails\nbelow β = {numbers['far_threshold'].value:.4f}",
        (2.6, 0.09),
        (4.0, 0.03),
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="left",
        va="center",
        arrowprops={"arrowstyle": "-", "lw": 0.8, "color": palette.ink},
    )
    ax.axvline(np.pi, color=palette.grey(0.45), linewidth=0.9)
    ax.set(yscale="log", xlim=(0.0, 2.0 * np.pi), ylim=(beta[0], beta[-1]), xlabel="x", ylabel="β")
    ax.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
    ax.set_title("where the bounds fail", fontsize=SMALL_POINTS + 1)
