"""The front over the sequence, when it passes, the coefficient of its logarithm, and the masses that it
leaves."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.numbers import mean_of
from nucleate.papers.open_questions.causal_front.crossings import LEVEL, crossing_times
from nucleate.papers.open_questions.causal_front.data import (
    MAX_CLUSTERS,
    Case,
    bins_of,
    cases,
    expected_clusters,
)
from nucleate.papers.open_questions.causal_front.verdicts import LOGARITHMS
from nucleate.theory.causal_front import fastest_degree, front_places, front_speed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "draw_logarithms", "draw_profiles"]

FRAMES = (2.0, 4.0, 6.0, 8.0, 10.0)  # times at which the front is shown
KEY_ROOM = 1.22  # of the largest height, to have the key above all curves
LABEL_GAP = 0.055  # between labels of curves, of the largest height
FIRST_TIME = 1.2  # from which on the law is drawn
COLOURS = (1, 0, 2, 3, 4)  # of CLUSTER_COLOURS, by the order of cases


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Four panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 7.4), layout="constrained")
    axes = figure.subplots(2, 2)
    circle = [case for case in cases(p) if case.d == 2]
    draw_profiles(axes[0, 0], data, p, circle[0])
    _passing(axes[0, 1], data, p)
    draw_logarithms(axes[1, 0], numbers, _logarithm_rows(p))
    _masses(axes[1, 1], data, circle)
    return {"causal-front": figure}


def draw_profiles(ax: Any, data: Data, p: Parameters, case: Case) -> None:
    """What is seen over the place in the sequence at several times, by the first start of a case."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    found, s = data[case.name], bins_of(p["first"], case.n).s
    times = np.array(p["times"])
    seen, limit = found["seen"].values[0], found["own_seen"].values[0]  # (time, bin)
    frames = [int(np.argmin(np.abs(times - time))) for time in FRAMES]
    ends = [float(max(seen[frame, -1], limit[frame, -1])) for frame in frames]
    for frame, time, height in zip(frames, FRAMES, _apart(ends, LABEL_GAP * max(ends)), strict=True):
        shade = palette.grey(0.25 + 0.07 * time)
        first = frame == frames[0]
        ax.plot(np.exp(s), seen[frame], color=shade, linewidth=1.5, label="run" if first else None)
        words = "limit equation behind\nits first tokens" if first else None
        ax.plot(np.exp(s), limit[frame], ":", color=palette.red, linewidth=1.3, label=words)
        ax.annotate(
            f"t = {times[frame]:g}",
            (1.01, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=SMALL_POINTS - 1,
            annotation_clip=False,
        )
    ax.margins(x=0.01)
    ax.set_ylim(top=KEY_ROOM * max(float(seen[frames].max()), float(limit[frames].max())))
    ax.legend(fontsize=SMALL_POINTS - 1, frameon=False, loc="upper left", ncols=2)
    ax.set(xscale="log", xlabel="place k in the sequence", ylabel="ζ − 1, what a token sees beyond 1")
    ax.set_title(case.words, fontsize=SMALL_POINTS + 1)


def _apart(heights: list[float], gap: float) -> list[float]:
    """Heights of labels that are at least the gap apart, each as near to its own as can be from below up."""
    order = np.argsort(heights)
    placed = np.array(heights)
    for below, above in pairwise(order.tolist()):
        placed[above] = max(placed[above], placed[below] + gap)
    return [float(one) for one in placed]


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
            ring = {"markersize": 5, "mfc": "none", "linewidth": 0.8}
            label = f"full mask, β = {case.beta:g}"
            ax.plot(p["full_n"], full, "o-", color=colour, label=label, **ring)
        late = s[known] >= np.log(p["least"])
        if late.any():
            t = np.linspace(FIRST_TIME, times[-1], 120)
            place = front_places(t, case.beta, case.d)
            offset = np.mean(s[known][late] - front_places(value[late], case.beta, case.d))
            use = (place + offset > s[0]) & (place + offset < s[-1])
            law = "4λt − (3/2) ln t + const" if i == 0 else None
            ax.plot(np.exp(place + offset)[use], t[use], color=palette.red, linewidth=1.0, label=law)
        if i == 0:  # 4λ is the same to 2 % in all cases
            ax.plot(np.exp(s), s / front_speed(case.beta), "--", color=palette.ink, label="ln k / (4λ)")
    ax.set(
        xscale="log",
        xlabel="place k in the sequence (rings: number n of tokens)",
        ylabel="time at which the front passes",
    )
    ax.legend(fontsize=SMALL_POINTS - 1, frameon=False)


Row = tuple[str, str, float]  # the key of a number, its words, what the heuristic has for it


def _logarithm_rows(p: Parameters) -> tuple[Row, ...]:
    reach = f"s = {p['far']['begin']:g} to {p['far']['end'] - 5:g}"
    return (
        ("logarithm", "runs", 1.5),
        ("logarithm_difference", "limit without noise\nminus runs", 1.5),
        ("far_noisy_logarithm", f"limit with noise,\n{reach}", 1.5),
        ("far_quiet_logarithm", f"limit without noise,\n{reach}", 3.0),
        ("far_logarithm_difference", f"their difference,\n{reach}", 1.5),
    )


def draw_logarithms(ax: Any, numbers: Numbers, rows: tuple[Row, ...]) -> None:
    """Coefficients of ln t with their intervals, those named before, and the heuristic's."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for c in LOGARITHMS:
        ax.axvline(c, color=palette.grey(0.25), linewidth=1.0, zorder=0)
    for i, (key, _, predicted) in enumerate(rows):
        one = numbers[key]
        low, high = (one.value if end is None else end for end in (one.low, one.high))
        ax.plot([predicted, predicted], [i - 0.3, i + 0.3], color=palette.red, linewidth=2.5)
        ax.plot([low, high], [i, i], color=palette.grey(0.9), linewidth=1.5)
        ax.plot([one.value], [i], "o", color=palette.grey(0.9), markersize=5)
    ax.set_yticks(range(len(rows)), [words for _, words, _ in rows], fontsize=SMALL_POINTS)
    ax.set_xticks(LOGARITHMS, [f"{c:g}" for c in LOGARITHMS])
    ax.set(xlim=(-1.0, 4.5), ylim=(len(rows) - 0.5, -0.5), xlabel="coefficient of ln t")


def _masses(ax: Any, data: Data, circle: list[Case]) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    kinds = (
        ("random_mass", "random places", palette.grey(0.5)),
        ("renyi_mass", "Rényi centers", CLUSTER_COLOURS[0]),
        ("mass", "runs", palette.grey(0.95)),
    )
    for key, words, colour in kinds:
        relative = []
        for case in circle:
            least = 0.1 / expected_clusters(fastest_degree(case.beta), 2)
            for row in data[case.name][key].values.reshape(-1, MAX_CLUSTERS):
                kept = row[row > least]
                relative.append(kept / kept.mean())
        values = np.sort(np.concatenate(relative))
        share = np.arange(len(values) + 1) / len(values)
        ax.step([0.0, *values], share, where="post", color=colour, linewidth=1.8, label=words)
    ax.set(xlabel="mass of a cluster over the mean", ylabel="share of clusters", xlim=(0.0, 2.6), ylim=(0, 1))
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")
