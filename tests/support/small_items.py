"""Items with parameters so small that each takes a second, and how to plant wrong results into their data."""

import pickle
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray
from support.session_files import made_once

from nucleate.papers import find
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.item import Data, Item, Numbers

SMALL: dict[str, dict[str, Any]] = {
    "random-values": {
        "betas": [0.5, 1.6, 4.0],
        "close_dt": 3e-3,
        "close_runs": 400,
        "dt": 2e-2,
        "runs": 150,
        "several_runs": 40,
    },
    "figure1": {"n": 12, "beta": 4.0, "T": 200.0, "max_steps": 1500},
    "figure2": {"starts": 60},
    "figure3": {"runs": 16, "frames": 16},
    "figure4": {"points": 400},
    "figure5": {"d": 512, "heads": 8},
    "figure6": {"n": 12, "beta": 4.0, "T": 200.0, "max_steps": 1500},
    "table1": {"runs": 4},
    "life": {
        "starts": 6,
        "n": 60,
        "betas": [16.0, 25.0],
        "shown_beta": 16.0,
        "sphere_n": 60,
        "sphere_betas": [25.0],
        "sphere_starts": 5,
    },
    "lemma5.1": {
        "separation": 3.0,
        "n": 40,
        "starts": 8,
        "ensembles": [[64.0, 3.0]],
        "indices": [2, 8, 64, 96],
        "runs": 16,
        "sphere": [[64.0, 4.0]],
        "sphere_indices": [2, 32],
        "sphere_runs": 16,
        "chord_runs": 2,
    },
    "theorem5.2": {
        "runs": 12,
        "moving_runs": 1,
        "factors": [0.5, 0.99, 100.0],
        "sweep_betas": 5,
        "sweep_c": 10,
        "sweep_eps": 60,
    },
    "lemma5.3": {
        "betas": [0.5, 1.0, 10.0, 64.0],
        "configurations": 6,
        "n": 12,
        "starts": 12,
        "t": 1e4,
        "end_runs": 6,
    },
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
        "rate_betas": [0.0, 9.0],
        "draws": 2,
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
        "times": [10.0, 20.0, 75.0],
        "end": {"2": 75.0, "3": 20.0, "4": 20.0},
        "counted": 240,
        "densities": [8, 32],
        "density_runs": 2,
    },
    "dimension": {
        "betas": {"1": [16.0, 50.0], "2": [16.0, 50.0], "3": [16.0, 40.0]},
        "other_betas": {"2": [16.0, 50.0]},
        "counted": 60,
        "n": 200,
        "gap_betas": [4.0, 64.0],
        "gaps": [0.1, 2.0],
        "gap_runs": 2,
    },
    "capture": {
        "betas": {"2": [16.0, 64.0], "3": [4.0]},
        "n": {"2": 17_783, "3": 3162},
        "runs": {"2": 4, "3": 4},
        "bound_n": {"2": 2000, "3": 600},
        "bound_runs": 2,
    },
    # noisy-transformers
    "noise-transition": {
        "sweeps": {"1.5": [0.7, 0.85, 1.3], "6": [0.75, 0.9, 1.1]},
        "n": 800,
        "runs": 3,
        "T": 30.0,
        "dt": 0.04,
        "frames": 31,
        "growth_ratios": [0.6, 1.0, 1.4],
        "first_harmonic": 0.1,
        "growth_n": 1500,
        "growth_runs": 64,
    },
    # hardmax-transformers
    "hardmax-leaders": {"layer_runs": 20, "runs": 24, "frames": 201},
    # perspective
    "phase-diagram": {"runs": {"8": 8, "128": 4, "1024": 4}, "betas": [0.5, 9.0, 5], "frames": 121},
    "equiangular-tokens": {"n": 16, "betas": [1.0, 3.0], "rhos": [0.0], "frames": 121, "rate_points": 5},
    "energy-rises": {"runs": 6, "d": [3, 8]},
    # metastability
    "staircase": {"betas": [1000.0, 2000.0, 4000.0], "twin_beta": 120.0},
    "merge-order": {"betas": [4000.0], "starts": 10},
    # clustering-onset
    "mode-growth": {"n": 20_000, "betas": [5.0, 16.0], "runs": 6, "runs_at_once": 3},
    "first-clusters": {"n": 1000, "betas": [5.0, 16.0], "runs": 16},
    # long-context
    "attention-scale": {"direct_n": [40, 200], "points": 61},
    "almost-equiangular": {
        "n": 256,
        "d": [16, 64, 256],
        "runs": 2,
        "map_d": 64,
        "map_rho": [0.1, 0.8, 4],
        "map_gamma": [0.5, 8.0, 9],
    },
    # normalisation
    "mean-cosine": {"d": 48, "n": 8, "runs": 4, "frames": 11},
    "late-laws": {"n": 4, "betas": [2.0], "frames": 61},
    # open-questions
    "predicted-merges": {
        "cases": [["circle", 2, 16.0, 40, 6, "I"], ["scores", 2, 8.0, 24, 3, "drawn"]],
    },
    "cluster-counts": {
        "limit_n": {"2": 250},
        "limit_starts": 30,
        "small_angles": {"2": [0.3, 0.6]},
        "predicted": [[2, 16.0, 40], [2, 64.0, 60]],
        "starts": {"2": 4},
        "first_start": 5,
        "simulated": [[2, 16.0, 40]],
        "held": [[2, 64.0, 60]],
    },
    "clouds": {
        "sets": {
            "circle": {"kinds": ["general"], "d_n": [[2, 16]], "betas": [4.0], "draws": 3},
            "gradient": {"kinds": ["gradient"], "d_n": [[3, 16]], "betas": [4.0], "draws": 2},
            "spheres": {
                "kinds": ["general", "all", "symmetric", "scores"],
                "d_n": [[3, 16]],
                "betas": [4.0],
                "draws": 2,
            },
            "eight": {
                "kinds": ["general", "all", "symmetric", "scores"],
                "d_n": [[4, 16]],
                "betas": [4.0],
                "draws": 2,
            },
            "long": {"kinds": ["general"], "d_n": [[3, 16]], "betas": [4.0], "draws": 2},
        },
        "t": 60.0,
        "since": 20.0,
        "first_seed": 0,  # those of the item are looked at by its full run alone
        "again": {"picked": 1, "n": 16, "starts": 2},
        "partings": 1,
        "parting_time": 8.0,
        "late": {
            "cells": [
                ["general", 4, 4.0, 3],
                ["general", 4, 1.0, 3],
                ["general", 3, 4.0, 2],
                ["gradient", 4, 4.0, 2],
                ["general", 2, 4.0, 2],
            ],
            "n": [8, 16],
            "t": 60.0,
            "since": 20.0,
            "tol": 1e-4,
            "first_seed": 201,
            "again": {"starts": 2, "t": 60.0, "since": 20.0},
        },
    },
    "lifetimes": {
        "cells": [
            [2, 16.0, 30, 3, "fit"],
            [2, 25.0, 30, 2, "test"],
            [3, 9.0, 40, 3, "fit"],
            [3, 12.0, 40, 2, "test"],
        ],
    },
    "who-leads": {"cases": [["fit", 2, 25.0, 60, 4], ["test", 2, 16.0, 60, 4]]},
    "sink-survival": {
        "n": 6,
        "d": 2,
        "betas": [0.5, 1.0, 1.5],
        "starts": 2,
        "held_betas": [1.2],
        "held_starts": 1,
        "cases": {
            "none": {"axis": "depth", "label": "t", "values": [1.0, 300.0], "rising": True},
            "mlp": {"axis": "strength", "label": "s", "values": [0.01, 3.0], "depth": 40.0, "rising": False},
        },
    },
    "causal-front": {
        "cases": [[2, 16.0, 400, 2], [3, 6.0, 300, 2]],
        "first": 100,
        "first_seed": 1,
        "least": 110,
        "times": [0.0, 0.4, 2.0, 4.0],
        "linear_time": 0.4,
        "full_n": [100, 200, 400],
        "far": {"beta": 2.0, "begin": 5.0, "end": 12.0, "t": 4.0, "starts": 1, "halved": 1},
    },
    # lost-in-the-middle
    "retrieval-profile": {
        "N": 32,
        "cases": [[1, 0.0], [1, 1.0], [2, 1.0]],
        "sizes": [[16, 40], [32, 20], [64, 10]],
        "runs": 150,
        "groups": 8,
        "rtol": 1e-4,
    },
}


