"""The pictures of Conjecture 1."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.conjectures.counterexamples import stored_counterexamples
from nucleate.papers.causal_clustering.conjectures.equilibria import (
    Plane,
    equilibria_in_plane,
    log_F,
    plane_of,
)
from nucleate.papers.causal_clustering.conjectures.random_models import (
    FAMILIES_1,
)
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

SHOWN = {  # panels: stored counterexample, title, earlier tokens, where there is room for a word
    "exact_sink": ("V = (4 −4; 0 1)\nQ = K = I, β = 0", 1, 0.97),
    "first_found": ("V = diag(1, .1), β = 10\n$K^{\\top}Q$ = diag(−1, 1)", 1, 0.5),
    "positive_definite": ("V = diag(1, .9), β = 1\n$K^{\\top}Q$ = diag(1, 3)", 1, 0.5),
    "off_diagonal": ("V = diag(1, .88), β = 1\n$K^{\\top}Q$ = (1 .3; .3 1)", 1, 0.03),
}


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The criterion, and how runs end."""
    return {"conjecture1": _criterion_figure(), "conjecture1-ends": _ends_figure(data, numbers)}


def _criterion_figure() -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.styles import SMALL_POINTS

    figure = Figure(figsize=(11.5, 3.5), layout="constrained")
    axes = figure.subplots(1, 1 + len(SHOWN))
    stored = {counterexample.name: counterexample for counterexample in stored_counterexamples()}
    _draw_log_F(axes[0], Plane(1.0, 0.0, 1.0, np.eye(2), 1.0, np.eye(2)), None, 0.0)
    axes[0].set_title("V symmetric\nQ = K = I, β = 1", fontsize=SMALL_POINTS)
    axes[0].set_ylabel("log F")
    for ax, (name, (title, m, room)) in zip(axes[1:], SHOWN.items(), strict=True):
        model = stored[name].model
        assert model.V is not None
        _draw_log_F(ax, plane_of(model.V, model.K, model.Q, float(model.beta)), m, room)
        ax.set_title(f"{title}", fontsize=SMALL_POINTS)
    return figure


def _draw_log_F(ax: Any, plane: Plane, m: int | None, room: float) -> None:
    """log F over the angle from -xi: red where an equilibrium attracts."""
    from nucleate.plot.styles import tidy

    palette = tidy(ax)
    corner = np.geomspace(1e-9, 1e-2, 200)  # F falls to 0 at a right angle, steeply in the logarithm
    corners = [side * np.pi / 2.0 + way * corner for side in (-1.0, 1.0) for way in (-1.0, 1.0)]
    phi = np.unique(np.concatenate([np.linspace(-np.pi, np.pi, 2881), *corners]))
    y = log_F(plane, phi)  # NaN where F is not positive
    y = np.where(y > -1.0, y, np.nan)
    rising = np.sign(phi) * np.gradient(y, phi) > 0.0
    ax.plot(phi, y, color=palette.grey(0.6), linewidth=1.3)
    ax.plot(phi, np.where(rising & (y > 0.0), y, np.nan), color=palette.red, linewidth=2.6)
    ax.axhline(0.0, color=palette.grey(0.35), linewidth=0.7, linestyle=(0, (1, 2)))
    highest = float(np.nanmax(y))
    if m is not None:
        at = float(np.log(m * plane.ratio))
        ax.axhline(at, color=palette.ink, linewidth=0.9, linestyle=(0, (5, 3)))
        for equilibrium in equilibria_in_plane(plane, m):
            angle = (equilibrium.alpha - np.pi + np.pi) % (2.0 * np.pi) - np.pi
            ax.plot(
                [angle],
                [at],
                "o",
                color=palette.red if equilibrium.rate < 0.0 else palette.paper,
                markeredgecolor=palette.red if equilibrium.rate < 0.0 else palette.ink,
                markersize=7,
                zorder=5,
                clip_on=False,
            )
        side = "left" if room < 0.4 else "right" if room > 0.6 else "center"
        ax.text(
            room,
            at + 0.01 * highest,
            "log m r",
            va="bottom",
            ha=side,
            transform=ax.get_yaxis_transform(),
            fontsize=8,
            color=palette.ink,
        )
    wide = float(np.nanmax(np.abs(phi[np.isfinite(y)])))
    ax.set(
        xlabel="angle φ from −ξ",
        xlim=(-min(1.05 * wide, np.pi), min(1.05 * wide, np.pi)),
        ylim=(min(-0.12 * highest, -0.05), 1.15 * highest),
    )
    ax.set_xticks([-np.pi / 2, 0.0, np.pi / 2], ["−π/2", "0", "π/2"])


def _ends_figure(data: Data, numbers: Numbers) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 5.0), layout="constrained")
    shares, orbit = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
    _draw_shares(shares, numbers)
    _draw_orbit(orbit, data)
    return figure


def _draw_shares(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, family in enumerate(FAMILIES_1):
        share = numbers[f"{family.name}_off"]
        low, high = share.low or 0.0, share.high if share.high is not None else 1.0
        colour = palette.ink if share.value == 0.0 else palette.red
        ax.plot([low, high], [i, i], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot(
            [share.value],
            [i],
            "o" if share.value == 0.0 else "D",
            color=colour,
            markersize=5.5,
            clip_on=False,
        )
    ax.set_yticks(
        range(len(FAMILIES_1)),
        [family.words.replace("KᵀQ", r"$K^{\top}Q$") for family in FAMILIES_1],
        fontsize=SMALL_POINTS,
    )
    ax.set(
        ylim=(len(FAMILIES_1) - 0.4, -0.6),
        xlabel="share of runs that end elsewhere than at ±ξ",
        xlim=(0.0, None),
    )
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _draw_orbit(ax: Any, data: Data) -> None:
    """The periodic orbit, on the disc of the first and the second eigenvector."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    counterexample = next(one for one in stored_counterexamples() if one.kind == "periodic orbit")
    assert counterexample.model.V is not None
    w, vectors = np.linalg.eigh((counterexample.model.V + counterexample.model.V.T) / 2.0)
    basis = vectors[:, np.argsort(-w)][:, [0, 1]]  # (d, 2)
    # (m, 2), (k, 2)
    path, others = (
        data["counterexamples"]["path"].values @ basis,
        data["counterexamples"]["others"].values @ basis,
    )
    palette = tidy(ax)
    circle = np.linspace(0.0, 2.0 * np.pi, 200)
    ax.plot(np.cos(circle), np.sin(circle), color=palette.grey(0.4), linewidth=0.8)
    ax.plot(*path.T, color=palette.red, linewidth=2.0, label="the eighth token")
    for i in range(20, len(path) - 1, 40):
        ax.annotate(
            "",
            path[i + 1],
            path[i],
            arrowprops={"arrowstyle": "-|>", "color": palette.red, "linewidth": 0.0, "mutation_scale": 13},
        )
    ax.plot(
        *others[:1].T,
        "o",
        color=palette.ink,
        markersize=9,
        label="the first, at −ξ" if others[0, 0] < 0 else "the first, at ξ",
        linestyle="none",
    )
    ax.plot(
        *others[1:].T,
        "o",
        color=palette.grey(0.6),
        markersize=5,
        label="the others, fixed",
        linestyle="none",
    )
    ax.set_aspect("equal")
    ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), xlabel="along ξ", ylabel="along the second eigenvector")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])
    ax.legend(
        fontsize=SMALL_POINTS,
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=2,
        columnspacing=0.9,
        handletextpad=0.4,
    )
