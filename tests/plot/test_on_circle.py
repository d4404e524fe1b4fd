"""Tokens on the circle: angles without streaks, centers marked, and one line of text."""

from typing import Any

import numpy as np
import pytest
from support.made_runs import one_run, run_of
from support.pictures import drawn_lines, ink_share
from support.places import on_circle

from nucleate import plot
from nucleate.integrate.run import Run
from nucleate.observe.centers import renyi_centers
from nucleate.sphere import uniform


def turning(speed: float, m: int = 40) -> Run:
    """Two tokens: one fixed, one that goes round from angle 3 at the given speed."""
    t = np.linspace(0.0, 4.0, m)
    angle = np.stack([np.full(m, 0.5), 3.0 + speed * t], axis=1)  # (m, 2)
    return run_of(on_circle(angle), t=t)


@pytest.mark.parametrize("speed", [0.4, -2.5, 6.0])
def test_a_token_that_passes_pi_leaves_no_streak_and_no_gap(speed: float) -> None:
    run = turning(speed)
    ax = plot.angles(run, first=0)
    drawn = [line for line in drawn_lines(ax) if not np.allclose(line[:, 1], 0.5)]
    # no jump to the other side
    assert all(
        np.abs(np.diff(line[:, 1])).max() <= abs(speed) * (run.t[1] - run.t[0]) + 1e-9 for line in drawn
    )
    # at every time one of the lines is inside, and at the right place
    for t, x in zip(run.t, run.x[:, 1], strict=True):
        heights = np.array([line[line[:, 0] == t, 1][0] for line in drawn])
        inside = heights[(heights >= -np.pi - 1e-9) & (heights <= np.pi + 1e-9)]
        assert np.abs(np.exp(1j * inside) - complex(*x)).min() < 1e-9
    assert ax.get_ylim() == (-np.pi, np.pi)


def test_first_tokens_are_thick_and_centers_have_their_colours() -> None:
    ax: Any = plot.angles(one_run(), first=2, centers=[3], strong=[4])
    tokens, black, red = ax.collections[:3]
    assert sorted(set(np.asarray(tokens.get_linewidth()))) == [0.7, 2.2]
    assert black.get_edgecolor().tolist() == [[0, 0, 0, 1]] * len(black.get_paths())
    assert red.get_edgecolor()[0][0] > 0.8
    rings, dots = ax.collections[3:5]  # where they start, in shapes of their own
    run = one_run()
    np.testing.assert_array_equal(rings.get_offsets(), [[0.0, np.arctan2(run.x[0, 3, 1], run.x[0, 3, 0])]])
    np.testing.assert_array_equal(dots.get_offsets(), [[0.0, np.arctan2(run.x[0, 4, 1], run.x[0, 4, 0])]])
    assert (len(rings.get_facecolor()), len(dots.get_facecolor())) == (0, 1)


def test_the_circle_marks_exactly_the_centers() -> None:
    x = uniform(60, 2, 3)
    centers, strong = renyi_centers(x, 0.5), renyi_centers(x, 0.5, strong=True)
    assert 0 < len(strong) < len(centers)
    ax = plot.circle(x, centers=centers, strong=strong)
    tokens, black, red = (np.asarray(dots.get_offsets()) for dots in ax.collections)
    np.testing.assert_array_equal(np.sort(tokens, axis=0), np.sort(x, axis=0))
    np.testing.assert_array_equal(black, x[centers])
    np.testing.assert_array_equal(red, x[strong])
    assert ink_share(ax) > 0.01


def test_the_line_of_text_shows_where_tokens_are() -> None:
    angle = np.array([-3.1] + [0.01] * 50 + [3.1])
    text = plot.text_histogram(on_circle(angle), width=20)
    assert len(text) == 20
    assert [i for i, bar in enumerate(text) if bar != " "] == [0, 10, 19]
    assert text[10] == "█"
