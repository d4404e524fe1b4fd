"""How chance unevenness of uniform tokens grows while it is small; derived in docs/capture.md.

Tokens 1 to k have, for every harmonic Y of degree m that is orthonormal on the sphere (on the circle
e^{im phi}), the mode a(k, t) = mean of Y(x_j(t)) over j <= k.  Linearised at the uniform law,
    d/dt [Y(x_k)] = lambda_m a(k, t),   lambda_m = m (m+d-2) I_{m+d/2-1}(beta) / (beta I_{d/2-1}(beta)),
because token k is moved by the tokens before it.  With k a(k, t) as unknown and ln k as variable this has the
solution
    a(n, t) = (1/n) sum_{j<=n} Y(x_j(0)) I_0(2 sqrt(lambda_m t ln(n/j))),
    mean of |a(n, t)|^2 = e^{2 lambda_m t} I_0(2 lambda_m t) / n:
chance, n^{-1/2}, grows like e^{2 lambda t}, so that it takes a time near ln(n) / (4 lambda) to be of order 1.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

__all__ = [
    "growth_rates",
    "harmonics",
    "linear_sums",
    "mode_sums",
    "seen_weights",
    "top_degree",
]

SEEN_CUT = 1e-3  # squared weights of degrees below this are left out of the contrast
SINGLE_TOKENS = 1000  # the first ones, whose place in the sequence counts; later ones go in bins of ln j
BINS_PER_LOG = 50.0


def growth_rates(beta: float, d: int, degree: NDArray[np.int64]) -> Array:
    """lambda_m: how fast a small mode of degree m grows if all tokens see all."""
    from scipy.special import ive

    half = d / 2.0 - 1.0
    return np.asarray(degree * (degree + d - 2) * ive(degree + half, beta) / (beta * ive(half, beta)))


def seen_weights(beta: float, d: int, degree: NDArray[np.int64]) -> Array:
    """What is left of a mode of degree m in the sum of weights Z that a token sees, against that of degree
    0."""
    from scipy.special import ive

    half = d / 2.0 - 1.0
    return np.asarray(ive(degree + half, beta) / ive(half, beta))


def top_degree(beta: float, d: int) -> int:
    """The largest degree that counts in the contrast."""
    degree = np.arange(1, 20 + int(8.0 * np.sqrt(beta)))
    return int(degree[seen_weights(beta, d, degree) ** 2 >= SEEN_CUT][-1])


def harmonics(x: Array, top: int) -> Iterator[tuple[int, float, NDArray[np.complex128]]]:
    """Degree, multiplicity and values (n,) of the harmonics of degrees 1 to `top`, d = 2 or 3: orthonormal
    under the uniform law; those of negative order are the conjugates of those given, and counted with them.
    """
    turn, power = x[:, 0] + 1j * x[:, 1], np.ones(len(x), dtype=np.complex128)  # (n,)
    if x.shape[1] == 2:
        for m in range(1, top + 1):
            power = power * turn
            yield m, 2.0, power
        return
    z, size = x[:, 2], 1.0
    for m in range(top + 1):  # the order; for each the recursion of Legendre functions in the degree
        if m > 0:
            power, size = power * turn, size * np.sqrt((2.0 * m + 1.0) / (2.0 * m))
        last, this = np.zeros(len(x)), np.full(len(x), size)
        for degree in range(m, top + 1):
            if degree > m:
                up = np.sqrt((4.0 * degree**2 - 1.0) / (degree**2 - m**2))
                down = np.sqrt(((degree - 1.0) ** 2 - m**2) / (4.0 * (degree - 1.0) ** 2 - 1.0))
                last, this = this, up * (z * this - down * last)
            if degree > 0:
                yield degree, 2.0 if m else 1.0, this * power


def mode_sums(
    x: Array, ends: NDArray[np.int64], top: int
) -> tuple[NDArray[np.int64], Array, NDArray[np.complex128]]:
    """Degrees and multiplicities (h,) of all harmonics, and their sums over the tokens from one end to the
    next, (h, len(ends)); the last end is the number of tokens."""
    first = np.concatenate([[0], ends])[:-1]
    degree, times, sums = zip(
        *((m, w, np.add.reduceat(values, first)) for m, w, values in harmonics(x, top)), strict=True
    )
    return np.array(degree), np.array(times), np.array(sums)


def linear_sums(
    start: Array, beta: float, sizes: NDArray[np.int64], times: Array
) -> tuple[NDArray[np.int64], Array, NDArray[np.complex128]]:
    """Degrees and multiplicities (h,), and the sums n a(n, t) of the linear solution from where tokens start,
    (times, h, sizes)."""
    from scipy.special import i0

    n, d = start.shape
    ends = _fine_ends(n, sizes)
    degree, multiplicity, sums = mode_sums(start, ends, top_degree(beta, d))  # (h,), (h,), (h, ends)
    place = np.sqrt(np.concatenate([[1], ends[:-1] + 1]) * ends)  # (ends,) of the tokens in a bin, about
    found = np.empty((len(times), len(degree), len(sizes)), dtype=np.complex128)
    rates = growth_rates(beta, d, np.arange(1, degree.max() + 1))  # (degrees,)
    for i, size in enumerate(sizes):
        upto = int(np.searchsorted(ends, size)) + 1
        # (ends,) sums of 1/k for k from j+1 to n
        later = np.log((size + 0.5) / (place[:upto] + 0.5))
        for t, at in enumerate(times):
            grown = i0(2.0 * np.sqrt(np.maximum(rates[:, None] * at * later, 0.0)))  # (degrees, ends)
            found[t, :, i] = np.einsum("he,he->h", sums[:, :upto], grown[degree - 1])
    return degree, multiplicity, found


def _fine_ends(n: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where bins of tokens end, the sizes among them."""
    single = np.arange(1, min(n, SINGLE_TOKENS) + 1)
    binned = np.geomspace(1.0, n, 2 + int(BINS_PER_LOG * np.log(n))).astype(np.int64)
    return np.unique(np.concatenate([single, binned[binned > SINGLE_TOKENS], sizes, [n]]))
