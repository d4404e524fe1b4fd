"""A paper: what it is called, where it appeared, the folders of its items, and what was found."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Finding", "Paper"]


@dataclass(frozen=True)
class Finding:
    """One of the few results that a report opens with.

    It is shown in these words as long as the verdict on its statement has this word; otherwise the statement
    is shown with the verdict that it has now.
    """

    key: str  # of the item
    statement: str  # how the statement begins, in the item's verdicts
    word: str  # of its verdict
    words: str  # with numbers of the item in braces, as in "{d2_slope.value:.3f}"


@dataclass(frozen=True)
class Paper:
    """One paper, reproduced in a package of its own."""

    title: str
    citation: str
    arxiv: str  # its number there
    package: str  # holds a folder per item, with item.py, data.py and figures.py
    items: Mapping[str, str]  # the folder of each item by its key, in the order of the report
    findings: tuple[Finding, ...] = ()  # without any, the first statements of the report stand in their place
    picture: str = ""  # that the report opens with; without one, the first of the first item

    @property
    def name(self) -> str:
        """What it is asked for by: that of its folder, with - for _."""
        return self.package.rpartition(".")[2].replace("_", "-")
