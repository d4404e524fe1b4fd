"""`nucleate reproduce`: parse, call one function, print. Heavy imports wait until they are needed."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import Quiet
from nucleate.cli.progress import ProgressBar

__all__ = ["reproduce"]

KEPT = "Interrupted. What is finished is kept in {}; the same command goes on from there."
DEFAULT_FOLDER, QUICK_FOLDER = "reproduction", "reproduction-quick"
SHARE_BEFORE_DRAWING = 0.95  # of the time that an item takes


def reproduce(
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the report.",
            show_default=f"{DEFAULT_FOLDER}, or {QUICK_FOLDER} with --quick",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these items (see --list), with commas between them. May be repeated.",
            show_default="all",
        ),
    ] = None,
    list_items: Annotated[
        bool, typer.Option("--list", help="List what can be reproduced, and stop.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and smaller simulations: a first look, in a few minutes.")
    ] = False,
    readme: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Also put hero picture, gallery and verdicts between the marks of this page, and the pictures"
                " into docs/images beside it."
            ),
            show_default="no page",
            readable=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Redo the figures, the table and the claims of the paper, judge them, and write one report.

    Interrupted, the same command goes on where it was.

    Exit code 0: done, whatever the verdicts. 2: bad input. 130: interrupted.
    """
    folder = out if out is not None else Path(QUICK_FOLDER if quick else DEFAULT_FOLDER)
    with friendly_errors("Close other programs, or try --quick.", lambda: KEPT.format(folder)):
        from nucleate.papers import chosen, find

        keys = chosen(only or [])
        if list_items:
            for key in keys:
                typer.echo(f"{key:<{_wide(keys)}}  {find(key).title}")
            return
        from nucleate.papers.core.runner import reproduce as make
        from nucleate.papers.report.markdown import marked, update

        if readme is not None:
            marked(readme)  # a page that cannot be written is refused before anything is computed
        with nullcontext() if quiet else _Items(len(keys)) as watch:
            outcome = make(folder, keys, quick, watch, _warn)
        written = [] if readme is None else update(readme, outcome.results, folder)
        if not quiet:
            _tell(outcome.report, outcome.results["items"], keys)
            for path in written:
                typer.echo(f"wrote {path}")


def _tell(report: Path, items: Mapping[str, Any], keys: list[str]) -> None:
    """The table of verdicts, and where the report is."""
    rows = [(key, one["word"], one["part"]) for key in keys for one in items[key]["verdicts"]]
    wide = max(len(word) for _, word, _ in rows)
    typer.echo("")
    for key, word, part in rows:
        typer.echo(f"{key:<{_wide(keys)}}  {word:<{wide}}  {part}")
    typer.echo(f"\nreport: {report}\nnumbers: {report.with_name('results.json')}")


def _warn(words: str) -> None:
    typer.echo(f"Warning: {words}", err=True)


def _wide(keys: list[str]) -> int:
    """Letters that the names of items take in a table."""
    return max(8, *map(len, keys))


class _Items:
    """A line when an item begins and ends, and progress between."""

    def __init__(self, items: int) -> None:
        self.items, self.count = items, 0
        self.progress = ProgressBar("")

    def begin(self, key: str, title: str) -> None:
        self.count += 1
        typer.echo(f"[{self.count}/{self.items}] {title}", err=True)
        self.progress = ProgressBar(f"      {key}").start()

    def at(self, key: str, share: float) -> None:
        self.progress(SHARE_BEFORE_DRAWING * share, 1.0)

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None:
        self.progress.stop()
        how = "kept from before" if reused else f"{seconds:.1f} s"
        typer.echo(f"      {summary['verdict']}, {how}", err=True)

    def __enter__(self) -> "_Items":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()
