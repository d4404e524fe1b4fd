"""What the paper shows, redone and judged: one file per figure, table and claim, each with an ITEM of the
same shape (see `paper/item.py`).

ITEMS is where they are registered, in the order of the report. Their files are imported when they are asked
for.
"""

import difflib
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from nucleate.checks import InputError

if TYPE_CHECKING:
    from nucleate.papers.core.item import Item

__all__ = ["ITEMS", "chosen", "find"]


class Entry(NamedTuple):
    """Files of this folder, without their ending."""

    file: str  # holds ITEM
    # what its data depend on: an edit here makes them anew, an edit elsewhere only judges and draws them anew
    data: tuple[str, ...]


ITEMS = {
    "figure1": Entry("figure1", ("figure1", "panels")),
    "figure2": Entry("figure2", ("figure2",)),
    "figure3": Entry("figure3", ("figure3",)),
    "figure4": Entry("figure4", ("figure4",)),
    "figure5": Entry("figure5", ("figure5", "albert")),
    "figure6": Entry("figure6", ("figure6", "figure1", "panels")),
    "table1": Entry("table1", ("rows",)),
    "life": Entry("life", ("lives",)),
    "lemma3.1": Entry("lemma31", ("tops",)),
    "theorem4.1": Entry("theorem41", ("gathered", "linear")),
    "conjecture1": Entry(
        "conjecture1",
        ("families", "hunts", "adversary", "defective", "search", "replay", "resting", "linear"),
    ),
    "conjecture2": Entry("conjecture2", ("families", "hunts", "search", "linear")),
    "lemma5.1": Entry("lemma51", ("stays",)),
    "theorem5.2": Entry("theorem52", ("anchors",)),
    "lemma5.3": Entry("lemma53", ("lemma53",)),
    "lemmaA.1": Entry("lemmaa1", ("lemmaa1", "shapes", "intervals")),
    "lemmaC.1": Entry("lemmac1", ("parking",)),
    "law": Entry("law", ("lawruns", "gathering")),
    "dimension": Entry("dimension", ("reductions", "gathering", "lawruns")),
    "capture": Entry("capture", ("crowds", "gathering")),
    "slips": Entry("slips", ("slips", "anchors", "lemma53", "lemmaa1", "shapes", "intervals", "rows")),
}


def find(key: str) -> "Item":
    """The item of that name."""
    return importlib.import_module(f"nucleate.papers.{ITEMS[key].file}").ITEM


def chosen(only: Iterable[str] = ()) -> list[str]:
    """The keys asked for, in the order of the report; all if none is. Several may stand in one text, with
    commas between them."""
    asked = [key.strip() for text in only for key in text.split(",") if key.strip()]
    for key in asked:
        if key not in ITEMS:
            near = difflib.get_close_matches(key.lower(), ITEMS, n=1)
            meant = f'Did you mean "{near[0]}"? ' if near else ""
            raise InputError(f'There is no "{key}" to reproduce. {meant}Choose from: {", ".join(ITEMS)}.')
    return [key for key in ITEMS if key in asked or not asked]
