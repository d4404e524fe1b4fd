"""The picture of a run, whatever its dimension and size, and pictures as files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_depth_runs import depth_run
from support.made_runs import one_run, paths, run_of
from support.pictures import drawn_lines, ink_share, seconds_to_draw
from support.time_limits import within_cpu_seconds

from nucleate import plot
from nucleate.checks import InputError


@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_picture_of_a_run_shows_every_token(d: int) -> None:
    run = one_run(d=d)
    ax: Any = run.plot()
    assert ink_share(ax) > 0.02
    if d == 2:
        assert {line[0, 1] for line in drawn_lines(ax)} >= set(np.arctan2(run.x[0, :, 1], run.x[0, :, 0]))
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


@pytest.mark.parametrize("d", [2, 3])
def test_a_single_frame_can_be_drawn(d: int) -> None:
    run = one_run(d=d)
    assert ink_share(replace(run, t=run.t[:1], x=run.x[:1]).plot()) > 0.01


def test_a_single_time_and_a_single_token_can_be_drawn() -> None:
    for d in (2, 3, 5):
        for m in (1, 2):
            ax: Any = one_run(d=d, m=m, n=1).plot()
            seconds_to_draw(ax)
    assert plot.angles(one_run(m=1, n=1), log=True).get_xlim() == (0.0, 1.0)


@pytest.mark.parametrize("d", [2, 3, 12])
def test_ten_thousand_tokens_and_long_runs_stay_quick(d: int) -> None:
    many = run_of(np.stack([paths(2, 10_000, d)[0]] * 50))
    long = run_of(paths(2000, 50, d))
    for run in (many, long):
        with within_cpu_seconds(10.0):  # under 1 on an idle machine
            ax: Any = run.plot()
            seconds_to_draw(ax)
    assert "of 10000 tokens drawn" in many.plot().get_title()


@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg"])
def test_the_same_run_gives_the_same_file(ending: str, tmp_path: Path) -> None:
    one_run().save(tmp_path / f"a{ending}")
    one_run().save(tmp_path / f"b{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_a_run_over_depth_is_a_line_over_layers_and_as_a_file_words_on_globes(tmp_path: Path) -> None:
    run = depth_run()
    ax: Any = run.plot()
    (line,) = ax.lines
    x = run.x[:, 1:]  # (L+1, n-1, d)
    slow = [np.mean([a @ b for i, a in enumerate(frame) for b in frame[:i]]) for frame in x]
    np.testing.assert_allclose(line.get_ydata(), slow)
    for one in (run, depth_run((2,)), replace(run, tokens=None)):
        one.save(tmp_path / "run.png")
        assert (tmp_path / "run.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="needs 4 tokens"):
        replace(run, x=run.x[:, :3]).save(tmp_path / "run.png")
