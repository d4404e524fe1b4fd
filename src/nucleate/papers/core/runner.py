"""reproduce: run, measure, judge and draw items into a folder, and write the report of all that is there.

    report.html            to read
    results.json           every number, parameter and verdict
    figures/NAME.png       light; NAME-dark.png for dark pages, NAME.pdf for print
    data/KEY/*.zarr        what was simulated
    items/KEY.json         one item of results.json, with the fingerprint of how it was made

What is finished and was made the same way is used again, so that an interrupted reproduction goes on.
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nucleate.checks import InputError, file_error
from nucleate.papers import ITEMS, PAPERS, chosen, find
from nucleate.papers.core.cache import ItemWorkspace, fingerprint, made_by
from nucleate.papers.core.item import Data, Item, Numbers, Parameters

__all__ = ["ProgressDisplay", "Reproduction", "reproduce", "reproduce_item", "write_report"]

FIGURE_FILES = {"light": "{}.png", "dark": "{}-dark.png", "print": "{}.pdf"}  # by style


class ProgressDisplay(Protocol):
    """What shows how far a reproduction is."""

    def begin(self, key: str, title: str) -> None: ...

    def at(self, key: str, share: float) -> None: ...

    def end(self, key: str, summary: Mapping[str, Any], seconds: float, reused: bool) -> None: ...


class _NoDisplay:
    def begin(self, key: str, title: str) -> None:
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
    out: Path, only: Iterable[str] = (), quick: bool = False, display: ProgressDisplay | None = None
) -> Reproduction:
    """Make the items named in `only`, or all, in the folder `out`, and the report of all that are there."""
    keys, display = chosen(only), display or _NoDisplay()
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, but the results need a folder. Choose another place with --out.")
    if _holds(out, not quick):
        other, this = ("full", "quick") if quick else ("quick", "full")
        raise InputError(
            f"{out} holds a {other} reproduction, which a {this} one would replace. Choose another place with"
            " --out."
        )
    try:
        for folder in ("figures", "data", "items"):
            (out / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error(
            f"{out} cannot be made: {error.strerror}. Choose another place with --out.", error
        ) from None
    for key in keys:
        item = find(key)
        display.begin(key, item.title)
        began = time.perf_counter()
        summary = finished_summary(out, item, quick)
        reused = summary is not None
        if summary is None:
            summary = reproduce_item(out, item, item.parameters_of(quick), quick, display)
        display.end(key, summary, time.perf_counter() - began, reused)
    return write_report(out, quick)


def _holds(out: Path, quick: bool) -> bool:
    """Whether `out` has items of a quick, or of a full, reproduction."""
    return any(_is_quick(path) is quick for path in (out / "items").glob("*.json"))


def _is_quick(path: Path) -> bool | None:
    """Whether an item was made by a quick run; None if it cannot be read."""
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["summary"]["command"].endswith("--quick"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def reproduce_item(
    out: Path, item: Item, p: Parameters, quick: bool = False, display: ProgressDisplay | None = None
) -> dict[str, Any]:
    """Run, measure, judge and draw one item; what results.json will say of it."""
    shown = display or _NoDisplay()
    workspace = ItemWorkspace(
        item.key, out / "data" / item.key, p, lambda done, total: shown.at(item.key, done / total)
    )
    data = item.run(workspace)
    numbers = item.measure(data, p)
    save_figures(out, item, data, numbers, p)
    summary = item.summary(numbers, p, quick)
    _write_json(
        out / "items" / f"{item.key}.json", {"fingerprint": _fingerprint(item, p, quick), "summary": summary}
    )
    return summary


def save_figures(out: Path, item: Item, data: Data, numbers: Numbers, p: Parameters) -> None:
    """Every picture in every style."""
    from nucleate import plot

    for style, file in FIGURE_FILES.items():
        with plot.style(style):
            for name, figure in item.draw(data, numbers, p).items():
                plot.save_figure(figure, out / "figures" / file.format(name))


def finished_summary(out: Path, item: Item, quick: bool) -> dict[str, Any] | None:
    """The summary of an item that is finished, made as it would be made now, with all its pictures; None
    otherwise."""
    try:
        found = json.loads((out / "items" / f"{item.key}.json").read_text(encoding="utf-8"))
        summary: dict[str, Any] = found["summary"]
        same = found["fingerprint"] == _fingerprint(item, item.parameters_of(quick), quick)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    pictures = [
        out / "figures" / file.format(name) for name in item.captions for file in FIGURE_FILES.values()
    ]
    whole = all(picture.is_file() and picture.stat().st_size for picture in pictures)
    return summary if same and whole else None


def write_report(out: Path, quick: bool) -> Reproduction:
    """results.json and report.html from the items that are finished."""
    from nucleate import __version__
    from nucleate.papers.report.html import page
    from nucleate.studies.block import made_with

    found = {key: finished_summary(out, find(key), quick) for key in ITEMS}
    results = {
        "paper": "; ".join(paper.citation for paper in PAPERS),
        "nucleate": __version__,
        "made_with": made_with(),
        "quick": quick,
        "items": {key: summary for key, summary in found.items() if summary is not None},
    }
    _write_json(out / "results.json", results)
    report = out / "report.html"
    _replace(report, page(results, out / "figures"))
    return Reproduction(report, results)


def _fingerprint(item: Item, p: Parameters, quick: bool) -> str:
    code = made_by(f"{ITEMS[item.key]}.item", "nucleate.plot")
    return fingerprint([item.key, dict(p), quick, item.user_file(), code])


def _write_json(path: Path, value: Any) -> None:
    _replace(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    from nucleate.integrate.storage import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
