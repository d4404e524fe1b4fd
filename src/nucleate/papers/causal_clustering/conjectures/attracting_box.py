"""Attracting equilibria off the poles, proved by interval arithmetic.

The velocity is continued from the sphere to all places x_k in R^d,
    f_k = V m_k - <x_k, V m_k> x_k + c (1 - |x_k|^2) x_k,   m_k what token k attends to, c > 0,
which is the equation where |x_k| = 1, and keeps the sphere: <x_k, f_k> = (1 - |x_k|^2) (<x_k, V m_k> + c
|x_k|^2).  Let X be the ellipsoid of all x + S y with |y| <= R, nu > 0, J the Jacobian.  If on all of X
    (M + M^T)/2 <= -nu,   M = S^{-1} J S,      and      |S^{-1} f(x)| < nu R at its middle,
then any two solutions in X approach each other like e^{-nu t}, |y|' <= -nu |y| + |S^{-1} f(x)| < 0 on its
edge, so that none leaves it, and there is exactly one equilibrium in X, to which all solutions in X tend.  It
is on the sphere if the last factor above is positive on X.  (docs/conjectures.md.)

Each of these is checked over a box that holds X, with every rounding outwards; the eigenvalues of the
symmetric part are bounded by Gershgorin's circles.
"""

from dataclasses import dataclass

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.interval_arithmetic import (
    Interval,
    dot,
    exponential,
    interval,
    interval_array,
    product,
)

__all__ = ["AttractingBox", "attracting_box", "largest_attracting_box", "within_conjecture_1"]

RADII = tuple(0.5**i for i in range(3, 40))  # tried from the largest on
TOKEN_SCALES = (1.0, 0.3, 0.1, 0.03, 0.01)  # by which earlier tokens have smaller boxes


@dataclass(frozen=True)
class AttractingBox:
    """What is proved of an ellipsoid of tokens."""

    failure: str  # what could not be shown; empty if all was
    radius: float = 0.0  # R
    rate: float = np.nan  # nu: all solutions in it approach the equilibrium like e^{-nu t} at least
    off: float = 0.0  # at every place in it some token is at least so far from both poles
    ball: float = 0.0  # all starts within this distance of its middle tend to the equilibrium

    @property
    def holds(self) -> bool:
        """Whether a counterexample to Conjecture 1 is proved: an open set of starts ends off the poles."""
        return not self.failure


def within_conjecture_1(V: Array) -> bool:
    """Whether V surely has d distinct positive eigenvalues and the dominant eigenvector e_1: upper
    triangular, these on the diagonal, the first the largest.  No rounding is involved."""
    diagonal = np.diag(V)
    return bool(
        np.array_equal(V, np.triu(V))
        and len(set(diagonal.tolist())) == len(diagonal)
        and (diagonal > 0.0).all()
        and diagonal.argmax() == 0
    )


def largest_attracting_box(model: Attention, x: Array) -> AttractingBox:
    """The largest of those tried around the tokens x (n, d) for which everything is proved; the last failure
    if there is none."""
    from nucleate.papers.core.interruption import go_on

    found = AttractingBox("nothing was tried")
    for radius in RADII:
        go_on()
        for scale in TOKEN_SCALES if len(x) > 1 else (1.0,):
            found = attracting_box(model, x, radius, scale)
            if found.holds:
                return found
    return found


def attracting_box(model: Attention, x: Array, radius: float, scale: float = 0.1) -> AttractingBox:
    """Whether the ellipsoid of this radius around the tokens x (n, d) holds an equilibrium off the poles that
    attracts all of it."""
    n, d = x.shape
    _, Q, K, V = model.parameters(d)
    if not within_conjecture_1(V):
        return AttractingBox(
            "V is not upper triangular with distinct positive eigenvalues, the first largest"
        )
    field = _Field(float(model.beta), product(interval_array(K.T), interval_array(Q)), interval_array(V), x)
    S = [scale ** (n - 1 - k) * basis for k, basis in enumerate(field.bases())]  # n times (d, d)
    inverse = [block for block in map(_inverse, S) if block is not None]
    if len(inverse) < n:
        return AttractingBox("the basis is too close to singular")
    # |y| <= R makes no entry of x + S y differ by more than R times the sum of a row
    reach = [interval(radius) * _row_sums(block) for block in S]  # n times (d,)
    middle = [interval_array(row) for row in x]  # n times (d,)
    box = [Interval((middle[k] - reach[k]).low, (middle[k] + reach[k]).high) for k in range(n)]
    nu = -max(_growth(field, box, S, inverse))
    if not nu > 0.0:
        return AttractingBox(f"perturbations may grow like e^({-nu:.3g} t) in the box")
    push = [product(inverse[k], field.velocity(middle, k)).magnitude for k in range(n)]  # n times (d,)
    sizes = interval_array(np.concatenate(push))
    length = float(np.sqrt(_sum(sizes * sizes).high)) * (1.0 + 1e-15)
    if not length < nu * radius * (1.0 - 1e-15):
        return AttractingBox(
            f"the velocity at the middle, {length:.3g}, may leave the box, {nu * radius:.3g}"
        )
    if not all(field.radial_factor(box, k).low > 0.0 for k in range(n)):
        return AttractingBox("the equilibrium need not be on the sphere")
    off = max(float(box[k].mignitude[1:].max()) for k in range(n))  # from e_1 and -e_1
    if not off > 0.0:
        return AttractingBox("all tokens may be at the poles")
    largest = max(float(np.sqrt((block.magnitude**2).sum())) for block in inverse)  # |S^{-1}| is below this
    return AttractingBox("", radius, float(nu), off, radius / largest * (1.0 - 1e-12))


