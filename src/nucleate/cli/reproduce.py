"""`nucleate reproduce`: parse, call one function, print.  Heavy imports wait until they are needed."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nucleate.shell import polite

if TYPE_CHECKING:
    from nucleate.papers.core.runner import ProgressDisplay, Reproduction

__all__ = ["reproduce"]

KEPT = "Interrupted. What is finished is kept in {}; the same command goes on from there."
FOLDER, QUICK_FOLDER = "reproduction", "reproduction-quick"
EVERY = 10.0  # seconds between two lines where there is no terminal


def reproduce(
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the report.", show_default=f"{FOLDER}, or {QUICK_FOLDER} with --quick"
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
        ),
    ] = None,
) -> None:
    """Redo the figures, the table and the claims of the paper, judge them, and write one report.

    Interrupted, the same command goes on where it was. Exit code 0: done, whatever the verdicts. 2: bad
    input. 130: interrupted.
    """
    folder = out if out is not None else Path(QUICK_FOLDER if quick else FOLDER)
    with polite("Close other programs, or try --quick.", lambda: KEPT.format(folder)):
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
        with _watching(len(keys)) as watch:
            outcome = make(folder, keys, quick, watch)
        _tell(outcome, keys)
        if readme is not None:
            for path in update(readme, outcome.results, folder):
                typer.echo(f"wrote {path}")


def _tell(outcome: "Reproduction", keys: list[str]) -> None:
    """The table of verdicts, and where the report is."""
    from nucleate.papers.report.html import verdict_rows

    rows = [row for row in verdict_rows(outcome.results["items"]) if row[0] in keys]
    wide = max(len(word) for _, _, _, word, _ in rows)
    typer.echo("")
    for key, _, part, word, _ in rows:
        typer.echo(f"{key:<{_wide(keys)}}  {word:<{wide}}  {part}")
    typer.echo(f"\nreport: {outcome.report}\nnumbers: {outcome.report.with_name('results.json')}")


def _wide(keys: list[str]) -> int:
    """Letters that the names of items take in a table."""
    return max(8, *map(len, keys))


@contextmanager
def _watching(items: int) -> "Iterator[ProgressDisplay]":
    """A bar per item if stderr is a terminal, else a line now and then."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(items)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<48}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[verdict]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bars(bar, items)


class _Bars:
    """One bar for each item, which stays with its verdict."""

    def __init__(self, bar: Any, items: int) -> None:
        self.bar, self.task, self.items, self.count = bar, None, items, 0

    def begin(self, key: str, title: str) -> None:
        self.count += 1
        self.task = self.bar.add_task(f"{self.count}/{self.items} {title}"[:48], total=1.0, verdict="")

    def at(self, key: str, share: float) -> None:
        self.bar.update(self.task, completed=0.95 * share)  # the rest is drawing

    def end(self, key: str, told: Mapping[str, Any], seconds: float, kept: bool) -> None:
        self.bar.update(self.task, completed=1.0, verdict=told["verdict"] + " (kept)" * kept)


class _Lines:
    """A line when an item begins and ends, and every ten seconds between."""

    def __init__(self, items: int) -> None:
        self.items, self.count, self.last = items, 0, 0.0

    def begin(self, key: str, title: str) -> None:
        self.count += 1
        self.last = time.perf_counter()
        self._say(f"[{self.count}/{self.items}] {title}")

    def at(self, key: str, share: float) -> None:
        if time.perf_counter() - self.last >= EVERY:
            self.last = time.perf_counter()
            self._say(f"      {key}: {share:.0%}")

    def end(self, key: str, told: Mapping[str, Any], seconds: float, kept: bool) -> None:
        self._say(f"      {told['verdict']}, " + ("kept from before" if kept else f"{seconds:.1f} s"))

    def _say(self, words: str) -> None:
        print(words, file=sys.stderr, flush=True)
