"""The picture of Lemma 5.3: gradient over velocity, energies over time, and how often they rise."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.lemma53.measures import MIN_RISE, gradient_ratio, rising_energies
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The ratio of gradient and velocity; energies over time; how often they rise."""
    figure = spaced_figure(11.0, 4.2)
    ratio, time, share = figure.subplots(1, 3, width_ratios=[0.9, 1.4, 0.9])
    _draw_ratio(ratio, data)
    _draw_energies(time, data, p)
    _draw_share(share, data, p)
    return {"lemma5.3": figure}


def _draw_ratio(ax: Any, data: Data) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, known = tidy(ax), data["identity"]
    beta, v = known["beta"].values, known["equation"].values
    for name, words, mark, colour in (
        ("printed", "as printed", "s", palette.grey(0.6)),
        ("gradient", "with the factor 1/β", "o", palette.red),
    ):
        ax.plot(
            beta,
            [gradient_ratio(known[name].values[i], v[i]) for i in range(len(beta))],
            mark,
            color=colour,
            markersize=6,
            label=words,
        )
    ax.plot(beta, beta, color=palette.grey(0.6), linewidth=0.9, zorder=0)
    ax.axhline(1.0, color=palette.red, linewidth=0.9, zorder=0)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="β",
        ylabel=r"$-Z_k^{-1}\,\partial E_k/\partial\varphi_k$  over  $\varphi_k'$",
    )
    ax.set_title("gradient over velocity", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_energies(ax: Any, data: Data, p: Parameters) -> None:
    """Energies of some tokens of the run in which most rise, over their number of neighbours; what rises is
    red."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, along = tidy(ax), data["energies"]
    E, t = along["energy"].values, along["time"].values
    start = int(rising_energies(E, p["beta"]).sum(1).argmax())
    n = E.shape[-1]
    colours = palette.tokens(n)
    for k in sorted({1, *np.linspace(2, n - 1, min(8, n - 2)).astype(int)}):
        y = p["beta"] * E[start, :, k] / k  # (time,) between -1 and 0
        ax.plot(t[1:], y[1:], color=colours[k], linewidth=1.2)
        up = np.append(np.diff(y) > MIN_RISE, False)
        ax.plot(
            t[1:],
            np.where(up | np.append(False, up[:-1]), y, np.nan)[1:],
            color=palette.red,
            linewidth=2.4,
            zorder=4,
        )
    ax.plot([], [], color=colours[1], linewidth=1.2, label="early token")
    ax.plot([], [], color=colours[-1], linewidth=1.2, label="late token")
    ax.plot([], [], color=palette.red, linewidth=2.4, label="rising")
    ax.set(
        xscale="log", xlim=(t[1], t[-1]), ylim=(-1.04, 0.04), xlabel="time", ylabel=r"$\beta E_k\,/\,(k-1)$"
    )
    ax.set_title(f"energies of one run, β = {p['beta']:g}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")


def _draw_share(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, E = tidy(ax), data["energies"]["energy"].values
    share = rising_energies(E, p["beta"]).mean(0)  # (n,)
    k = np.arange(1, len(share) + 1)
    ax.bar(k[1:], share[1:], color=palette.grey(0.45), width=0.8)
    ax.plot(k[1:2], share[1:2], "o", color=palette.red, markersize=6, clip_on=False, zorder=4)
    ax.plot(k[1:2].repeat(2), [0.02, 0.6], color=palette.grey(0.6), linewidth=0.8)
    ax.text(
        2.0,
        0.62,
        "token 2, before which only the\nfixed first one stands: never",
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="left",
        va="bottom",
    )
    ax.set(xlim=(1, len(share) + 1), ylim=(0.0, 1.0), xlabel="token k", ylabel="share of runs")
    ax.set_title("whose energy rises at some time", fontsize=SMALL_POINTS + 1)
