"""The picture of the transition: the cosine against gamma, and how its width falls with n."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Cosines over gamma at several n with the layer's own values on them, and the widths."""
    from matplotlib.ticker import FixedLocator, NullLocator

    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    curves, rho = data["curves"], p["direct_rho"]
    figure = spaced_figure(11.0, 4.4, w_pad=0.12)
    left, right = figure.subplots(1, 2, width_ratios=[1.75, 1.0])
    palette = tidy(left)
    one = curves.sel(rho=rho)
    shown = [n for n in p["shown_n"] if n in curves["n"].values]
    tones = palette.tokens(len(shown))
    for colour, n in zip(tones, shown, strict=True):
        left.plot(one["fine"], one["curve"].sel(n=n), color=colour, linewidth=1.5, label=_power(n))
    for step, (low, high, level) in enumerate([(p["from_share"], 1.0, 1.0), (1.0, p["to_share"], rho)]):
        label = "limit as n → ∞" if step == 0 else None
        left.plot([low, high], [level, level], color=palette.red, linewidth=1.2, zorder=1, label=label)
    critical = 4.0 * rho / (1.0 + 3.0 * rho)
    left.plot([1.0], [critical], "o", color=palette.red, markersize=8, zorder=5)
    left.annotate(
        f"4ρ/(1+3ρ) = {critical:.3f}",
        (1.0, critical),
        (1.06, critical + 0.05),
        color=palette.red,
        fontsize=SMALL_POINTS,
    )
    largest = max(p["direct_n"])
    found = data[f"direct-{largest}"]
    inside = found["share"].values <= p["to_share"]
    left.plot(
        found["share"].values[inside],
        found["least"].values[inside],
        "s",
        color=palette.ink,
        markerfacecolor="none",
        markersize=5.5,
        zorder=4,
        label=f"the layer itself, n = {largest}",
    )
    left.set(
        xlim=(p["from_share"], p["to_share"]),
        ylim=(rho - 0.04, 1.03),
        xlabel="γ (1 − ρ),   β = γ log n",
        ylabel="cosine of two outputs",
    )
    left.set_title(f"all overlaps ρ = {rho:g} before the layer", fontsize=SMALL_POINTS + 1)
    left.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right")

    palette = tidy(right)
    log_n = np.log(curves["n"].values)
    for i, r in enumerate(curves["rho"].values):
        right.plot(
            log_n,
            curves["width"].sel(rho=r),
            "osD^v"[i % 5],
            color=CLUSTER_COLOURS[i],
            markersize=5,
            linestyle="none",
            label=f"ρ = {r:g}",
        )
        last = float(curves["width"].sel(rho=r)[-1])
        right.plot(log_n, last * log_n[-1] / log_n, color=CLUSTER_COLOURS[i], linewidth=0.8, alpha=0.8)
    right.set(xscale="log", yscale="log", xlabel="log n", ylabel="width of the transition in γ (1 − ρ)")
    right.xaxis.set_major_locator(FixedLocator(ticks := [5.0, 10.0, 20.0, 30.0]))
    right.xaxis.set_minor_locator(NullLocator())
    right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    heights = [0.1, 0.2, 0.5]
    right.yaxis.set_minor_locator(NullLocator())
    right.set_yticks(heights, [f"{tick:g}" for tick in heights])
    right.set_title("lines: ∝ 1/log n", fontsize=SMALL_POINTS + 1)
    right.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")
    return {"attention-scale": figure}


def _power(n: float) -> str:
    return rf"$n = 10^{{{np.log10(n):.0f}}}$"
