"""The velocities of a block as sums over pairs, compiled: several heads of any kind, an MLP, a term of one's
own, a norm; memory O(H n d).

Head h gives token k the output V (c_k x_k + D_k), D_k a weighted sum of differences x_j - x_k as in
`pairwise.py`, whose sums these are, and c_k the sum of its weights:

    softmax        D_k = (1/Z_k) sum_j w_kj (x_j - x_k)     c_k = 1
    exponential    D_k = (1/N_k) sum_j w_kj (x_j - x_k)     c_k = Z_k / N_k,  N_k the sum without scores
    hardmax        D_k = mean of (x_j - x_k), j the best    c_k = 1, or 0 where no other token is seen

For V = c I the part along x_k is kept apart from the others, so that forces far below rounding keep their
relative accuracy.  ALiBi adds -m |k - j| to a score.  RoPE makes an image of every key, R_j K x_j, before the
sums begin.  On the circle heads may be summed over modes instead (`circle_heads.py`), in linear time.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.block_shape import GELU, NGPT, PERI, PRE, RELU, SILU, TANH, BlockShape
from nucleate.kernels.circle import TOLERANCE, modes
from nucleate.kernels.circle_heads import Modes, modes_of, modes_outputs, ratio_of
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import CAUSAL, EXPONENTIAL, FULL, HARDMAX, ModelShape, mean_seen
from nucleate.kernels.own_term import NO_TERM, add_own_term, own_term
from nucleate.kernels.pairwise import (
    STRIP,
    THREE,
    TWO,
    U,
    fall_with_places,
    gaussian_sum,
    gaussian_sum_in_registers,
    place_angles,
    put_on_sphere,
    score_sum,
    seen_range,
)
from nucleate.kernels.simd import (
    LANES,
    TAIL,
    even_lanes,
    fma,
    hmax,
    load,
    odd_lanes,
    splat,
    sqrt,
    store,
    vmax,
)
from nucleate.positions import RoPE

__all__ = [
    "HEAD",
    "Heads",
    "activated",
    "decay_sum",
    "head_records",
    "heads_block",
    "heads_images",
    "heads_place",
    "heads_sweep",
    "heads_system",
    "inlined_heads_sweep",
    "mask_of",
    "pairs_of",
    "stacked",
    "turns",
    "write_velocity",
]

HEAD = np.dtype(  # one head, for compiled code
    [
        ("beta", np.float64),
        ("scale", np.float64),  # V = scale * I where `scalar`
        ("slope", np.float64),  # of ALiBi
        ("mass", np.float64),  # the weights of its frozen tokens together
        ("first", np.int64),  # its frozen tokens are the columns first .. last-1 of x
        ("last", np.int64),
        ("w", np.int64),  # the window
        ("mask", np.int64),  # CAUSAL, FULL or WINDOW
        ("orders", np.int64),  # modes on the circle, 0 for sums over pairs
        ("ratio", np.float64),  # how small the sum of weights may be against its number of terms
        ("weights", np.int64),  # SOFTMAX, EXPONENTIAL or HARDMAX
        ("gaussian", np.bool_),  # K^T Q = I, without RoPE
        ("scalar", np.bool_),
        ("rope", np.bool_),
    ]
)


class Heads(NamedTuple):
    """One run of a block for the kernel over pairs; `x` is filled by `heads_place`, `keys` and `added` by
    `heads_images`.  M frozen tokens of all heads together, m rows of the MLP."""

    x: Array  # (d, M + n + 8) coordinates apart, frozen tokens first, padded
    frozen_weight: Array  # (M + 8,)
    heads: NDArray[np.void]  # (H,) of HEAD
    A: Array  # (H, d, d) beta K^T Q; beta Q for a head with RoPE
    K: Array  # (H, d, d), used with RoPE
    V: Array  # (H, d, d), used unless V = c I
    turn: Array  # (H, n, d) cos and sin of RoPE's angles in turn; (0, n, d) where no head has RoPE
    keys: Array  # (H d, M + n + 8) R_j K x_j; (0, M + n + 8) likewise
    modes: Modes  # on the circle
    W: Array  # (m, d) transposed
    a: Array  # (d, m) transposed
    b: Array  # (m,)
    own: int  # the address of the term of one's own, or NO_TERM
    rows: Array  # (n, d) the tokens, for the term of one's own; (0, d) without
    added: Array  # (n, d) what it gives
    work: Array  # (U + 2 d,) scratch, like the next four: a strip of weights, u_k, D_k
    here: Array  # (d,) x_k
    out: Array  # (d,) the output less its part along x_k
    values: Array  # (2, d)
    hidden: Array  # (m,)
    n: int
    norm: int  # POST, PRE, PERI or NGPT
    activation: int
    alpha: float
    exclude_self: bool
    angle: bool  # the state is the tokens' angles (d = 2), not their coordinates

    @property
    def places(self) -> Array:
        """(d, n) where the tokens stand."""
        return self.x[:, len(self.frozen_weight) - LANES :][:, : self.n]

    @property
    def mask(self) -> int:
        """That of the head that takes longest."""
        return mask_of(self.heads)

    @property
    def pairs(self) -> float:
        """How many pairs one evaluation sums over."""
        return pairs_of(self.heads, self.n)


def mask_of(heads: NDArray[np.void]) -> int:
    """The mask of the head that takes longest."""
    return FULL if (heads["mask"] == FULL).any() else CAUSAL


def pairs_of(heads: NDArray[np.void], n: int) -> float:
    """How many pairs, or token-modes, the heads sum over, at least one per token."""
    seen = sum(
        2.0 * head["orders"] or mean_seen(head["mask"], n, head["w"]) + head["last"] - head["first"]
        for head in heads
    )
    return float(n) * max(1.0, float(seen))


def head_records(heads: tuple[ModelShape, ...]) -> NDArray[np.void]:
    """(H,) of HEAD."""
    last = np.cumsum([len(head.frozen) for head in heads], dtype=np.int64)
    records = np.zeros(len(heads), HEAD)
    for record, head, end in zip(records, heads, last, strict=True):
        for name in ("beta", "scale", "slope", "w", "mask", "weights", "scalar"):
            record[name] = getattr(head, name)
        record["mass"] = head.frozen_weight.sum()
        record["first"], record["last"] = end - len(head.frozen), end
        record["rope"] = head.rope_base > 0.0
        record["gaussian"] = head.gaussian and head.rope_base == 0.0
    return records


def turns(heads: tuple[ModelShape, ...], n: int, d: int) -> Array:
    """(H, n, d) cosines and sines of RoPE in turn; (0, n, d) where no head has it."""
    if not any(head.rope_base > 0.0 for head in heads):
        return np.zeros((0, n, d))
    table = np.zeros((len(heads), n, d))
    for h, head in enumerate(heads):
        if head.rope_base > 0.0:
            angle = RoPE(head.rope_base).angles(n, d)  # (n, d/2)
            table[h, :, 0::2], table[h, :, 1::2] = np.cos(angle), np.sin(angle)
    return table


def stacked(matrices: list[Array], d: int) -> Array:
    """(H, d, d), of no matrix at all too."""
    return np.array(matrices, dtype=np.float64).reshape(-1, d, d)


def heads_system(
    shape: BlockShape, by_modes: Sequence[bool] = (), tolerance: float = TOLERANCE, angle: bool = False
) -> Heads:
    """The system of one run; `by_modes` says of each head whether it is summed over modes, on the circle,
    where velocities are then good to `tolerance` |V|; `angle`, whether the state is angles."""
    n, d, heads = shape.n, shape.d, shape.heads
    records = head_records(heads)
    for record, head, wanted in zip(records, heads, by_modes, strict=False):
        if wanted:
            record["orders"], record["ratio"] = modes(head.z) + 2, ratio_of(head, tolerance)
    frozen = np.concatenate([np.zeros((0, d)), *(head.frozen for head in heads)])  # (M, d)
    M = len(frozen)
    x, weight = np.zeros((d, M + n + LANES)), np.ones(M + LANES)
    x[:, :M], weight[:M] = frozen.T, np.concatenate([np.zeros(0), *(head.frozen_weight for head in heads)])
    turn, has_own = turns(heads, n, d), shape.own is not None
    return Heads(
        x=x,
        frozen_weight=weight,
        heads=records,
        A=stacked([head.beta * (head.Q if head.rope_base > 0.0 else head.A) for head in heads], d),
        K=stacked([head.K for head in heads], d),
        V=stacked([head.V for head in heads], d),
        turn=turn,
        keys=np.zeros((len(turn) * d, M + n + LANES)),
        modes=modes_of(heads, records["orders"].tolist(), n, alone=not has_own and shape.b.size == 0),
        W=shape.W.T.copy(),
        a=shape.a.T.copy(),
        b=shape.b.copy(),
        own=own_term(shape.own),
        rows=np.zeros((n if has_own else 0, d)),
        added=np.zeros((n if has_own else 0, d)),
        work=np.zeros(U + 2 * d),
        here=np.zeros(d),
        out=np.zeros(d),
        values=np.zeros((2, d)),
        hidden=np.zeros(len(shape.b)),
        n=n,
        norm=shape.norm,
        activation=shape.activation,
        alpha=shape.alpha,
        exclude_self=shape.exclude_self,
        angle=angle,
    )


# Before the sums


@uncounted
def heads_place(p, y):
    """Put the state y, (n * d,) coordinates or (n,) angles padded by 8, on the sphere as columns of p.x."""
    x, n = p.x, p.n
    M = p.frozen_weight.size - LANES
    if p.angle:
        place_angles(y, x, M, n)
    elif x.shape[0] == 2:
        _place_pairs(y, x, M, n)
    else:
        put_on_sphere(y, x[:, M : M + n])


@inlined
def _place_pairs(y, x, M, n):
    """For d = 2, eight tokens at a time."""
    whole = n // LANES * LANES
    for k in range(0, whole, LANES):
        first, second = load(y, 2 * k), load(y, 2 * k + LANES)
        even, odd = even_lanes(first, second), odd_lanes(first, second)
        inverse = 1.0 / sqrt(even * even + odd * odd)
        store(x, M + k, even * inverse)
        store(x, x.shape[1] + M + k, odd * inverse)
    for k in range(whole, n):
        inverse = 1.0 / np.sqrt(y[2 * k] * y[2 * k] + y[2 * k + 1] * y[2 * k + 1])
        x[0, M + k], x[1, M + k] = y[2 * k] * inverse, y[2 * k + 1] * inverse


@uncounted
def heads_images(p):
    """Once the tokens are placed: the keys of heads with RoPE, and the term of one's own."""
    x, K, keys, turn, n = p.x, p.K, p.keys, p.turn, p.n
    d = x.shape[0]
    M = p.frozen_weight.size - LANES
    for h in range(turn.shape[0]):
        if not p.heads[h].rope:
            continue
        for c in range(d):
            for j in range(M, M + n):
                keys[h * d + c, j] = 0.0
            for e in range(d):
                for j in range(M, M + n):
                    keys[h * d + c, j] += K[h, c, e] * x[e, j]
        for c in range(0, d, 2):
            even, odd = h * d + c, h * d + c + 1
            for j in range(n):
                cosine, sine = turn[h, j, c], turn[h, j, c + 1]
                first, second = keys[even, M + j], keys[odd, M + j]
                keys[even, M + j] = first * cosine - second * sine
                keys[odd, M + j] = first * sine + second * cosine
    if p.own != NO_TERM:
        for k in range(n):
            for c in range(d):
                p.rows[k, c], p.added[k, c] = x[c, M + k], 0.0
        add_own_term(p.own, p.rows, p.added)


