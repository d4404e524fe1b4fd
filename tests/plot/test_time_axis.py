"""Axes of time: even or by powers of ten, as the times were saved, with labels that can be read."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from support.made_runs import one_run, run_of
from support.pictures import draw
from support.places import on_circle

from nucleate import plot
from nucleate.plot.time_axis import time_label


def test_time_is_drawn_by_powers_of_ten_only_if_it_was_saved_so() -> None:
    even, spread = one_run(m=20), one_run(m=20)
    spread = replace(spread, t=np.concatenate([[0.0], np.geomspace(1e-2, 1e9, 19)]))
    assert plot.angles(even).get_xscale() == "linear"
    ax = plot.angles(spread)
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlim() == (0.0, 1e9)
    assert ax.get_xticks()[:2].tolist() == [0.0, 1e-2]
    for end in (1e2, 1e9, 1e60):
        ticks = plot.angles(
            replace(spread, t=np.concatenate([[0.0], np.geomspace(1e-2, end, 19)]))
        ).get_xticks()
        assert 5 <= len(ticks) <= 10
    assert (
        plot.angles(replace(even, t=np.sort(np.random.default_rng(0).uniform(0, 9, 20)))).get_xscale()
        == "linear"
    )


def test_time_goes_by_powers_of_ten_where_an_even_axis_would_hide_half_of_the_frames() -> None:
    steps = np.concatenate([[0.0], np.cumsum(np.geomspace(1e-6, 1e40, 400))])  # as the causal solver goes
    run = run_of(np.broadcast_to(on_circle(np.array([0.5, 1.0])), (401, 2, 2)), t=steps)
    ax = plot.angles(run)
    assert ax.get_xscale() == "symlog"
    assert plot.angles(run, log=False).get_xscale() == "linear"
    assert plot.angles(one_run(), log=True).get_xscale() == "symlog"
    draw(ax.figure)
    boxes = sorted(
        (text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()), key=lambda box: box.x0
    )
    assert len(boxes) >= 4
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))  # labels do not run into each other


def test_times_are_written_in_few_digits() -> None:
    assert time_label(84.23) == "84.2"
    assert time_label(3.3e52) == r"$3.3 \times 10^{52}$"
    assert time_label(9.99e5) == r"$1.0 \times 10^{6}$"
