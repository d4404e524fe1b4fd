"""The drift on the circle (d = 2) in linear time at large beta: a grid of points and running sums; any V,
causal and full mask, frozen tokens; K^T Q a multiple of an orthogonal matrix.

With beta K^T Q x_k = z y_k, y_k unit at the angle psi_k, what token k feels is the function

    Z(psi) = sum_{j<=k} w(psi - theta_j),      w(u) = e^{z (cos u - 1)},

and sum_j w sin(theta_j - psi) = Z'(psi) / z: a sum of bells of the width 1/sqrt(z).  It is kept at the points
of a grid, `density` of them to a width.  Token j adds its bell to the points that it reaches, about sixteen
widths in all, and token k reads Z and Z' off by a polynomial through the 24 points next to it.  That costs
the same at every z, where modes (`circle.py`) grow like sqrt(z) and lose accuracy like z.  Where V is not c I
the sum of w (1 - cos u) is kept too.

The tokens stand in blocks of consecutive ones.  Every block sums up its own bells; running sums over blocks
tell each what came before it; then its tokens join one by one and are read off.  A token near angle 0 adds
its bell at both ends of the grid, which overlap.

Accuracy.  To read a bell off costs an error of at most a w(u) up to four widths away, and b beyond (`GRIDS`,
measured), for its value and for its slope in widths.  Bells are cut off where w falls below `truncation`.
Velocities are differences of places within eight widths, and so are their errors: at most (8 a_value +
a_slope) / sqrt(z), and the same of b, with the truncation, times k / Z_k.  Where the latter is too much,
k > ratio * Z_k, the pairwise kernel computes the token.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from nucleate.checks import EPS, Array
from nucleate.kernels.circle import TOLERANCE, usual_ratio
from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.model_shape import FULL, WINDOW, ModelShape
from nucleate.kernels.pairwise import Pairwise, base_2, pairwise_system, pairwise_token
from nucleate.kernels.simd import LANES, fma, hsum, load, splat, store
from nucleate.kernels.vector_math import exp2

__all__ = [
    "GRIDS",
    "MAX_GRID_Z",
    "MIN_GRID_Z",
    "POINTS",
    "CircleGrid",
    "grid_base",
    "grid_block",
    "grid_density",
    "grid_sweep",
    "grid_system",
    "grid_totals",
    "has_grid",
    "interpolation",
]

MIN_GRID_Z, MAX_GRID_Z = 256.0, 1e8  # narrow bells, and a grid of at most 7 MB
POINTS = 24  # that a value is read off from
NEAR, FAR = 4.0, 8.0  # widths
# points to a width; a of a value and of a slope; b of both
GRIDS = (
    (3, 6e-8, 1e-6, 4e-11, 4e-10),
    (4, 3e-10, 4e-9, 9e-14, 2e-12),
    (5, 3e-12, 4e-11, 7e-16, 1e-14),
    (6, 3e-14, 7e-13, 1e-17, 3e-16),
)
MIN_BLOCK, MAX_BLOCKS = 4096, 64  # tokens of a block at least; blocks at most
MAX_POINTS_PER_TOKEN = 16  # of the grids of all blocks together


def has_grid(shape: ModelShape) -> bool:
    """Whether this kernel is for such a model."""
    if not (shape.ordinary and shape.d == 2 and shape.mask != WINDOW):
        return False
    if not MIN_GRID_Z <= shape.z <= MAX_GRID_Z:
        return False
    A = shape.A / float(np.abs(shape.A).max())  # (2, 2), so that squares stay in range
    square = A @ A.T  # (2, 2)
    return bool(np.abs(square - square[0, 0] * np.eye(2)).max() <= 16.0 * EPS * square[0, 0])


def grid_density(z: float, tolerance: float) -> int | None:
    """Points to a width of 1/sqrt(z), so that velocities are good to `tolerance` |V| if the tokens are about
    uniform; None where no grid is fine enough."""
    for density, near, beyond in _errors(z):
        if near <= 0.25 * tolerance and beyond * usual_ratio(z) <= 0.25 * tolerance:
            return density
    return None


def _errors(z: float) -> list[tuple[int, float, float]]:
    """Of every grid: points to a width; errors of a velocity by bells that are near, and by each of the
    others against Z."""
    width = 1.0 / math.sqrt(z)
    return [
        (density, width * (FAR * a_value + a_slope), width * (FAR * b_value + b_slope))
        for density, a_value, a_slope, b_value, b_slope in GRIDS
    ]


@cache
def interpolation() -> Array:
    """(POINTS, POINTS): powers of f downwards, what each point's value counts for at the place f points from
    the middle of them."""
    nodes = np.arange(POINTS) - 0.5 * (POINTS - 1)
    table = np.zeros((POINTS, POINTS))
    for i, node in enumerate(nodes):
        others = np.delete(nodes, i)
        table[:, i] = np.poly(others) / np.prod(node - others)
    table.flags.writeable = False
    return table


class CircleGrid(NamedTuple):
    """One system for the kernel.  Sums are (kinds, points): of w, and where V is not c I of w (1 - cos u)."""

    pair: Pairwise  # the same system for the pairwise kernel: holds x, and computes what the grid cannot
    totals: Array  # (B, kinds, points) over the tokens of a block
    base: Array  # (B or 1, kinds, points) before them, frozen tokens included
    frozen: Array  # (kinds, points) over the frozen tokens
    sums: Array  # (kinds, points) the running sums; each thread needs its own
    grid: Array  # (2, points) where the points stand
    table: Array  # (POINTS, POINTS) `interpolation`
    turn: Array  # (2, 2) y_k = turn x_k
    z: float
    per_angle: float  # points to a unit of angle
    around: int  # points of the circle
    margin: int  # points before angle 0, and behind 2 pi
    reach: int  # points to each side that a bell is added to
    ratio: float  # how small the sum of weights may be against its number of terms
    mass: float  # of the frozen tokens
    block: int  # tokens of a block
    plain: bool  # K^T Q = I and V = c I

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.totals)

    @property
    def places(self) -> Array:
        """(2, n) where the tokens stand."""
        return self.pair.places


def grid_system(shape: ModelShape, tolerance: float = TOLERANCE) -> CircleGrid:
    """The system of one run on the circle, velocities good to `tolerance` |V|."""
    largest = float(np.abs(shape.A).max())
    scale = largest * float(np.linalg.norm(shape.A[0] / largest))
    z = shape.beta * scale
    density = grid_density(z, tolerance) or GRIDS[-1][0]
    beyond = next(error for points, _, error in _errors(z) if points == density)
    truncation = max(EPS * EPS, 0.125 * tolerance / usual_ratio(z))
    around = math.ceil(2.0 * math.pi * density * math.sqrt(z))
    per_angle = around / (2.0 * math.pi)
    cut = 2.0 * math.asin(math.sqrt(min(1.0, -0.5 * math.log(truncation) / z)))  # w(cut) = truncation
    reach = -(-math.ceil(per_angle * cut) // LANES) * LANES
    margin = 2 * reach + POINTS
    points = -(-(around + 2 * margin) // LANES) * LANES
    angle = (np.arange(points) - margin) / per_angle
    kinds = 1 if shape.plain else 2
    B = max(1, min(MAX_BLOCKS, shape.n // MIN_BLOCK, MAX_POINTS_PER_TOKEN * shape.n // points))
    system = CircleGrid(
        pair=pairwise_system(shape, angle=True),
        totals=np.zeros((B, kinds, points)),
        base=np.zeros((1 if shape.mask == FULL else B, kinds, points)),
        frozen=np.zeros((kinds, points)),
        sums=np.zeros((kinds, points)),
        grid=np.stack([np.cos(angle), np.sin(angle)]),
        table=interpolation().copy(),  # read-only is another type to Numba
        turn=np.eye(2) if shape.gaussian else shape.A / scale,
        z=z,
        per_angle=per_angle,
        around=around,
        margin=margin,
        reach=reach,
        ratio=0.5 * tolerance / (beyond + truncation),
        mass=float(shape.frozen_weight.sum()),
        block=-(-shape.n // B),
        plain=shape.plain,
    )
    for i, weight in enumerate(shape.frozen_weight.tolist()):
        _join_frozen(system, i, weight)
    return system


@uncounted
def grid_totals(s, b):
    """The bells of the tokens of block b, where others see them."""
    if s.pair.mask != FULL and b == s.totals.shape[0] - 1:
        return
    size, first = s.sums.size, s.pair.m + b * s.block
    for i in range(b * size, (b + 1) * size, LANES):
        store(s.totals, i, splat(0.0))
    for column in range(first, min(first + s.block, s.pair.m + s.pair.n)):
        _join(s, s.totals, b * size, column, 1.0)


@uncounted
def grid_base(s, stop):
    """What every block has before it; under the full mask all."""
    totals, base, sums, frozen = s.totals, s.base, s.sums, s.frozen
    size = frozen.size
    for i in range(0, size, LANES):
        store(sums, i, load(frozen, i))
    for b in range(totals.shape[0]):
        if stop[0]:
            return
        for i in range(0, size, LANES):
            before = load(sums, i)
            if s.pair.mask != FULL:
                store(base, b * size + i, before)
            store(sums, i, before + load(totals, b * size + i))
    if s.pair.mask == FULL:
        for i in range(0, size, LANES):
            store(base, i, load(sums, i))


@uncounted
def grid_block(s, b, velocity, stop):
    """Velocities of the tokens of block b; those beyond the accuracy of the grid by the pairwise kernel."""
    if stop[0]:
        return
    pair, sums, full = s.pair, s.sums, s.pair.mask == FULL
    size = sums.size
    source = 0 if full else b * size
    for i in range(0, size, LANES):
        store(sums, i, load(s.base, source + i))
    for k in range(b * s.block, min((b + 1) * s.block, pair.n)):
        if stop[0]:
            return
        if not full:
            _join(s, sums, 0, pair.m + k, 1.0)
        Z = _token(s, k, velocity)
        terms = s.mass + (pair.n if full else k + 1.0)
        if not terms <= s.ratio * Z:
            pairwise_token(pair, k, velocity)
    if b == 0 and pair.m == 0 and not full and s.plain:
        velocity[0] = 0.0  # the first token sees itself alone: exactly, where the grid knows it to rounding


@uncounted
def grid_sweep(s, velocity, stop):
    """All velocities of tokens already placed, on one thread."""
    for b in range(s.totals.shape[0]):
        if stop[0]:
            return
        grid_totals(s, b)
    grid_base(s, stop)
    for b in range(s.totals.shape[0]):
        grid_block(s, b, velocity, stop)


@uncounted
def _join_frozen(s, column, weight):
    _join(s, s.frozen, 0, column, weight)


@inlined
def _place(s, x, y):
    """Where the direction (x, y) stands on the grid: the number of points that come before it, a fraction."""
    place = math.atan2(y, x) * s.per_angle
    return place if place >= 0.0 else place + s.around


@inlined
def _join(s, sums, at, column, weight):
    """Add the bell of a token to the points that it reaches, at both ends of the grid where they overlap; the
    sums lie at flat index `at`."""
    x, y = s.pair.x[0, column], s.pair.x[1, column]
    p = int(_place(s, x, y))
    first = s.margin + p + 1 - s.reach
    _add_bell(s, sums, at, first, x, y, weight)
    if p < s.reach + POINTS:
        _add_bell(s, sums, at, first + s.around, x, y, weight)
    elif p > s.around - s.reach - POINTS:
        _add_bell(s, sums, at, first - s.around, x, y, weight)


@inlined
def _add_bell(s, sums, at, first, x, y, weight):
    grid, width, half, plain = s.grid, s.grid.shape[1], splat(base_2(s.z)), s.plain
    for i in range(first, first + 2 * s.reach, LANES):
        step_x, step_y = load(grid, i) - x, load(grid, width + i) - y
        square = fma(step_x, step_x, step_y * step_y)
        w = exp2(half * square) * weight
        store(sums, at + i, load(sums, at + i) + w)
        if not plain:
            lost = at + width + i
            store(sums, lost, fma(w, square * 0.5, load(sums, lost)))


@inlined
def _token(s, k, velocity):
    """The angular velocity of token k from the sums; returns Z_k."""
    pair, turn, V = s.pair, s.turn, s.pair.V
    x, y = pair.x[0, pair.m + k], pair.x[1, pair.m + k]
    u_x, u_y = x, y
    if not s.plain:
        u_x, u_y = turn[0, 0] * x + turn[0, 1] * y, turn[1, 0] * x + turn[1, 1] * y
    place = _place(s, u_x, u_y)
    p = int(place)
    first, f = s.margin + p + 1 - POINTS // 2, splat(place - p - 0.5)
    a, b, c, a_slope, b_slope, c_slope = _counts(s.table, f)
    Z = _product(s.sums, first, a, b, c)
    across = _product(s.sums, first, a_slope, b_slope, c_slope) * (s.per_angle / s.z)
    if s.plain:
        velocity[k] = pair.scale * across / Z
        return Z
    lost = _product(s.sums, s.sums.shape[1] + first, a, b, c)
    ahead, across = 1.0 - lost / Z, across / Z
    mean_x, mean_y = ahead * u_x - across * u_y, ahead * u_y + across * u_x
    v_x, v_y = V[0, 0] * mean_x + V[0, 1] * mean_y, V[1, 0] * mean_x + V[1, 1] * mean_y
    velocity[k] = v_y * x - v_x * y
    return Z


@inlined
def _counts(table, f):
    """What the 24 points count for at f, and the derivative of that, by Horner's rule."""
    a, b, c = load(table, 0), load(table, LANES), load(table, 2 * LANES)
    a_slope, b_slope, c_slope = splat(0.0), splat(0.0), splat(0.0)
    for power in range(POINTS, POINTS * POINTS, POINTS):
        a_slope, b_slope, c_slope = fma(a_slope, f, a), fma(b_slope, f, b), fma(c_slope, f, c)
        a, b = fma(a, f, load(table, power)), fma(b, f, load(table, power + LANES))
        c = fma(c, f, load(table, power + 2 * LANES))
    return a, b, c, a_slope, b_slope, c_slope


@inlined
def _product(sums, first, a, b, c):
    return hsum(
        fma(a, load(sums, first), fma(b, load(sums, first + LANES), c * load(sums, first + 2 * LANES)))
    )
