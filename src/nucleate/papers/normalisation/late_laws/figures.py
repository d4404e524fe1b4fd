"""The picture: 1 - rho under every norm, in the clock in which its law is a straight line."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.norms import NORMS
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.normalisation.late_laws.data import POWERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LEAST_SHOWN = 1e-9  # of 1 - rho
WIDE = 3.5  # the line of pre, which peri's covers
CLOCKS = {
    "t": ("post", "ngpt"),
    "√(t + 1)": ("sqrt",),
    "t, logarithmic": POWERS,
}


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """A panel for each clock."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(11.4, 4.2, w_pad=0.1)
    beta = p["betas"][-1]
    for ax, (clock, norms) in zip(figure.subplots(1, len(CLOCKS), sharey=True), CLOCKS.items(), strict=True):
        palette = tidy(ax)
        for norm in norms:
            colour = CLUSTER_COLOURS[NORMS.index(norm)]
            full, causal = (numbers[f"{mask}_{norm}_softmax_{beta:g}"].value for mask in ("full", "causal"))
            label = f"{norm}: {full:.3f}, causal {causal:.3f}".replace("-", "−")
            for mask, line in (("full", "-"), ("causal", "--")):
                found = data[f"{mask}-{norm}"].sel(beta=beta).isel(weights=0)
                t = found["time"].values  # (frames,)
                x = np.sqrt(t + 1.0) if norm == "sqrt" else t
                shown = found["gap"].values > LEAST_SHOWN
                ax.plot(
                    x[shown],
                    found["gap"].values[shown],
                    linestyle=line,
                    color=colour,
                    linewidth=WIDE if norm == "pre" else 1.4,
                    label=label if mask == "full" else None,
                )
                if mask == "full":
                    every = max(1, len(t) // 14)
                    some = slice(every // 2, None, every)
                    ax.plot(x[some], found["formula"].values[some], "o", color=palette.ink, markersize=2.5)
        ax.set(xlabel=clock, yscale="log", ylim=(LEAST_SHOWN, 1.0))
        if norms is POWERS:
            ax.set_xscale("log")
        ax.legend(fontsize=SMALL_POINTS, loc="upper right", frameon=False)
    figure.axes[0].set_ylabel("1 − ρ")
    return {"late-laws": figure}
