"""`nucleate ensemble`: what it prints and writes, what it refuses, and how it goes on."""

import re
import signal
import time
from pathlib import Path

import pytest
from support.command_line import nucleate, start_nucleate
from support.small_studies import contents, small, toml
from support.time_limits import check_wall_seconds

from nucleate.studies.ensemble import ensemble


def test_the_command_runs_a_study_and_draws_it(tmp_path: Path, finished: Path) -> None:
    (tmp_path / "study.toml").write_text(toml(small()))
    done = nucleate(
        "ensemble",
        tmp_path / "study.toml",
        "--out",
        tmp_path / "out.zarr",
        "--threads",
        1,
        "--out",
        tmp_path / "out.png",
        "--show",
        "renyi",
    )
    assert done.exit_code == 0, done.output
    assert "24 runs at each of 2 beta; 48 done" in done.stdout
    assert contents(tmp_path / "out.zarr") == contents(finished)
    assert (tmp_path / "out.png").is_file()
    assert (
        nucleate("ensemble", tmp_path / "study.toml", "--out", tmp_path / "out.zarr", "--quiet").stdout == ""
    )


def test_a_dry_run_states_runs_time_and_size_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(toml(small()))
    done = nucleate(
        "ensemble", tmp_path / "study.toml", "--dry-run", "--runs", "1000", "--out", tmp_path / "out.zarr"
    )
    assert done.exit_code == 0, done.output
    row = 1 + 8 + 8 * (5 + 5 + 1 + 16)  # status, steps, renyi, groups, apart, ends
    size = f"{2000 * row / 1e3:.3g} kB before compression"
    assert re.search(rf"2 points of the grid, 2000 runs, (at least )?about [\d.]+ s, {size}", done.stdout), (
        done.stdout
    )
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["study.toml"], "--out names no store"),
        (
            ["study.toml", "--out", "out.zarr", "--out", "out.png", "--show", "reny"],
            "--show is reny. Did you mean renyi?",
        ),
        (
            ["study.toml", "--out", "out.zarr", "--out", "out.png", "--show", "ends"],
            "ends has the axis token",
        ),
        (["study.toml", "--out", "out"], "is kept as .zarr"),
        (["study.toml", "--out", "out.png"], "--out names no store"),
        (["study.toml", "--out", "out.zarr", "--out", "b.zarr"], "--out names 2 stores, out.zarr and b.zarr"),
        (["study.toml", "--out", "out.zarr", "--out", "no/out.png"], "the folder no does not exist"),
        (["study.toml", "--out", "no/out.zarr"], "the folder no does not exist"),
        (["study.toml", "--out", "out.zarr", "--runs", "0"], "runs must be"),
        (["study.toml", "--out", "out.zarr", "--block", "0"], "block must be"),
        (["study.toml", "--out", "out.zarr", "--threads", "0"], "threads must be"),
        (["study.toml", "--out", "out.zarr", "--out", "out.gif"], "drawn as .png, .pdf, .svg"),
        (["none.toml", "--out", "out.zarr"], "none.toml cannot be read"),
        (["study.toml", "--out", "out.zarr", "--cluster", "nowhere"], "address of a scheduler"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_ends_with_one_line_and_code_2(
    words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(toml(small()))
    done = nucleate("ensemble", *words)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(tmp_path: Path) -> None:
    slow = small(runs=4000, start={"n": 64, "d": 2}, times={"t": 30.0, "save": 5})
    (tmp_path / "study.toml").write_text(toml(slow))
    process = start_nucleate("ensemble", "study.toml", "--out", "out.zarr", "--block", 16, cwd=tmp_path)
    deadline = time.monotonic() + 300.0
    while not list(tmp_path.glob("out.zarr.parts/blocks/*.block")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    check_wall_seconds(time.monotonic() - began, 10.0, "to tell the threads to stop")
    assert "of 8000 runs. Finished blocks are kept; the same command goes on" in words
    assert "Traceback" not in words
    kept = len(list(tmp_path.glob("out.zarr.parts/blocks/*.block")))
    assert kept > 0
    first: list[int] = []

    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        first.append(done)
        raise Enough

    with pytest.raises(Enough):
        ensemble(slow, tmp_path / "out.zarr", block=16, progress=progress)
    assert first[0] >= 16 * kept - 32, "it goes on from there"
