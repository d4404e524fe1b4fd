"""The pictures of the law β^{(d−1)/2}."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.law.data import C
from nucleate.papers.causal_clustering.law.measures import DECADE, KINDS, match_curve, means
from nucleate.papers.causal_clustering.shared.cluster_runs import FIGURE_C
from nucleate.papers.core.figure_layout import beta_axes
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.line_fits import STANDARD_ERRORS_95, half_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The law, one panel per d; and the radii."""
    return {"law": _law_figure(data, numbers, p), "law-c": _radius_figure(data, numbers, p)}


def _law_figure(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    """Counts against β, one panel per d."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    axes = figure.subplots(1, len(p["betas"]), squeeze=False)[0]
    for ax, (d, betas) in zip(axes, p["betas"].items(), strict=True):
        palette = tidy(ax)
        half = (int(d) - 1) / 2.0
        styles = {
            "strong": (palette.red, "o"),
            "renyi": (palette.ink, "s"),
            "clusters": (CLUSTER_COLOURS[0], "D"),
        }
        for kind, (colour, mark) in styles.items():
            mean, error = means(data, int(d), betas, kind, p["at"])
            ax.plot(
                betas,
                mean[-1] * (np.array(betas) / betas[-1]) ** half,
                color=colour,
                linewidth=0.8,
                alpha=0.7,
            )
            ax.errorbar(
                betas,
                mean,
                STANDARD_ERRORS_95 * error,
                fmt=mark,
                color=colour,
                markersize=8.0 if kind == "renyi" else 4.5,
                markerfacecolor="none" if kind == "renyi" else colour,
                linewidth=1.0,
                label=KINDS[kind],
            )
        ax.plot(
            betas,
            _caps(int(d), betas),
            color=palette.red,
            linewidth=1.2,
            linestyle=DASHES[2],
            zorder=0,
            label="1/σ",
        )
        beta_axes(ax, betas)
        ax.set(ylabel="number" if ax is axes[0] else "")
        exponent = numbers[f"clusters_d{d}_decade"]
        ax.set_title(
            f"d = {d}: clusters like $β^{{{exponent.value:.2f} ± {half_width(exponent):.2f}}}$",
            fontsize=SMALL_POINTS + 1,
        )
    axes[0].legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")
    return figure


def _caps(d: int, betas: list[float]) -> list[float]:
    """1/σ for every β: the mean number of strong centers."""
    from nucleate.theory.counts import cap_share

    return [1.0 / cap_share(min(FIGURE_C * beta**-0.5, np.pi), d) for beta in betas]


def _radius_figure(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    """The c of equal numbers over time, and of best match."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import SMALL_POINTS

    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_radii(left, numbers, p)
    for ax, kind, words in ((middle, "strong", "strong center"), (right, "renyi", "Rényi center")):
        _draw_match(ax, data, p, kind)
        ax.set_title(f"clusters with exactly one {words}", fontsize=SMALL_POINTS + 1)
    return figure


def _draw_radii(ax: Any, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, d in enumerate(p["betas"]):
        for kind, dash in (("renyi", "-"), ("strong", (0, (4, 1.5)))):
            named = [
                (name, number) for name, number in numbers.items() if name.startswith(f"c_{kind}_d{d}_t")
            ]
            t = [float(name.rsplit("_t", 1)[1]) for name, _ in named]
            c = [number.value for _, number in named]
            ax.plot(
                t,
                c,
                linestyle=dash,
                marker="osD"[i],
                markersize=4,
                color=CLUSTER_COLOURS[(0, 3, 2)[i]],
                label=f"d = {d}" if kind == "renyi" else None,
            )
    ax.axhline(FIGURE_C, color=palette.grey(0.4), linewidth=0.8, zorder=0)
    ax.set(xscale="log", xlabel="time", ylabel="c")
    ax.set_xticks(p["times"], [f"{t:g}" for t in p["times"]])
    ax.minorticks_off()
    ax.set_title("c with as many centers as clusters", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_match(ax: Any, data: Data, p: Parameters, kind: str) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (d, betas) in enumerate(p["betas"].items()):
        share, error = match_curve(data, int(d), [beta for beta in betas if beta >= betas[-1] / DECADE], kind)
        colour = CLUSTER_COLOURS[(0, 3, 2)[i]]
        ax.plot(C, share, color=colour, linestyle=DASHES[i], label=f"d = {d}")
        ax.fill_between(
            C,
            share - STANDARD_ERRORS_95 * error,
            share + STANDARD_ERRORS_95 * error,
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
    ax.axvline(FIGURE_C, color=palette.grey(0.4), linewidth=0.8, zorder=0)
    ax.set(xlim=(C[0], C[-1]), ylim=(0.0, 1.0), xlabel="c", ylabel="share of clusters")
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right")
