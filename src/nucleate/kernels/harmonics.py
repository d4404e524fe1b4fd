"""Weights on the sphere as sums over spherical harmonics, in NumPy: the sum over degrees for d = 3 and 4, and
the harmonics for d = 3 (those for d = 4: `harmonics_4`).  `sphere.py` computes with them.

For unit vectors x, y with u = <y, x> and a score of at most z

    e^{z (u - 1)} = sum_l c_l P_l(u),    c_l = N_l j_l(z),    j_l = e^{-z} Gamma(d/2) (2/z)^nu I_{l+nu}(z),

nu = d/2 - 1, P_l the Legendre polynomials of d dimensions, P_l(1) = 1 (d = 4: U_l / (l + 1), U_l those of
Chebyshev), N_l = 2 l + 1 or (l + 1)^2 the harmonics of degree l.  In d = 3, with x = (x_1, x_2, x_3), they
separate,

    P_l(u) = sum_{m=0}^{l} kappa_lm  q_lm(x_3) q_lm(y_3)  Re[(y_1 + i y_2)^m conj (x_1 + i x_2)^m],

where q_lm is the m-th derivative of P_l made monic, a polynomial of degree l - m:

    q_mm = 1,      q_{l+1,m}(s) = s q_lm(s) - b_lm q_{l-1,m}(s),      b_lm = (l^2 - m^2) / (4 l^2 - 1),
    d/ds q_lm = (l - m) q_{l,m+1}.

So the tokens x_j enter through S_lm = sum_j q_lm(x_j3) (x_j1 + i x_j2)^m alone.  These are polynomials in the
coordinates, without a singularity at the poles.  Of the sum of w_j x_j the part across y is the gradient on
the sphere of (1/z) sum_j w_j, so it needs no sums but these; the part along y has the coefficients

    a_l = N_l (l j_{l-1} + (l + d - 2) j_{l+1}) / (2 l + d - 2)      in the place of c_l.

In d = 3 pairs (l, m) stand in rows: m = 0 with l = 0 .. L, then m = 1 with l = 1 .. L, and so on.
"""

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import EPS, Array

__all__ = [
    "CHUNK_NUMBERS",
    "Coefficients",
    "coefficients",
    "count_of_degree",
    "degrees",
    "field",
    "harmonic_sums",
    "norms",
    "pairs_of",
]

CHUNK_NUMBERS = 1 << 20  # of harmonics that are held at a time
MIN_SCORE = 1e-100  # below it e^{z (u - 1)} is 1 + z (u - 1), and only l = 0, 1 are left

IntArray = NDArray[np.int64]
Coefficients = tuple[float, Array, Array]  # c_0, c_l / z with 0 for l = 0, a_l


def count_of_degree(ell: IntArray, d: int) -> IntArray:
    """N_l, the number of harmonics of degree l, in d = 3 or 4."""
    return {3: 2 * ell + 1, 4: (ell + 1) ** 2}[d]


def _scaled_bessel(z: float, L: int, d: int) -> Array:
    """(L + 1,) j_l(z), from the ratios j_l / j_{l-1}, backwards, and the sum of all c_l, which is 1: nothing
    is subtracted."""
    start = L + int(2.0 * np.sqrt(40.0 * max(z, 1.0))) + 16
    ratio = np.ones(start + 2)
    ratio[-1] = 0.0
    for ell in range(start, 0, -1):
        ratio[ell] = 1.0 / ((2 * ell + d - 2) / z + ratio[ell + 1])
    j = np.cumprod(ratio[:-1])  # over j_0
    return np.asarray(j[: L + 1] / (count_of_degree(np.arange(start + 1), d) * j).sum())


def coefficients(z: float, L: int, d: int) -> Coefficients:
    """c_0; (L + 1,) c_l / z, which is what the gradient needs, with 0 for l = 0; (L + 1,) a_l."""
    across, along = np.zeros((2, L + 1))
    if z < MIN_SCORE:
        across[1:2], along[1:2] = 1.0, 1.0
        return 1.0, across, along
    ell, j = np.arange(L + 1), _scaled_bessel(z, L + 1, d)  # (L + 1,), (L + 2,)
    count = count_of_degree(ell, d)
    across[1:] = count[1:] * j[1:-1] / z
    along[:] = (ell * np.append(0.0, j[:-2]) + (ell + d - 2) * j[1:]) * (count / (2 * ell + d - 2))
    return float(j[0]), across, along