# The sums


@inlined
def inlined_heads_sweep(p, velocity, stop):
    """All velocities of tokens already placed, on one thread; for a call from compiled code."""
    # each only where there is something to do: to hand the record on takes as long as twenty tokens
    if p.turn.shape[0] > 0 or p.added.shape[0] > 0:
        heads_images(p)
    if p.modes.last >= 0:
        modes_outputs(p, velocity, stop)
    if not p.modes.alone or p.modes.left.sum() > 0:
        heads_block(p, 0, p.n, velocity, stop)


@uncounted
def heads_sweep(p, velocity, stop):
    """The same for a call from Python."""
    inlined_heads_sweep(p, velocity, stop)


@uncounted
def heads_block(p, first, last, velocity, stop):
    """Velocities of tokens first .. last-1, into the layout of the state; returns at once when stop[0] is
    set."""
    # taken out once: a field access inside the loop would count references
    x, weight, heads, A, V, turn, keys = p.x, p.frozen_weight, p.heads, p.A, p.V, p.turn, p.keys
    work, values, here, out, hidden, added = p.work, p.values, p.here, p.out, p.hidden, p.added
    W, a, b, frame, over_pairs = p.W, p.a, p.b, p.modes.frame, p.modes.over_pairs
    n, exclude_self, activation, norm, alpha, angle = (
        p.n,
        p.exclude_self,
        p.activation,
        p.norm,
        p.alpha,
        p.angle,
    )
    chunk = frame.shape[2]
    d = x.shape[0]
    M = weight.size - LANES
    alone = p.modes.alone
    for k in range(first, last):
        if stop[0]:
            return
        if alone and not over_pairs[heads.size, k]:
            continue
        for c in range(d):
            here[c] = x[c, M + k]
            out[c] = added[k, c] if added.shape[0] > 0 else 0.0
        radial = 0.0  # the part along x_k is radial x_k
        if frame.size > 0:
            b_k, i, at = k // (chunk * LANES), k % chunk, k // chunk % LANES
            radial, across = frame[0, b_k, i, at], frame[1, b_k, i, at]
            out[0] -= across * here[1]
            out[1] += across * here[0]
        for h in range(heads.size):
            if heads[h].orders > 0 and not over_pairs[h, k]:
                continue
            total = _head_sums(x, weight, heads[h], A, turn, keys, work, h, k, n)
            radial += _add_output(heads[h], V, work, values, here, out, h, total, exclude_self)
        if b.size > 0:
            add_mlp(W, a, b, activation, here, hidden, out)
        write_velocity(out, here, radial, norm, alpha, angle, velocity, k)


