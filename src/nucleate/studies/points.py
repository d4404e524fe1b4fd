"""Points of the grid, and the random streams of their runs.

Run i starts from SeedSequence(root, spawn_key=(i,)) at every point: the same tokens, so that points can be
compared run by run.  With the same d, fewer tokens are the first of more.  Random Q, K and V have streams of
their own, spawn_key=(i, 1), (i, 2) and (i, 3).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.attention import Attention, Window
from nucleate.checks import Array, InputError
from nucleate.integrate.simulate import Method
from nucleate.parse.mask import parse_mask
from nucleate.sphere import drawn_from
from nucleate.studies.matrices import Spec, check_spec, drawn

__all__ = ["Point", "stream"]

MATRIX_STREAMS = {"Q": 1, "K": 2, "V": 3}  # the child of a run's stream that each is drawn from


def stream(seed: int, run: int, *child: int) -> np.random.SeedSequence:
    """The random stream of a run, or one of its children."""
    return np.random.SeedSequence(seed, spawn_key=(run, *child))


@dataclass(frozen=True)
class Point:
    """One point of the grid: every parameter has one value."""

    beta: float
    Q: Spec
    K: Spec
    V: Spec
    mask: str  # as `nucleate.parse.mask` takes it
    window: int | None
    kind: str
    n: int
    d: int
    rtol: float
    atol: float
    method: Method
    dt: float | None
    max_steps: int

    def check(self) -> None:
        """Refuse values that do not go together."""
        for name in MATRIX_STREAMS:
            check_spec(name, getattr(self, name), self.d)
        if self.window is not None and self.mask != "causal":
            raise InputError(f'mask is "{self.mask}" and window is {self.window}. Leave out one of the two.')
        if self.method == "causal" and self.mask == "full" and self.window is None:
            raise InputError(
                'method "causal" needs a mask under which no token sees a later one, but the mask is "full".'
                ' Use "explicit".'
            )

    def starts(self, seed: int, runs: range) -> Array:
        """Where the runs begin, (b, n, d)."""
        return drawn_from([stream(seed, run) for run in runs], self.n, self.d)

    def model(self, seed: int, runs: range) -> Attention:
        """The model of these runs; random matrices carry the run axis."""
        matrices: dict[str, Any] = {
            name: drawn(getattr(self, name), self.d, (stream(seed, run, child) for run in runs))
            for name, child in MATRIX_STREAMS.items()
        }
        mask = parse_mask("mask", self.mask) if self.window is None else Window(self.window)
        return Attention(self.beta, **matrices, mask=mask)
