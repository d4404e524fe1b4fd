"""The picture of Theorem 5.2: where tokens end, what the conditions allow, and the constructed case."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.theorem52.conditions import (
    CASES,
    CONSTRUCTED,
    Case,
    equilibrium_distance,
    failure_limit,
    limits,
    tear_off,
)
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.theory.interaction import interaction, interaction_slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

MIN_SHOWN_DISTANCE = 0.8  # of the constructed case, in units of β^(−1/2)


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """How far tokens end from frozen ones; what the conditions allow; the constructed case."""
    figure = spaced_figure(11.0, 4.4)
    far, allowed, energy = figure.subplots(1, 3, width_ratios=[1.2, 1.05, 0.95])
    _draw_far(far, data, p)
    _draw_allowed(allowed, numbers)
    _draw_energy(energy)
    return {"theorem5.2": figure}


def _draw_far(ax: Any, data: Data, p: Parameters) -> None:
    """The largest distance from a frozen token over N, both in units of what the theorem says; lines are the
    worst placement, computed."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, case in enumerate(CASES):
        colour = CLUSTER_COLOURS[(0, 2, 3, 5)[i]]
        most = [data[f"{case.name}-{factor:g}"]["away"].values.max() / case.eps for factor in p["factors"]]
        ax.plot(p["factors"], most, "osD^"[i], color=colour, markersize=6, label=case.words)
        N = np.geomspace(0.3 * case.max_N, tear_off(case)[1] * 0.99999, 200)
        ax.plot(N / case.max_N, equilibrium_distance(case, N - 2.0) / case.eps, color=colour, linewidth=1.1)
    low = 1e-4
    ax.fill_between([p["factors"][0] / 2.0, 1.0], low, 1.0, color=palette.grey(0.12), linewidth=0, zorder=0)
    ax.text(
        0.29, 0.5, "the\ntheorem", fontsize=SMALL_POINTS - 2, color=palette.grey(0.75), ha="left", va="center"
    )
    ax.axhline(1.0, color=palette.grey(0.5), linewidth=0.9, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=(p["factors"][0] / 2.0, 2.0 * p["factors"][-1]), ylim=(low, 60.0))
    ax.set(xlabel="N over the limit of the conditions", ylabel="farthest token, over ε")
    ax.set_title("where tokens end", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left", borderaxespad=0.1, handletextpad=0.2)


def _draw_allowed(ax: Any, numbers: Numbers) -> None:
    """N over epsilon at c = 6.5, beta = 64: what each condition allows, and where the conclusion begins to
    fail."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, beta, c = tidy(ax), CONSTRUCTED["beta"], CONSTRUCTED["c"]
    eps = np.linspace(0.01, 1.2, 240)
    force, slope = limits(beta, c, eps)
    both = np.minimum(force, slope)
    ax.fill_between(
        eps,
        1.0,
        np.maximum(both, 1.0),
        color=palette.grey(0.15),
        linewidth=0,
        label="the theorem, sign put right",
    )
    near, far = (
        interaction_slope(eps * beta**-0.5, beta),
        interaction_slope((c - 2.0 * eps) * beta**-0.5, beta),
    )
    # beyond tau* the printed one asks for a large N
    low = np.maximum(np.maximum(both, 1.0), np.where(near < 0.0, near / far, 1.0))
    ax.fill_between(
        eps,
        low,
        np.maximum(force, low),
        color=palette.red,
        alpha=0.35,
        linewidth=0,
        label="added by the printed sign",
    )
    ax.plot(eps, force, color=palette.ink, linewidth=1.4, label="first condition")
    ax.plot(
        eps[slope > 0],
        slope[slope > 0],
        color=palette.ink,
        linewidth=1.2,
        linestyle=(0, (3, 2)),
        label="second condition",
    )
    torn, weight = tear_off(Case(0.1, c, beta))
    y = np.linspace(0.01, torn, 60)
    ax.plot(
        y,
        [failure_limit(Case(float(one), c, beta)) for one in y[:-1]] + [weight + 2.0],
        color=CLUSTER_COLOURS[0],
        linewidth=1.8,
        label="where it begins to fail",
    )
    ax.plot([torn], [weight + 2.0], "o", color=CLUSTER_COLOURS[0], markersize=5)
    ax.plot(
        [CONSTRUCTED["eps"]],
        [CONSTRUCTED["tokens"] + 2],
        "*",
        color=palette.red,
        markersize=11,
        label="the constructed case",
    )
    ax.set(yscale="log", xlim=(0.0, 1.2), ylim=(1.0, 1e11), xlabel="ε", ylabel="N")
    ax.set_title(f"what is allowed, c = {c:g}, β = {beta:g}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right", borderaxespad=0.1)


def _draw_energy(ax: Any) -> None:
    """The slope of the energy of the constructed case's last token, as it is moved through its ball: it must
    rise to be convex."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    beta, c, eps, tokens = (CONSTRUCTED[name] for name in ("beta", "c", "eps", "tokens"))
    s = beta**-0.5
    y = np.linspace(0.0, 1.15, 2000)  # in units of beta^(-1/2)

    def slope(at: Any, f: Any, sign: float) -> Any:
        """Of the energy (f = h, sign = -1) or of its slope (f = g, sign = 1): two frozen tokens, and the
        others at eps before the second."""
        return f(at * s, beta) + sign * (f((c - at) * s, beta) + (tokens - 1) * f((c - eps - at) * s, beta))

    force = slope(y, interaction, -1.0)
    curve = slope(y, interaction_slope, 1.0)
    ax.plot(y, force, color=palette.ink, linewidth=1.6)
    inside = (y <= eps) & (curve < 0.0)
    ax.plot(
        y[inside],
        force[inside],
        color=palette.red,
        linewidth=4.0,
        solid_capstyle="butt",
        label="concave within the ball",
    )
    edge_at = [0.0, float(np.interp(eps, y, force))]
    ax.plot(
        [eps] * 2,
        edge_at,
        color=palette.grey(0.5),
        linewidth=0.9,
        linestyle=(0, (3, 2)),
        label=f"edge of the ball, ε = {eps:g}",
    )
    shown = force[y >= MIN_SHOWN_DISTANCE]
    ax.set(xlim=(MIN_SHOWN_DISTANCE, 1.15), ylim=(0.98 * shown.min(), 1.02 * shown.max()))
    ax.set(
        xlabel=r"distance to the frozen token / $\beta^{-1/2}$", ylabel=r"$\partial E_k/\partial\varphi_k$"
    )
    ax.set_title("the constructed case", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left", borderaxespad=0.1)
