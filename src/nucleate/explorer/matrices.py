"""Matrices by name, for any dimension they make sense in: one per row of Table 1, tops outside it, random
ones by seed.

In three dimensions those of Table 1 are the matrices of Figure 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nucleate.checks import Array, InputError

__all__ = ["MATRICES", "MOST", "Preset", "find", "matrix"]

MOST = 64  # dimensions
WIDTH = 16  # of a head's model, in heads: W_V is d x 16 d

Make = Callable[[int, int], Array]  # dimension, seed -> (d, d)


@dataclass(frozen=True)
class Preset:
    """A matrix with a name."""

    name: str
    title: str
    make: Make
    of_V: str = ""  # the title as V, of which Table 1 speaks, as it does not of Q and K
    least: int = 2  # dimension
    seeded: bool = False

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {
            "name": self.name,
            "title": self.title,
            "of_V": self.of_V or self.title,
            "dims": [self.least, MOST],
            "seeded": self.seeded,
        }


def matrix(name: str, d: int, seed: int = 0) -> Array:
    """The matrix `name` in dimension d, (d, d); the seed matters to random ones only."""
    preset = find(name)
    if not preset.least <= d <= MOST:
        raise InputError(
            f"The matrix {name} needs a dimension from {preset.least} to {MOST}, but d is {d}. Choose another"
            " matrix or dimension."
        )
    return _made(preset, d, seed if preset.seeded else 0).copy()


@lru_cache(maxsize=64)  # a scene asks for its matrices several times while it is checked
def _made(preset: "Preset", d: int, seed: int) -> Array:
    return preset.make(d, seed)


def find(name: str) -> Preset:
    """The preset of that name."""
    for preset in MATRICES:
        if preset.name == name:
            return preset
    raise InputError(
        f"There is no matrix named {name[:40]!r}. There is {', '.join(preset.name for preset in MATRICES)}."
    )


def _diagonal(top: list[float], first: float, last: float) -> Make:
    """The top of the spectrum, then evenly spaced numbers from `first` to `last` (alone, `first`)."""

    def make(d: int, seed: int) -> Array:
        rest = np.linspace(first, last, d - len(top)).round(12)  # 0.35, not 0.35000000000000003
        return np.diag([*top, *rest.tolist()])

    return make


def _block(corner: list[list[float]], rest: float) -> Make:
    """A 2 x 2 corner, then `rest` along the diagonal."""

    def make(d: int, seed: int) -> Array:
        M = rest * np.eye(d)
        M[:2, :2] = corner
        return M

    return make


def _gaussian(d: int, seed: int) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_normal((d, d)) / np.sqrt(d))


def _head(d: int, seed: int) -> Array:
    """W_V W_O of independent Gaussians, scaled so that its eigenvalues fill the unit disc."""
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(seed)
    with threadpool_limits(1, user_api="blas"):  # else the last bits depend on the machine's cores
        return np.asarray(
            rng.standard_normal((d, WIDTH * d)) @ rng.standard_normal((WIDTH * d, d)) / (d * np.sqrt(WIDTH))
        )


def _mirror(d: int, seed: int) -> Array:
    return np.diag([-1.0] + [1.0] * (d - 1))


MATRICES = (
    Preset("identity", "identity", lambda d, seed: np.eye(d), "identity: row 1, all tokens end at the first"),
    Preset(
        "row2",
        "largest eigenvalue positive, twice",
        _diagonal([1.0, 1.0], 0.3, 0.1),
        "row 2: largest eigenvalue positive, twice",
        least=3,
    ),
    Preset(
        "row3",
        "largest eigenvalue positive, once",
        _diagonal([1.0], 0.5, 0.2),
        "row 3: largest eigenvalue positive, once",
    ),
    Preset(
        "row4",
        "largest eigenvalue negative, twice",
        _diagonal([-0.5, -0.5], -1.0, -1.5),
        "row 4: largest eigenvalue negative, twice",
    ),
    Preset(
        "row5",
        "largest eigenvalue negative, once",
        _diagonal([-0.5], -0.9, -1.0),
        "row 5: largest eigenvalue negative, once",
    ),
    Preset("complex", "complex pair at the top, 0.8 ± 0.6i", _block([[0.8, -0.6], [0.6, 0.8]], 0.2)),
    Preset("defective", "defective top, a Jordan block of size 2", _block([[1.0, 1.0], [0.0, 1.0]], 0.3)),
    Preset("zero", "largest eigenvalue 0, once", _diagonal([0.0], -0.4, -0.8)),
    Preset(
        "minus-identity",
        "minus identity",
        lambda d, seed: np.diag([-1.0] * d),
        "minus identity: all tokens repel",
    ),
    Preset("gaussian", "random Gaussian, spectral radius about 1", _gaussian, seeded=True),
    Preset("head", "a transformer's head at initialisation (Figure 5)", _head, seeded=True),
    Preset("mirror", "mirror: diag(−1, 1, …, 1)", _mirror),
)
