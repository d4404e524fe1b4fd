"""Tokens on spheres: frames joined by great circles, and high dimensions in their principal directions."""

from typing import Any

import numpy as np
import pytest
from support.made_runs import one_run, paths, run_of

from nucleate import plot
from nucleate.checks import Array
from nucleate.plot.globe import HemisphereLines
from nucleate.plot.on_sphere import ARC_STEP_RADIANS, FAR_APART_RADIANS, SAME_PLACE_RADIANS, arcs
from nucleate.sphere import distance, retract, uniform


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


def test_a_path_goes_through_its_frames_and_is_dotted_only_where_they_are_far_apart() -> None:
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


def test_a_long_pause_costs_no_points_and_the_path_stays_near_every_frame() -> None:
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
        paths_drawn = [c for c in ax.collections if isinstance(c, HemisphereLines) and c.near][1:]
        assert [c.get_linestyle()[0][1] is not None for c in paths_drawn] == [dotted]
        for path in paths_drawn[0]._segments3d:
            np.testing.assert_allclose(np.linalg.norm(path, axis=-1), 1.0, atol=1e-12)
        assert ("dotted: frames over 45° apart" in [text.get_text() for text in ax.texts]) == dotted


def test_high_dimensions_are_seen_from_where_most_happens() -> None:
    x = np.zeros((4, 5, 9))
    x[..., [2, 5, 7]] = paths(4, 5, 3)  # all that moves lies in three of nine directions
    ax: Any = plot.trajectories(run_of(x))
    final = np.asarray(ax.collections[-1]._offsets3d).T
    np.testing.assert_allclose(np.linalg.norm(final, axis=-1), 1.0, atol=1e-12)
    # seen as it is, up to a rotation
    np.testing.assert_allclose(final @ final.T, x[-1] @ x[-1].T, atol=1e-12)