@inlined
def _head_sums(x, weight, head, A, turn, keys, work, h, k, n):
    """D_k of one head into `work`; returns c_k."""
    d = x.shape[0]
    D = U + d
    M = weight.size - LANES
    at, beta, slope = M + k, head.beta, head.slope
    source, offset = (keys, h * d * x.shape[1]) if head.rope else (x, 0)
    low, high = seen_range(k, n, M, head.mask, head.w)
    for c in range(d):
        work[D + c] = 0.0
    if head.weights == HARDMAX:
        _query(x, head, A, turn, work, h, k, at)
        Z = _hardmax_sum(source, offset, x, work, head, at, low, high)
        for c in range(d):
            work[D + c] /= max(Z, 1.0)
        return min(Z, 1.0)
    if head.gaussian:
        Z, largest = 0.0, beta  # the score of the token itself, which the sum takes for 0
        if head.last > head.first:
            Z = gaussian_sum(x, weight, beta, work, at, head.first, head.last, True, None)
        if slope > 0.0:
            if d == 2:
                Z += gaussian_sum_in_registers(x, beta, work, at, low, high, TWO, slope)
            elif d == 3:
                Z += gaussian_sum_in_registers(x, beta, work, at, low, high, THREE, slope)
            else:
                Z += gaussian_sum(x, weight, beta, work, at, low, high, False, slope)
        elif d == 2:
            Z += gaussian_sum_in_registers(x, beta, work, at, low, high, TWO, None)
        elif d == 3:
            Z += gaussian_sum_in_registers(x, beta, work, at, low, high, THREE, None)
        else:
            Z += gaussian_sum(x, weight, beta, work, at, low, high, False, None)
    else:
        _query(x, head, A, turn, work, h, k, at)
        Z, largest = 0.0, -np.inf
        for part in range(0 if head.last > head.first else 1, 2):
            start, end = low if part else head.first, high if part else head.last
            fall = slope if part else 0.0
            Z, largest = score_sum(source, offset, x, weight, work, at, start, end, fall, Z, largest)
    factor, total = 1.0 / Z, 1.0
    if head.weights == EXPONENTIAL:
        count = head.mass + decay_sum(slope, at - low) + decay_sum(slope, high - 1 - at) - 1.0
        total = np.exp(largest) * (Z / count)
        factor *= total
    for c in range(d):
        work[D + c] *= factor
    return total


