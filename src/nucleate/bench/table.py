"""Results as records, as tables for a person, and as JSON."""

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nucleate.bench.timing import Timing
from nucleate.checks import FileError, InputError, MissingFileError, as_path, read_file
from nucleate.integrate.storage import followed, replacing

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Row", "Section", "check_json", "show", "timed_row", "with_ratios", "write_json"]

MAX_RECORD_BYTES = 2**26  # more than all numbers have


@dataclass(frozen=True)
class Row:
    """One contestant's figures; None where there is nothing to say."""

    peer: str
    seconds: float | None = None  # the best round, per evaluation or per run
    median: float | None = None
    first: float | None = None  # the whole first call, compilation included
    rate: float | None = None  # million per second
    ratio: float | None = None  # its time over nucleate's
    error: float | None = None
    memory: float | None = None  # bytes per token
    note: str = ""


@dataclass(frozen=True)
class Section:
    """One table."""

    title: str
    rate: str  # what the rate counts, "" where there is none
    error: str  # what the error is
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()
    numbers: dict[str, float] | None = None  # further results, by name


def timed_row(
    peer: str,
    timing: Timing,
    each: int = 1,
    work: float | None = None,
    error: float | None = None,
    note: str = "",
) -> Row:
    """The row of a timing whose call does `each` evaluations or runs, `work` million things in all."""
    rate = None if work is None else work / timing.best
    return Row(peer, timing.best / each, timing.median / each, timing.first, rate, error=error, note=note)


def with_ratios(rows: list[Row], ours: str) -> tuple[Row, ...]:
    """The rows, each with its time over that of the row named `ours`."""
    base = next(row.seconds for row in rows if row.peer == ours)
    return tuple(
        row if row.seconds is None or base is None else replace(row, ratio=row.seconds / base) for row in rows
    )


def show(section: Section, console: "Console") -> None:
    """Print the title, a table with the columns for which there is anything to show, and the remarks."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    columns = {
        "time": [_time(row.seconds) or "not measured" for row in section.rows],
        f"million {section.rate}/s": [_number(row.rate) for row in section.rows],
        "ratio": [_number(row.ratio) for row in section.rows],
        section.error: [_error(row.error) for row in section.rows],
        "bytes/token": [_number(row.memory) for row in section.rows],
        "first call": [_time(row.first) for row in section.rows],
        "": [row.note if row.seconds else "" for row in section.rows],
    }
    shown = {heading: cells for heading, cells in columns.items() if any(cells)}
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("who", no_wrap=True)
    for heading in shown:
        table.add_column(heading, justify="right" if heading else "left", no_wrap=bool(heading))
    for i, row in enumerate(section.rows):
        table.add_row(Text(row.peer), *(Text(cells[i]) for cells in shown.values()))
    console.print(Text(section.title, style="bold"))
    console.print(table)
    lines = [
        *section.remarks,
        *(f"{row.peer}: {row.note}" for row in section.rows if row.note and not row.seconds),
    ]
    for line in lines:
        console.print(Text(line))
    if lines:
        console.print()


def check_json(path: Path | None) -> None:
    """Refuse before measuring what could not be written after it."""
    if path is None:
        return
    path = as_path("--out", path)
    if path.suffix.lower() != ".json" and not path.is_dir():
        raise InputError(
            f"--out {path} has the ending {path.suffix or '(none)'}, but the numbers are written as .json."
            " Choose another name."
        )
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise (FileError if path.is_dir() else MissingFileError)(
            f"--out {path} cannot be written:"
            f" {'it is a folder' if path.is_dir() else 'its folder does not exist'}. Name a file."
        )
    followed(path)  # a link that leads nowhere is refused
    if path.exists() and not _is_record(path):
        raise InputError(
            f"--out {path} exists and does not hold such numbers, so it is not replaced. Choose another name,"
            " or move it away."
        )


def _is_record(path: Path) -> bool:
    """Whether `write_json` wrote this."""
    try:
        found = json.loads(read_file(path, MAX_RECORD_BYTES))
    except (InputError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"command", "machine", "rounds", "sections"} <= found.keys()


def write_json(
    path: Path, command: str, machine: dict[str, str | int], rounds: int, sections: list[Section]
) -> None:
    """All numbers, times in seconds."""
    record = {
        "command": command,
        "machine": machine,
        "rounds": rounds,
        "sections": [_plain(asdict(section)) for section in sections],
    }
    with replacing(path) as part:
        part.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """The same with null for NaN, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _error(error: float | None) -> str:
    return "" if error is None else f"{error:.1e}" if math.isfinite(error) else "gave up"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    factor, unit = next(
        (factor, unit)
        for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs"))
        if seconds * factor >= 1.0 or unit == "µs"
    )
    return f"{_number(seconds * factor)} {unit}"


def _number(value: float | None) -> str:
    """Three digits, without an exponent."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
