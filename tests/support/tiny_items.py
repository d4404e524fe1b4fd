"""An item that takes a fraction of a second, to be killed, edited and damaged."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import xarray

from nucleate.papers import find
from nucleate.papers.core import runner
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEY = "figure4"  # whose place it takes
PIECES = 3


def _piece(number: int) -> xarray.Dataset:
    return xarray.Dataset({"x": ("i", np.arange(4.0) + number)})


def _run(workspace: ItemWorkspace) -> Data:
    return {
        f"piece{number}": workspace.dataset(f"piece{number}", partial(_piece, number))
        for number in range(PIECES)
    }


def _measure(data: Data, p: Parameters) -> Numbers:
    return {"total": exact(sum(float(piece["x"].sum()) for piece in data.values()), "the sum")}


def _verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    return (Verdict("the sum is 30", "agrees" if numbers["total"].value == 30.0 else "disagrees", "it is"),)


def _draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure((1.0, 1.0))
    figure.add_artist(Line2D([0.0, 1.0], [0.0, 1.0]))  # axes would take most of the time
    return {KEY: figure}


def tiny(key: str) -> Item:
    """The item `key`; in place of figure4 the tiny one."""
    if key != KEY:
        return find(key)
    changes: dict[str, Any] = {
        "parameters": {},
        "quick": {},
        "captions": {KEY: "a line"},
        "run": _run,
        "measure": _measure,
        "verdicts": _verdicts,
        "draw": _draw,
        "slips": lambda numbers: (),
    }
    return replace(find(KEY), **changes)


def reproduce_tiny(out: Path) -> list[str]:
    """Reproduce the tiny item; the lines that were said about damage."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "find", tiny)
        outcome = runner.reproduce(out, [KEY], tell=said.append)
    assert outcome.results["items"][KEY]["verdict"] == "agrees"
    return said
