"""Pictures: something is on them, nothing is bent or broken, and nothing else changes."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from support.made_runs import SETTINGS, many_runs, one_run, paths

from nucleate import plot
from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.observe.centers import renyi_centers
from nucleate.plot.tokens import MAX_TOKENS_DRAWN
from nucleate.sphere import uniform


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    pyplot.close("all")


def turning(speed: float, m: int = 40) -> Run:
    """Two tokens: one at rest, one that goes round from angle 3 at the given speed."""
    t = np.linspace(0.0, 4.0, m)
    angle = np.stack([np.full(m, 0.5), 3.0 + speed * t], axis=1)  # (m, 2)
    return Run(Attention(1.0), t, np.stack([np.cos(angle), np.sin(angle)], axis=-1), "done", 1, SETTINGS)


def lines(ax: Any) -> list[Array]:
    return [
        np.asarray(line)
        for collection in ax.collections
        if hasattr(collection, "get_segments")
        for line in collection.get_segments()
    ]


def ink(ax: Any) -> float:
    """The share of pixels that are not white."""
    ax.figure.set_dpi(80)
    canvas: Any = FigureCanvasAgg(ax.figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]  # (height, width, 3)
    return float((pixels < 250).any(-1).mean())


@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_picture_of_a_run_shows_every_token(d: int) -> None:
    run = one_run(d=d)
    ax: Any = run.plot()
    assert ink(ax) > 0.02
    if d == 2:
        assert {line[0, 1] for line in lines(ax)} >= set(np.arctan2(run.x[0, :, 1], run.x[0, :, 0]))
        assert ax.get_ylabel() == "angle"
    else:
        final = [
            np.asarray(c._offsets3d).T
            for c in ax.collections
            if hasattr(c, "_offsets3d")
            and np.allclose(c.get_facecolor()[0, :3], [0.84, 0.15, 0.16], atol=0.01)
        ]
        assert len(final) == 1
        assert final[0].shape == (9, 3)
        assert np.isfinite(final[0]).all()
        if d == 3:
            np.testing.assert_allclose(final[0], run.x[-1])


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


@pytest.mark.parametrize("speed", [0.4, -2.5, 6.0])
def test_a_token_that_passes_pi_leaves_no_streak_and_no_gap(speed: float) -> None:
    run = turning(speed)
    ax = plot.angles(run, first=0)
    drawn = [line for line in lines(ax) if not np.allclose(line[:, 1], 0.5)]
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
    assert ink(ax) > 0.01


def test_frames_that_were_never_reached_are_left_out() -> None:
    runs = many_runs()
    ax = plot.angles(runs, which=1)
    assert all(np.isfinite(line).all() and len(line) == 4 for line in lines(ax))
    assert ax.get_xlim() == (0.0, 3.0)
    assert len(lines(plot.angles(runs, which=2))[0]) == 6
    nothing = replace(runs, x=np.full_like(runs.x, np.nan))
    with pytest.raises(InputError, match="no frame to draw"):
        nothing.plot()


@pytest.mark.parametrize("d", [2, 3])
def test_a_single_frame_can_be_drawn(d: int) -> None:
    run = one_run(d=d)
    assert ink(replace(run, t=run.t[:1], x=run.x[:1]).plot()) > 0.01


def test_high_dimensions_are_seen_from_where_most_happens() -> None:
    x = np.zeros((4, 5, 9))
    x[..., [2, 5, 7]] = paths(4, 5, 3)  # all that moves lies in three of nine directions
    ax: Any = plot.trajectories(Run(Attention(1.0), np.arange(4.0), x, "done", 1, SETTINGS))
    final = np.asarray(ax.collections[-1]._offsets3d).T
    np.testing.assert_allclose(np.linalg.norm(final, axis=-1), 1.0, atol=1e-12)
    # seen as it is, up to a rotation
    np.testing.assert_allclose(final @ final.T, x[-1] @ x[-1].T, atol=1e-12)


def test_many_tokens_are_thinned_out_and_the_picture_says_so() -> None:
    n = MAX_TOKENS_DRAWN + 500
    ax = plot.angles(
        Run(Attention(1.0), np.arange(2.0), np.stack([uniform(n, 2, 0)] * 2), "done", 1, SETTINGS),
        colorbar=False,
    )
    assert MAX_TOKENS_DRAWN <= len(lines(ax)) < 1.1 * MAX_TOKENS_DRAWN
    assert ax.get_title().endswith(f"of {n} tokens drawn")


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
    with pytest.raises(InputError, match="indices from 0 to 8"):
        plot.circle(one_run().x[0], centers=[9])
    with pytest.raises(InputError, match=r"shape \(n, 2\)"):
        plot.circle(one_run().x)


@pytest.mark.parametrize("d", [2, 3])
def test_a_film_has_every_frame_and_they_differ(d: int, tmp_path: Path) -> None:
    told = []
    plot.animate(
        one_run(d=d, m=5),
        tmp_path / "run.gif",
        fps=10,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(i, 5) for i in range(1, 6)]
    with Image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 5  # type: ignore[attr-defined]  # of GIF images only
        frames = []
        for i in range(5):
            film.seek(i)
            frames.append(np.asarray(film.convert("RGB")))
    assert all((a != b).any() for a, b in pairwise(frames))
    assert (frames[0] < 250).any(-1).mean() > 0.005


def test_a_long_film_is_thinned_out_but_keeps_its_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nucleate.plot.animation.MAX_ANIMATION_FRAMES", 4)
    told: list[int] = []
    plot.animate(one_run(m=30), tmp_path / "run.gif", progress=lambda done, total: told.append(total))
    assert told == [4, 4, 4, 4]


def test_mp4_without_ffmpeg_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match=r"needs the program ffmpeg.*pip install imageio-ffmpeg"):
        one_run().save(tmp_path / "run.mp4")
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_that_fails_is_reported_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "ffmpeg"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\ncat >/dev/null\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:/usr/bin:/bin")
    with pytest.raises(InputError, match=r"run\.mp4 cannot be written: ffmpeg ended with code 3"):
        one_run(m=3).save(tmp_path / "run.mp4")
    assert [file.name for file in tmp_path.iterdir()] == ["bin"]


def test_mp4_is_written_where_there_is_ffmpeg(tmp_path: Path) -> None:
    try:
        plot.ffmpeg()
    except InputError:
        pytest.skip("no ffmpeg here")
    one_run(m=3).save(tmp_path / "run.mp4")
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg"])
def test_the_same_run_gives_the_same_file(ending: str, tmp_path: Path) -> None:
    one_run().save(tmp_path / f"a{ending}")
    one_run().save(tmp_path / f"b{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_the_strip_shows_where_tokens_are() -> None:
    angle = np.array([-3.1] + [0.01] * 50 + [3.1])
    text = plot.strip(np.stack([np.cos(angle), np.sin(angle)], axis=-1), width=20)
    assert len(text) == 20
    assert [i for i, bar in enumerate(text) if bar != " "] == [0, 10, 19]
    assert text[10] == "█"
