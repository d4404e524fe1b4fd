"""The picture of Figure 4: the interaction function, its maximum and its bounds."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """h with its bounds, the line of the paper and tau*."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import tidy

    h = data["h"]
    figure = Figure(figsize=(7.4, 4.2), layout="constrained")
    ax = figure.add_subplot()
    palette = tidy(ax)
    x = np.append(0.0, h["x"].values)
    ax.fill_between(
        x,
        np.append(0.0, h["lower"].values),
        np.append(0.0, h["upper"].values),
        color=palette.grey(0.3),
        linewidth=0,
        label="between the bounds of Lemma A.1",
    )
    ax.plot(
        x,
        np.append(0.0, h["h"].values),
        color=palette.ink,
        linewidth=1.8,
        label=r"$h(x) = e^{\beta(\cos x - 1)}\,\sin x$",
    )
    line, maximum = numbers["line"].value, numbers["tau_star"].value
    ax.axvline(
        line,
        color=palette.grey(0.6),
        linestyle=(0, (4, 2)),
        linewidth=1.2,
        label=rf"$\beta^{{-1/2}}$ = {line:.4f}",
    )
    peak = float(np.interp(maximum, x, np.append(0.0, h["h"].values)))
    ax.plot(
        [maximum],
        [peak],
        "o",
        color=palette.red,
        markersize=7,
        label=rf"largest at $\tau^*$ = {maximum:.4f}",
        zorder=4,
    )
    ax.set(xlim=(0.0, np.pi), ylim=(0.0, 1.12 * peak), xlabel="distance x", ylabel="h(x)")
    ax.set_xticks([0, np.pi / 4, np.pi / 2, 3 * np.pi / 4, np.pi], ["0", "π/4", "π/2", "3π/4", "π"])
    ax.set_title(f"β = {p['beta']:g}")
    ax.legend(loc="upper right", frameon=False)
    return {"figure4": figure}
