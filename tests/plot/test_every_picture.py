"""What holds for every picture: axes in, axes out, nothing else changed, and seen in every style."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support.made_merges import merged
from support.made_runs import many_runs, one_run

from nucleate import plot
from nucleate.checks import InputError
from nucleate.sphere import uniform

PICTURES: dict[str, Callable[[Any], Any]] = {
    "circle": lambda ax: plot.circle(uniform(60, 2, 0), ax, centers=[1], strong=[2]),
    "angles": lambda ax: plot.angles(one_run(), ax, centers=[1], strong=[2]),
    "clusters": lambda ax: plot.angles(one_run(), ax, colour="cluster"),
    "staircase": lambda ax: plot.staircase(merged(), ax),
    "merge_tree": lambda ax: plot.merge_tree(merged(), ax),
    "band": lambda ax: plot.band(
        [0.0, 1.0, 2.0], np.random.default_rng(0).random((5, 3)), ax, "mine", "#123456"
    ),
    "consumption": lambda ax: plot.consumption([0.0, 1.0], [[0.1, 0.2], [0.3, 0.4]], ax, strong=[0.1, 0.2]),
    "spectrum": lambda ax: plot.spectrum(np.diag([1.0, 0.5]), ax),
    "trajectories": lambda ax: plot.trajectories(one_run(d=3), ax),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_takes_axes_gives_them_back_and_changes_nothing_else(name: str) -> None:
    before = dict(matplotlib.rcParams)
    figure = Figure()
    ax, beside = (
        figure.add_subplot(121, projection="3d" if name == "trajectories" else None),
        figure.add_subplot(122),
    )
    assert PICTURES[name](ax) is ax
    assert not beside.has_data()
    assert pyplot.get_fignums() == []
    assert PICTURES[name](None) is not ax
    assert len(pyplot.get_fignums()) == 1
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("style", plot.STYLES)
@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_can_be_seen_in_every_style(name: str, style: str) -> None:
    with plot.style(style):
        ax = PICTURES[name](None)
        canvas: Any = FigureCanvasAgg(ax.figure)
        canvas.draw()  # a glyph that the font lacks is a warning, and so an error here
        pixels = np.asarray(canvas.buffer_rgba())[..., :3] / 255.0  # (height, width, 3)
        grey = pixels @ [0.299, 0.587, 0.114]  # as a grey printer does it
        paper = np.array(to_rgb(matplotlib.rcParams["figure.facecolor"])) @ [0.299, 0.587, 0.114]
        assert (np.abs(grey - paper) > 0.25).mean() > 0.003
        # the corners are free: nothing is cut off there
        np.testing.assert_allclose(grey[[0, 0, -1, -1], [0, -1, 0, -1]], paper, atol=0.01)


@pytest.mark.parametrize("name", [name for name in PICTURES if name != "trajectories"])
def test_spines_are_thin_and_only_where_numbers_stand(name: str) -> None:
    ax = PICTURES[name](None)
    if ax.axison:
        assert not any(ax.spines[side].get_visible() for side in ("top", "right"))
        assert ax.spines["bottom"].get_linewidth() < 0.8


def test_given_axes_are_used_and_no_other_figure_is_made() -> None:
    figure = Figure()
    flat, round, globe = (
        figure.add_subplot(131),
        figure.add_subplot(132),
        figure.add_subplot(133, projection="3d"),
    )
    assert plot.angles(one_run(), flat) is flat
    assert plot.circle(one_run().x[0], round) is round
    assert plot.trajectories(one_run(d=3), globe) is globe
    assert one_run().plot(flat) is flat
    assert pyplot.get_fignums() == []


def test_drawing_changes_no_settings(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    one_run(d=3).plot()
    one_run().save(tmp_path / "run.svg")
    one_run(m=2).save(tmp_path / "run.gif")
    assert dict(matplotlib.rcParams) == before


def test_a_title_that_was_there_stays() -> None:
    for d in (2, 3):
        ax = Figure().add_subplot(projection=None if d == 2 else "3d")
        ax.set_title("mine")
        assert one_run(d=d).plot(ax) is ax
        assert ax.get_title() == "mine"


def test_what_does_not_fit_a_picture_is_refused() -> None:
    flat = Figure().add_subplot()
    with pytest.raises(InputError, match="d = 2, but these have d = 3"):
        plot.angles(one_run(d=3))
    with pytest.raises(InputError, match="dimension 3 or more"):
        plot.trajectories(one_run())
    with pytest.raises(InputError, match='projection="3d"'):
        plot.trajectories(one_run(d=3), flat)
    with pytest.raises(InputError, match="number of runs, 3, but is 3"):
        plot.picture(many_runs(), which=3)
    with pytest.raises(InputError, match="0 to 8, but 9 is among them"):
        plot.circle(one_run().x[0], centers=[9])
    with pytest.raises(InputError, match=r"shape \(n, 2\)"):
        plot.circle(one_run().x)
