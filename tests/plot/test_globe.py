"""The globe: lines on its far side are faint, and its outline is where the eye sees it."""

from typing import Any

import numpy as np
from support.made_runs import one_run
from support.pictures import seconds_to_draw

from nucleate import plot
from nucleate.plot.globe import HemisphereLines, Outline
from nucleate.plot.on_sphere import ARC_STEP_RADIANS
from nucleate.sphere import retract


def test_what_is_behind_the_globe_is_faint_from_every_side() -> None:
    run = one_run(d=3, m=40)
    ax: Any = plot.trajectories(run)
    halves = [c for c in ax.collections if isinstance(c, HemisphereLines) and len(c._segments3d) == 9]
    back, front = halves
    assert (front.near, back.near) == (True, False)
    np.testing.assert_allclose(back.get_edgecolor()[:, 3] / front.get_edgecolor()[:, 3], 0.25)
    for elevation, azimuth in ((30, -60), (-20, 100), (80, 10)):
        ax.view_init(elev=elevation, azim=azimuth)
        seconds_to_draw(ax)
        e, a = np.radians([elevation, azimuth])
        eye = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        for half, sign in ((front, 1.0), (back, -1.0)):
            for whole, shown in zip(half._segments3d, half.get_paths(), strict=True):
                hidden = np.isnan(shown.vertices[:, 0])
                height = sign * (whole @ eye)
                assert (height[hidden] < 0.0).all()
                assert (height[~hidden] > -2 * ARC_STEP_RADIANS).all()  # one piece reaches over the edge


def test_the_outline_of_the_globe_is_perpendicular_to_the_line_of_sight() -> None:
    ax: Any = plot.trajectories(one_run(d=3))
    outline = next(c for c in ax.collections if isinstance(c, Outline))
    for away in (np.array([1.0, 0, 0]), retract(np.array([1.0, 2, -2]))):
        (circle,) = outline.visible(away)
        np.testing.assert_allclose(circle @ away, 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(circle, axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(circle[0], circle[-1], atol=1e-12)
