"""The front over the sequence, when it passes, and the fronts that follow it far away."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.numbers import mean_of
from nucleate.papers.open_questions.causal_front.data import Case, bins_of, cases, far_times
from nucleate.papers.open_questions.causal_front.measures import LEVEL, crossing_times
from nucleate.theory.causal_front import fastest_degree, front_places

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

FRAMES = (2.0, 4.0, 6.0, 8.0, 10.0)  # times at which the front is shown
COLOURS = (1, 0, 2, 3, 4)  # of CLUSTER_COLOURS, by the order of cases


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Three panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 3.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.1, 1.1, 1.0])
    circle = [case for case in cases(p) if case.d == 2]
    _profiles(left, data, p, circle[min(1, len(circle) - 1)])
    _passing(middle, data, p)
    _fronts(right, data, p)
    return {"causal-front": figure}


def _profiles(ax: Any, data: Data, p: Parameters, case: Case) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    found, s = data[case.name], bins_of(p["first"], case.n).s
    times = np.array(p["times"])
    seen, limit = found["seen"].values[0], found["own_seen"].values[0]  # (time, bin)
    for time in FRAMES:
        frame = int(np.argmin(np.abs(times - time)))
        shade = palette.grey(0.25 + 0.07 * time)
        ax.plot(np.exp(s), seen[frame], color=shade, linewidth=1.5)
        ax.plot(np.exp(s), limit[frame], ":", color=palette.red, linewidth=1.3)
        at = int(len(s) * (0.1 + 0.055 * time))
        ax.annotate(f"t = {times[frame]:g}", (np.exp(s[at]), seen[frame, at]), fontsize=SMALL_POINTS - 1)
    ax.set(xscale="log", xlabel="place k in the sequence", ylabel="ζ − 1, what a token sees beyond 1")
    ax.set_title(case.words, fontsize=SMALL_POINTS + 1)


def _passing(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    times = np.array(p["times"])
    for i, case in enumerate(cases(p)):
        colour, s = CLUSTER_COLOURS[COLOURS[i % 5]], bins_of(p["first"], case.n).s
        found = data[case.name]
        crossing = crossing_times(found["seen"].values, times, LEVEL)  # (start, bin)
        known = np.isfinite(crossing).all(0)
        if not known.any():
            continue
        means = [mean_of(column, "") for column in crossing[:, known].T]
        value = np.array([one.value for one in means])
        half = np.array([0.0 if one.high is None else one.high - one.value for one in means])
        shift = 1.0 + 0.03 * i  # so that bars of several cases can be told apart
        label = f"d = {case.d}, β = {case.beta:g}"
        ax.errorbar(
            np.exp(s[known]) * shift,
            value,
            half,
            fmt="o",
            color=colour,
            markersize=3.0,
            elinewidth=0.6,
            label=label,
        )
        if case.d == 2:
            full = np.nanmean(crossing_times(found["full"].values.swapaxes(1, 2), times, LEVEL), 0)  # (size,)
            ax.plot(
                p["full_n"], full, "o-", color=palette.grey(0.55), markersize=5, mfc="none", linewidth=0.8
            )
            if i == 0:
                late = s[known] >= np.log(p["least"])
                t = np.linspace(2.0, times[-1], 60)
                place = front_places(t, case.beta)
                offset = np.mean(s[known][late] - front_places(value[late], case.beta))
                use = (place + offset > s[0]) & (place + offset < s[-1])
                ax.plot(np.exp(place + offset)[use], t[use], color=palette.red, linewidth=1.2)
    ax.set(xscale="log", xlabel="place k (rings: n, full mask)", ylabel="time at which the front passes")
    ax.legend(fontsize=SMALL_POINTS, frameon=False)


def _fronts(ax: Any, data: Data, p: Parameters) -> None:
    from scipy.special import ive

    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    far, seen = p["far"], data["far"]["seen"].values[0, 0]  # (time, cell)
    times = far_times(p)
    edges = np.linspace(np.log(p["first"]), far["end"], seen.shape[1] + 1)
    s = (edges[1:] + edges[:-1]) / 2.0
    degree = fastest_degree(far["beta"])
    even = 1.0 / (ive(0, far["beta"]) * degree) - 1.0
    ax.axhline(even, color=palette.grey(0.5), linewidth=1.0)
    ax.text(
        0.3 * s[0] + 0.7 * far["begin"],
        even - 0.02,
        f"{degree} even clusters",
        va="top",
        fontsize=SMALL_POINTS,
    )
    shown = np.linspace(0.25 * times[-1], times[-1], 5)
    for time in shown.tolist():
        frame = int(np.argmin(np.abs(times - time)))
        ax.plot(s, seen[frame], color=palette.grey(0.3 + 0.65 * frame / len(times)), linewidth=1.5)
        at = int(np.argmin(np.abs(seen[frame] - even / 2.0)))
        ax.annotate(f"t = {times[frame]:.0f}", (s[at], seen[frame, at]), fontsize=SMALL_POINTS - 1)
    ax.set(xlabel="s = ln k", ylabel="ζ − 1, what a token sees beyond 1", ylim=(-0.05, None))
    ax.set_title(f"limit equation with noise, β = {far['beta']:g}", fontsize=SMALL_POINTS + 1)
