"""A paper: what it is called, where it appeared, and the folders of its items."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Paper"]


@dataclass(frozen=True)
class Paper:
    """One paper, reproduced in a package of its own."""

    title: str
    citation: str
    arxiv: str  # its number there
    package: str  # holds a folder per item, with item.py, data.py and figures.py
    items: Mapping[str, str]  # the folder of each item by its key, in the order of the report

    @property
    def name(self) -> str:
        """What it is asked for by: that of its folder, with - for _."""
        return self.package.rpartition(".")[2].replace("_", "-")
