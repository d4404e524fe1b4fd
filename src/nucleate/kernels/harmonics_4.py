"""The harmonics of the sphere in d = 4, in NumPy; `harmonics` has the sum over degrees.

With the complex numbers a = x_1 + i x_2, b = x_3 + i x_4 of a unit vector x and s = |a|^2 - |b|^2 (Hopf's
coordinates), and likewise for y, the polynomials P_l(u), u = <y, x>, separate,

    P_l(u) = sum_{P + Q + 2 k = l} kappa_PQk  q_PQk(s_x) q_PQk(s_y) Re[(a_y conj a_x)^P] Re[(b_y conj b_x)^Q],

where q_PQk is the k-th Jacobi polynomial of the weight (1 + s)^P (1 - s)^Q made monic, of degree k:

    q_PQ0 = 1,      q_{PQ,k+1}(s) = (s - m_PQk) q_PQk(s) - b_PQk q_{PQ,k-1}(s),
    d/ds q_PQk = k q_{P+1,Q+1,k-1}.

So the tokens x_j enter through four real sums for each (P, Q, k), those of q_PQk(s) times the real or
imaginary part of a^P times that of b^Q.  These are polynomials in the coordinates.  kappa is 1 over N_l and
the mean square of q_PQk(s) |a|^P |b|^Q, which is P! Q! / (P + Q + 1)! for k = 0 and b_PQk times that of k - 1
else; twice that if P > 0, and twice again if Q > 0.

Triples (P, Q, k) stand in rows: P = 0 with Q = 0 .. L, then P = 1 with Q = 0 .. L - 1, and so on, and for
each of these k = 0 .. (L - P - Q) / 2.  (P and Q are exponents here, not matrices.)
"""

from collections.abc import Iterator
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.kernels.harmonics import CHUNK_NUMBERS, IntArray, coefficients, count_of_degree

__all__ = ["Norms", "field", "harmonic_sums", "norms", "triples_of"]

Complex = NDArray[np.complex128]


class Norms(NamedTuple):
    """Of every row."""

    kappa: Array
    middle: Array  # m
    recurrence: Array  # b


