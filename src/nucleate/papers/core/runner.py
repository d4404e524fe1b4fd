"""reproduce: run, measure, judge and draw items into a folder, and write the report of all that is there.

    report.html            to read
    results.json           every number, parameter and verdict
    figures/NAME.png       light; NAME-dark.png for dark pages, NAME.pdf for print
    data/KEY/*.zarr        what was simulated
    items/KEY.json         one item of results.json, with checksums of all it rests on
    quick/                 the quick versions of items, the same way, where they are made first
    lock                   only while a process works here

What is finished, unchanged and was made the same way is used again, so that an interrupted reproduction goes
on.  results.json and report.html are never read, only written, again after every item.
"""

import json
import shutil
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nucleate.checks import InputError, as_path, file_error
from nucleate.papers import chosen, chosen_papers, find
from nucleate.papers.core.cache import ItemWorkspace, Progress, Tell
from nucleate.papers.core.item import Data, Item, Numbers, Parameters
from nucleate.papers.core.item_file import (
    FIGURE_FILES,
    FIRST_LOOK,
    FoundItem,
    files_of,
    find_finished,
    is_quick,
    item_file_text,
)
from nucleate.papers.core.paper import Paper

__all__ = [
    "ProgressDisplay",
    "Reproduction",
    "needs_first_look",
    "reproduce",
    "reproduce_in_stages",
    "reproduce_item",
    "write_report",
]

REPORT, RESULTS = "report.html", "results.json"
FIRST_LOOK_SECONDS = 10.0  # that a full version takes before its quick version comes first


class ProgressDisplay(Protocol):
    """What shows how far a reproduction is."""

    def stage(self, items: int, words: str) -> None: ...  # so many items follow

    def begin(self, key: str, title: str, seconds: float) -> None: ...  # seconds it is said to take

    def at(self, key: str, share: float) -> None: ...

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None: ...

    def first_look(self, report: Path) -> None: ...  # the report has every item that was asked for


class _NoDisplay:
    def stage(self, items: int, words: str) -> None:
        pass

    def begin(self, key: str, title: str, seconds: float) -> None:
        pass

    def at(self, key: str, share: float) -> None:
        pass

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None:
        pass

    def first_look(self, report: Path) -> None:
        pass


@dataclass(frozen=True)
class Reproduction:
    """What reproduce has written."""

    report: Path
    results: Mapping[str, Any]  # as in results.json


def reproduce(
    out: Path,
    only: Iterable[str] = (),
    quick: bool = False,
    display: ProgressDisplay | None = None,
    tell: Tell = lambda words: None,
    paper: Paper | None = None,
    first_look: bool = False,
) -> Reproduction:
    """Make the items of a paper that are named in `only`, or all, in the folder `out`, and the report of all
    of its items that are there, again after every item.

    tell        called with a line about damage that was found
    paper       the first of the list unless said otherwise
    first_look  make the quick version of everything first: a report of all items is there after minutes
    """
    *_, last = reproduce_in_stages(out, only, quick, display, tell, paper, first_look)
    return last


