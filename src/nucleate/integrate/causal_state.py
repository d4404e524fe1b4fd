"""The record of one run under way in the causal solver: parameters, slots, what its tokens hand on to later
ones, scratch.

Slots.  A slot is a frozen token or a group of tokens; the token at work uses the next free slot as its own.
What later tokens need of a slot is its place in every substep of every column, and its push, the sum of u
over its tokens.

Two layouts.  In general each substep has an array of its own, with the slots side by side.  From dimension
TALL on a push is the vector B_j u in space, and no block J_kj is formed: a pair then takes a time O(d) a
substep, not O(d^2) and O(d^3) before it.  On the circle with K^T Q = I and V = c I the columns are side by
side: lane l of a vector is column K - l, and stage i holds substep i of all columns that have one.  A stage
with at most four of them takes four lanes a slot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.compile import inner
from nucleate.kernels.model_shape import WINDOW
from nucleate.kernels.pairwise import Pairwise
from nucleate.kernels.simd import LANES

__all__ = ["Causal", "causal_memory", "columns_for", "new_causal", "seen_from"]

EPS = float(np.finfo(np.float64).eps)
GROUPED = 0.2  # (beta radius)^2 over the tolerance
FEW = LANES // 2
# dimension from which a step took less time so, with 10 and 100 tokens, random Q, V = I and random V
TALL = 5
# rows of Causal.lanes: c; the factors of the last two extrapolations; then a row per stage
COLUMN, LAST, BEFORE_LAST, ACTIVE = range(4)


class Causal(NamedTuple):
    """One run under way.  S substeps in all, or K stages on the circle; `wide` is the number of slots, or of
    lanes in a stage."""

    pair: Pairwise  # parameters; pair.x[:, m:] are the tokens' present places
    slots: Array  # (d, width) places of the slots
    tally: Array  # (width,) tokens in a slot, or the weight of a frozen one
    places: Array  # (S - K or K - 1, d, wide) places of the slots in the substeps that begin away from v = 0
    # (S or K, d - 1, wide) sums of u over the tokens of a slot; (S, d, wide) sums of B_j u if `tall`
    pushes: Array
    bases: Array  # (d, d - 1, width) B_j of the slots; not used on the circle
    row: Array  # (d - 1, d - 1, width) J_kj of the token at work; (0, 0, width) if `tall`
    weight: Array  # (width,) w_kj of the token at work
    share: Array  # (2, width) p_kj at the present places, and scratch; used if `tall`
    # (width,) how far rounding may move a slot, where that is more than `noise`; not used on the circle
    blur: Array
    ends: Array  # (d - 1, n) v after the step
    group: NDArray[np.int64]  # (n,) the slot of each token
    member: NDArray[np.int64]  # (width,) the first token of each slot
    leader: NDArray[np.int64]  # (n,) the first token of each token's slot
    basis: Array  # (d, d - 1) B_k
    block: Array  # (d - 1, d - 1) J_kk
    factors: Array  # (d - 1, d - 1) of c/h - J_kk
    pivot: NDArray[np.int64]  # (d - 1,)
    spread: Array  # (d, d)
    product: Array  # (2, d, d - 1) scratch
    vectors: Array  # (7, d) x_k; D_k; A times a place; y; f_k; scratch; A x_k
    small: Array  # (3 + K, d - 1) force, v, u, then the table of the extrapolation
    lanes: Array  # (3 + K, 8) rows as named above
    K: int  # columns, the order of the method
    # slots of frozen tokens, a whole number of vectors: what is left over repeats the first with no weight
    held: int
    circle: bool  # which layout
    tall: bool  # whether pushes are vectors
    radius: float  # tokens this close form a group; 0: none do
    noise: float  # what the extrapolation makes of rounding


def columns_for(tolerance: float) -> int:
    """The order that costs least for the tolerance, measured on v' = e^v; at most a column for every lane."""
    return int(np.clip(np.rint(4.0 - 0.5 * np.log10(tolerance)), 5, LANES))


