"""Tokens in cells: finding who is near whom without looking at every pair.  Compiled.

A cell is a cube in the few coordinates along which the tokens spread most; its side is at least the distance
asked for, so whoever is that near stands in the same cell or in one beside it.  Only cells that hold tokens
exist, in a hash table.  Two cells that share a hash are one to the table: that costs time, never a wrong
answer, because every pair is measured with all its coordinates.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.compile import compiled, inner
from nucleate.kernels.threads import Stop

__all__ = [
    "RENYI",
    "STRONG",
    "Grid",
    "all_axes",
    "cell_side",
    "link",
    "make_grid",
    "park",
    "park_runs",
    "spread",
]

Indices = NDArray[np.int64]

RENYI, STRONG = 1, 2
MAX_AXES = 6  # 3^6 cells around a token
LOOKUP_PAIRS = 4.0  # to look into a cell costs about as much as measuring so many pairs
SAMPLED_TOKENS = 1000  # so many tell how well a coordinate sorts


class Grid(NamedTuple):
    """Tokens sorted by cell."""

    axes: Indices  # (axes,) the coordinates used
    side: float
    key: NDArray[np.uint64]  # (slots,) the hash of the cell in this slot
    start: Indices  # (slots + 1,) where its members begin
    free: Indices  # (slots,) where those end that have no owner yet; `park` puts them first
    member: Indices  # (n,) tokens, slot by slot
    y: Array  # (n, d) x[member]


def cell_side(reach: float) -> float:
    """The side of a cell: more than rounding can move a token, in units of a cell."""
    return 1.01 * reach + 1e-14


def make_grid(x: Array, reach: float) -> Grid:
    """The grid for tokens x (n, d) in which two with |x - y| <= reach stand in the same cell or in
    neighbouring ones."""
    side = cell_side(reach)
    axes = _best_axes(x, side)
    key, start, member = _fill(x, axes, side)
    return Grid(axes, side, key, start, start[1:].copy(), member, x[member])


def all_axes(n: int, d: int) -> bool:
    """Whether so few tokens are sorted by all coordinates: a choice among them is not worth the thought."""
    return d <= 3 and n <= SAMPLED_TOKENS


def _best_axes(x: Array, side: float) -> Indices:
    """The coordinates that leave the fewest pairs to measure, and not too many cells to look into."""
    n, d = x.shape
    if all_axes(n, d):
        return np.arange(d)
    some = x[:: -(-n // SAMPLED_TOKENS)]  # (some, d)
    axes = np.argsort(-some.var(0), kind="stable")[:MAX_AXES].astype(np.int64)  # (axes,) widest first
    sample = np.sort(some[:, axes], axis=0)  # (some, axes)
    within = [
        np.searchsorted(one, one + 1.5 * side, "right") - np.searchsorted(one, one - 1.5 * side)
        for one in sample.T
    ]
    # (axes,) of the tokens that stand in the three cells of one, by this coordinate alone
    share = np.mean(within, axis=1) / len(sample)
    # (axes,) with the first so many
    cost = LOOKUP_PAIRS * 3.0 ** np.arange(1, len(axes) + 1) + n * np.cumprod(share)
    return axes[: int(cost.argmin()) + 1]


@inner
def _mixed(key: np.uint64, place: int) -> np.uint64:
    """One more coordinate of a cell into its hash (the multiplier is the golden ratio in 64 bits)."""
    key = (key ^ np.uint64(place)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@inner
def _slot(key: NDArray[np.uint64], start: Indices, wanted: np.uint64) -> np.int64:
    """The slot of a hash in the table, or the empty one where it would go; a slot is empty if it has no
    members."""
    last = len(key) - 1
    slot = np.int64(wanted & np.uint64(last))
    while start[slot + 1] > start[slot] and key[slot] != wanted:
        slot = np.int64((slot + 1) & last)
    return slot


@compiled
def _fill(x: Array, axes: Indices, side: float) -> tuple[NDArray[np.uint64], Indices, Indices]:
    """The table: hash per slot, beginning of its members, members."""
    n = len(x)
    slots = 4
    while slots < 2 * n:
        slots *= 2
    key, size, mine = np.zeros(slots, np.uint64), np.zeros(slots, np.int64), np.empty(n, np.int64)
    last = slots - 1
    for k in range(n):
        wanted = np.uint64(1)
        for axis in axes:
            wanted = _mixed(wanted, np.int64(np.floor(x[k, axis] / side)))
        slot = np.int64(wanted & np.uint64(last))
        while size[slot] > 0 and key[slot] != wanted:
            slot = np.int64((slot + 1) & last)
        key[slot], mine[k] = wanted, slot
        size[slot] += 1
    start = np.zeros(slots + 1, np.int64)
    for i in range(slots):
        start[i + 1] = start[i] + size[i]
    member, filled = np.empty(n, np.int64), start[:-1].copy()
    for k in range(n):
        member[filled[mine[k]]] = k
        filled[mine[k]] += 1
    return key, start, member


@inner
def _square(x: Array, k: int, y: Array, j: int, enough: float) -> float:
    """|x[k] - y[j]|^2, or part of it once that exceeds `enough`.  Rows by number: making a view of each would
    take longer."""
    d = x.shape[1]
    total = 0.0
    c = 0
    while c + 4 <= d and total <= enough:  # in fours, which the processor subtracts and squares at once
        p, q, r, s = (
            x[k, c] - y[j, c],
            x[k, c + 1] - y[j, c + 1],
            x[k, c + 2] - y[j, c + 2],
            x[k, c + 3] - y[j, c + 3],
        )
        total += (p * p + q * q) + (r * r + s * s)
        c += 4
    if total <= enough:
        for rest in range(c, d):
            total += (x[k, rest] - y[j, rest]) ** 2
    return total


@inner
def _neighbour(grid: Grid, x: Array, k: int, number: int) -> np.int64:
    """The slot of cell `number` of the 3^axes around token k; empty slots too."""
    wanted = np.uint64(1)
    for axis in grid.axes:
        wanted = _mixed(wanted, np.int64(np.floor(x[k, axis] / grid.side)) + number % 3 - 1)
        number //= 3
    return _slot(grid.key, grid.start, wanted)


@inner
def _swap(grid: Grid, i: int, j: int) -> None:
    """Two members of a cell change places."""
    grid.member[i], grid.member[j] = grid.member[j], grid.member[i]
    for c in range(grid.y.shape[1]):
        grid.y[i, c], grid.y[j, c] = grid.y[j, c], grid.y[i, c]


@compiled
def park(
    x: Array,
    grid: Grid,
    low: float,
    high: float,
    strong: bool,
    begin: int,
    owner: Indices,
    kind: NDArray[np.uint8],
    doubtful: Indices,
    stop: Stop,
) -> tuple[int, int]:
    """Renyi parking from token `begin` on: a token without an owner becomes a center, and owns all later ones
    near it that have none.

    Near means |x - y|^2 < low; above `high` is far; what lies between is left to the caller: park stops after
    the center that has such doubtful tokens, and returns it with their number; and at once when stop[0] is
    set.  kind becomes RENYI; or STRONG, if asked for, where no earlier token is near.  Who has an owner
    leaves the front of its cell, so that no later center looks at it.
    """
    n = len(x)
    for k in range(begin, n):
        if stop[0]:
            return n, 0
        if owner[k] >= 0:
            continue
        owner[k], kind[k] = k, STRONG if strong else RENYI
        doubts = 0
        for number in range(3 ** len(grid.axes)):
            slot = _neighbour(grid, x, k, number)
            i = grid.start[slot]
            while i < grid.free[slot]:  # later tokens, or owned since the cell was last looked into
                j = grid.member[i]
                square = _square(x, k, grid.y, i, high) if owner[j] < 0 else 0.0
                if owner[j] < 0 and square < low:
                    owner[j] = k
                if owner[j] >= 0:
                    grid.free[slot] -= 1
                    _swap(grid, i, grid.free[slot])
                    continue
                if square <= high:
                    doubtful[doubts] = j
                    doubts += 1
                i += 1
            while i < grid.start[slot + 1] and kind[k] == STRONG:
                j = grid.member[i]
                if j < k:
                    square = _square(x, k, grid.y, i, high)
                    if square < low:
                        kind[k] = RENYI
                    elif square <= high:
                        doubtful[doubts] = j
                        doubts += 1
                i += 1
        if doubts:
            return k, doubts
    return n, 0


@compiled
def park_runs(
    x: Array,
    axes: Indices,
    side: float,
    low: float,
    high: float,
    strong: bool,
    begin: int,
    kind: NDArray[np.uint8],
    stop: Stop,
) -> int:
    """`park` for run after run of tokens x (b, n, d) from run `begin` on, kind (b, n); stops at a run that
    has doubtful tokens, and returns its number."""
    b, n, _ = x.shape
    owner, doubtful = np.empty(n, np.int64), np.empty(n, np.int64)
    for run in range(begin, b):
        key, start, member = _fill(x[run], axes, side)
        owner[:] = -1
        kind[run] = 0
        grid = Grid(axes, side, key, start, start[1:].copy(), member, x[run][member])
        if park(x[run], grid, low, high, strong, 0, owner, kind[run], doubtful, stop)[1] > 0:
            return run
        if stop[0]:
            return b
    return b


@compiled
def spread(x: Array, owner: Indices) -> Array:
    """How far the tokens each one owns are from it, at most; (n,), 0 for those that own none but
    themselves."""
    far = np.zeros(len(x))
    for j in range(len(x)):
        far[owner[j]] = max(far[owner[j]], _square(x, owner[j], x, j, np.inf))
    return np.sqrt(far)


@inner
def _root(parent: Indices, k: int) -> int:
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@compiled
def link(
    x: Array, group: Indices, first: Indices, far: Array, grid: Grid, reach: float, stop: Stop
) -> Indices:
    """Which groups of tokens hold two with |x - y| <= reach, directly or by way of others: the number of the
    first in its component; (groups,).

    group (n,): tokens in the order of their groups; first (groups + 1,): where each begins, with its center.
    All lie within far[a] <= reach of that center, so a group hangs together; centers are farther apart than
    reach.  grid: that of the centers.  Returns at once when stop[0] is set.
    """
    parent = np.arange(len(far))
    for a in range(len(far)):
        if stop[0]:
            return parent
        if far[a] == 0.0:  # a token alone: a group that touches it finds it
            continue
        for number in range(3 ** len(grid.axes)):
            slot = _neighbour(grid, x, group[first[a]], number)
            for i in range(grid.start[slot], grid.start[slot + 1]):
                b = grid.member[i]
                one, other = _root(parent, a), _root(parent, b)
                limit = (reach + far[a] + far[b]) ** 2
                if one == other or _square(x, group[first[a]], grid.y, i, limit) > limit:
                    continue
                if _touch(
                    x, group[first[a] : first[a + 1]], group[first[b] : first[b + 1]], far[a], far[b], reach
                ):
                    parent[max(one, other)] = min(one, other)
    for a in range(len(far)):
        parent[a] = _root(parent, a)
    return parent


@inner
def _touch(x: Array, a: Indices, b: Indices, far_a: float, far_b: float, reach: float) -> bool:
    """Whether a token of group a is within reach of one of group b; each lies within `far` of its first
    member.

    Only tokens that come near enough to the other center can be, and only those that face the other group
    along the line of the centers.
    """
    front_a, front_b = _facing(x, a, b[0], reach + far_b), _facing(x, b, a[0], reach + far_a)
    if len(front_a) == 0 or len(front_b) == 0:
        return False
    ahead, behind = _along(x, front_a, a[0], b[0]), _along(x, front_b, a[0], b[0])
    enough, begin = reach * (1.0 + 1e-9), behind.min()  # projections are rounded
    front_b = front_b[behind - ahead.max() <= enough]
    for i in range(len(front_a)):
        if begin - ahead[i] <= enough:
            for j in front_b:
                if _square(x, front_a[i], x, j, reach**2) <= reach**2:
                    return True
    return False


@inner
def _facing(x: Array, group: Indices, center: int, limit: float) -> Indices:
    """The tokens of a group within `limit` of a center."""
    limit = (limit * (1.0 + 1e-9)) ** 2
    near, count = np.empty(len(group), np.int64), 0
    for k in group:
        if _square(x, k, x, center, limit) <= limit:
            near[count] = k
            count += 1
    return near[:count]


@inner
def _along(x: Array, group: Indices, begin: int, end: int) -> Array:
    """How far each token of a group is along the line from token `begin` to token `end`."""
    length, along = np.sqrt(_square(x, begin, x, end, np.inf)), np.zeros(len(group))
    for i in range(len(group)):
        for c in range(x.shape[1]):
            along[i] += (x[end, c] - x[begin, c]) * (x[group[i], c] - x[begin, c])
        along[i] /= length
    return along
