"""The record of one run under way in the causal solver: parameters, slots, what its tokens hand on to later
ones, scratch.

Slots.  A slot is a frozen token or a group of tokens; the token at work uses the next free slot as its own.
What later tokens need of a slot is its place in every substep of every column, and its increment there, the
sum of u over its tokens.

Three layouts.  In low dimensions each substep has an array of its own, with the slots side by side.  From
dimension VECTORS_FROM on an increment is the vector B_j u in space, and no block J_kj is formed: a pair then
takes a time O(d) a substep, not O(d^2) and O(d^3) before it (`causal_vectors`).  On the circle with K^T Q = I
and V = c I the columns are side by side: lane l of a vector is column K - l, and stage i holds substep i of
all columns that have one.  A stage with at most four of them takes four lanes a slot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import EPS, Array
from nucleate.integrate.run_buffers import Integers
from nucleate.integrate.vector_arrays import BLOCK, VectorArrays, new_vector_arrays, vector_memory
from nucleate.kernels.compile import inlined
from nucleate.kernels.model_shape import WINDOW
from nucleate.kernels.pairwise import Pairwise
from nucleate.kernels.simd import LANES

__all__ = ["CausalState", "causal_memory", "columns_for", "first_seen_slot"]
__all__ += ["new_causal_clock", "new_causal_state"]

GROUP_RADIUS_SQUARED = 0.2  # (beta radius)^2 over the tolerance
HALF_LANES = LANES // 2
# dimension from which a step took less time so, with 10 and 100 tokens, random Q, V = I and random V
VECTORS_FROM = 5
# The clock: the time is t + t_low, for t + h may be t; h is the next step, 0 before the first; h_before the
# step before, 0 if there was none, and error_before its error in tolerances.
CLOCK = np.dtype(
    [(name, "f8") for name in ("t", "t_low", "h", "h_before", "error_before", "after_rejection")]
)


class CausalState(NamedTuple):
    """One run under way.  K columns, S substeps in all, or K stages on the circle; `wide` is the number of
    slots, or of lanes in a stage."""

    system: Pairwise  # parameters; system.x[:, m:] are the tokens' present places
    # of the slots
    places: Array  # (d, width)
    multiplicity: Array  # (width,) tokens in a slot, or the weight of a frozen one
    substep_places: Array  # (S - K or K - 1, d, wide) in the substeps that begin away from v = 0
    increments: Array  # (S or K, d - 1, wide) sums of u over a slot's tokens
    # both of them are (.., width / BLOCK, d BLOCK) with `vectors`
    bases: Array  # (d, d - 1, width) B_j; in low dimensions only, like `places` and `row`
    rounding: Array  # (width,) how far rounding may move one, if more than `roundoff`; not used on the circle
    first_token: Integers  # (width,)
    # of the tokens
    slot_of: Integers  # (n,)
    leader: Integers  # (n,) the first token of each token's slot
    ends: Array  # (d - 1, n) v after the step
    # of the token at work, towards the slots
    weight: Array  # (width,) w_kj
    row: Array  # (d - 1, d - 1, width) J_kj
    attention: Array  # (width,) p_kj at the present places; used with `vectors`
    # of the token at work
    x: Array  # (d,) x_k
    score: Array  # (d,) A x_k
    mean: Array  # (d,) D_k
    basis: Array  # (d, d - 1) B_k
    block: Array  # (d - 1, d - 1) J_kk
    factors: Array  # (d - 1, d - 1) of c/h - J_kk, with `pivot`
    pivot: Integers  # (d - 1,)
    covariance: Array  # (d, d) of the places, by the attention
    product: Array  # (d, d - 1) scratch, like the next two
    image_basis: Array  # (d, d - 1)
    image: Array  # (d,)
    y: Array  # (d,) the place in a substep
    y_score: Array  # (d,) A y
    drift: Array  # (d,) f_k there
    force: Array  # (d - 1,) and in the chart
    v: Array  # (d - 1,) the place in the chart
    u: Array  # (d - 1,) the increment
    extrapolated: Array  # (K, d - 1) Neville's table
    # of the columns in the lanes of a vector, on the circle
    column: Array  # (8,) c
    last: Array  # (8,) the factors of the last extrapolation
    before_last: Array  # (8,) and of the one before
    active: Array  # (K, 8) 1 where the column has the stage
    vectors: VectorArrays | None  # where increments are vectors in space
    columns: int  # K, the order of the method
    frozen_slots: int  # a whole number of vectors: what is left over repeats the first with no weight
    on_circle: bool  # which layout
    group_radius: float  # tokens this close form a group; 0: none do
    roundoff: float  # what the extrapolation makes of rounding


def columns_for(tolerance: float) -> int:
    """The order that costs least for the tolerance, measured on v' = e^v; at most a column for every lane."""
    return int(np.clip(np.rint(4.0 - 0.5 * np.log10(tolerance)), 5, LANES))


