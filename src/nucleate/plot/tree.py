"""The merge tree: which cluster joins which, and when."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.plot.merges import merges_of, right_edge
from nucleate.plot.styles import SMALL_POINTS, WIDE_INCHES, axes_or_new, tidy
from nucleate.plot.time_axis import LOG_AXIS_START, log_time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nucleate.observe.life import Life
    from nucleate.observe.merges import Merge, Merges

MAX_LEADERS_NAMED = 30  # beside their branches


def merge_tree(merges: "Merges | Life", ax: "Axes | None" = None, *, end: float | None = None) -> "Axes":
    """Every leader a branch over powers of ten of time, from t_f until it is lost; there it joins the branch
    of the leader it is lost to.

    Branches lie so that no join crosses another branch.  Red dots are the clusters left.
    end   the time at the right edge; unless given, soon after the last merge, or the end of a life that is
          not whole
    """
    from matplotlib.collections import LineCollection

    found, end = merges_of(merges), right_edge(merges, end)
    ax = axes_or_new(ax, WIDE_INCHES)
    palette = tidy(ax)
    begin = max(found.t_f, LOG_AXIS_START) if found.leaders.size else LOG_AXIS_START
    joins = joined(found)
    row = {leader: i for i, leader in enumerate(branches(found.leaders.tolist(), joins))}
    lost = {join.lost: max(join.time, LOG_AXIS_START) for join in joins}
    along = [[(begin, i), (lost.get(leader, end), i)] for leader, i in row.items()]
    across = [[(lost[join.lost], row[join.lost]), (lost[join.lost], row[join.into])] for join in joins]
    for lines in (along, across):
        ax.add_collection(
            LineCollection(lines, colors=[palette.ink], linewidths=1.3, capstyle="projecting"), autolim=False
        )
    ax.plot(
        [lost[join.lost] for join in joins],
        [row[join.into] for join in joins],
        "o",
        markersize=4,
        color=palette.ink,
        linestyle="none",
    )
    left = [i for leader, i in row.items() if leader not in lost]
    ax.plot(
        np.full(len(left), end),
        left,
        "o",
        markersize=6,
        color=palette.red,
        linestyle="none",
        clip_on=False,
        zorder=5,
    )
    if not row:
        ax.text(
            0.5,
            0.5,
            "the tokens never gathered into clusters",
            transform=ax.transAxes,
            ha="center",
            fontsize=SMALL_POINTS,
            color=palette.grey(0.6),
        )
    log_time_axis(ax, end, 10.0 ** np.floor(np.log10(begin) + 1e-9))
    every = -(-len(row) // MAX_LEADERS_NAMED)  # rounded up
    ax.set_yticks(list(row.values())[:: every or 1], list(map(str, row))[:: every or 1])
    ax.set(ylim=(max(len(row), 1) - 0.4, -0.6), ylabel="leader (counted from 0)")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def joined(found: "Merges") -> "list[Merge]":
    """The merges in the order of time, each into a leader that is still there: a lost one stands for the one
    it was lost to."""
    from dataclasses import replace

    heir: dict[int, int] = {}
    joins = []
    for event in found.events:
        into = event.into
        while into in heir:
            into = heir[into]
        heir[event.lost] = into
        joins.append(replace(event, into=into))
    return joins


def branches(leaders: list[int], joins: "list[Merge]") -> list[int]:
    """The leaders in the order of their rows: after each one those lost to it, earliest first, each with
    those lost to it before."""
    children: dict[int, list[int]] = {leader: [] for leader in leaders}
    for join in joins:
        children[join.into].append(join.lost)
    rows: list[int] = []
    lost = {join.lost for join in joins}
    waiting = [leader for leader in reversed(leaders) if leader not in lost]
    while waiting:
        leader = waiting.pop()
        rows.append(leader)
        waiting += reversed(children[leader])
    return rows
