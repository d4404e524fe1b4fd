"""Dominant eigenvalues: those with the largest real part, how often, and in Jordan blocks of which size.

V is taken as known up to tol |V| (Frobenius norm): what a change of that size could make equal counts as
equal.  An eigenvalue with a Jordan block of size nu moves by (tol)^(1/nu) under such a change, so eigenvalues
that belong together may be far apart.  Hence no radius decides, but the matrix does:
    1. V = U T U^T, real Schur form, which is known to rounding whatever the Jordan structure.
    2. A set of k eigenvalues around the dominant one is a candidate.  Its mean moves by tol only, not by its
       root.
    3. The Schur form is reordered to have the candidate first.  If its block minus the mean is nilpotent to
       tol |V|, it is one eigenvalue.  The test is a staircase: split off the kernel, found by singular
       values, k dimensions in all.  The steps tell the Jordan blocks.
The largest candidate that passes is taken.  The Jordan form itself, which no computation in floating point
can find, is never made.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

__all__ = ["Group", "Schur", "all_real_and_distinct", "dominant_groups", "isolate", "schur_form"]

Indices = NDArray[np.int64]
# candidates up to this size are all tried; beyond, only those whose next eigenvalue is so many times as far
ALL_TRIED_SIZE, GAP_FACTOR = 16, 1.5
MOMENTS = (2, 3, 4)  # trace(N^k) of a nilpotent N is 0: cheap to look at before a candidate is examined
MOMENT_SLACK = 10.0  # times what is allowed, for the moments only keep hopeless candidates out


@dataclass(frozen=True, eq=False)
class Schur:
    """V = U T U^T with T block upper triangular, and what counts as equal."""

    T: Array  # (d, d)
    U: Array  # (d, d)
    size: float  # |V|
    reach: float  # tol |V|

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """In the order of the diagonal of T; (d,)."""
        below, above = np.diag(self.T, -1), np.diag(self.T, 1)  # (d - 1,)
        # (d - 1,) LAPACK makes 2 x 2 blocks a, b; c, a with bc < 0
        turn = np.sqrt(np.abs(below)) * np.sqrt(np.abs(above)) * (below != 0.0)
        w = np.diag(self.T).astype(np.complex128)  # (d,)
        w[:-1] += 1j * turn
        w[1:] -= 1j * turn
        return w

    @cached_property
    def coupling(self) -> float:
        """The size of T apart from its eigenvalues: 0 if V is normal."""
        return float(np.sqrt(max(self.size**2 - float((np.abs(self.eigenvalues) ** 2).sum()), 0.0)))


@dataclass(frozen=True, eq=False)
class Group:
    """Eigenvalues that are one eigenvalue, or one conjugate pair, to the tolerance."""

    value: complex  # their mean; of a pair, the one with positive imaginary part
    members: Indices  # places on the diagonal of T; both halves of a pair
    # dim ker (V - value)^i minus that of the power before: steps[0] Jordan blocks, len(steps) the size of the
    # largest
    steps: tuple[int, ...]

    @property
    def twice(self) -> int:
        """2 for a conjugate pair."""
        return 2 if self.value.imag > 0.0 else 1


def schur_form(V: Array, tol: float) -> Schur:
    """The real Schur form of V (d, d)."""
    from scipy.linalg import schur

    T, U = schur(V, output="real", check_finite=False)
    size = float(np.linalg.norm(V))
    return Schur(np.asfortranarray(T), np.asfortranarray(U), size, tol * size)


def dominant_groups(schur: Schur) -> list[Group]:
    """The eigenvalues with the largest real part: one group, or several that differ in their imaginary
    parts."""
    w = schur.eigenvalues
    rest = np.ones(len(w), dtype=bool)
    found: list[Group] = []
    largest = -np.inf
    while rest.any():  # from right to left
        i = int(np.where(rest, w.real, -np.inf).argmax())
        # a group has a member at least as far right as its mean: none to come is dominant
        if w[i].real < largest - schur.reach:
            break
        group = _group_around(schur, w[i], rest)
        rest[group.members] = False
        largest = max(largest, group.value.real)
        found.append(group)
    return [group for group in found if group.value.real >= largest - schur.reach]


def all_real_and_distinct(schur: Schur) -> bool:
    """Whether no change of V by tol |V| can make two eigenvalues meet, or is needed to make them real.

    To first order an eigenvalue moves by its condition number times the change; that of one which rounding
    has split off a Jordan block is as large as the reciprocal of the distance it was moved.
    """
    if schur.eigenvalues.imag.any():
        return False
    w, X = np.linalg.eig(schur.T)  # (d,), (d, d) columns of length 1
    try:
        condition = np.linalg.norm(np.linalg.inv(X), axis=1)  # (d,)
    except np.linalg.LinAlgError:
        return False
    order = np.argsort(w.real)
    apart, moved = np.diff(w.real[order]), schur.reach * condition[order]  # (d - 1,), (d,)
    return bool((apart > moved[1:] + moved[:-1]).all())


def isolate(schur: Schur, members: Indices) -> Schur | None:
    """The Schur form reordered to have these eigenvalues first; None if they are too close to the others for
    that."""
    from scipy.linalg.lapack import dtrsen

    chosen = np.zeros(len(schur.T), dtype=np.int32)
    chosen[members] = 1
    T, U, *_, failed = dtrsen(chosen, schur.T, schur.U, job="N")
    return None if failed else Schur(T, U, schur.size, schur.reach)


def _group_around(schur: Schur, z: complex, rest: NDArray[np.bool_]) -> Group:
    """The largest set of eigenvalues around z, conjugates included, that are one."""
    w = schur.eigenvalues
    # (d,) the same for both halves of a pair
    near = np.where(rest, np.minimum(np.abs(w - z), np.abs(w - np.conj(z))), np.inf)
    order = np.argsort(near, kind="stable")[: rest.sum()]
    near = np.append(np.maximum(near[order], schur.reach), np.inf)  # (rest + 1,)
    for m in _sizes(near):
        group = _examined(schur, order[:m])
        if group is not None:
            return group
    alone = 1 if z.imag == 0.0 else 2  # closer to others than the tolerance, and yet not one with them
    return Group(complex(z.real, abs(z.imag)), order[:alone], (1,))


def _sizes(near: Array) -> list[int]:
    """How many of the nearest eigenvalues may form a group, largest number first: never parted where
    distances are equal."""
    m = np.arange(1, len(near))
    gap = near[1:] > near[:-1] * np.where(m <= ALL_TRIED_SIZE, 1.0, GAP_FACTOR)  # (rest,)
    return m[gap][::-1].tolist()


def _examined(schur: Schur, members: Indices) -> Group | None:
    """These eigenvalues as a group with one real value, or with one value and its conjugate; None if they are
    neither."""
    w = schur.eigenvalues[members]  # (m,)
    block: Schur | None = None
    upper = w[w.imag > 0.0]
    for part in (w, upper) if 2 * len(upper) == len(w) else (w,):
        value = complex(part.mean()) if part is upper else complex(w.real.mean())
        if len(part) == 1:
            return Group(value, members, (1,))
        if not _may_be_one(part - value, schur):
            continue
        block = block or isolate(schur, members)
        if block is None:
            return None
        N = block.T[: len(w), : len(w)] - (value if part is upper else value.real) * np.eye(len(w))  # (m, m)
        steps = _staircase(N, schur.reach)
        if sum(steps) == len(part):
            return Group(value, members, steps)
    return None


def _may_be_one(offset: NDArray[np.complex128], schur: Schur) -> bool:
    """Whether the moments of eigenvalues minus their mean can be those of a nilpotent matrix, changed by
    `reach` in every direction."""
    change = MOMENT_SLACK * np.sqrt(len(offset)) * schur.reach
    size = float(np.linalg.norm(offset)) + schur.coupling  # of the nilpotent matrix, at most
    return all(abs((offset**k).sum()) <= k * change * (size + change) ** (k - 1) for k in MOMENTS)


def _staircase(N: NDArray[Any], reach: float) -> tuple[int, ...]:
    """The dimensions of ker N, then of the kernel of what is left when it is split off, and so on until none
    is left."""
    steps: list[int] = []
    while len(N):
        if np.linalg.norm(N) <= reach:
            return (*steps, len(N))
        _, size, right = np.linalg.svd(N)  # (m,), (m, m)
        kernel = int((size <= reach).sum())
        if kernel == 0:
            break
        steps.append(kernel)
        keep = right[: len(N) - kernel].conj().T  # (m, m - kernel)
        N = keep.conj().T @ N @ keep
    return tuple(steps)
