"""The picture: a map over rho and gamma, and the transition in several dimensions."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.long_context.equiangular_layer import critical_scale
from nucleate.theory.long_context import layer_cosine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The map with the critical curve, and cosines against gamma."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.plot.styles import SMALL_POINTS, tidy

    figure = spaced_figure(11.0, 4.6, w_pad=0.12)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    palette, found = tidy(left), data["map"]
    rho, gamma = found["rho"].values, found["gamma"].values
    before = found["overlap"].values[:, 0]  # (rhos,)
    ratio = (1.0 - found["cosine"].values[:, 0]) / (1.0 - before[:, None])  # (rhos, gammas)
    mesh = left.pcolormesh(rho, gamma, ratio.T, vmin=0.0, vmax=1.0, shading="nearest", rasterized=True)
    fine = np.linspace(rho[0], 1.0 - 1.0 / gamma[-1], 200)
    left.plot(fine, critical_scale(fine), color=palette.red, linestyle=(0, (4, 2)), linewidth=2.0)
    left.set(xlim=(rho[0], rho[-1]), ylim=(gamma[0], gamma[-1]), xlabel="ρ", ylabel="γ = β / log n")
    left.set_title(f"n = {p['n']}, d = {p['map_d']}; dashed: γ = 1/(1 − ρ)", fontsize=SMALL_POINTS + 1)
    bar = figure.colorbar(mesh, ax=left, pad=0.02)
    bar.set_label("(1 − cosine after) / (1 − cosine before)")
    bar.outline.set_visible(False)

    palette = tidy(right)
    tones = palette.tokens(len(p["d"]))
    for colour, d in zip(tones, p["d"], strict=True):
        one = data[f"d{d}"]
        share = one["gamma"].values * (1.0 - p["rho"])
        right.plot(share, one["cosine"].values.mean(0), "o-", color=colour, markersize=4, label=f"d = {d}")
    fine = np.linspace(share[0], share[-1], 300)
    right.plot(
        fine,
        layer_cosine(p["n"], p["rho"], fine * np.log(p["n"]) / (1.0 - p["rho"])),
        color=palette.red,
        linewidth=1.2,
        label="equiangular",
    )
    right.axvline(1.0, color=palette.grey(0.4), linewidth=0.8, zorder=0)
    right.set(xlim=(share[0], share[-1]), xlabel="γ (1 − ρ)", ylabel="mean cosine of two outputs")
    right.set_title(f"ρ = {p['rho']:g}", fontsize=SMALL_POINTS + 1)
    right.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right")
    return {"almost-equiangular": figure}
