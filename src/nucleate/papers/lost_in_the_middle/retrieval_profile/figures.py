"""The picture: profiles over the place of the source, a panel for each lambda, and their size against 1/N."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.numbers import Number
from nucleate.papers.lost_in_the_middle.retrieval_profile.data import case_name, size_name
from nucleate.papers.lost_in_the_middle.retrieval_profile.measures import (
    LATEST_JUDGED,
    amplitudes,
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
    """All times in each panel of mode 1; then the size of one profile for all N."""
    from nucleate.papers.core.figure_layout import spaced_figure
    from nucleate.papers.core.line_fits import STANDARD_ERRORS_95
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    N, groups, cases = p["N"], p["groups"], [one for one in p["cases"] if one[0] == 1]
    figure = spaced_figure(1.4 + 2.8 * (len(cases) + 1), 3.9, w_pad=0.08)
    place = grouped(places(N), groups)  # (groups,)
    *panels, last = figure.subplots(1, len(cases) + 1)
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
        ax.set_yticks(TICKS, [f"{tick:g}" if ax is panels[0] else "" for tick in TICKS])
        ax.minorticks_off()
        ax.set_title(f"mode {mode}, " + (f"λ = {lam:g}" if lam else "no ALiBi"), fontsize=SMALL_POINTS + 1)
    panels[0].set_ylabel("N × correlation")
    panels[0].legend(fontsize=SMALL_POINTS, loc="upper right")
    _draw_sizes(last, data, numbers, p)
    return {"retrieval-profile": figure}


def _draw_sizes(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    """Amplitudes against 1/N at the judged times, N of the other panels open, with the line to 1/N = 0."""
    from nucleate.papers.core.numbers import mean_of
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    mode, lam = p["size_case"]
    names = {N: size_name(N) for N, _ in p["sizes"]}
    names |= {p["N"]: case_name(mode, lam)} if case_name(mode, lam) in data else {}
    ax.axhline(1.0, color=palette.grey(0.5), linewidth=0.8, zorder=0)
    for i, at in enumerate(p["at"]):
        if at > LATEST_JUDGED:
            continue
        for N, name in names.items():
            one = mean_of(amplitudes(data[name]["response"].values, p["at"], lam)[:, i], "")
            _point(ax, 1.0 / N, one, CLUSTER_COLOURS[i], N in dict(p["sizes"]))
        limit = numbers[f"amplitude_{at:g}"]
        _point(ax, 0.0, limit, CLUSTER_COLOURS[i], True)
        over = np.linspace(0.0, 1.0 / min(names), 50)  # 1/N
        line = limit.value * np.exp(numbers[f"slope_{at:g}"].value * over)
        ax.plot(over, line, color=CLUSTER_COLOURS[i], linewidth=1.0)
    shown = sorted(names)[:3]  # larger ones are too close to each other
    ax.set_xticks([0.0, *(1.0 / N for N in shown)], ["∞", *map(str, shown)])
    ax.set(ylim=(0.0, 1.2), xlabel="N, as 1/N", ylabel="profile over its linear law")
    ax.set_title(f"mode {mode}, λ = {lam:g}: size", fontsize=SMALL_POINTS + 1)


def _point(ax: Any, x: float, number: Number, colour: str, full: bool) -> None:
    """A value with its interval."""
    ends = [[abs(number.value - (end or number.value))] for end in (number.low, number.high)]
    face = {} if full else {"markerfacecolor": "none"}
    ax.errorbar(
        [x], [number.value], ends, fmt="o", color=colour, markersize=4.0, capsize=2, linewidth=1.0, **face
    )
