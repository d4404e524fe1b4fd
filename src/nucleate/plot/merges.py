"""Pictures of merging clusters: the staircase of their number, and a whole life."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError, finite_number, shortened
from nucleate.integrate.family import softmax_head
from nucleate.integrate.run import Run
from nucleate.plot.on_circle import angles
from nucleate.plot.styles import SMALL_POINTS, WIDE_INCHES, Palette, axes_or_new, check_axes, tidy
from nucleate.plot.time_axis import LOG_AXIS_START, log_time_axis, time_label
from nucleate.plot.tokens import token_colorbar, tokens_to_draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nucleate.observe.life import Life
    from nucleate.observe.merges import Merges

LIFE_INCHES = (8.4, 6.0)
RIGHT_MARGIN_SHARE = 0.04  # of the width of the axes, to the right of the last merge


def staircase(merges: "Merges | Life", ax: "Axes | None" = None, *, end: float | None = None) -> "Axes":
    """The number of clusters over powers of ten of time; grey until the tokens have gathered and counting
    starts.

    end   the time at the right edge; unless given, soon after the last merge, or the end of a life that is
          not whole
    """
    found, end = merges_of(merges), right_edge(merges, end)
    ax = axes_or_new(ax, WIDE_INCHES)
    _draw_stairs(ax, found, end)
    log_time_axis(ax, end)
    return ax


def life(life: "Life", axes: "tuple[Axes, Axes] | None" = None) -> "tuple[Axes, Axes]":
    """A whole life over powers of ten of time: above, every token's angle (d = 2) or overlap with the first
    token, with a ring where a cluster joins an earlier one; below, the number of clusters from t_f on."""
    from nucleate.observe.life import Life

    if not isinstance(life, Life):
        raise InputError(f"life must be a Life, but is {shortened(life)}. Make one with nucleate.life.")
    if axes is None:
        from matplotlib import pyplot

        axes = life_axes(pyplot.figure(figsize=LIFE_INCHES, layout="constrained"))
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise InputError(f"axes must be a pair of axes, but is {shortened(axes)}. Leave it out for new ones.")
    top, bottom = axes
    check_axes(top)
    check_axes(bottom)
    end = last_time(life)
    shown = _thinned(life.run, end)
    palette = tidy(top)
    if shown.x.shape[-1] == 2:
        angles(shown, top, first=0, colorbar=False)
    else:
        _overlaps(shown, top, palette)
    token_colorbar(top, palette, shown.x.shape[1])
    for merge in life.merges:
        # (n, d) the first frame after, or the first of the same time
        x = life.run.x[np.searchsorted(life.run.t, merge.time)]
        at = np.arctan2(*x[merge.into, ::-1]) if x.shape[-1] == 2 else x[merge.into] @ x[0]
        top.plot(
            merge.time,
            at,
            "o",
            markersize=8,
            markerfacecolor="none",
            markeredgecolor=palette.ink,
            markeredgewidth=1.1,
            zorder=4,
        )
        for ax in axes:
            ax.axvline(merge.time, color=palette.grey(0.4), linewidth=0.7, linestyle=":", zorder=0)
    log_time_axis(top, end)
    staircase(life, bottom, end=end)
    top.set_xlabel("")
    top.tick_params(labelbottom=False)
    model = softmax_head(shown.model, "A life is drawn", "Draw its run: run.plot().")
    words = f"n = {shown.x.shape[1]}, d = {shown.x.shape[-1]}, β = {float(model.beta):g}"
    top.set_title(words if life.whole else f"{words}; {life.ending}", fontsize=11)
    return axes


def merges_of(thing: Any) -> "Merges":
    """The merges of a life, or `thing` itself if it is what nc.merges gives."""
    found = getattr(thing, "merges", thing)
    if not all(hasattr(found, name) for name in ("t_f", "leaders", "events", "staircase")):
        raise InputError(
            f"This picture needs merges, but was given {type(thing).__name__}. Pass nucleate.merges(run) or"
            " nucleate.life(beta)."
        )
    return found


def right_edge(thing: "Merges | Life", end: float | None) -> float:
    """`end`, if it is after the start of counting, or else the last time."""
    found = merges_of(thing)
    start = max(LOG_AXIS_START, found.t_f) if found.leaders.size else LOG_AXIS_START
    return (
        last_time(thing)
        if end is None
        else finite_number("end", end, above=start, help="It is the time at the right edge.")
    )


def last_time(thing: "Merges | Life") -> float:
    """Soon after the last merge; the end of the run, if that is known and not one cluster was left."""
    found, run = merges_of(thing), getattr(thing, "run", None)
    known = float(run.t[-1]) if run is not None else np.inf
    if run is not None and found.left != 1:
        return max(known, 1.0)
    last = max(float(found.events[-1].time if len(found) else found.t_f if found.leaders.size else 0.0), 1.0)
    return (
        min(last * (last / LOG_AXIS_START) ** RIGHT_MARGIN_SHARE, max(known, 1.0))
        if len(found)
        else min(10.0 * last, max(known, 1.0))
    )


def life_axes(figure: "Figure") -> "tuple[Axes, Axes]":
    """Axes for the tokens above and the staircase below."""
    top, bottom = figure.subplots(2, 1, height_ratios=[2.4, 1.0])
    return top, bottom


def _thinned(run: Run, end: float) -> Run:
    """`run` from LOG_AXIS_START to `end`, without the frames that the eye cannot tell from those before."""
    position = np.log(np.maximum(run.t, LOG_AXIS_START)) / np.log(end / LOG_AXIS_START)  # (m,) in widths
    keep = [0]
    for i in range(1, len(run.t)):
        if position[i] - position[keep[-1]] > 0.005 or np.abs(run.x[i] - run.x[keep[-1]]).max() > 0.01:
            # the frame before i too, so that the line stays level until then
            keep += [i - 1, i] if keep[-1] < i - 1 else [i]
    return replace(run, t=np.maximum(run.t[keep], LOG_AXIS_START), x=run.x[keep])


def _overlaps(run: Run, ax: "Axes", palette: Palette) -> None:
    """<x_k, x_1> over time."""
    from matplotlib.collections import LineCollection

    tokens = tokens_to_draw(run.x.shape[1], 0)[::-1]
    overlap = np.einsum("mkd,md->mk", run.x[:, tokens], run.x[:, 0])  # (m, tokens)
    lines = [np.column_stack([run.t, one]) for one in overlap.T]
    ax.add_collection(
        LineCollection(
            lines, colors=palette.tokens(run.x.shape[1])[tokens], linewidths=0.7, capstyle="round"
        ),
        autolim=False,
    )
    ax.set(ylim=(-1.05, 1.05), ylabel="overlap with the first token", yticks=[-1, -0.5, 0, 0.5, 1])


def _draw_stairs(ax: "Axes", found: "Merges", end: float) -> None:
    """The number of clusters; grey before counting starts."""
    from matplotlib.ticker import MaxNLocator

    palette = tidy(ax)
    times, counts = found.staircase  # (k,), (k,)
    begin = min(max(float(times[0]), LOG_AXIS_START), end) if len(times) else end
    ax.axvspan(LOG_AXIS_START, begin, color=palette.grey(0.07), linewidth=0, zorder=0)
    share = np.log(begin / LOG_AXIS_START) / np.log(end / LOG_AXIS_START)  # of the width
    words: dict[str, Any] = {
        "transform": ax.get_xaxis_transform(),
        "ha": "center",
        "va": "center",
        "rotation": 90 if share < 0.15 else 0,
    }
    if share > 0.03:
        said = "gathering" if len(times) else "the tokens never gathered into clusters"
        ax.text(
            np.sqrt(LOG_AXIS_START * begin),
            0.5,
            said,
            fontsize=SMALL_POINTS,
            color=palette.grey(0.6),
            **words,
        )
    if len(times):
        shown = np.append(np.maximum(times, LOG_AXIS_START), max(end, times[-1]))  # (k + 1,)
        ax.step(shown, np.append(counts, counts[-1]), where="post", color=palette.ink, linewidth=1.3)
        ax.plot(shown[1:-1], counts[1:], "o", markersize=3.5, color=palette.ink)
    if len(times) > 1:  # above the axes, where it covers nothing
        ax.set_title(
            f"last merge at t = {time_label(times[-1])}", loc="right", fontsize=SMALL_POINTS, pad=4.0
        )
    ax.set(ylim=(0, (counts[0] if len(times) else 1) + 0.8), ylabel="clusters")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
