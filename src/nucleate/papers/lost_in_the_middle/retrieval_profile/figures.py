"""The picture: profiles over the place of the source, a panel for each mode and lambda."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.lost_in_the_middle.retrieval_profile.data import case_name
from nucleate.papers.lost_in_the_middle.retrieval_profile.measures import (
    LATEST_JUDGED,
    expected_profile,
    grouped,
    places,
    tolerance,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LIMITS, TICKS = (0.25, 30.0), (0.3, 1.0, 3.0, 10.0, 30.0)  # of N times the correlation


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """All times in each panel."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.papers.core.line_fits import STANDARD_ERRORS_95
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    N, groups, cases = p["N"], p["groups"], p["cases"]
    figure = spaced_figure(1.0 + 2.9 * len(cases), 3.9, w_pad=0.08)
    place = grouped(places(N), groups)  # (groups,)
    panels = figure.subplots(1, len(cases), sharey=True, squeeze=False)[0]
    for ax, (mode, lam) in zip(panels, cases, strict=True):
        tidy(ax)
        found = grouped(data[case_name(mode, lam)]["response"].values, groups)  # (runs, times, groups)
        for i, at in enumerate(p["at"]):
            colour, formula = CLUSTER_COLOURS[i], expected_profile(N, at, lam, groups)
            error = STANDARD_ERRORS_95 * found[:, i].std(0, ddof=1) / np.sqrt(len(found))  # (groups,)
            off = tolerance(N, at, lam, groups)
            judged = at <= LATEST_JUDGED
            if judged:
                ax.fill_between(place, formula - off, formula + off, color=colour, alpha=0.15, linewidth=0)
            ax.plot(place, formula, "-" if judged else ":", color=colour, linewidth=1.3)
            ax.errorbar(
                place,
                found[:, i].mean(0),
                error,
                fmt="o",
                color=colour,
                markersize=3.5,
                capsize=1.5,
                linewidth=1.0,
                label=f"at = {at:g}",
            )
        ax.set(xlabel=r"$\sigma_0$", xlim=(0.0, 1.0), yscale="log", ylim=LIMITS)
        ax.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        ax.minorticks_off()
        ax.set_title(f"mode {mode}, " + (f"λ = {lam:g}" if lam else "no ALiBi"), fontsize=SMALL_POINTS + 1)
    panels[0].set_ylabel("N × correlation")
    panels[0].legend(fontsize=SMALL_POINTS, loc="upper right")
    return {"retrieval-profile": figure}
