"""The picture: the energy over rescaled time, and the tokens over the logarithm of time."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.metastability.staircase.measures import levels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Staircases of every beta with their levels; merge times against beta."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = spaced_figure(11.4, 4.4, w_pad=0.1)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.5, 1.0, 1.0])
    palette = tidy(left)
    tones = palette.tokens(len(p["betas"]))
    for colour, beta in zip(tones, p["betas"], strict=True):
        found = data[f"beta{beta:g}"]
        rescaled, energy = found["rescaled"].values, found["energy"].values
        end = 1.06 * max(float(data[f"beta{one:g}"]["rescaled"].values[-1]) for one in p["betas"])
        left.plot(
            np.append(rescaled, end),
            np.append(energy, 1.0),
            color=colour,
            linewidth=1.4,
            label=f"β = {beta:g}",
        )
    for level in levels(data[f"beta{p['betas'][-1]:g}"]["member"].values):
        left.axhline(level, color=palette.grey(0.35), linewidth=0.7, zorder=0)
        left.text(
            end, level, f" {level:.2f}", fontsize=SMALL_POINTS - 1, va="center", color=palette.grey(0.7)
        )
    left.set(xlim=(0.0, end), ylim=(0.15, 1.03), xlabel="rescaled time", ylabel="energy")
    left.legend(fontsize=SMALL_POINTS, loc="upper left")
    left.set_title("grey: Σ (mass)² of the clusters", fontsize=SMALL_POINTS + 1)

    palette = tidy(middle)
    last = data[f"beta{p['betas'][-1]:g}"]
    for token, colour in enumerate(palette.tokens(last.sizes["token"])):
        middle.plot(last["rescaled"], last["angle"][:, token], color=colour, linewidth=1.6)
    middle.set(xlabel="rescaled time", ylabel="angle", xlim=(0.0, float(last["rescaled"][-1])))
    middle.set_title(f"the five tokens, β = {p['betas'][-1]:g}", fontsize=SMALL_POINTS + 1)

    tidy(right)
    betas = np.array(p["betas"])
    for merge in range(last.sizes["merge"]):
        t = [float(data[f"beta{beta:g}"]["merge_time"][merge]) for beta in p["betas"]]
        right.plot(
            betas, np.log10(t), "o-", color=CLUSTER_COLOURS[merge], markersize=4, label=f"merge {merge + 1}"
        )
    right.set(
        xlabel="β", ylabel=r"$\log_{10}$ of the time of each merge, in units of $e^{-β}$", xlim=(0.0, None)
    )
    right.legend(fontsize=SMALL_POINTS, loc="upper left")
    return {"staircase": figure}
