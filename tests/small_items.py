"""Items with parameters so small that each takes a second, and the data that the tests plant wrong results into."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from nucleate.paper import find
from nucleate.paper.item import Data, Item, Numbers
from nucleate.paper.keep import Desk

SMALL: dict[str, dict[str, Any]] = {
    "figure1": {"n": 12, "beta": 4.0, "T": 200.0, "most_steps": 1500},
    "figure2": {"starts": 24},
    "figure3": {"runs": 16, "frames": 16},
    "figure4": {"points": 400},
    "figure5": {"d": 512, "heads": 8},
    "figure6": {"n": 12, "beta": 4.0, "T": 200.0, "most_steps": 1500},
    "table1": {"runs": 4},
    "life": {"starts": 3, "n": 60, "betas": [9.0, 16.0], "hero_beta": 16.0},
}


class Made(NamedTuple):
    """An item that was run."""

    item: Item
    p: dict[str, Any]
    folder: Path
    data: Data
    numbers: Numbers

    def words(self, data: Data) -> list[str]:
        """The verdicts on other data."""
        return [verdict.word for verdict in self.item.verdicts(self.item.measure(data, self.p), self.p)]


def small(key: str) -> dict[str, Any]:
    """The parameters of an item, made small."""
    return {**find(key).parameters, **SMALL[key]}


@cache
def made(key: str) -> Made:
    """The item, run once for all tests of one process."""
    one, p, folder = find(key), small(key), Path(mkdtemp(prefix="nucleate-test-"))
    data = one.run(Desk(key, folder, p))
    return Made(one, p, folder, data, one.measure(data, p))
