"""Items with parameters so small that each takes a second, and the data that the tests plant wrong results
into."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support.folders import folder_of_this_process

from nucleate.papers import find
from nucleate.papers.core.cache import Desk
from nucleate.papers.core.item import Data, Item, Numbers

SMALL: dict[str, dict[str, Any]] = {
    "figure1": {"n": 12, "beta": 4.0, "T": 200.0, "most_steps": 1500},
    "figure2": {"starts": 24},
    "figure3": {"runs": 16, "frames": 16},
    "figure4": {"points": 400},
    "figure5": {"d": 512, "heads": 8},
    "figure6": {"n": 12, "beta": 4.0, "T": 200.0, "most_steps": 1500},
    "table1": {"runs": 4},
    "life": {"starts": 3, "n": 60, "betas": [9.0, 16.0], "hero_beta": 16.0},
    "lemma5.1": {
        "separation": 3.0,
        "n": 40,
        "starts": 8,
        "ensembles": [[64.0, 3.0]],
        "indices": [2, 8, 64, 96],
        "runs": 16,
    },
    "theorem5.2": {
        "runs": 12,
        "factors": [0.5, 0.99, 100.0],
        "sweep_betas": 5,
        "sweep_c": 10,
        "sweep_eps": 60,
    },
    "lemma5.3": {"betas": [0.5, 1.0, 10.0, 64.0], "configurations": 6, "n": 12, "starts": 12, "t": 1e4},
    "lemmaA.1": {"betas": 13, "points": 200},
    "slips": {
        "deltas": [0.8, 4.0 / 3.0],
        "starts": 100,
        "betas": [0.5, 10.0],
        "configurations": 4,
        "n": 8,
        "sweep_betas": 5,
        "sweep_c": 10,
        "sweep_eps": 60,
        "grid_betas": 7,
        "grid_points": 100,
    },
    "lemma3.1": {"runs": 3},
    "theorem4.1": {
        "n": 12,
        "d": [2, 3],
        "betas": [4.0, 9.0],
        "runs": 2,
        "windows": [2, 4],
        "beyond_runs": 2,
        "pieces": 34,
    },
    "conjecture1": {
        "runs": 10,
        "starts": 60,
        "models": 3,
        "rounds": 2,
        "search_rounds": 0,
        "defective_betas": [4.0, 9.0],
        "defective_starts": 40,
    },
    "conjecture2": {"runs": 10, "models": 8, "search_rounds": 0},
    "lemmaC.1": {
        "strong_runs": 60,
        "sizes": [10, 100],
        "renyi_at": [
            [2, 0.4],
            [2, 0.2],
            [3, 0.4],
            [3, 0.28],
            [3, 0.2],
            [4, 0.7],
            [4, 0.5],
            [4, 0.4],
            [5, 0.9],
            [5, 0.7],
            [5, 0.6],
        ],
        "renyi_counted": 800,
        "per_cap": [8, 16, 31, 62, 125, 250],
    },
    "law": {
        "betas": {"2": [16.0, 50.0, 160.0], "3": [12.0, 30.0, 80.0], "4": [10.0, 20.0, 40.0]},
        "times": [10.0, 20.0],
        "counted": 240,
        "densities": [8, 32],
        "density_runs": 2,
    },
    "dimension": {
        "betas": {"1": [16.0, 50.0], "2": [16.0, 50.0], "3": [16.0, 40.0]},
        "counted": 60,
        "n": 200,
        "gap_betas": [4.0, 64.0],
        "gaps": [0.1, 2.0],
        "gap_runs": 2,
    },
    "capture": {
        "n": 31_623,
        "runs": 3,
        "times": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "shown": [3.0, 6.0],
        "long_n": 3162,
        "long_runs": 3,
    },
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
    one, p, folder = find(key), small(key), folder_of_this_process()
    data = one.run(Desk(key, folder, p))
    return Made(one, p, folder, data, one.measure(data, p))
