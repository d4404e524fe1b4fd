"""Which tokens and frames are drawn, and in which colours."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba_array
from support.made_runs import many_runs, one_run, run_of
from support.pictures import drawn_lines
from support.places import on_circle

from nucleate import plot
from nucleate.checks import InputError
from nucleate.integrate.run import Run
from nucleate.observe.clusters import clusters
from nucleate.plot.globe import HemisphereLines
from nucleate.plot.styles import CLUSTERS_ON_LIGHT
from nucleate.plot.tokens import MAX_TOKENS_DRAWN
from nucleate.sphere import uniform


def three_clusters() -> Run:
    """Token 0 ends near 2, token 1 alone, tokens 2 to 5 near each other; the order of first members is 0, 1,
    2."""
    end = np.array([2.0, -1.0, 0.0, 0.05, 2.05, 0.1])
    angle = np.linspace(0.3, 1.0, 4)[:, None] * end  # (4, 6)
    return run_of(on_circle(angle), beta=64.0)


@pytest.mark.parametrize("radius", [None, 0.06, 0.04])
def test_tokens_have_the_colour_of_their_last_cluster(radius: float | None) -> None:
    run = three_clusters()
    ax: Any = plot.angles(run, colour="cluster", radius=radius, first=0)
    label = clusters(run.x[-1], 1 / 8 if radius is None else radius)  # beta^(-1/2)
    assert label.max() + 1 == (6 if radius == 0.04 else 3)
    expected = to_rgba_array(CLUSTERS_ON_LIGHT)[label]  # (6, 4)
    colours = ax.collections[0].get_edgecolor()
    for line, colour in zip(ax.collections[0].get_segments(), colours, strict=True):
        k = int(np.argmin(np.abs(np.arctan2(run.x[0, :, 1], run.x[0, :, 0]) - line[0, 1])))
        np.testing.assert_array_equal(colour, expected[k])
    assert len(ax.figure.axes) == 1  # no bar that explains another colouring


def test_each_run_of_a_batch_has_the_cluster_radius_of_its_own_beta() -> None:
    x = three_clusters().x
    runs = replace(run_of(np.stack([x, x]), beta=[64.0, 1e4]), status=("done", "done"))
    counts = [
        len(np.unique(plot.angles(runs, colour="cluster", which=w).collections[0].get_edgecolor(), axis=0))
        for w in (0, 1)
    ]
    assert counts == [3, 6]


def test_on_the_sphere_paths_have_the_colour_of_their_last_cluster() -> None:
    run = one_run(d=3, m=40)
    ax: Any = plot.trajectories(run, colour="cluster", radius=0.5)
    lines = next(
        c for c in ax.collections if isinstance(c, HemisphereLines) and c.near and len(c._segments3d) == 9
    )
    np.testing.assert_array_equal(
        lines.get_edgecolor(), to_rgba_array(CLUSTERS_ON_LIGHT)[clusters(run.x[-1], 0.5) % 8]
    )


def test_after_eight_clusters_the_colours_come_again() -> None:
    run = run_of(on_circle(np.linspace(-3.0, 3.0, 11) * np.ones((2, 1))))
    ax: Any = plot.angles(run, colour="cluster")
    colours = ax.collections[0].get_edgecolor()[::-1]  # the first token is drawn last
    np.testing.assert_array_equal(colours, to_rgba_array(CLUSTERS_ON_LIGHT)[np.arange(11) % 8])


def test_an_unknown_colouring_is_refused_and_leaves_no_figure() -> None:
    for picture, d in ((plot.angles, 2), (plot.trajectories, 3)):
        with pytest.raises(InputError, match=r"colour must be .token. .*but is 'rainbow'"):
            picture(one_run(d=d), colour="rainbow")
    with pytest.raises(InputError, match="0 to 8, but 9 is among them"):
        plot.angles(one_run(), centers=[9])
    with pytest.raises(InputError, match="radius must be at most pi"):
        plot.angles(one_run(), colour="cluster", radius=4.0)
    assert pyplot.get_fignums() == []


def test_frames_that_were_never_reached_are_left_out() -> None:
    runs = many_runs()
    ax = plot.angles(runs, which=1)
    assert all(np.isfinite(line).all() and len(line) == 4 for line in drawn_lines(ax))
    assert ax.get_xlim() == (0.0, 3.0)
    assert len(drawn_lines(plot.angles(runs, which=2))[0]) == 6
    nothing = replace(runs, x=np.full_like(runs.x, np.nan))
    with pytest.raises(InputError, match="no frame to draw"):
        nothing.plot()


def test_a_failed_run_is_drawn_as_far_as_it_got() -> None:
    runs = many_runs(d=3)
    ax: Any = plot.trajectories(runs, which=1)
    final = np.asarray(ax.collections[-1]._offsets3d).T
    np.testing.assert_array_equal(final, runs.x[1, 3])  # the last frame that was reached


def test_many_tokens_are_thinned_out_and_the_picture_says_so() -> None:
    n = MAX_TOKENS_DRAWN + 500
    ax = plot.angles(run_of(np.stack([uniform(n, 2, 0)] * 2)), colorbar=False)
    assert MAX_TOKENS_DRAWN <= len(drawn_lines(ax)) < 1.1 * MAX_TOKENS_DRAWN
    assert ax.get_title().endswith(f"of {n} tokens drawn")
