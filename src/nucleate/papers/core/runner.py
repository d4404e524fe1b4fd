"""reproduce: run, measure, judge and draw items into a folder, and write the report of all that is there.

    report.html            to read
    results.json           every number, parameter and verdict
    figures/NAME.png       light; NAME-dark.png for dark pages, NAME.pdf for print
    data/KEY/*.zarr        what was simulated
    items/KEY.json         one item of results.json, with checksums of all it rests on
    lock                   only while a process works here

What is finished, unchanged and was made the same way is used again, so that an interrupted reproduction goes
on.  results.json and report.html are never read, only written.
"""

import json
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nucleate.checks import InputError, as_path, file_error
from nucleate.papers import chosen, chosen_papers, find
from nucleate.papers.core.cache import ItemWorkspace, Tell
from nucleate.papers.core.item import Data, Item, Numbers, Parameters
from nucleate.papers.core.item_file import FIGURE_FILES, find_finished, is_quick, item_file_text
from nucleate.papers.core.paper import Paper

__all__ = ["ProgressDisplay", "Reproduction", "reproduce", "reproduce_item", "write_report"]


class ProgressDisplay(Protocol):
    """What shows how far a reproduction is."""

    def begin(self, key: str, title: str, seconds: float) -> None: ...  # seconds it is said to take

    def at(self, key: str, share: float) -> None: ...

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None: ...


class _NoDisplay:
    def begin(self, key: str, title: str, seconds: float) -> None:
        pass

    def at(self, key: str, share: float) -> None:
        pass

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None:
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
) -> Reproduction:
    """Make the items of a paper that are named in `only`, or all, in the folder `out`, and the report of all
    of its items that are there.

    tell   called with a line about damage that was found
    paper  the first of the list unless said otherwise
    """
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
        for folder in ("figures", "data", "items"):
            _make_folder(out / folder)
        _remove_half_written(out)
        made = {}
        for key in keys:
            item = find(key)
            summary, damage = find_finished(out, item, quick)
            if damage:
                tell(f"{damage}. {key} is made anew.")
            display.begin(key, item.title, item.cost.of(quick))
            began, reused = time.perf_counter(), summary is not None
            if summary is None:
                summary = reproduce_item(out, item, item.parameters_of(quick), quick, display, tell)
            display.end(key, summary, time.perf_counter() - began, reused)
            made[key] = summary
        return write_report(out, quick, made, tell, paper)


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
    display: ProgressDisplay | None = None,
    tell: Tell = lambda words: None,
) -> dict[str, Any]:
    """Run, measure, judge and draw one item; what results.json will say of it."""
    shown = display or _NoDisplay()
    workspace = ItemWorkspace(
        item.key, out / "data" / item.key, p, lambda done, total: shown.at(item.key, done / total), tell
    )
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
) -> Reproduction:
    """results.json and report.html of a paper from the items `made` now and those that were finished
    before."""
    from nucleate import __version__
    from nucleate.papers.report.html import page
    from nucleate.studies.block import made_with

    (paper,) = [paper] if paper is not None else chosen_papers()
    items = {}
    for key in paper.items:
        summary, damage = (made[key], "") if made and key in made else find_finished(out, find(key), quick)
        if damage:
            tell(f"{damage}. {key} is left out of the report; {find(key).command(quick)} makes it anew.")
        if summary is not None:
            items[key] = summary
    results = {
        "paper": paper.citation,
        "nucleate": __version__,
        "made_with": made_with(),
        "quick": quick,
        "items": items,
    }
    _replace(out / "results.json", json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    report = out / "report.html"
    _replace(report, page(paper, results, out / "figures"))
    return Reproduction(report, results)


def _replace(path: Path, text: str) -> None:
    from nucleate.integrate.storage import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