def reproduce_in_stages(
    out: Path,
    only: Iterable[str] = (),
    quick: bool = False,
    display: ProgressDisplay | None = None,
    tell: Tell = lambda words: None,
    paper: Paper | None = None,
    first_look: bool = False,
) -> Generator[Reproduction, None, None]:
    """`reproduce`, which stands still when the first look, if there is one, is there, so that other papers
    may have theirs.  Nobody else can work in the folder meanwhile."""
    from nucleate.studies.durable_files import locked

    (paper,) = [paper] if paper is not None else chosen_papers()
    keys, display, out = chosen(only, [paper]), display or _NoDisplay(), as_path("--out", out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, but the results need a folder. Choose another place with --out.")
    _make_folder(out)
    with locked(out, "a reproduction"):
        if _holds(out, not quick):
            other, this = ("full", "quick") if quick else ("quick", "full")
            raise InputError(
                f"{out} holds a {other} reproduction, which a {this} one would replace. Choose another place"
                " with --out."
            )
        _make_ready(out, keys)
        work = _Work(out, paper, keys, quick, display, tell)
        if first_look:
            work.first_look(keys)
            yield work.report()
        left = [key for key in keys if key not in work.full]
        display.stage(len(left), "Now in full:" if first_look else "")
        for key in left:
            work.make(key)
        last = work.report()
    yield last


def needs_first_look(item: Item) -> bool:
    """Whether the full version of an item takes so long that its quick version comes first."""
    return item.cost.full > FIRST_LOOK_SECONDS and item.cost.full > 2.0 * item.cost.quick


class _Work:
    """Items that are made one after the other in a folder, and the report of what is there so far."""

    def __init__(
        self, out: Path, paper: Paper, keys: list[str], quick: bool, display: ProgressDisplay, tell: Tell
    ) -> None:
        self.out, self.paper, self.quick, self.display, self.tell = out, paper, quick, display, tell
        self.made: dict[str, Any] = {}  # summaries by key, of full and of quick versions
        self.full: set[str] = set()  # keys of those that are finished
        self.found = {key: find_finished(out, find(key), quick) for key in paper.items}
        for key, one in self.found.items():
            if key not in keys:
                _tell_left_out(key, one, quick, tell)

    def make(self, key: str) -> None:
        """One item, made now or kept from before."""
        summary, damage = self.found[key]
        if damage:
            self.tell(f"{damage}. {key} is made anew.")
        self.made[key] = self._timed(self.out, key, self.quick, summary)
        self.full.add(key)
        if summary is None:
            self.report()

    def first_look(self, keys: list[str]) -> None:
        """Something of every item: what is finished, the quick version, or the full one where that is
        quick; first of the one with the picture that opens the report."""
        _make_ready(self.out / FIRST_LOOK, keys)
        self.display.stage(len(keys), "First the quick version of everything:")
        for key in sorted(keys, key=lambda key: key != self.paper.picture):
            if self.found[key].summary is not None or not needs_first_look(find(key)):
                self.make(key)
                continue
            folder = self.out / FIRST_LOOK
            before = find_finished(folder, find(key), True).summary
            self.made[key] = {**self._timed(folder, key, True, before), "first_look": True}
            self.report()
        self.display.first_look(self.out / REPORT)

    def _timed(self, out: Path, key: str, quick: bool, summary: dict[str, Any] | None) -> dict[str, Any]:
        item, began, reused = find(key), time.perf_counter(), summary is not None
        self.display.begin(key, item.title, item.cost.of(quick))
        if summary is None:
            p = item.parameters_of(quick)
            summary = reproduce_item(
                out, item, p, quick, lambda done, total: self.display.at(key, done / total), self.tell
            )
        self.display.end(key, summary, time.perf_counter() - began, reused)
        return summary

    def report(self) -> Reproduction:
        """results.json and report.html of what is there now."""
        return write_report(self.out, self.quick, self.made, self.tell, self.paper, self.found)


def _make_ready(out: Path, keys: list[str]) -> None:
    """Folders for items; what is in the way of their files is refused before any work."""
    from nucleate.integrate.storage import check_place

    for folder in ("figures", "data", "items"):
        _make_folder(out / folder)
    _remove_half_written(out)
    for file in [out / REPORT, out / RESULTS, *(file for key in keys for file in files_of(out, find(key)))]:
        check_place(file)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error(
            f"{folder} cannot be made: {error.strerror}. Choose another place with --out.", error
        ) from None


def _holds(out: Path, quick: bool) -> bool:
    """Whether `out` has items of a quick, or of a full, reproduction."""
    return any(is_quick(path) is quick for path in (out / "items").glob("*.json"))


def _remove_half_written(out: Path) -> None:
    """Remove what a killed process was writing; we hold the lock, so that nobody is now."""
    from nucleate.integrate.storage import BESIDE

    for folder in (out, out / "figures", out / "items", *(out / "data").iterdir()):
        for beside in folder.glob(f"{BESIDE}*"):
            shutil.rmtree(beside, ignore_errors=True)


def reproduce_item(
    out: Path,
    item: Item,
    p: Parameters,
    quick: bool = False,
    progress: Progress = lambda done, total: None,
    tell: Tell = lambda words: None,
) -> dict[str, Any]:
    """Run, measure, judge and draw one item; what results.json will say of it."""
    workspace = ItemWorkspace(item.key, out / "data" / item.key, p, progress, tell)
    data = item.run(workspace)
    numbers = item.measure(data, p)
    save_figures(out, item, data, numbers, p)
    summary = item.summary(numbers, p, quick)
    _replace(out / "items" / f"{item.key}.json", item_file_text(out, item, p, quick, summary))
    return summary


def save_figures(out: Path, item: Item, data: Data, numbers: Numbers, p: Parameters) -> None:
    """Every picture in every style."""
    from nucleate import plot

    for style, file in FIGURE_FILES.items():
        with plot.style(style):
            for name, figure in item.draw(data, numbers, p).items():
                plot.save_figure(figure, out / "figures" / file.format(name))


def write_report(
    out: Path,
    quick: bool,
    made: Mapping[str, Any] | None = None,
    tell: Tell = lambda words: None,
    paper: Paper | None = None,
    found: Mapping[str, FoundItem] | None = None,
) -> Reproduction:
    """results.json and report.html of a paper from the items `made` now and those that were finished
    before, as they were `found`."""
    from nucleate import __version__
    from nucleate.papers.report.html import page
    from nucleate.studies.block import made_with

    (paper,) = [paper] if paper is not None else chosen_papers()
    items = {}
    for key in paper.items:
        if made and key in made:
            items[key] = made[key]
            continue
        one = found[key] if found else find_finished(out, find(key), quick)
        if not found:
            _tell_left_out(key, one, quick, tell)
        if one.summary is not None:
            items[key] = one.summary
    results = {
        "paper": paper.citation,
        "nucleate": __version__,
        "made_with": made_with(),
        "quick": quick,
        "items": items,
    }
    _replace(out / RESULTS, json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    report = out / REPORT
    _replace(report, page(paper, results, out / "figures"))
    return Reproduction(report, results)


def _tell_left_out(key: str, found: FoundItem, quick: bool, tell: Tell) -> None:
    if found.damage:
        tell(f"{found.damage}. {key} is left out of the report; {find(key).command(quick)} makes it anew.")


def _replace(path: Path, text: str) -> None:
    from nucleate.integrate.storage import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
