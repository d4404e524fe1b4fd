"""What commands that simulate have in common: where a run goes, and with which exit code they end."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nucleate.cli.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_UNFINISHED
from nucleate.cli.printing import echo

if TYPE_CHECKING:
    from nucleate.integrate.run import Run

__all__ = ["check_targets", "finish", "write_all"]


def check_targets(paths: list[Path]) -> list[Path]:
    """The paths, all of which can be written, data before pictures: they cost most to lose."""
    from nucleate.integrate.storage import DATA, check_target

    return sorted((check_target(path) for path in paths), key=lambda path: path.suffix.lower() not in DATA)


def write_all(write: Callable[[Path], None], targets: list[Path]) -> dict[Path, str]:
    """Write to every path; what went wrong, by path: one full disk must not cost the other copies."""
    from nucleate.checks import InputError

    troubles = {}
    for path in targets:
        try:
            write(path)
        except InputError as error:
            troubles[path] = str(error)
    return troubles


def finish(run: "Run", ending: str, targets: list[Path], troubles: dict[Path, str]) -> None:
    """End with the exit code, and on stderr the reason for any but 0.

    ending     how it ended, where that is not as asked for; else empty
    troubles   what went wrong with a target, by `write_all`
    """
    for trouble in troubles.values():
        echo(f"Error: {trouble}", err=True)
    if ending:
        written = ", ".join(str(path) for path in targets if path not in troubles)
        kept = f"What was computed is in {written}." if written else "Nothing was written."
        echo(f"Not finished: {ending}. {kept}", err=True)
        statuses = (run.status,) if isinstance(run.status, str) else run.status
        raise typer.Exit(EXIT_INTERRUPTED if "interrupted" in statuses else EXIT_UNFINISHED)
    if troubles:
        raise typer.Exit(EXIT_BAD_INPUT)
