"""`nucleate bench drift` and `nucleate bench batch`: their tables, their numbers, their errors.  Nothing here
is timed."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nucleate.bench import batch, drift, timing
from nucleate.bench.batch import BatchCase
from nucleate.bench.drift import DriftCase
from nucleate.cli import bench as command

ABSENT = "not installed: pip install 'nucleate[bench]'"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quick, but quicker."""
    monkeypatch.setattr(drift, "QUICK_DRIFT_CASES", (DriftCase(2, 12, 3), DriftCase(3, 20)))
    monkeypatch.setattr(drift, "QUICK_LINEAR_SIZES", (100, 200, 5000))
    monkeypatch.setattr(
        batch, "QUICK_CASE", BatchCase(3, n=8, t=2.0, frames=5, compared_runs=2, diffrax_batches=(2,))
    )
    monkeypatch.setattr(batch, "QUICK_FIGURE_1_TIME", 2.0)
    monkeypatch.setattr(timing, "MIN_TURN_SECONDS", 0.0)


# --- commands


@pytest.mark.usefixtures("tiny", "no_extras")
@pytest.mark.parametrize("name", ["drift", "batch"])
def test_the_command_prints_tables_and_writes_all_numbers(name: str, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = CliRunner().invoke(command.bench, [name, "--quick", "--out", str(file)], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "best of 2 rounds" in done.output
    assert ABSENT in done.output
    record: dict[str, Any] = json.loads(file.read_text())
    assert set(record) == {"command", "machine", "rounds", "sections"}
    assert record["command"] == name
    for section in record["sections"]:
        assert set(section) == {"title", "rate", "error", "rows", "remarks", "numbers"}
        assert section["title"] in done.output
        for row in section["rows"]:
            assert set(row) == {
                "peer",
                "seconds",
                "median",
                "first",
                "rate",
                "ratio",
                "error",
                "memory",
                "note",
            }
            assert row["seconds"] or row["note"] == ABSENT
