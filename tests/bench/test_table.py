"""Results as tables for a person and as JSON."""

import json
from pathlib import Path

import pytest

from nucleate.bench import machine, table
from nucleate.bench.table import Row, Section

ABSENT = "not installed: pip install 'nucleate[bench]'"


def test_the_ratio_is_the_others_time_over_ours() -> None:
    ours, other, absent = table.with_ratios(
        [Row("nucleate", 2.0), Row("other", 7.0), Row("absent")], "nucleate"
    )
    assert (ours.ratio, other.ratio, absent.ratio) == (1.0, 3.5, None)


def test_a_contestant_that_failed_says_so_and_json_stays_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    section = Section(
        "title", "", "error", (Row("other", 1.0, error=float("nan")), Row("absent", note=ABSENT))
    )
    table.show(section, Console(width=100))
    shown = capsys.readouterr().out
    assert "gave up" in shown
    assert ABSENT in shown  # square brackets are markup to rich, unless told otherwise
    table.write_json(tmp_path / "out.json", "drift", machine.facts(), 1, [section])
    assert (
        json.loads((tmp_path / "out.json").read_text(), parse_constant=pytest.fail)["sections"][0]["rows"][0][
            "error"
        ]
        is None
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2e-7, "0.20 µs"), (1.234e-3, "1.23 ms"), (0.0999, "99.9 ms"), (12.34, "12.3 s"), (4321.0, "4,321 s")],
)
def test_times_are_written_with_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert table._time(seconds) == text
