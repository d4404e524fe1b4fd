"""Papers, reproduced and judged: a folder for each, and in it a folder for each figure, table and claim.

A new paper is a folder like causal_clustering, with a PAPER, and its name in FOLDERS. Items are imported when
they are asked for.
"""

import difflib
import importlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nucleate.checks import InputError

if TYPE_CHECKING:
    from nucleate.papers.core.item import Item
    from nucleate.papers.core.paper import Paper

__all__ = ["DEFAULT", "ITEMS", "PAPERS", "chosen", "chosen_papers", "find", "paper_of"]

# in the order of the list
FOLDERS = (
    "causal_clustering",
    "perspective",
    "metastability",
    "clustering_onset",
    "long_context",
    "stochastic_transformers",
    "normalisation",
    "lost_in_the_middle",
    "noisy_transformers",
    "hardmax_transformers",
    "open_questions",
)

# by its name, which is that of its folder with - for _
PAPERS: "dict[str, Paper]" = {
    folder.replace("_", "-"): importlib.import_module(f"nucleate.papers.{folder}").PAPER for folder in FOLDERS
}
DEFAULT = next(iter(PAPERS))  # what is reproduced where no paper is named
ALL = "all"  # stands for every paper
# the package of every item of every paper by its key: no two papers have an item of the same key
ITEMS = {key: f"{paper.package}.{folder}" for paper in PAPERS.values() for key, folder in paper.items.items()}


def find(key: str) -> "Item":
    """The item of that name."""
    return importlib.import_module(f"{ITEMS[key]}.item").ITEM


def paper_of(key: str) -> "Paper":
    """The paper that an item belongs to."""
    return next(paper for paper in PAPERS.values() if key in paper.items)


def chosen_papers(names: Iterable[str] = ()) -> "list[Paper]":
    """The papers asked for, in the order of the list; the first if none is, every one for "all". Several may
    stand in one text, with commas between them."""
    asked = _words(names) or [DEFAULT]
    for name in asked:
        if name not in (*PAPERS, ALL):
            raise InputError(
                f'There is no paper "{name}" to reproduce. {_near(name, PAPERS)}Choose from:'
                f" {', '.join(PAPERS)}, {ALL}."
            )
    return [paper for name, paper in PAPERS.items() if name in asked or ALL in asked]


def chosen(only: Iterable[str] = (), papers: "Sequence[Paper] | None" = None) -> list[str]:
    """The keys asked for among the items of some papers, in the order of the report; all if none is. Several
    may stand in one text, with commas between them."""
    among = [key for paper in (papers or chosen_papers()) for key in paper.items]
    asked = _words(only)
    for key in asked:
        if key in ITEMS and key not in among:
            name = paper_of(key).name
            raise InputError(
                f'"{key}" is an item of the paper {name}, which is not asked for. Add --paper {name}.'
            )
        if key not in ITEMS:
            raise InputError(
                f'There is no "{key}" to reproduce. {_near(key, among)}Choose from: {", ".join(among)}.'
            )
    return [key for key in among if key in asked or not asked]


def _words(texts: Iterable[str]) -> list[str]:
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _near(word: str, among: Iterable[str]) -> str:
    """A question about the name that was probably meant; empty if none is near."""
    near = difflib.get_close_matches(word.lower(), among, n=1)
    return f'Did you mean "{near[0]}"? ' if near else ""
