"""Pictures of merges: the staircase and the tree say what the events say."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from support.made_merges import merged

from nucleate import plot
from nucleate.checks import Array, InputError
from nucleate.observe.life import Life, life
from nucleate.observe.merges import Merges


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def short_life() -> Life:
    return life(16.0, n=40, seed=1)


def random_merges(seed: int, n: int) -> Merges:
    """n leaders that all merge into earlier ones but one or a few."""
    rng = np.random.default_rng(seed)
    leaders = np.unique(rng.integers(1, 5 * n, n - 1)).tolist()
    alive, events, time = [0, *leaders], [], 5.0
    while len(alive) > 1 + seed % 3 and len(alive) > 1:
        lost = alive.pop(int(rng.integers(1, len(alive))))
        time *= float(np.exp(rng.exponential(2.0)))
        events.append((time, lost, int(rng.choice([k for k in alive if k < lost]))))
    return merged((0, *leaders), tuple(events), t_f=4.0)


def stairs(ax: Any) -> tuple[Array, Array]:
    line = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


# Staircase


@pytest.mark.parametrize("seed", range(6))
def test_the_staircase_has_a_step_at_every_merge(seed: int) -> None:
    found = random_merges(seed, 12)
    ax = plot.staircase(found)
    times, counts = stairs(ax)
    assert times[:-1].tolist() == [found.t_f, *(event.time for event in found)]
    assert counts[:-1].tolist() == [len(found.leaders), *(event.left for event in found)]
    assert (times[-1], counts[-1]) == (ax.get_xlim()[1], found.left)
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] < found.t_f
    assert ax.get_xlim()[1] > found.events[-1].time


def test_the_time_before_counting_is_grey() -> None:
    ax: Any = plot.staircase(merged())
    assert np.asarray(ax.patches[0].get_extents().get_points())[:, 0] == pytest.approx(
        ax.transData.transform([(1e-2, 0), (12.0, 0)])[:, 0]
    )
    assert "gathering" in [text.get_text() for text in ax.texts]


LATE = tuple((1e9 - k, k, 0) for k in range(40, 0, -1))  # the staircase stays up until the right edge


@pytest.mark.parametrize(
    "found",
    [
        random_merges(0, 4),
        random_merges(1, 30),
        merged(tuple(range(41)), LATE),
        merged((0, 1), ((1e9, 1, 0),)),
    ],
)
@pytest.mark.parametrize("size", [(7.0, 4.2), (4.0, 1.8)])
def test_words_on_the_staircase_never_cover_it(found: Merges, size: tuple[float, float]) -> None:
    figure = pyplot.figure(figsize=size, layout="constrained")
    ax: Any = plot.staircase(found, figure.add_subplot())
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    note = ax._right_title.get_window_extent()
    assert note.y0 >= ax.bbox.y1
    assert (note.x0 >= 0, note.y1 <= figure.bbox.y1) == (True, True)
    assert ax.get_title(loc="right").startswith("last merge at t = ")
    word = next((text for text in ax.texts if text.get_text() == "gathering"), None)
    # counting starts to its right
    assert word is None or word.get_window_extent().x1 <= ax.transData.transform((found.t_f, 0.0))[0]


def test_a_life_and_its_merges_give_the_same_staircase(short_life: Life) -> None:
    one, other = plot.staircase(short_life), plot.staircase(short_life.merges)
    np.testing.assert_array_equal(stairs(one)[0][:-1], stairs(other)[0][:-1])
    assert stairs(one)[1].tolist() == stairs(other)[1].tolist()
    times, counts = short_life.staircase
    assert (stairs(one)[0][:-1].tolist(), stairs(one)[1][:-1].tolist()) == (times.tolist(), counts.tolist())


def test_the_axis_of_a_life_that_is_not_whole_ends_with_the_run(short_life: Life) -> None:
    found = short_life.merges
    cut = Life(short_life.run, replace(found, events=found.events[:-1]))
    assert plot.staircase(cut).get_xlim()[1] == short_life.run.t[-1]
    assert plot.staircase(cut, end=1e30).get_xlim()[1] == 1e30
    assert plot.merge_tree(cut).get_xlim()[1] == short_life.run.t[-1]


# Tree


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
        assert sorted(map(float, red.get_ydata())) == sorted(rows(ax)[k] for k in left)  # type: ignore[arg-type]
        assert set(map(float, red.get_xdata())) == {ax.get_xlim()[1]}  # type: ignore[arg-type]


def test_one_lost_to_a_leader_that_is_lost_already_joins_its_heir() -> None:
    ax = plot.merge_tree(merged((0, 1, 2), ((10.0, 1, 0), (20.0, 2, 1)), t_f=5.0))
    row = rows(ax)
    assert ((20.0, row[2]), (20.0, row[0])) in {tuple(map(tuple, line)) for line in lines(ax)[1]}


def test_many_leaders_are_drawn_and_some_are_named() -> None:
    found = random_merges(0, 300)
    ax = plot.merge_tree(found)
    assert len(lines(ax)[0]) == len(found.leaders)
    assert 10 <= len(ax.get_yticks()) <= 30


# Nothing, one, and what does not fit


def test_tokens_that_never_gathered_are_told_so() -> None:
    for picture in (plot.staircase, plot.merge_tree):
        ax = picture(merged((), ()))
        assert "the tokens never gathered into clusters" in [text.get_text() for text in ax.texts]
        FigureCanvasAgg(ax.figure).draw()  # type: ignore[no-untyped-call, arg-type]


def test_one_cluster_from_the_start_is_one_stair_and_one_branch() -> None:
    one = merged((0,), (), t_f=0.0)  # as with n = 1
    times, counts = stairs(plot.staircase(one))
    assert (times[0], counts.tolist()) == (1e-2, [1, 1])  # t = 0 is drawn at the left edge
    assert len(lines(plot.merge_tree(one))[0]) == 1
    alone = life(4.0, n=1)
    for ax in (plot.staircase(alone), plot.merge_tree(alone), alone.plot()[0]):
        FigureCanvasAgg(ax.figure).draw()  # type: ignore[no-untyped-call, arg-type]


def test_what_is_no_merges_is_refused_and_leaves_no_figure() -> None:
    for picture in (plot.staircase, plot.merge_tree):
        with pytest.raises(
            InputError, match=r"needs merges, but was given ndarray. Pass nucleate.merges\(run\)"
        ):
            picture(np.zeros(3))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="end must be finite and greater than 12, but is 3"):
            picture(merged(), end=3.0)
    assert pyplot.get_fignums() == []


def test_times_are_written_in_few_digits() -> None:
    from nucleate.plot.time_axis import time_label

    assert time_label(84.23) == "84.2"
    assert time_label(3.3e52) == r"$3.3 \times 10^{52}$"
    assert time_label(9.99e5) == r"$1.0 \times 10^{6}$"
