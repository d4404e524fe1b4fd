"""The merge tree: a branch for every leader, joined where it is lost."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from support.made_merges import merged, random_merges

from nucleate import plot
from nucleate.checks import Array
from nucleate.observe.life import Life


def lines(ax: Any) -> tuple[list[Array], list[Array]]:
    along, across = (collection.get_segments() for collection in ax.collections[:2])
    return along, across


def rows(ax: Any) -> dict[int, float]:
    return {
        int(label.get_text()): float(at)
        for at, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    }


@pytest.mark.parametrize("seed", range(8))
def test_every_leader_is_a_branch_that_ends_where_it_is_lost(seed: int) -> None:
    found = random_merges(seed, 10)
    ax = plot.merge_tree(found)
    along, across = lines(ax)
    row, end = rows(ax), ax.get_xlim()[1]
    assert sorted(row) == found.leaders.tolist()
    lost = {event.lost: event.time for event in found}
    assert {tuple(map(tuple, line)) for line in along} == {
        ((found.t_f, row[k]), (lost.get(k, end), row[k])) for k in row
    }
    expected = {((event.time, row[event.lost]), (event.time, row[event.into])) for event in found}
    assert {tuple(map(tuple, line)) for line in across} == expected
    dots = next(line for line in ax.lines if line.get_markersize() == 4)
    places = sorted(zip(np.asarray(dots.get_xdata()), np.asarray(dots.get_ydata()), strict=True))
    assert places == sorted((event.time, row[event.into]) for event in found)


@pytest.mark.parametrize("seed", range(20))
def test_no_join_crosses_a_branch(seed: int) -> None:
    along, across = lines(plot.merge_tree(random_merges(seed, 25)))
    for (time, low), (_, high) in (sorted(map(tuple, join), key=lambda point: point[1]) for join in across):
        crossed = [line for line in along if low < line[0, 1] < high and line[0, 0] <= time < line[1, 0]]
        assert crossed == []


def test_the_clusters_left_are_red(short_life: Life) -> None:
    for found in (merged(), merged(events=((20.0, 9, 4),)), short_life.merges):
        ax = plot.merge_tree(found)
        red = next(line for line in ax.lines if line.get_color() == to_rgb(plot.RED))
        left = sorted(set(found.leaders.tolist()) - {event.lost for event in found})
        assert sorted(map(float, red.get_ydata())) == sorted(rows(ax)[k] for k in left)  # type: ignore[arg-type]  # the stubs allow more than arrays
        assert set(map(float, red.get_xdata())) == {ax.get_xlim()[1]}  # type: ignore[arg-type]  # the stubs allow more than arrays


def test_one_lost_to_a_leader_that_is_lost_already_joins_its_heir() -> None:
    ax = plot.merge_tree(merged((0, 1, 2), ((10.0, 1, 0), (20.0, 2, 1)), t_f=5.0))
    row = rows(ax)
    assert ((20.0, row[2]), (20.0, row[0])) in {tuple(map(tuple, line)) for line in lines(ax)[1]}


def test_many_leaders_are_drawn_and_some_are_named() -> None:
    found = random_merges(0, 300)
    ax = plot.merge_tree(found)
    assert len(lines(ax)[0]) == len(found.leaders)
    assert 10 <= len(ax.get_yticks()) <= 30
