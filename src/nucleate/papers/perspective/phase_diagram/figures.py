"""The phase diagram: the share of close pairs over time and beta, one panel for every d."""

from typing import TYPE_CHECKING

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.perspective.phase_diagram.data import betas_of
from nucleate.papers.perspective.phase_diagram.measures import equiangular_times, shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The panels, with the curve of equiangular tokens over that of the largest d."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import SMALL_POINTS, tidy

    figure = spaced_figure(11.4, 3.9, w_pad=0.06)
    axes = figure.subplots(1, len(p["runs"]), sharey=True, squeeze=False)[0]
    betas = betas_of(p)
    for ax, d in zip(axes, p["runs"], strict=True):
        palette = tidy(ax)
        mean = shares(data, d, p).mean(1)  # (beta, time)
        times = data[f"d{d}"]["time"].values
        mesh = ax.pcolormesh(times, betas, mean, vmin=0.0, vmax=1.0, shading="nearest", rasterized=True)
        ax.set(xlim=(0.0, p["T"]), ylim=(betas[0], betas[-1]), xlabel="t")
        ax.set_title(f"d = {d}, {p['runs'][d]} runs for each β", fontsize=SMALL_POINTS + 1)
    axes[0].set_ylabel("β")
    axes[-1].plot(
        equiangular_times(betas, p), betas, color=palette.red, linewidth=1.8, label="equiangular, ρ(0) = 0"
    )
    axes[-1].legend(
        fontsize=SMALL_POINTS, loc="upper left", frameon=True, facecolor=palette.paper, edgecolor="none"
    )
    bar = figure.colorbar(mesh, ax=axes, pad=0.01)
    bar.set_label(
        f"share of pairs with ⟨x_i, x_j⟩ ≥ {p['close']:g}".replace("x_i", "$x_i$").replace("x_j", "$x_j$")
    )
    bar.outline.set_visible(False)
    return {"phase-diagram": figure}
