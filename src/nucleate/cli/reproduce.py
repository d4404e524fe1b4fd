"""`nucleate reproduce`: parse, call one function, print. Heavy imports wait until they are needed."""

from collections.abc import Mapping
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nucleate.cli.cost import announce
from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import DryRun, Quiet
from nucleate.cli.printing import echo
from nucleate.cli.progress import ProgressBar
from nucleate.durations import in_words

if TYPE_CHECKING:
    from nucleate.papers.core.paper import Paper

__all__ = ["reproduce"]

KEPT = "Interrupted. What is finished is kept in {}; the same command goes on from there."
REPORT_SO_FAR = " A report of it is at {}"
FIRST_REPORT = "\nA first report, from quick runs, is at\n\n    {}\n\nand is updated after every item.\n"
DEFAULT_FOLDER, QUICK_FOLDER = "reproduction", "reproduction-quick"
SHARE_BEFORE_DRAWING = 0.95  # of the time that an item takes


def reproduce(
    paper: Annotated[
        list[str] | None,
        typer.Option(
            help='Which papers (see --list), with commas between them, or "all". May be repeated.',
            show_default="causal-clustering",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the report on causal-clustering, with a folder for every other paper.",
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
        bool, typer.Option("--list", help="List what can be reproduced and how long each takes, and stop.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Fewer and smaller simulations: a first look, in a few minutes a paper."
        ),
    ] = False,
    readme: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Also write the report as a page, docs/report.md or docs/papers/NAME.md beside this README,"
                " with its pictures; of causal-clustering also picture and findings between its marks."
            ),
            show_default="no page",
            readable=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Redo the figures, the tables and the claims of papers, judge them, and write one report on each.

    Unless --only names some, quick versions come first: after minutes there is a report of every item.

    It is updated after every item. Interrupted, the same command goes on where it was.

    Exit code 0: done, whatever the verdicts. 2: bad input. 130: interrupted.
    """
    folder = out if out is not None else Path(QUICK_FOLDER if quick else DEFAULT_FOLDER)
    with friendly_errors("Close other programs, or try --quick.", lambda: _kept(folder)):
        from nucleate.papers import DEFAULT, chosen, chosen_papers

        every = list_items and not paper
        papers = chosen_papers(["all"] if every else paper or [])
        keys = chosen(only or [], papers)
        if list_items:
            _list(papers, keys)
            return
        from nucleate.papers.core.runner import reproduce_in_stages as make
        from nucleate.papers.report.markdown import check_page, update

        asked = {one.name: [key for key in keys if key in one.items] for one in papers}
        if readme is not None:
            for one in papers:
                check_page(one, readme)  # one that cannot be written is refused before anything is computed
        first_look = not (quick or only)
        seconds, words = _cost(keys, quick, first_look)
        where = f"on two idle cores, less what is finished in {folder}"
        announce(seconds, words, dry_run, quiet, where)
        if dry_run:
            return
        made = []
        with nullcontext() if quiet else _Items() as watch, ExitStack() as locks:
            making = []
            for one in papers:
                if asked[one.name]:
                    place = folder if one.name == DEFAULT else folder / one.name
                    stages = make(place, asked[one.name], quick, watch, _warn, one, first_look)
                    making.append((one, place, locks.enter_context(closing(stages))))
                    if first_look:  # of all papers before any is made in full
                        next(stages)
            for one, place, stages in making:
                outcome = next(stages)
                made.append(
                    (one, outcome, [] if readme is None else update(one, readme, outcome.results, place))
                )
        for one, outcome, written in made:
            if not quiet:
                _tell(outcome.report, outcome.results["items"], asked[one.name])
                for path in written:
                    echo(f"wrote {path}")


def _kept(folder: Path) -> str:
    """What to say after Ctrl-C."""
    from nucleate.papers.core.runner import REPORT

    report = folder / REPORT
    return KEPT.format(folder) + (REPORT_SO_FAR.format(report.resolve().as_uri()) if report.exists() else "")


def _list(papers: "list[Paper]", keys: list[str]) -> None:
    """Every paper, and below it its items and what they cost."""
    from nucleate.papers import find

    for one in papers:
        items = [find(key) for key in keys if key in one.items]
        if not items:
            continue
        full, quick = (sum(item.cost.of(how) for item in items) for how in (False, True))
        echo(
            f"{one.name}: {one.title}, arXiv {one.arxiv}; {in_words(full)} on two cores, quick"
            f" {in_words(quick)}"
        )
        for item in items:
            cost = f"{in_words(item.cost.full)}, quick {in_words(item.cost.quick)}"
            echo(f"  {item.key:<{_wide(keys)}}  {cost:<30}  {item.title}")


def _tell(report: Path, items: Mapping[str, Any], keys: list[str]) -> None:
    """The table of verdicts, and where the report is."""
    rows = [(key, one["word"], one["part"]) for key in keys for one in items[key]["verdicts"]]
    wide = max(len(word) for _, word, _ in rows)
    echo("")
    for key, word, part in rows:
        echo(f"{key:<{_wide(keys)}}  {word:<{wide}}  {part}")
    echo(f"\nreport: {report}\nnumbers: {report.with_name('results.json')}")


def _warn(words: str) -> None:
    echo(f"Warning: {words}", err=True)


def _wide(keys: list[str]) -> int:
    """Letters that the names of items take in a table."""
    return max(8, *map(len, keys))


def _cost(keys: list[str], quick: bool, first_look: bool) -> tuple[float, str]:
    """The seconds that items take on two idle cores if nothing is there yet, and what will be done."""
    from nucleate.papers import find
    from nucleate.papers.core.runner import needs_first_look

    items = [find(key) for key in keys]
    seconds = sum(item.cost.of(quick) for item in items)
    first = sum(item.cost.quick if needs_first_look(item) else item.cost.full for item in items)
    words = ("1 item" if len(keys) == 1 else f"{len(keys)} items") + ", quick" * quick
    if not first_look:
        return seconds, words
    extra = sum(item.cost.quick for item in items if needs_first_look(item))
    return seconds + extra, f"{words}, with a first report of all after {in_words(first)}"


class _Items:
    """A line when an item begins and ends, and progress between."""

    def __init__(self) -> None:
        self.items = self.count = 0
        self.progress = ProgressBar("")

    def stage(self, items: int, words: str) -> None:
        self.items, self.count = items, 0
        if words:
            echo(words, err=True)

    def begin(self, key: str, title: str, seconds: float) -> None:
        self.count += 1
        echo(f"[{self.count}/{self.items}] {title}, {in_words(seconds)} on two cores", err=True)
        self.progress = ProgressBar(f"      {key}").start()

    def at(self, key: str, share: float) -> None:
        self.progress(SHARE_BEFORE_DRAWING * share, 1.0)

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None:
        self.progress.stop()
        how = "kept from before" if reused else f"{seconds:.1f} s"
        echo(f"      {summary['verdict']}, {how}", err=True)

    def first_look(self, report: Path) -> None:
        echo(FIRST_REPORT.format(report.resolve().as_uri()), err=True)

    def __enter__(self) -> "_Items":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()