@cache
def triples_of(L: int) -> tuple[IntArray, IntArray, IntArray]:
    """(P, Q, k) of every row."""
    all_of = [(P, Q, k) for P in range(L + 1) for Q in range(L + 1 - P) for k in range((L - P - Q) // 2 + 1)]
    P, Q, k = np.array(all_of, dtype=np.int64).T
    return P, Q, k


@cache
def norms(L: int) -> Norms:
    """kappa, m and b of every row."""
    P, Q, k = triples_of(L)
    degree = (2 * k + P + Q).astype(float)
    middle = (P**2 - Q**2) / np.maximum(degree * (degree + 2.0), 1.0)
    square = np.maximum(degree**2 * (degree**2 - 1.0), 1.0)
    recurrence = 4.0 * k * (k + P) * (k + Q) * (k + P + Q) / square
    mean = recurrence.copy()  # of the square of q_PQk(s) |a|^P |b|^Q
    mean[k == 0] = [1.0 / ((p + q + 1) * comb(p + q, p)) for p in range(L + 1) for q in range(L + 1 - p)]
    for rows in _rows_by_degree(L)[1:]:
        mean[rows] *= mean[rows - 1]
    twice = np.where(P > 0, 2.0, 1.0) * np.where(Q > 0, 2.0, 1.0)
    return Norms(twice / (count_of_degree(P + Q + 2 * k, 4) * mean), middle, recurrence)


@cache
def _rows_by_degree(L: int) -> list[IntArray]:
    """The rows of k = 0, of k = 1, and so on."""
    k = triples_of(L)[2]
    return [np.flatnonzero(k == degree) for degree in range(L // 2 + 1)]


def _polynomials(s: Array, L: int) -> Array:
    """(rows, n) q_PQk(s), of one k after the other."""
    _, middle, recurrence = norms(L)
    q = np.ones((len(middle), len(s)))
    for degree, rows in enumerate(_rows_by_degree(L)[1:], start=1):
        q[rows] = (s - middle[rows - 1, None]) * q[rows - 1]
        if degree > 1:
            q[rows] -= recurrence[rows - 1, None] * q[rows - 2]
    return q


def _coordinates(x: Array) -> tuple[Complex, Complex, Array]:
    """a, b and s of tokens x (n, 4), (n,) each."""
    a, b = x[:, 0] + 1j * x[:, 1], x[:, 2] + 1j * x[:, 3]
    return a, b, np.abs(a) ** 2 - np.abs(b) ** 2


def _harmonics(x: Array, L: int) -> Iterator[Array]:
    """q_PQk(s) times Re a^P Re b^Q, Re a^P Im b^Q, Im a^P Re b^Q and Im a^P Im b^Q, (rows, n) each."""
    P, Q, _ = triples_of(L)
    a, b, s = _coordinates(x)
    exponents = np.arange(L + 1)[:, None]  # (L + 1, 1)
    first, second, q = (a**exponents)[P], (b**exponents)[Q], _polynomials(s, L)  # (rows, n)
    return (q * f * g for f in (first.real, first.imag) for g in (second.real, second.imag))


def harmonic_sums(x: Array, weight: Array, L: int) -> Array:
    """(rows, 4): the sums of tokens x (n, 4), weighted."""
    rows = len(triples_of(L)[0])
    S, chunk = np.zeros((rows, 4)), max(1, CHUNK_NUMBERS // rows)
    for i in range(0, len(x), chunk):
        for c, Y in enumerate(_harmonics(x[i : i + chunk], L)):
            S[:, c] += Y @ weight[i : i + chunk]  # (rows,)
    return S


def field(S: Array, z: float, L: int, y: Array) -> tuple[Array, Array]:
    """sum_j w_j (m,) and sum_j w_j x_j (m, 4) at unit vectors y (m, 4), w_j = e^{z (<y, x_j> - 1)}."""
    P, Q, k = triples_of(L)
    kappa = norms(L).kappa
    c_0, across, along = coefficients(z, L, 4)
    D, A = (factor[P + Q + 2 * k][:, None] * kappa[:, None] * S for factor in (across, along))  # (rows, 4)
    Y = np.stack(list(_harmonics(y, L)), axis=1)  # (rows, 4, m)
    Z = c_0 * S[0, 0] + z * np.einsum("rc,rcm->m", D, Y)  # (m,)
    ahead = np.einsum("rc,rcm->m", A, Y)  # (m,)
    gradient = _gradient(D, L, y)
    gradient -= (gradient * y).sum(1, keepdims=True) * y
    return Z, gradient + ahead[:, None] * y


def _gradient(D: Array, L: int, y: Array) -> Array:
    """(m, 4) the gradient in space of sum D_PQk q_PQk(s) a^P b^Q, whatever it is along y."""
    triples = list(zip(*(column.tolist() for column in triples_of(L)), strict=True))
    row_of = {triple: row for row, triple in enumerate(triples)}
    a, b, s = _coordinates(y)
    q = _polynomials(s, L)  # (rows, m)
    gradient = np.zeros((len(y), 4))
    for (P, Q, k), row in row_of.items():
        f, g, (D_1, D_2, D_3, D_4) = a**P, b**Q, D[row]
        u = (D_1 * g.real + D_2 * g.imag) + 1j * (D_3 * g.real + D_4 * g.imag)  # what multiplies Re, Im a^P
        v = (D_1 * f.real + D_3 * f.imag) + 1j * (D_2 * f.real + D_4 * f.imag)  # Re, Im b^Q
        # of Re (conj(u) a^P) the derivatives by x_1 and x_2 are the parts of u conj(P a^(P-1))
        by_a = u * np.conj(P * a ** max(P - 1, 0)) * q[row]
        by_b = v * np.conj(Q * b ** max(Q - 1, 0)) * q[row]
        gradient += np.stack([by_a.real, by_a.imag, by_b.real, by_b.imag], axis=1)
        if k > 0:
            slope = k * q[row_of[P + 1, Q + 1, k - 1]] * (np.conj(u) * f).real  # by s
            gradient += 2.0 * slope[:, None] * y * [1.0, 1.0, -1.0, -1.0]
    return gradient