def causal_memory(n: int, m: int, d: int, tolerance: float) -> float:
    """Bytes that `new_causal_state` takes at most."""
    K, width = columns_for(tolerance), n + m + 4 * BLOCK
    per_slot = max(d * K * (K - 1) / 2 + d * K * (K + 1) / 2, LANES * (3 * K - 2) * (d == 2)) + 2.0 * d
    if d >= VECTORS_FROM:
        return 8.0 * (width * (per_slot + 8.0) + vector_memory(d, K * (K + 1) // 2, width))
    return 8.0 * width * (per_slot + 2.0 * d * d)


def new_causal_clock(t: float) -> NDArray[np.void]:
    """The clock of a run at time t, (1,), before its first step."""
    clock = np.zeros(1, dtype=CLOCK)
    clock["t"] = t
    return clock


def new_causal_state(system: Pairwise, tolerance: float) -> CausalState:
    """Room for one run of the system."""
    d, n, m, K = system.x.shape[0], system.n, system.m, columns_for(tolerance)
    on_circle, as_vectors = d == 2 and system.gaussian and system.scalar, d >= VECTORS_FROM
    whole = BLOCK if as_vectors else LANES
    frozen = -(-m // whole) * whole
    width = -(-(frozen + n + 1) // whole) * whole + whole
    places, multiplicity = np.zeros((d, width)), np.ones(width)
    if m:
        places[:, :frozen], multiplicity[:frozen] = system.x[:, :1], 0.0
        places[:, :m], multiplicity[:m] = system.x[:, :m], system.a[:m]
    away, substeps, wide = K * (K - 1) // 2, K * (K + 1) // 2, width
    if on_circle:
        away, substeps, wide = K - 1, K, LANES * width
    vectors = new_vector_arrays(system, substeps, places) if as_vectors else None
    if vectors is not None:
        substep_places = np.repeat(vectors.blocks[None], away, axis=0)
    else:
        substep_places = np.zeros((away, d, wide))
        for i in range(away):
            lanes = lanes_in_stage(K, i + 1) if on_circle else 1
            substep_places[i, :, : frozen * lanes] = np.repeat(places[:, :frozen], lanes, axis=1)
    norm = max(1.0, float(np.linalg.norm(system.A, 2)))
    radius = 0.0 if system.mask == WINDOW else float(np.sqrt(GROUP_RADIUS_SQUARED * tolerance)) / norm
    last, before_last = _extrapolation(K)
    column, active = np.maximum(K - np.arange(LANES), 1.0), np.zeros((K, LANES))
    for i in range(K):
        active[i] = np.tile((column > i)[: lanes_in_stage(K, i)], LANES // lanes_in_stage(K, i))
    low = 0 if as_vectors else width
    unused = np.zeros(LANES - K)  # lanes without a column repeat the first, and count for nothing
    zeros = {
        name: np.zeros(shape)
        for names, shape in (
            ("increments", (substeps, d - 1, wide) if vectors is None else (substeps, *vectors.blocks.shape)),
            ("bases", (d, d - 1, low)),
            ("row", (d - 1, d - 1, low)),
            ("rounding weight attention", (width,)),
            ("ends", (d - 1, n)),
            ("extrapolated", (K, d - 1)),
            ("x score mean image y y_score drift", (d,)),
            ("force v u", (d - 1,)),
            ("basis product image_basis", (d, d - 1)),
            ("block factors", (d - 1, d - 1)),
            ("covariance", (d, d)),
        )
        for name in names.split()
    }
    return CausalState(
        system,
        places[:, :low].copy(),
        multiplicity,
        substep_places,
        first_token=np.zeros(width, dtype=np.int64),
        slot_of=np.zeros(n, dtype=np.int64),
        leader=np.arange(n),
        pivot=np.zeros(d - 1, dtype=np.int64),
        column=column,
        last=np.append(last[::-1], unused),
        before_last=np.append(before_last[::-1], unused),
        active=active,
        vectors=vectors,
        columns=K,
        frozen_slots=frozen,
        on_circle=on_circle,
        group_radius=radius,
        roundoff=EPS * float(np.abs(last).sum()),
        **zeros,
    )


def _extrapolation(K: int) -> tuple[Array, Array]:
    """The factors (K,) of columns 1 .. K in the values extrapolated from all of them, and from all but the
    first."""
    c = np.arange(1.0, K + 1)
    last, before_last = (
        np.array([np.prod([j / (j - i) for i in some if i != j]) if j in some else 0.0 for j in c])
        for some in (c, c[1:])
    )
    return last, before_last


def lanes_in_stage(K: int, i: int) -> int:
    """Lanes a slot takes in stage i, in which K - i columns are at work."""
    return LANES if i == 0 or K - i > HALF_LANES else HALF_LANES


@inlined
def first_seen_slot(s, k):
    """The first slot of a token that token k sees."""
    system = s.system
    return s.frozen_slots + max(0, k - system.w + 1) if system.mask == WINDOW else s.frozen_slots
