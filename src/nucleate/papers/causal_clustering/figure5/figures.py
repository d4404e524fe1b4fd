"""The picture of Figure 5: eigenvalues of value matrices in the complex plane."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """All heads in one plane on the left, each head by itself on the right."""
    from matplotlib.figure import Figure

    shown = {
        name: words
        for name, words in (("drawn", "at initialisation"), ("trained", "trained"))
        if name in data
    }
    figure = Figure(figsize=(11.0, 5.4 * len(shown)), layout="constrained")
    rows: Any = figure.subfigures(len(shown), 2, width_ratios=[1.0, 1.15], squeeze=False)
    for (left, right), (name, words) in zip(rows, shown.items(), strict=True):
        _draw_planes(left, right, data[name], words)
    return {"figure5": figure}


def _draw_planes(left: Any, right: Any, data: "Dataset", words: str) -> None:
    from nucleate import plot
    from nucleate.plot.styles import SMALL_POINTS, tidy

    values = data["real"].values + 1j * data["imaginary"].values  # (heads, d_head)
    ax = plot.spectrum(values.reshape(-1), left.subplots())
    ax.set_title(f"all {len(values)} heads {words}, " + ax.get_title())
    reach = 1.15 * np.abs(values).max()
    columns = int(np.ceil(np.sqrt(len(values))))
    axes = np.atleast_1d(
        right.subplots(-(-len(values) // columns), columns, sharex=True, sharey=True)
    ).reshape(-1)
    for ax in axes[len(values) :]:
        ax.set_visible(False)
    for h, (ax, head) in enumerate(zip(axes, values, strict=False)):
        palette = tidy(ax)
        ax.axvspan(0.0, reach, color=palette.grey(0.06), linewidth=0)
        ax.axvline(head[0].real, color=palette.red, linewidth=0.8, linestyle=(0, (4, 2)))
        ax.scatter(head.real, head.imag, s=2.2, color=palette.ink, linewidths=0)
        ax.scatter(head[:1].real, head[:1].imag, s=12, color=palette.red, marker="D", linewidths=0)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set_title(f"head {h}: {head[0].real:+.3f}".replace("-", "−"), fontsize=SMALL_POINTS - 1, pad=2)
        ax.tick_params(labelsize=SMALL_POINTS - 2)
        ax.locator_params(nbins=3)