class Made(NamedTuple):
    """An item that was run."""

    item: Item
    p: dict[str, Any]
    data: Data
    numbers: Numbers

    def words(self, data: Data) -> list[str]:
        """The verdicts on other data."""
        return [verdict.word for verdict in self.item.verdicts(self.item.measure(data, self.p), self.p)]


def planted(data: Data, name: str, value: Any) -> dict[str, Any]:
    """`data` with something else in one place."""
    return {**data, name: value}


def changed(dataset: xarray.Dataset, **arrays: Any) -> xarray.Dataset:
    """`dataset` with other values in some variables, spread over their shapes."""
    return dataset.assign(
        {
            name: (dataset[name].dims, np.broadcast_to(values, dataset[name].shape).copy())
            for name, values in arrays.items()
        }
    )


def scaled(data: Data, names: list[str], variable: str, factor: float) -> dict[str, Any]:
    """`data` with one variable of some datasets multiplied."""
    return {**data, **{name: data[name].assign({variable: data[name][variable] * factor}) for name in names}}


def scaled_by_beta(data: Data, prefix: str, variable: str, power: float) -> dict[str, Any]:
    """`data` with one variable of all datasets of a family multiplied by a power of beta."""
    found = dict(data)
    for name in data:
        if name.startswith(prefix) and "-beta" in name:
            found = scaled(found, [name], variable, float(name.split("-beta")[1]) ** power)
    return found


def words_with(key: str, **data: Any) -> list[str]:
    """The verdicts of an item with some of its data replaced; __ in a name stands for -."""
    found = made(key)
    return found.words({**found.data, **{name.replace("__", "-"): value for name, value in data.items()}})


def words_changed(key: str, name: str, **arrays: Any) -> list[str]:
    """The verdicts of an item with other values in one of its datasets."""
    found = made(key)
    return found.words({**found.data, name: changed(found.data[name], **arrays)})


def small(key: str) -> dict[str, Any]:
    """The parameters of an item, made small."""
    return {**find(key).parameters, **SMALL[key]}


@cache
def made(key: str) -> Made:
    """The item, run once for all tests of the session."""
    item, p = find(key), small(key)

    def make(folder: Path) -> None:
        data = item.run(ItemWorkspace(key, folder / "data", p))
        (folder / "made.pickle").write_bytes(pickle.dumps((data, item.measure(data, p))))

    data, numbers = pickle.loads((made_once(key, make) / "made.pickle").read_bytes())
    return Made(item, p, data, numbers)
