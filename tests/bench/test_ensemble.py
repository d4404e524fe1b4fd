"""`nucleate bench ensemble`: its tables have the figures they promise."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nucleate.bench import ensemble as bench
from nucleate.bench.batch import BatchCase
from nucleate.cli import bench as command
from nucleate.studies.study import Study

ROOT = Path(__file__).resolve().parents[2]


def test_the_study_that_is_measured_is_that_of_figure_3() -> None:
    ours, theirs = bench.figure3_study(5000).plain(), Study.read(ROOT / "studies/figure3.toml").plain()
    for key in ("runs", "seed", "model", "start", "times", "grid"):
        assert ours[key] == theirs[key]
    assert all(theirs["observables"][name] == one for name, one in ours["observables"].items())


def test_the_command_prints_both_tables_and_writes_all_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "QUICK_CASE", BatchCase(6, t=1.0, compared_runs=1, diffrax_batches=(2,)))
    monkeypatch.setattr(bench, "MAX_QUICK_RUNS", 6)
    monkeypatch.setattr(command, "QUICK_ROUNDS", 1)
    done = CliRunner().invoke(
        command.bench, ["ensemble", "--quick", "--out", str(tmp_path / "out.json")], env={"COLUMNS": "120"}
    )
    assert done.exit_code == 0, done.output
    times, threads = json.loads((tmp_path / "out.json").read_text())["sections"]
    rows = {row["peer"]: row for row in times["rows"]}
    assert rows["nucleate ensemble"]["ratio"] == 1.0
    assert times["numbers"]["overhead"] == pytest.approx(
        rows["nucleate ensemble"]["seconds"] / rows["the engine alone"]["seconds"]
    )
    assert rows["SciPy DOP853, tuned"]["ratio"] > 0
    assert f"takes {times['numbers']['overhead']:.3f} times" in " ".join(done.output.split())
    assert set(threads["numbers"]) == {"efficiency", "memory few", "memory many"}
    assert threads["rows"][1]["ratio"] == pytest.approx(threads["numbers"]["efficiency"])
    assert 2**20 < threads["numbers"]["memory few"] < 2**33
