"""Matrices of a scene: the menu of those with a name, and the plain form in which a scene holds any.

That form is {"preset": name}, with a "seed" where the matrix is random, or {"matrix": rows}.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nucleate.checks import Array, InputError
from nucleate.explorer.limits import MAX_DIMENSION
from nucleate.parse.matrix import as_array, name_and_seed, parse_matrix
from nucleate.parse.named_matrices import NAMED, check_named, named_matrix

__all__ = ["MENU", "MenuEntry", "chosen_matrix", "matrix_choice"]


MAX_ENTRY = 1e300  # so that products of a few entries can be tested for overflow


@dataclass(frozen=True)
class MenuEntry:
    """A matrix that can be chosen by its name."""

    name: str
    title: str
    title_of_V: str = ""  # where it says more: Table 1 speaks of V, not of Q and K

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {
            "name": self.name,
            "title": self.title,
            "of_V": self.title_of_V or self.title,
            "dims": [NAMED[self.name].least, MAX_DIMENSION],
            "seeded": NAMED[self.name].random,
        }


def matrix_choice(name: str, value: Any, d: int) -> dict[str, Any]:
    """Any matrix that `nucleate.parse.matrix` understands, in the form in which a scene of dimension d holds
    it."""
    found = parse_matrix(name, value)
    if isinstance(found, str):
        preset, seed = name_and_seed(found)
        check_named(preset, d)
        return {"preset": preset, "seed": seed} if NAMED[preset].random else {"preset": preset}
    if isinstance(found, np.ndarray) and (found.ndim > 2 or found.shape[-1] != d):
        raise InputError(f"{name} must have {d} rows, as d is {d}, but has shape {found.shape}.")
    M = as_array(found, d)
    if M is None or (isinstance(found, float) and found == -1.0):
        return {"preset": "identity" if M is None else "minus-identity"}
    if np.abs(M).max() > MAX_ENTRY:
        raise InputError(f"{name} must have entries of at most {MAX_ENTRY:g}, but has {np.abs(M).max():g}.")
    return {"matrix": (M + 0.0).tolist()}  # + 0.0: no minus zeros


def chosen_matrix(choice: Mapping[str, Any], d: int) -> Array:
    """The matrix that a scene of dimension d holds in this form, (d, d)."""
    if "matrix" in choice:
        return np.array(choice["matrix"], dtype=np.float64)
    return _named(choice["preset"], d, choice.get("seed", 0)).copy()


@lru_cache(maxsize=64)  # a scene asks for its matrices several times while it is checked
def _named(name: str, d: int, seed: int) -> Array:
    return named_matrix(name, d, seed)


# Short, for a menu shows about eighteen letters; the spectrum beside it says the rest.
MENU = (
    MenuEntry("identity", "identity", "identity: row 1"),
    MenuEntry("row2", "λ > 0, twice", "row 2: λ > 0, twice"),
    MenuEntry("row3", "λ > 0, once", "row 3: λ > 0, once"),
    MenuEntry("row4", "λ < 0, twice", "row 4: λ < 0, twice"),
    MenuEntry("row5", "λ < 0, once", "row 5: λ < 0, once"),
    MenuEntry("complex", "λ = 0.8 ± 0.6i"),
    MenuEntry("defective", "Jordan block, size 2"),
    MenuEntry("marginal", "λ = 0, once"),
    MenuEntry("minus-identity", "minus identity", "−identity: repulsion"),
    MenuEntry("gaussian", "random Gaussian"),
    MenuEntry("head", "untrained head"),
    MenuEntry("mirror", "diag(−1, 1, …, 1)"),
)
