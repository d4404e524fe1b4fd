"""From a study to its results: blocks, threads, progress, memory; and what the command says."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.small_studies import contents, small, toml
from typer.testing import CliRunner

from nucleate.cli import main as cli
from nucleate.studies.ensemble import ensemble, runs_per_block
from nucleate.studies.result import load_ensemble
from nucleate.studies.study import Study


def nucleate(*words: object) -> Any:
    return CliRunner().invoke(cli.app, ["ensemble", *map(str, words)])


def test_without_a_store_results_are_kept_in_memory(finished: Path) -> None:
    found = ensemble(small())
    assert found.data.equals(load_ensemble(finished).data)


def test_blocks_are_whole_groups_of_lanes_and_fit_into_memory() -> None:
    figure3 = Study.make(small(runs=5000, start={"n": 200, "d": 2}, times={"t": 150.0, "save": 64}))
    assert runs_per_block(figure3, 2) == 128
    assert runs_per_block(figure3.with_runs(40), 2) == 8
    large = Study.make(small(runs=5000, start={"n": 20_000, "d": 3}, times={"t": 150.0, "save": 64}))
    assert runs_per_block(large, 2) == 1


def test_more_threads_than_blocks_give_the_same_bytes(tmp_path: Path, finished: Path) -> None:
    ensemble(small(), tmp_path / "out.zarr", block=100, threads=8)
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_an_answer_of_false_stops_as_ctrl_c_does_and_the_same_call_goes_on(
    tmp_path: Path, finished: Path
) -> None:
    seen: list[int] = []

    def progress(done: int, total: int) -> bool:
        seen.append(done)
        return len(seen) < 4

    with pytest.raises(KeyboardInterrupt):
        ensemble(small(), tmp_path / "out.zarr", block=5, threads=1, progress=progress)
    assert len(seen) == 4
    kept = len(list(tmp_path.glob("out.zarr.parts/blocks/*.block")))
    assert 0 < kept < 10
    ensemble(small(), tmp_path / "out.zarr", progress=lambda done, total: seen.append(done))
    assert seen[4] >= 4 * kept
    assert contents(tmp_path / "out.zarr") == contents(finished)


# --- the command


def test_the_command_runs_a_study_and_draws_it(tmp_path: Path, finished: Path) -> None:
    (tmp_path / "study.toml").write_text(toml(small()))
    done = nucleate(
        tmp_path / "study.toml",
        "--store",
        tmp_path / "out.zarr",
        "--threads",
        1,
        "--plot",
        tmp_path / "out.png",
        "--show",
        "renyi",
    )
    assert done.exit_code == 0, done.output
    assert "24 runs at each of 2 beta; 48 done" in done.stdout
    assert contents(tmp_path / "out.zarr") == contents(finished)
    assert (tmp_path / "out.png").is_file()
    assert nucleate(tmp_path / "study.toml", "--store", tmp_path / "out.zarr", "--quiet").stdout == ""


def test_a_dry_run_states_runs_time_and_size_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(toml(small()))
    done = nucleate(tmp_path / "study.toml", "--dry-run", "--runs", "1000", "--store", tmp_path / "out.zarr")
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
        (["study.toml"], "--store is missing"),
        (
            ["study.toml", "--store", "out.zarr", "--plot", "out.png", "--show", "reny"],
            "--show is reny. Did you mean renyi?",
        ),
        (
            ["study.toml", "--store", "out.zarr", "--plot", "out.png", "--show", "ends"],
            "ends has the axis token",
        ),
        (["study.toml", "--store", "out"], "is kept as .zarr"),
        (["study.toml", "--store", "no/out.zarr"], "the folder no does not exist"),
        (["study.toml", "--store", "out.zarr", "--runs", "0"], "runs must be"),
        (["study.toml", "--store", "out.zarr", "--block", "0"], "block must be"),
        (["study.toml", "--store", "out.zarr", "--threads", "0"], "threads must be"),
        (["study.toml", "--store", "out.zarr", "--plot", "out.gif"], "pictures are"),
        (["none.toml", "--store", "out.zarr"], "none.toml cannot be read"),
        (["study.toml", "--store", "out.zarr", "--cluster", "nowhere"], "address of a scheduler"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_ends_with_one_line_and_code_2(
    words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(toml(small()))
    done = nucleate(*words)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(tmp_path: Path) -> None:
    slow = small(runs=4000, start={"n": 64, "d": 2}, times={"t": 30.0, "save": 5})
    (tmp_path / "study.toml").write_text(toml(slow))
    command = [
        sys.executable,
        "-m",
        "nucleate",
        "ensemble",
        "study.toml",
        "--store",
        "out.zarr",
        "--block",
        "16",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("out.zarr.parts/blocks/*.block")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert time.monotonic() - began < 10, "threads are told to stop"
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


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nucleate.cli import ensemble as command

    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    line = command._Line()
    for second in range(12):
        now[0] = float(second)
        line(100 + 10 * second, 300)
    assert capsys.readouterr().err.splitlines() == [
        "150 of 300 runs, 10 runs/s, 0:15 left",
        "200 of 300 runs, 10 runs/s, 0:10 left",
    ]


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    study = small(
        start={"n": 64, "d": 2},
        times={"t": 0.1, "save": 64},
        grid={"beta": [4.0]},
        observables={"a": {"kind": "consumed", "radius": 0.1}},
    )
    code = f"""
import sys
from nucleate.bench.timing import peak_process_memory
from nucleate.studies.ensemble import ensemble
study = {study!r}
ensemble(study, sys.argv[2], runs=int(sys.argv[1]), block=16)
print(peak_process_memory())
"""

    def peak(runs: int) -> int:
        words = [sys.executable, "-c", code, str(runs), str(tmp_path / f"{runs}.zarr")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=os.environ, check=True)
        return int(done.stdout)

    few, many = peak(100), peak(2000)
    frames = 1900 * 64 * 64 * 2 * 8  # 125 MB that the further runs would need if all were kept
    assert many - few < 0.2 * frames
