"""Pictures of merges: the staircase says what the events say; what holds for the merge tree as well."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from support.made_merges import merged, random_merges
from support.pictures import draw, drawn_lines

from nucleate import plot
from nucleate.checks import Array, InputError
from nucleate.observe.life import Life, life
from nucleate.observe.merges import Merges


def stairs(ax: Any) -> tuple[Array, Array]:
    line = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


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


ROUNDING = 1e-9  # pixels: Matplotlib sets the box of a title down on the edge of the axes and rounds
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
    draw(figure)
    note = ax._right_title.get_window_extent()
    assert note.y0 >= ax.bbox.y1 - ROUNDING
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


# Nothing, one, and what does not fit


def test_tokens_that_never_gathered_are_told_so() -> None:
    for picture in (plot.staircase, plot.merge_tree):
        ax = picture(merged((), ()))
        assert "the tokens never gathered into clusters" in [text.get_text() for text in ax.texts]
        draw(ax.figure)


def test_one_cluster_from_the_start_is_one_stair_and_one_branch() -> None:
    one = merged((0,), (), t_f=0.0)  # as with n = 1
    times, counts = stairs(plot.staircase(one))
    assert (times[0], counts.tolist()) == (1e-2, [1, 1])  # t = 0 is drawn at the left edge
    assert len(drawn_lines(plot.merge_tree(one))) == 1
    alone = life(4.0, n=1)
    for ax in (plot.staircase(alone), plot.merge_tree(alone), alone.plot()[0]):
        draw(ax.figure)


def test_what_is_no_merges_is_refused_and_leaves_no_figure() -> None:
    for picture in (plot.staircase, plot.merge_tree):
        with pytest.raises(
            InputError, match=r"needs merges, but was given ndarray. Pass nucleate.merges\(run\)"
        ):
            picture(np.zeros(3))  # type: ignore[arg-type]  # that is what is refused
        with pytest.raises(InputError, match="end must be finite and greater than 12, but is 3"):
            picture(merged(), end=3.0)
    assert pyplot.get_fignums() == []