@inlined
def decay_sum(slope, places):
    """sum_{i=0}^{places} e^{-slope i}."""
    if slope == 0.0:
        return places + 1.0
    return math.expm1(-slope * (places + 1.0)) / math.expm1(-slope)


@inlined
def _query(x, head, A, turn, work, h, k, at):
    """u_k = beta K^T Q x_k, or beta R_k Q x_k, into `work`."""
    d = x.shape[0]
    for c in range(d):
        score = 0.0
        for e in range(d):
            score += A[h, c, e] * x[e, at]
        work[U + c] = score
    if head.rope:
        for c in range(0, d, 2):
            cosine, sine, even, odd = turn[h, k, c], turn[h, k, c + 1], work[U + c], work[U + c + 1]
            work[U + c] = even * cosine - odd * sine
            work[U + c + 1] = even * sine + odd * cosine


@inlined
def _hardmax_sum(keys, offset, x, work, head, at, low, high):
    """Add x_j - x_k for all j != k with the highest score; returns how many there are.

    Where K^T Q = I that is -beta |x_j - x_k|^2 / 2, which tells apart what <x_k, x_j> cannot.
    """
    d, width = x.shape
    D = U + d
    count, largest = 0.0, -np.inf
    for start in range(low, high, STRIP):
        end = min(start + STRIP, high)
        best = splat(-np.inf)
        for j in range(start, end, LANES):
            score = load(TAIL, max(0, LANES - (end - j))) + fall_with_places(head.slope, at, j)
            if head.gaussian:
                square = splat(0.0)
                for c in range(d):
                    step = load(x, c * width + j) - x[c, at]
                    square = fma(step, step, square)
                score = fma(splat(-0.5 * head.beta), square, score)
            else:
                for c in range(d):
                    score = fma(splat(work[U + c]), load(keys, offset + c * width + j), score)
            store(work, j - start, score)
            if j <= at < j + LANES:
                work[at - start] = -np.inf  # not the token itself
                score = load(work, j - start)
            best = vmax(best, score)
        new = hmax(best)
        if new > largest:
            count, largest = 0.0, new
            for c in range(d):
                work[D + c] = 0.0
        if new == largest and new > -np.inf:
            for j in range(start, end):
                if work[j - start] == largest:
                    count += 1.0
                    for c in range(d):
                        work[D + c] += x[c, j] - x[c, at]
    return count


