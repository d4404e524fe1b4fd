"""What share of uniform starts ends off the poles, for some counterexamples to Conjecture 1, and for a model
beside each that ought to have none: the symmetric V with the same eigenvalues, Q = K = I.

One measurement for whoever quotes a share: `share_of_starts(CASES["first_found"], STARTS, SEED)`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, drift
from nucleate.checks import Array
from nucleate.papers.causal_clustering.conjectures.counterexamples import (
    OFF_POLES_DISTANCE,
    poles_distance,
    stored_counterexamples,
)
from nucleate.papers.causal_clustering.conjectures.exact_sinks import FAMILIES, sink_model

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["CASES", "SEED", "STARTS", "share_of_starts"]

Booleans = NDArray[np.bool_]
STARTS, SEED = 4000, 0
END_TIME = 400.0  # the slowest rate is 0.07: e^{-28}
SETTLED_SPEED = 1e-6  # of the fastest token at the end; a start that is faster has not ended


@dataclass(frozen=True, eq=False)
class Case:
    """A model of two tokens on the circle."""

    name: str
    words: str
    model: Attention

    @property
    def null(self) -> Attention:
        """The symmetric V with the same eigenvalues, Q = K = I."""
        assert self.model.V is not None
        return Attention(self.model.beta, V=np.diag(np.diag(self.model.V)))


def _cases() -> dict[str, Case]:
    stored = {one.name: one.model for one in stored_counterexamples()}
    identity, scores = FAMILIES
    found = [
        Case(f"exact_beta_{beta:g}", f"exact sink, Q = K = I, β = {beta:g}", sink_model(identity, beta))
        for beta in (0.0, 0.5, 1.0, 2.0)
    ]
    found += [
        Case("exact_scores", "exact sink, KᵀQ = diag(1, 3), β = 1", sink_model(scores, 1.0)),
        Case("non_normal", "“non_normal”: Q = K = I, V = (1 −2; 0 ½), β = 0.1", stored["non_normal"]),
        Case(
            "first_found", "“first_found”: KᵀQ = diag(−1, 1), V = diag(1, 0.1), β = 10", stored["first_found"]
        ),
    ]
    return {one.name: one for one in found}


CASES = _cases()


def share_of_starts(case: Case, starts: int, seed: int) -> "Dataset":
    """Which uniform starts end off the poles, and where their second token does; the same for the null."""
    import xarray

    from nucleate.sphere import uniform

    start = uniform(2, 2, seed, runs=starts)  # (b, 2, 2)
    x, off, moving = _ends(case.model, start)
    _, null_off, null_moving = _ends(case.null, start)
    return xarray.Dataset(
        {
            "off": ("run", off.astype(np.int8), {"long_name": "1: ends off the poles"}),
            "null_off": ("run", null_off.astype(np.int8), {"long_name": "the same, V symmetric, Q = K = I"}),
            "moving": ("run", (moving | null_moving).astype(np.int8), {"long_name": "1: has not ended"}),
            "second": (("run", "coordinate"), x[:, 1], {"long_name": "where the second token ends"}),
        }
    )


def _ends(model: Attention, start: Array) -> tuple[Array, Booleans, Booleans]:
    """Ends (b, 2, 2), which of them are off the poles (b,), and which starts are still moving (b,)."""
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    x = uninterrupted(simulate(model, start, END_TIME, save=[END_TIME])).x[:, -1]  # (b, 2, 2)
    speed = np.linalg.norm(drift(model, x), axis=-1).max(-1)  # (b,)
    moving = np.asarray(~(speed < SETTLED_SPEED))
    assert model.V is not None
    off = np.asarray((poles_distance(model.V, x).max(-1) > OFF_POLES_DISTANCE) & ~moving)
    return x, off, moving
