"""Animations: every frame is there, and a missing or failing encoder is told in words."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.made_runs import one_run

from nucleate import plot
from nucleate.checks import InputError


@pytest.mark.parametrize("d", [2, 3])
def test_an_animation_has_every_frame_and_they_differ(d: int, tmp_path: Path) -> None:
    told = []
    plot.animate(
        one_run(d=d, m=5),
        tmp_path / "run.gif",
        fps=10,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(i, 5) for i in range(1, 6)]
    with Image.open(tmp_path / "run.gif") as animation:
        assert animation.n_frames == 5  # type: ignore[attr-defined]  # of GIF images only
        frames = []
        for i in range(5):
            animation.seek(i)
            frames.append(np.asarray(animation.convert("RGB")))
    assert all((a != b).any() for a, b in pairwise(frames))
    assert (frames[0] < 250).any(-1).mean() > 0.005


def test_a_long_animation_is_thinned_out_but_keeps_its_ends(
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
