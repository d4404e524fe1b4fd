"""reproduce: run, measure, judge and draw items into a folder, and write the report of all that is there.

    report.html            to read
    results.json           every number, parameter and verdict
    figures/NAME.png       light; NAME-dark.png for dark pages, NAME.pdf for print
    data/KEY/*.zarr        what was simulated
    items/KEY.json         one item of results.json, with the mark of how it was made

What is finished and was made the same way is kept, so that an interrupted reproduction goes on.
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nucleate.checks import InputError, file_error
from nucleate.papers import ITEMS, chosen, find
from nucleate.papers.core.cache import Desk, mark, sources
from nucleate.papers.core.item import Data, Item, Numbers

__all__ = ["Outcome", "Watch", "perform", "reproduce"]

THEMES = {"light": "{}.png", "dark": "{}-dark.png", "print": "{}.pdf"}


class Watch(Protocol):
    """Whoever shows how far it is."""

    def begin(self, key: str, title: str) -> None: ...

    def at(self, key: str, share: float) -> None: ...

    def end(self, key: str, told: Mapping[str, Any], seconds: float, kept: bool) -> None: ...


class _Nobody:
    def begin(self, key: str, title: str) -> None:
        pass

    def at(self, key: str, share: float) -> None:
        pass

    def end(self, key: str, told: Mapping[str, Any], seconds: float, kept: bool) -> None:
        pass


@dataclass(frozen=True)
class Outcome:
    """What reproduce has written."""

    report: Path
    results: Mapping[str, Any]  # as in results.json


def reproduce(
    out: Path, only: Iterable[str] = (), quick: bool = False, watch: Watch | None = None
) -> Outcome:
    """Make the items named in `only`, or all, in the folder `out`, and the report of all that are there."""
    keys, watch = chosen(only), watch or _Nobody()
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
        one = find(key)
        watch.begin(key, one.title)
        began = time.perf_counter()
        told = kept_item(out, one, quick)
        kept = told is not None
        if told is None:
            told = perform(out, one, one.with_quick(quick), quick, watch)
        watch.end(key, told, time.perf_counter() - began, kept)
    return assemble(out, quick)


def _holds(out: Path, quick: bool) -> bool:
    """Whether `out` has items of a quick, or of a full, reproduction."""
    return any(_quick(path) is quick for path in (out / "items").glob("*.json"))


def _quick(path: Path) -> bool | None:
    """Whether an item was made by a quick run; None if it cannot be read."""
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["told"]["command"].endswith("--quick"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def perform(
    out: Path, one: Item, p: Mapping[str, Any], quick: bool = False, watch: Watch | None = None
) -> dict[str, Any]:
    """Run, measure, judge and draw one item; what results.json will say of it."""
    watch = watch or _Nobody()
    data = one.run(Desk(one.key, out / "data" / one.key, p, lambda share: watch.at(one.key, share)))
    numbers = one.measure(data, p)
    drawn(out, one, data, numbers, p)
    told = one.told(numbers, p, quick)
    _write(out / "items" / f"{one.key}.json", {"mark": _mark(one, p, quick), "told": told})
    return told


def drawn(out: Path, one: Item, data: Data, numbers: Numbers, p: Mapping[str, Any]) -> None:
    """Every picture in every style."""
    from nucleate import plot

    for theme, name in THEMES.items():
        with plot.style(theme):
            for figure, drawing in one.draw(data, numbers, p).items():
                plot.save_figure(drawing, out / "figures" / name.format(figure))


def kept_item(out: Path, one: Item, quick: bool) -> dict[str, Any] | None:
    """What is said of an item that is finished, made as it would be made now, with all its pictures; None
    otherwise."""
    try:
        found = json.loads((out / "items" / f"{one.key}.json").read_text(encoding="utf-8"))
        told: dict[str, Any] = found["told"]
        whole = found["mark"] == _mark(one, one.with_quick(quick), quick)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    pictures = [out / "figures" / name.format(figure) for figure in one.captions for name in THEMES.values()]
    return (
        told if whole and all(picture.is_file() and picture.stat().st_size for picture in pictures) else None
    )


def assemble(out: Path, quick: bool) -> Outcome:
    """results.json and report.html from the items that are finished."""
    from nucleate import __version__
    from nucleate.papers.report.html import page
    from nucleate.studies.block import made_with

    found = {key: told for key in ITEMS if (told := kept_item(out, find(key), quick)) is not None}
    results = {
        "paper": (
            "Karagodin, Polyanskiy, Rigollet, Clustering in Causal Attention Masking, NeurIPS 2024, arXiv"
            " 2411.04990"
        ),
        "nucleate": __version__,
        "made_with": made_with(),
        "quick": quick,
        "items": found,
    }
    _write(out / "results.json", results)
    report = out / "report.html"
    _replace(report, page(results, out / "figures"))
    return Outcome(report, results)


def _mark(one: Item, p: Mapping[str, Any], quick: bool) -> str:
    return mark([one.key, dict(p), quick, one.outside(), sources(one.key, ("plot", "paper"))])


def _write(path: Path, value: Any) -> None:
    _replace(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    from nucleate.integrate.storage import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