def causal_memory(n: int, m: int, d: int, tolerance: float) -> float:
    """Bytes that `new_causal` takes at most."""
    K = columns_for(tolerance)
    per_slot = max(d * K * (K - 1) / 2 + d * K * (K + 1) / 2, LANES * (3 * K - 2) * (d == 2))
    return 8.0 * (n + m + 3 * LANES) * (per_slot + 2.0 * d * d)


def new_causal(pair: Pairwise, tolerance: float) -> Causal:
    """Room for one run of the system."""
    d, n, m, K = pair.x.shape[0], pair.n, pair.m, columns_for(tolerance)
    circle, tall = d == 2 and pair.gaussian and pair.scalar, d >= TALL
    held = -(-m // LANES) * LANES
    width = -(-(held + n + 1) // LANES) * LANES + LANES
    slots, tally = np.zeros((d, width)), np.ones(width)
    if m:
        slots[:, :held], tally[:held] = pair.x[:, :1], 0.0
        slots[:, :m], tally[:m] = pair.x[:, :m], pair.a[:m]
    away, substeps, wide = (
        (K - 1, K, LANES * width) if circle else (K * (K - 1) // 2, K * (K + 1) // 2, width)
    )
    places, pushes = np.zeros((away, d, wide)), np.zeros((substeps, d - 1 + tall, wide))
    for i in range(away):
        lanes = lanes_in_stage(K, i + 1) if circle else 1
        places[i, :, : held * lanes] = np.repeat(slots[:, :held], lanes, axis=1)
    norm = max(1.0, float(np.linalg.norm(pair.A, 2)))
    last, before = _extrapolation(K)
    return Causal(
        pair,
        slots,
        tally,
        places,
        pushes,
        bases=np.zeros((d, d - 1, width)),
        row=np.zeros((0, 0, width) if tall else (d - 1, d - 1, width)),
        weight=np.zeros(width),
        share=np.zeros((2, width)),
        blur=np.zeros(width),
        ends=np.zeros((d - 1, n)),
        group=np.zeros(n, dtype=np.int64),
        member=np.zeros(width, dtype=np.int64),
        leader=np.arange(n),
        basis=np.zeros((d, d - 1)),
        block=np.zeros((d - 1, d - 1)),
        factors=np.zeros((d - 1, d - 1)),
        pivot=np.zeros(d - 1, dtype=np.int64),
        spread=np.zeros((d, d)),
        product=np.zeros((2, d, d - 1)),
        vectors=np.zeros((7, d)),
        small=np.zeros((3 + K, d - 1)),
        lanes=_lane_tables(K, last, before),
        K=K,
        held=held,
        circle=circle,
        tall=tall,
        radius=0.0 if pair.mask == WINDOW else float(np.sqrt(GROUPED * tolerance)) / norm,
        noise=EPS * float(np.abs(last).sum()),
    )


def _extrapolation(K: int) -> tuple[Array, Array]:
    """The factors (K,) of columns 1 .. K in the values extrapolated from all of them, and from all but the
    first."""
    c = np.arange(1.0, K + 1)
    last, before = (
        np.array([np.prod([j / (j - i) for i in some if i != j]) if j in some else 0.0 for j in c])
        for some in (c, c[1:])
    )
    return last, before


def _lane_tables(K: int, last: Array, before: Array) -> Array:
    """The rows of `Causal.lanes`; lanes without a column repeat the first, and count for nothing."""
    table = np.zeros((ACTIVE + K, LANES))
    table[COLUMN] = np.maximum(K - np.arange(LANES), 1)
    table[LAST, :K], table[BEFORE_LAST, :K] = last[::-1], before[::-1]
    for i in range(K):
        active = (table[COLUMN] > i).astype(float)  # (8,)
        table[ACTIVE + i] = active if lanes_in_stage(K, i) == LANES else np.tile(active[:FEW], 2)
    return table


def lanes_in_stage(K: int, i: int) -> int:
    """Lanes a slot takes in stage i, in which K - i columns are at work."""
    return LANES if i == 0 or K - i > FEW else FEW


@inner
def seen_from(s, k):
    """The first slot of a token that token k sees."""
    return s.held + max(0, k - s.pair.w + 1) if s.pair.mask == WINDOW else s.held