# After the sums


@inlined
def _add_output(head, V, work, values, here, out, h, total, exclude_self):
    """out += V (total x_k + D_k), for V = c I without the part along x_k, whose length is returned."""
    d = here.size
    D = U + d
    if head.scalar:
        along = 0.0
        if exclude_self:
            for c in range(d):
                along += work[D + c] * here[c]
        for c in range(d):
            out[c] += head.scale * (work[D + c] - along * here[c])
        return 0.0 if exclude_self else head.scale * total
    along, square = 0.0, 0.0
    for c in range(d):
        value, own = 0.0, 0.0  # V D_k or V (total x_k + D_k), and v = V x_k
        for e in range(d):
            value += V[h, c, e] * (work[D + e] if exclude_self else total * here[e] + work[D + e])
        values[0, c] = value
        if exclude_self:  # total v loses all of itself
            for e in range(d):
                own += V[h, c, e] * here[e]
            values[1, c] = own
            along += value * own
            square += own * own
    for c in range(d):
        out[c] += values[0, c] - (along / square * values[1, c] if square > 0.0 else 0.0)
    return 0.0


@inlined
def activated(activation, z):
    """sigma(z)."""
    if activation == RELU:
        return max(z, 0.0)
    if activation == GELU:
        return 0.5 * z * (1.0 + math.erf(z / math.sqrt(2.0)))
    if activation == SILU:
        return z * 0.5 * (1.0 + math.tanh(0.5 * z))
    if activation == TANH:
        return math.tanh(z)
    return z


@inlined
def add_mlp(W, a, b, activation, here, hidden, out):
    """out += W sigma(a x + b) of one token; W (m, d) and a (d, m) transposed, so that rows are added."""
    m, d = W.shape
    for i in range(m):
        hidden[i] = b[i]
    for c in range(d):
        value = here[c]
        for i in range(m):
            hidden[i] += a[c, i] * value
    for i in range(m):
        value = activated(activation, hidden[i])
        for c in range(d):
            out[c] += W[i, c] * value


@inlined
def write_velocity(out, here, radial, norm, alpha, angle, velocity, k):
    """The velocity of token k, whose block adds A = radial x_k + out: P A / s, that of its angle where the
    state is angles; where r is part of the state A or A / |A|."""
    d = here.size
    at = k * d
    if norm == PRE:
        for c in range(d):
            velocity[at + c] = radial * here[c] + out[c]
        return
    square, along = 0.0, 0.0
    for c in range(d):
        along += out[c] * here[c]
        A = radial * here[c] + out[c]
        square += A * A
    inverse = 1.0
    if norm in (PERI, NGPT):
        inverse = 1.0 / np.sqrt(square) if square > 0.0 else 0.0
    if norm == NGPT:
        inverse *= alpha
    if angle:
        velocity[k] = inverse * (out[1] * here[0] - out[0] * here[1])
        return
    for c in range(d):
        if norm == PERI:
            velocity[at + c] = inverse * (radial * here[c] + out[c])
        else:
            velocity[at + c] = inverse * (out[c] - along * here[c])
