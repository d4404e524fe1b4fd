"""A model of the family as pieces of time, in each of which one block moves the tokens by one autonomous law.

    Layers   a piece per layer
    mix      post up to tau, pre from there
    sqrt     theta' = P A / sqrt(t + 1) is theta' = P A in the time s = 2 (sqrt(t + 1) - 1), the solver's

Everywhere else the solver's time is the model's.
"""

from dataclasses import dataclass

import numpy as np

from nucleate.block import Block
from nucleate.checks import Array
from nucleate.layers import Layers

__all__ = ["Piece", "model_time", "pieces_of", "solver_time", "starting_lengths"]

SAME_TIME = 1e-12  # relative: two ends of pieces so close are one


@dataclass(frozen=True, eq=False)
class Piece:
    """One block, from `begin` to `end` of the solver's time."""

    layer: int  # the number of the block
    block: Block
    norm: str  # "post", "ngpt", "pre" or "peri"
    begin: float
    end: float

    @property
    def free(self) -> bool:
        """Whether the state is y = r theta."""
        return self.norm in ("pre", "peri")


def pieces_of(model: Block | Layers, t: float) -> list[Piece]:
    """The pieces up to the time t."""
    blocks, dt = (model.blocks, model.dt) if isinstance(model, Layers) else ((model,), np.inf)
    norm, tau = blocks[0].norm, blocks[0].tau
    before_end = t * (1.0 - SAME_TIME)
    ends = [layer * dt for layer in range(1, len(blocks)) if layer * dt < before_end]
    if norm == "mix" and 0.0 < tau < before_end and not any(_same(tau, end) for end in ends):
        ends = sorted([*ends, tau])
    begins = [0.0, *ends]
    found = []
    for begin, end in zip(begins, [*ends, t], strict=True):
        layer = min(int(np.floor(begin / dt * (1.0 + SAME_TIME))), len(blocks) - 1)
        law = {"sqrt": "post", "mix": "pre" if begin >= tau or _same(begin, tau) else "post"}.get(norm, norm)
        found.append(
            Piece(layer, blocks[layer], law, float(solver_time(norm, begin)), float(solver_time(norm, end)))
        )
    return found


def solver_time(norm: str, t: float | Array) -> Array:
    """The solver's time at the model's time t."""
    time = np.asarray(t, dtype=np.float64)
    return 2.0 * time / (np.sqrt(time + 1.0) + 1.0) if norm == "sqrt" else time


def model_time(norm: str, s: float | Array) -> Array:
    """The model's time at the solver's time s."""
    time = np.asarray(s, dtype=np.float64)
    return time * (1.0 + 0.25 * time) if norm == "sqrt" else time


def starting_lengths(model: Block | Layers, n: int) -> Array | None:
    """The lengths (n,) that n tokens start with, or None where lengths never count."""
    first = model.blocks[0] if isinstance(model, Layers) else model
    return np.array(first.radii(n)) if first.has_radius else None


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= SAME_TIME * max(abs(a), abs(b))
