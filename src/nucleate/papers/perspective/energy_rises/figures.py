"""The picture: energies over time, under the full mask with both weights, and under the causal one."""

from typing import TYPE_CHECKING

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.perspective.energy_rises.data import CASES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """One panel for every case, in the first d: all runs, one colour for every beta."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(11.4, 3.9, w_pad=0.1)
    axes = figure.subplots(1, 3, sharey=True)
    titles = {"full": "full mask (SA)", "USA": "full mask, exponential (USA)", "causal": "causal mask"}
    d = p["d"][0]
    for ax, case in zip(axes, CASES, strict=True):
        palette = tidy(ax)
        found = data[f"{case}-d{d}"]
        t = found["time"].values[1:]
        for i, beta in enumerate(p["betas"]):
            energy = found["energy"].values[i, :, 1:]  # (runs, times)
            for j, one in enumerate(energy):
                label = f"β = {beta:g}" if j == 0 else None
                ax.plot(t, one, color=CLUSTER_COLOURS[i], linewidth=0.8, alpha=0.8, label=label)
        ax.axhline(1.0, color=palette.grey(0.4), linewidth=0.8, zorder=0)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel=r"$t \,/\, e^{-\beta}$" if case == "USA" else "t",
            xlim=(t[0], t[-1]),
        )
        falls = numbers[f"falling_{case}"]
        assert falls.count is not None
        ax.set_title(
            f"{titles[case]}:\nfalls in {falls.count[0]} of {falls.count[1]} runs",
            fontsize=SMALL_POINTS + 1,
        )
    axes[0].set_ylabel(f"energy, d = {d}")
    axes[0].legend(fontsize=SMALL_POINTS, loc="lower right")
    return {"energy-rises": figure}
