"""Merges on the law, and lifetimes of centers over the bound."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.lifetimes.data import Cell, cells
from nucleate.papers.open_questions.lifetimes.measures import merged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

COLOUR_OF = {2: 1, 3: 0, 4: 2, 5: 3}  # by the dimension, so that pictures of other sets of d agree


def _is(d: int, use: str, cell: Cell) -> bool:
    return cell.d == d and cell.use == use


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Both."""
    from matplotlib.figure import Figure

    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    figure = Figure(figsize=(10.2, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    palette = tidy(left)
    tidy(right)
    most = 0.0
    for d in sorted({cell.d for cell in cells(p)}):
        colour = CLUSTER_COLOURS[COLOUR_OF[d]]
        for use in ("fit", "test"):
            some = merged(data, p, partial(_is, d, use))
            most = max(most, float(some.exponent.max()))
            face = colour if use == "fit" else "none"
            slope, law = (numbers[f"d{d}_slope{name}"].value for name in ("", "_exact"))
            label = f"d = {d}, slope {slope:.4f} ({law:.4f})" if use == "fit" else None
            left.plot(
                some.exponent,
                some.log_time,
                "o",
                color=colour,
                markerfacecolor=face,
                markersize=3.2,
                label=label,
            )
        for cell in cells(p):
            if cell.d == d:
                found = data[cell.name]
                lifetime = np.minimum(found["lifetime"].values, found["until"].values)
                promised = found["promised"].values
                right.plot(
                    promised.ravel(),
                    (lifetime / promised).ravel(),
                    "o",
                    color=colour,
                    markersize=2.5,
                    alpha=0.7,
                )
    left.plot([0.0, most], [0.0, most], color=palette.ink, linewidth=0.9)
    left.set(xlabel="β(1 − cos Δ)", ylabel="ln(T m β sin²Δ)")
    left.legend(fontsize=SMALL_POINTS, frameon=False)
    right.axhline(1.0, color=palette.red, linewidth=1.0)
    right.set(
        xscale="log", yscale="log", xlabel="guaranteed lifetime", ylabel="lifetime over the guaranteed one"
    )
    return {"lifetimes": figure}
