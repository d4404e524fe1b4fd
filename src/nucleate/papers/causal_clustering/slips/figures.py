"""The picture of the slips that have none elsewhere."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.theory.interaction import interaction, interaction_slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Centers on the sphere, and the two bounds of Lemma A.1 where they fail."""
    figure = spaced_figure(11.0, 4.0)
    counted, lower, second = figure.subplots(1, 3)
    _draw_sphere(counted, numbers, p)
    _draw_lower_bound(lower)
    _draw_second_bound(second, numbers)
    return {"slips": figure}


def _draw_sphere(ax: Any, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    delta = np.linspace(0.9 * min(p["deltas"]), np.pi, 200)
    ax.plot(
        delta, 1.0 / np.sin(delta / 2.0) ** 2, color=palette.red, linewidth=1.6, label=r"$1/\sin^2(\delta/2)$"
    )
    ax.plot(
        delta,
        1.0 / (3.0 * np.sin(delta / 2.0) ** 2),
        color=palette.grey(0.6),
        linewidth=1.6,
        linestyle=(0, (4, 2)),
        label="as printed",
    )
    for at in p["deltas"]:
        mean = numbers[f"sphere_{at:.4g}"]
        ax.errorbar(
            [at],
            [mean.value],
            [(mean.high or mean.value) - mean.value],
            fmt="o",
            color=palette.ink,
            markersize=5,
            capsize=3,
        )
    ax.plot([], [], "o", color=palette.ink, markersize=5, label="counted")
    ax.set(yscale="log", xlim=(0.0, 1.02 * np.pi), xlabel="δ", ylabel="strong centers")
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    ax.set_title("strong centers on the sphere", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False)


def _draw_lower_bound(ax: Any) -> None:
    """h and the printed lower bound on it at beta = 1, beyond pi."""
    x = np.linspace(0.0, 2.0 * np.pi, 400)
    bound = np.exp(-(x**2) / 2.0) * (x - x**3 / 6.0)
    _draw_bound(ax, x, interaction(x, 1.0), bound, "h", "lower bound on h, β = 1")
    ax.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])


def _draw_second_bound(ax: Any, numbers: Numbers) -> None:
    """g and the printed second lower bound on it, at half the beta from which it holds."""
    beta = round(numbers["far_threshold"].value / 2.0, 2)
    x = np.linspace(0.0, np.pi, 400)
    bound = -beta * x**2 * np.exp(-beta * x**2 / 2.0 + beta * x**4 / 24.0)
    _draw_bound(ax, x, interaction_slope(x, beta), bound, "g", f"second lower bound on g, β = {beta:g}")
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])


def _draw_bound(ax: Any, x: Array, f: Array, bound: Array, name: str, title: str) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    ax.fill_between(
        x, f, bound, where=list(f < bound), color=palette.red, alpha=0.25, linewidth=0, label="fails"
    )
    ax.plot(x, f, color=palette.ink, linewidth=1.6, label=name)
    ax.plot(x, bound, color=palette.red, linewidth=1.4, linestyle=(0, (4, 2)), label="printed bound")
    ax.set(xlim=(0.0, x[-1]), xlabel="x")
    ax.set_title(title, fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False)