@lru_cache(maxsize=1024)
def degrees(z: float, d: int, truncation: float = EPS) -> int:
    """The smallest L >= 1 with sum_{l>L} c_l max(1, l/z) < truncation."""
    guess = 16
    while z >= MIN_SCORE:
        ell = np.arange(guess + 1)
        tail = (
            count_of_degree(ell, d) * _scaled_bessel(z, guess, d) * np.maximum(1.0, ell / z)
        )  # (guess + 1,)
        if tail[-1] < 1e-3 * truncation:
            remaining = np.cumsum(tail[::-1])[::-1]  # sum over l' >= l
            return max(1, int(np.argmax(remaining < truncation)) - 1)
        guess *= 2
    return 1


def pairs_of(L: int) -> tuple[IntArray, IntArray]:
    """(l, m) of every row, ((L + 1)(L + 2) / 2,) each."""
    m, ell = np.triu_indices(L + 1)
    return ell, m


@cache
def norms(L: int) -> tuple[Array, Array]:
    """kappa_lm and b_lm, (rows,) each."""
    ell, m = pairs_of(L)
    first = np.where(ell > 0, (2.0 * ell - 1.0) / np.maximum(2 * ell, 1), 1.0)[
        : L + 1
    ]  # kappa_mm / kappa_{m-1,m-1}
    first[1:2] *= 2.0
    kappa = np.where(ell > m, (2.0 * ell - 1.0) ** 2 / np.maximum(ell**2 - m**2, 1), np.cumprod(first)[m])
    for start, end in zip(
        np.flatnonzero(ell == m), np.append(np.flatnonzero(ell == m)[1:], len(ell)), strict=True
    ):
        kappa[start:end] = np.cumprod(kappa[start:end])
    return kappa, (ell**2 - m**2) / (4.0 * ell**2 - 1.0)


def _harmonics(x: Array, L: int) -> NDArray[np.complex128]:
    """(rows, n) q_lm(x_3) (x_1 + i x_2)^m of tokens x (n, 3)."""
    ell, m = pairs_of(L)
    b = norms(L)[1]
    q = np.zeros((len(ell), len(x)))
    for row in range(len(ell)):
        if ell[row] == m[row]:
            q[row] = 1.0
        else:
            before = q[row - 2] if ell[row] > m[row] + 1 else 0.0
            q[row] = x[:, 2] * q[row - 1] - b[row - 1] * before
    return np.asarray(q * (x[:, 0] + 1j * x[:, 1]) ** m[:, None])


def harmonic_sums(x: Array, weight: Array, L: int) -> Array:
    """(rows, 2): S_lm of tokens x (n, 3), weighted, real and imaginary parts."""
    rows = (L + 1) * (L + 2) // 2
    S, chunk = np.zeros(rows, complex), max(1, CHUNK_NUMBERS // rows)
    for k in range(0, len(x), chunk):
        S += _harmonics(x[k : k + chunk], L) @ weight[k : k + chunk]  # (rows,)
    return np.stack([S.real, S.imag], axis=1)


def field(S: Array, z: float, L: int, y: Array) -> tuple[Array, Array]:
    """sum_j w_j (k,) and sum_j w_j x_j (k, 3) at unit vectors y (k, 3), w_j = e^{z (<y, x_j> - 1)}."""
    (ell, m), kappa = pairs_of(L), norms(L)[0]
    c_0, across, along = coefficients(z, L, 3)
    S = S[:, 0] + 1j * S[:, 1]
    Y = _harmonics(y, L)  # (rows, k)
    D, A = across[ell] * kappa * S, along[ell] * kappa * S  # (rows,)
    Z = c_0 * S[0].real + z * (np.conj(D) @ Y).real  # (k,)
    ahead = (np.conj(A) @ Y).real  # (k,)
    # the gradient of Re sum conj(D) q (y_1 + i y_2)^m, whatever it is along y
    e = y[:, 0] + 1j * y[:, 1]  # (k,)
    gradient = np.zeros((len(y), 3))
    rows = {(int(a), int(b)): row for row, (a, b) in enumerate(zip(ell, m, strict=True))}
    for (degree, order), row in rows.items():
        if order > 0:
            q = Y[row] / np.where(e == 0.0, 1.0, e) ** order  # undone: q_lm alone
            slope = order * np.conj(D[row]) * q * e ** (order - 1)
            gradient[:, 0] += slope.real
            gradient[:, 1] += (1j * slope).real
        if degree > order:
            above = Y[rows[degree, order + 1]] / np.where(e == 0.0, 1.0, e)
            gradient[:, 2] += ((degree - order) * np.conj(D[row]) * above).real
    gradient -= (gradient * y).sum(1, keepdims=True) * y
    return Z, gradient + ahead[:, None] * y
