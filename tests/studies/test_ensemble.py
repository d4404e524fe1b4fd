"""From a study to its results: blocks, threads, progress, memory; and what the command says."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.small_studies import contents, small
from typer.testing import CliRunner

from nucleate.cli import app as cli
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