class _Field:
    """The continued velocity and its derivatives, as intervals."""

    def __init__(self, beta: float, A: Interval, V: Interval, x: Array) -> None:
        self.beta, self.A, self.V, self.x = beta, A, V, x
        self.d = x.shape[1]
        self.c = float(2.0 * np.abs(V.high).max())

    def mean(self, x: list[Interval], k: int) -> tuple[list[Interval], Interval]:
        """The attention p_kj of token k, j <= k, and m_k (d,)."""
        query = product(self.A, x[k])  # (d,)
        s = [dot(x[j], query) * self.beta for j in range(k + 1)]
        p = []
        for j in range(k + 1):
            total = interval(1.0)
            for i in range(k + 1):
                total = total + exponential(s[i] - s[j]) if i != j else total
            p.append(interval(1.0) / total)
        m = p[0] * x[0]
        for j in range(1, k + 1):
            m = m + p[j] * x[j]
        return p, m

    def velocity(self, x: list[Interval], k: int) -> Interval:
        """f_k, (d,)."""
        pull = product(self.V, self.mean(x, k)[1])
        return pull - dot(x[k], pull) * x[k] + (1.0 - dot(x[k], x[k])) * self.c * x[k]

    def radial_factor(self, x: list[Interval], k: int) -> Interval:
        """<x_k, V m_k> + c |x_k|^2."""
        return dot(x[k], product(self.V, self.mean(x, k)[1])) + dot(x[k], x[k]) * self.c

    def derivatives(self, x: list[Interval], k: int) -> list[Interval]:
        """Of f_k by every x_j, j <= k: (d, d) each.

        dm_k = sum_j p_j (u_j + (x_j - m_k) ds_j),  ds_j = beta (<A x_k, u_j> + <A^T x_j, u_k>).
        """
        p, m = self.mean(x, k)
        one, pull = interval_array(np.eye(self.d)), product(self.V, m)
        query = product(self.A, x[k]) * self.beta  # (d,)
        dm = [p[j] * (one + _outer(x[j] - m, query)) for j in range(k + 1)]
        for j in range(k + 1):
            dm[k] = dm[k] + p[j] * _outer(x[j] - m, product(self.A.mT, x[j]) * self.beta)
        by = []
        for j in range(k + 1):
            turned = product(self.V, dm[j])  # (d, d)
            by.append(turned - _outer(x[k], product(turned.mT, x[k])))
        radial = (1.0 - dot(x[k], x[k])) * self.c - dot(x[k], pull)
        by[k] = by[k] + radial * one - _outer(x[k], pull) - _outer(x[k], x[k]) * (2.0 * self.c)
        return by

    def bases(self) -> list[Array]:
        """At every token a basis (d, d) in which the derivative of its own velocity is nearly diagonal, or
        has blocks (a b; -b a) for complex eigenvalues."""
        middle = [interval_array(row) for row in self.x]
        found = []
        for k in range(len(self.x)):
            w, vectors = np.linalg.eig(self.derivatives(middle, k)[k].low)
            columns = [vectors[:, i].imag if w[i].imag < 0.0 else vectors[:, i].real for i in range(self.d)]
            found.append(np.stack([column / np.linalg.norm(column) for column in columns], axis=1))
        return found


def _growth(field: _Field, box: list[Interval], S: list[Array], inverse: list[Interval]) -> list[float]:
    """Upper ends of Gershgorin's circles of (M + M^T)/2, one per row."""
    n, d = len(box), field.d
    low, high = np.zeros((n, d, n, d)), np.zeros((n, d, n, d))
    for k in range(n):
        for j, derivative in enumerate(field.derivatives(box, k)):
            block = product(product(inverse[k], derivative), interval_array(S[j]))  # (d, d)
            low[k, :, j], high[k, :, j] = block.low, block.high
    M = Interval(low.reshape(n * d, n * d), high.reshape(n * d, n * d))
    symmetric = (M + M.mT) * 0.5
    circles = []
    for i in range(n * d):
        others = np.delete(symmetric.magnitude[i], i)
        circles.append(float((symmetric[i, i] + _sum(interval_array(others))).high))
    return circles


def _outer(a: Interval, b: Interval) -> Interval:
    return a[:, None] * b[None, :]


def _sum(a: Interval) -> Interval:
    total = interval(0.0)
    for i in range(len(a.low)):
        total = total + a[i]
    return total


def _row_sums(S: Array) -> Interval:
    """Of absolute values: (d, d) -> (d,)."""
    sizes = interval_array(np.abs(S))
    total = sizes[:, 0]
    for j in range(1, S.shape[1]):
        total = total + sizes[:, j]
    return total


def _inverse(S: Array) -> Interval | None:
    """S^{-1} (d, d), from an approximate one T: with E = I - T S, |S^{-1} - T| <= |T| |E| / (1 - |E|) in the
    norm of row sums.  None if |E| is not small."""
    T = np.asarray(np.linalg.inv(S), dtype=np.float64)
    E = interval_array(np.eye(len(S))) - product(interval_array(T), interval_array(S))
    error, size = (float(_row_sums(part).high.max()) for part in (E.magnitude, T))
    if not error < 0.1:
        return None
    wrong = 1.2 * error * size  # 1 / (1 - 0.1) = 1.11, and room for rounding
    return Interval(T - wrong, T + wrong) + 0.0
