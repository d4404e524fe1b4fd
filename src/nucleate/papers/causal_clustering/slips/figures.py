"""The picture of the slips that have none of their own."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.theorem52.conditions import EXAMPLE, limits
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Three that have no picture of their own: centers on the sphere, the example, the counterexample."""
    figure = spaced_figure(11.0, 4.0)
    counted, example, elsewhere = figure.subplots(1, 3)
    _draw_sphere(counted, numbers, p)
    _draw_example(example, numbers)
    _draw_counterexample(elsewhere, data)
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
    ax.set_title("1: strong centers on the sphere", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False)


def _draw_example(ax: Any, numbers: Numbers) -> None:
    """N over beta at the example's c and epsilon: what the formulas allow, what is printed, and what the
    conditions allow."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, eps, c = tidy(ax), EXAMPLE["eps"], EXAMPLE["c"]
    beta = np.linspace(12.0, 20.0, 161)
    both = [min(limits(float(b), c, eps)) for b in beta]
    ax.plot(beta, both, color=palette.ink, linewidth=1.4, label="both conditions")
    least, most = numbers["example_beta"], numbers["example_N"]
    for b, N, colour, style, words in (
        (
            least.value,
            most.value,
            palette.red,
            "-",
            f"formulas: β ≥ {least.value:.3f}, N ≤ {np.floor(most.value):.0f}",
        ),
        (
            least.expected or 0.0,
            most.expected or 0.0,
            palette.grey(0.6),
            (0, (4, 2)),
            f"printed: β ≥ {least.expected:g}, N ≤ {most.expected:g}",
        ),
    ):
        ax.plot([b, b, beta[-1]], [600.0, N, N], color=colour, linewidth=1.6, linestyle=style, label=words)
    ax.set(yscale="log", xlim=(13.8, 14.4), ylim=(640.0, 8000.0), xlabel="β", ylabel="N allowed")
    ax.set_yticks([700, 1000, 2000, 4000], ["700", "1000", "2000", "4000"])
    ax.minorticks_off()
    ax.set_title("5: the example of Theorem 5.2", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right")


def _draw_counterexample(ax: Any, data: Data) -> None:
    """Where token 2 ends."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    x = data["counterexample"]["x"].values[:, 1]  # (b, 2)
    off = np.abs(x[:, 1]) > 0.01
    bins = np.linspace(-1.02, 1.02, 52)
    ax.hist(x[~off, 0], bins=list(bins), color=palette.grey(0.45), label="at ±ξ")
    ax.hist(x[off, 0], bins=list(bins), color=palette.red, label="elsewhere")
    ax.set(xlabel="cos α of token 2 at the end", ylabel="starts", xlim=(-1.08, 1.08))
    ax.set_title("6: Conjecture 1, K = diag(−1, 1)", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper center")
