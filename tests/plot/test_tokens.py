"""Pictures of tokens: colours by cluster, arcs on the sphere, axes of time, and runs that are long, short or
many."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from support.made_runs import SETTINGS, many_runs, one_run, paths

from nucleate import plot
from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.observe.clusters import clusters
from nucleate.plot.globe import HemisphereLines, Outline
from nucleate.plot.on_sphere import ARC_STEP_RADIANS, FAR_APART_RADIANS, SAME_PLACE_RADIANS, arcs
from nucleate.sphere import distance, retract, uniform


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    pyplot.close("all")


def made(x: Array, beta: Any = 64.0, t: Array | None = None) -> Run:
    return Run(Attention(beta), np.arange(float(x.shape[-3])) if t is None else t, x, "done", 1, SETTINGS)


def on_circle(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def drawn(ax: Any) -> float:
    start = time.perf_counter()
    FigureCanvasAgg(ax.figure).draw()  # type: ignore[no-untyped-call]
    return time.perf_counter() - start


# By cluster


def three_clusters() -> Run:
    """Token 0 ends near 2, token 1 alone, tokens 2 to 5 near each other; the order of first members is 0, 1,
    2."""
    end = np.array([2.0, -1.0, 0.0, 0.05, 2.05, 0.1])
    angle = np.linspace(0.3, 1.0, 4)[:, None] * end  # (4, 6)
    return made(on_circle(angle), beta=64.0)


@pytest.mark.parametrize("radius", [None, 0.06, 0.04])
def test_tokens_have_the_colour_of_their_last_cluster(radius: float | None) -> None:
    run = three_clusters()
    ax: Any = plot.angles(run, colour="cluster", radius=radius, first=0)
    label = clusters(run.x[-1], 1 / 8 if radius is None else radius)  # beta^(-1/2)
    assert label.max() + 1 == (6 if radius == 0.04 else 3)
    expected = to_rgba_array(plot.CLUSTERS)[label]  # (6, 4)
    colours = ax.collections[0].get_edgecolor()
    for line, colour in zip(ax.collections[0].get_segments(), colours, strict=True):
        k = int(np.argmin(np.abs(np.arctan2(run.x[0, :, 1], run.x[0, :, 0]) - line[0, 1])))
        np.testing.assert_array_equal(colour, expected[k])
    assert len(ax.figure.axes) == 1  # no bar that explains another colouring


def test_each_run_of_a_batch_has_the_cluster_radius_of_its_own_beta() -> None:
    x = three_clusters().x
    runs = replace(made(np.stack([x, x]), beta=[64.0, 1e4]), status=("done", "done"))
    counts = [
        len(np.unique(plot.angles(runs, colour="cluster", which=w).collections[0].get_edgecolor(), axis=0))
        for w in (0, 1)
    ]
    assert counts == [3, 6]


def test_on_the_sphere_ways_have_the_colour_of_their_last_cluster() -> None:
    run = one_run(d=3, m=40)
    ax: Any = plot.trajectories(run, colour="cluster", radius=0.5)
    ways = next(
        c for c in ax.collections if isinstance(c, HemisphereLines) and c.near and len(c._segments3d) == 9
    )
    np.testing.assert_array_equal(
        ways.get_edgecolor(), to_rgba_array(plot.CLUSTERS)[clusters(run.x[-1], 0.5) % 8]
    )


def test_after_eight_clusters_the_colours_come_again() -> None:
    run = made(on_circle(np.linspace(-3.0, 3.0, 11) * np.ones((2, 1))))
    ax: Any = plot.angles(run, colour="cluster")
    colours = ax.collections[0].get_edgecolor()[::-1]  # the first token is drawn last
    np.testing.assert_array_equal(colours, to_rgba_array(plot.CLUSTERS)[np.arange(11) % 8])


def test_an_unknown_colouring_is_refused_and_leaves_no_figure() -> None:
    for picture, d in ((plot.angles, 2), (plot.trajectories, 3)):
        with pytest.raises(InputError, match=r"colour must be .token. .*but is 'rainbow'"):
            picture(one_run(d=d), colour="rainbow")
    with pytest.raises(InputError, match="indices from 0 to 8"):
        plot.angles(one_run(), centers=[9])
    with pytest.raises(InputError, match="radius must be at most pi"):
        plot.angles(one_run(), colour="cluster", radius=4.0)
    assert pyplot.get_fignums() == []


# Arcs


def slow_arc(x: Array, y: Array, s: float) -> Array:
    """The point at the share s of the way from x to y: turn x towards y in their plane."""
    angle = float(distance(x, y))
    side = retract(y - (x @ y) * x)
    return np.cos(s * angle) * x + np.sin(s * angle) * side


@pytest.mark.parametrize("apart", [0.02, 0.3, 0.8, 1.5, 3.0, 3.14])
@pytest.mark.parametrize("d", [3, 6])
def test_frames_are_joined_by_the_great_circle(apart: float, d: int) -> None:
    x = uniform(1, d, 3)[0]
    y = slow_arc(x, uniform(1, d, 4)[0], apart / float(distance(x, uniform(1, d, 4))[0]))
    (far, points), *rest = arcs(np.stack([x, y]))
    assert (rest, far) == ([], apart > FAR_APART_RADIANS)
    expected = np.stack([slow_arc(x, y, s) for s in np.linspace(0, 1, len(points))])
    # rounding, which near opposite points is magnified
    np.testing.assert_allclose(points, expected, atol=1e-12 / np.sin(apart))
    # a chord that long lies 5e-4 below the sphere: a tenth of a pixel
    assert distance(points[1:], points[:-1]).max() <= 0.06


def test_a_way_goes_through_its_frames_and_is_dotted_only_where_they_are_far_apart() -> None:
    angle = np.array([0.0, 0.2, 0.4, 1.4, 1.6, 3.0, 3.1])  # two leaps of more than 45 degrees
    x = np.stack([np.cos(angle), np.sin(angle), np.zeros(7)], axis=1)
    pieces = arcs(x)
    assert [far for far, _ in pieces] == [False, True, False, True, False]
    ends = [angle[[0, 2]], angle[[2, 3]], angle[[3, 4]], angle[[4, 5]], angle[[5, 6]]]
    for (_, points), (begin, end) in zip(pieces, ends, strict=True):
        np.testing.assert_allclose(
            np.arctan2(points[[0, -1], 1], points[[0, -1], 0]), [begin, end], atol=1e-12
        )
    everything = np.concatenate([points for _, points in pieces])
    assert all(np.linalg.norm(everything - frame, axis=1).min() < 1e-12 for frame in x)


def test_opposite_frames_are_not_joined() -> None:
    x = np.array([[1.0, 0, 0], [-1.0, 0, 0], [-1.0, 0.1, 0]])
    pieces = arcs(retract(x))
    assert len(pieces) == 1  # the second step only
    np.testing.assert_allclose(pieces[0][1][0], [-1.0, 0, 0], atol=1e-12)


def test_a_long_rest_costs_no_points_and_the_way_stays_near_every_frame() -> None:
    slow = np.concatenate(
        [np.linspace(0, 1e-3, 3000), np.linspace(1e-3, 1.0, 50), np.full(3000, 1.0), [1.004]]
    )
    x = np.stack([np.cos(slow), np.sin(slow), 0 * slow], axis=1)
    (far, points), *rest = arcs(x)
    assert (far, rest) == (False, [])
    assert len(points) < 150
    assert max(np.linalg.norm(points - frame, axis=1).min() for frame in x[::50]) <= max(
        SAME_PLACE_RADIANS, ARC_STEP_RADIANS
    )
    np.testing.assert_array_equal(points[[0, -1]], x[[0, -1]])


def test_trajectories_lie_on_the_sphere_and_far_frames_are_dotted_and_told() -> None:
    near, far = one_run(d=3, m=40), one_run(d=3, m=3)  # 0.05 and 1 rad between frames
    for run, dotted in ((near, False), (far, True)):
        ax: Any = plot.trajectories(run)
        # the first is the net of the globe
        ways = [c for c in ax.collections if isinstance(c, HemisphereLines) and c.near][1:]
        assert [c.get_linestyle()[0][1] is not None for c in ways] == [dotted]
        for way in ways[0]._segments3d:
            np.testing.assert_allclose(np.linalg.norm(way, axis=-1), 1.0, atol=1e-12)
        assert ("dotted: frames over 45° apart" in [text.get_text() for text in ax.texts]) == dotted


def test_what_is_behind_the_globe_is_faint_from_every_side() -> None:
    run = one_run(d=3, m=40)
    ax: Any = plot.trajectories(run)
    front, back = [c for c in ax.collections if isinstance(c, HemisphereLines) and len(c._segments3d) == 9][
        ::-1
    ]
    assert (front.near, back.near) == (True, False)
    np.testing.assert_allclose(back.get_edgecolor()[:, 3] / front.get_edgecolor()[:, 3], 0.25)
    for elevation, azimuth in ((30, -60), (-20, 100), (80, 10)):
        ax.view_init(elev=elevation, azim=azimuth)
        drawn(ax)
        e, a = np.radians([elevation, azimuth])
        eye = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        for half, sign in ((front, 1.0), (back, -1.0)):
            for whole, shown in zip(half._segments3d, half.get_paths(), strict=True):
                hidden = np.isnan(shown.vertices[:, 0])
                height = sign * (whole @ eye)
                assert (height[hidden] < 0.0).all()
                assert (height[~hidden] > -2 * ARC_STEP_RADIANS).all()  # one piece reaches over the edge


def test_the_edge_of_the_globe_is_across_the_line_of_sight() -> None:
    ax: Any = plot.trajectories(one_run(d=3))
    edge = next(c for c in ax.collections if isinstance(c, Outline))
    for away in (np.array([1.0, 0, 0]), retract(np.array([1.0, 2, -2]))):
        (circle,) = edge.visible(away)
        np.testing.assert_allclose(circle @ away, 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(circle, axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(circle[0], circle[-1], atol=1e-12)


# Time


def test_time_goes_by_powers_of_ten_where_an_even_axis_would_hide_half_of_the_frames() -> None:
    steps = np.concatenate([[0.0], np.cumsum(np.geomspace(1e-6, 1e40, 400))])  # as the causal solver goes
    run = made(np.broadcast_to(on_circle(np.array([0.5, 1.0])), (401, 2, 2)), t=steps)
    ax = plot.angles(run)
    assert ax.get_xscale() == "symlog"
    assert plot.angles(run, log=False).get_xscale() == "linear"
    assert plot.angles(one_run(), log=True).get_xscale() == "symlog"
    FigureCanvasAgg(ax.figure).draw()  # type: ignore[no-untyped-call, arg-type]
    boxes = sorted(
        (text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()), key=lambda box: box.x0
    )
    assert len(boxes) >= 4
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))  # labels do not run into each other


def test_a_single_time_and_a_single_token_can_be_drawn() -> None:
    for d in (2, 3, 5):
        for m in (1, 2):
            ax: Any = one_run(d=d, m=m, n=1).plot()
            drawn(ax)
    assert plot.angles(one_run(m=1, n=1), log=True).get_xlim() == (0.0, 1.0)


# Axes in, axes out


def test_a_title_that_was_there_stays() -> None:
    for d in (2, 3):
        ax = Figure().add_subplot(projection=None if d == 2 else "3d")
        ax.set_title("mine")
        assert one_run(d=d).plot(ax) is ax
        assert ax.get_title() == "mine"


@pytest.mark.parametrize("d", [2, 3, 12])
def test_ten_thousand_tokens_and_long_runs_stay_quick(d: int) -> None:
    many = made(np.stack([paths(2, 10_000, d)[0]] * 50))
    long = made(paths(2000, 50, d))
    for run in (many, long):
        start = time.perf_counter()
        ax: Any = run.plot()
        drawn(ax)
        assert time.perf_counter() - start < 10.0  # under 1 on an idle machine
    assert "of 10000 tokens drawn" in many.plot().get_title()


def test_a_failed_run_is_drawn_as_far_as_it_got() -> None:
    runs = many_runs(d=3)
    ax: Any = plot.trajectories(runs, which=1)
    final = np.asarray(ax.collections[-1]._offsets3d).T
    np.testing.assert_array_equal(final, runs.x[1, 3])  # the last frame that was reached
