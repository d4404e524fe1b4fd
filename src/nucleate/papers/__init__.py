"""Papers, reproduced and judged: a folder for each, and in it a folder for each figure, table and claim.

A new paper is a folder like causal_clustering, with a PAPER, and its name in FOLDERS. Items are imported when
they are asked for.
"""

import difflib
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nucleate.checks import InputError

if TYPE_CHECKING:
    from nucleate.papers.core.item import Item
    from nucleate.papers.core.paper import Paper

__all__ = ["ITEMS", "PAPERS", "chosen", "find"]

FOLDERS = ("causal_clustering",)  # in the order of the report

PAPERS: "tuple[Paper, ...]" = tuple(
    importlib.import_module(f"nucleate.papers.{folder}").PAPER for folder in FOLDERS
)
# the package of every item by its key, in the order of the report
ITEMS = {key: f"{paper.package}.{folder}" for paper in PAPERS for key, folder in paper.items.items()}


def find(key: str) -> "Item":
    """The item of that name."""
    return importlib.import_module(f"{ITEMS[key]}.item").ITEM


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
