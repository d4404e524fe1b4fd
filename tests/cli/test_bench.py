"""`nucleate bench`: what it refuses, and how it ends; tests/bench has what it measures."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import nucleate

from nucleate.bench import drift
from nucleate.bench.table import Row, Section


@pytest.fixture
def quick_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that takes no time."""

    def sections(quick: bool, rounds: int, tell: Any) -> Iterator[Section]:
        tell("nucleate: round 1 of 2")
        yield Section("a title", "pairs", "error", (Row("nucleate", 1.0, 1.0, 1.0),))

    monkeypatch.setattr(drift, "sections", sections)


@pytest.mark.usefixtures("quick_table")
def test_tables_go_to_stdout_and_numbers_where_out_says(tmp_path: Path) -> None:
    done = nucleate("bench", "drift", "--quick", "--out", tmp_path / "numbers.json")
    assert done.exit_code == 0, done.output
    assert "a title" in done.stdout
    assert done.stderr == ""
    loud = json.loads((tmp_path / "numbers.json").read_text())
    quiet = nucleate("bench", "drift", "--quick", "--quiet", "--out", tmp_path / "again.json")
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert json.loads((tmp_path / "again.json").read_text())["sections"] == loud["sections"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["drift", "--threads", "0"], "threads must be"),
        (["drift", "--threads", "100000"], "Ask for at most that many"),
        (["batch", "--runs", "0"], "runs must be"),
        (["batch", "--runs", "100000000"], "GiB"),
        (["drift", "--out", "no/such/folder/out.json"], "its folder does not exist"),
        (["drift", "--out", "."], "it is a folder"),
        (["drift", "--out", "numbers.csv"], "has the ending .csv, but the numbers are written as .json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_ends_with_one_line_and_code_2(arguments: list[str], reason: str) -> None:
    done = nucleate("bench", *arguments)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_ends_with_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(drift, "sections", interrupt)
    done = nucleate("bench", "drift")
    assert done.exit_code == 130
    assert done.stderr == "Interrupted.\n"
