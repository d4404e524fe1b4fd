"""The velocities of `causal_front`'s limit equation, compiled: the same sums over modes, cell by cell, as
every cell needs only those before it."""

import numpy as np

from nucleate.checks import Array
from nucleate.kernels.compile import compiled

__all__ = ["velocities_into"]


@compiled
def velocities_into(
    first: Array,
    moved: Array,
    weight: Array,
    cosine: Array,
    sine: Array,
    ratio: Array,
    beta: float,
    own: float,
    drift: Array,
    way: Array,
    seen: Array,
) -> None:
    """Of first tokens (n,) and cells moved (C, P) into drift (n,), way (C, P) and seen (C,).

    weight (C,) tokens of a cell; cosine, sine (M, P) of m times the starts; ratio (M,) I_m / I_0; own: what a
    token sees of itself, over I_0."""
    total = np.zeros((2, len(ratio)))  # sums of modes over all that comes before: real, imaginary
    _first_tokens(first, ratio, beta, own, total, drift)
    P = moved.shape[1]
    gone, turned, zeta = np.empty((2, P)), np.empty((2, P)), np.empty(P)
    z, mean = np.empty((2, len(ratio), P)), np.empty((2, len(ratio)))
    count = float(len(first))
    for c in range(len(moved)):
        for p in range(P):
            half = moved[c, p] / 2.0
            s = np.sin(half)
            gone[0, p], gone[1, p] = -2.0 * s * s, 2.0 * s * np.cos(half)  # e^{i moved} - 1
        _cell_modes(gone, cosine, sine, turned, z, mean)
        zeta[:] = 0.0
        way[c, :] = 0.0
        middle = count + weight[c] / 2.0  # tokens before the cell's middle
        for m in range(len(ratio)):
            real, imaginary = mean[0, m] * weight[c], mean[1, m] * weight[c]
            a = 2.0 * ratio[m] * (total[0, m] + real / 2.0) / middle
            b = 2.0 * ratio[m] * (total[1, m] + imaginary / 2.0) / middle
            k = (m + 1) / beta
            for p in range(P):
                zeta[p] += a * z[0, m, p] + b * z[1, m, p]
                way[c, p] += k * (b * z[0, m, p] - a * z[1, m, p])
            total[0, m] += real
            total[1, m] += imaginary
        found = 0.0
        for p in range(P):
            way[c, p] /= 1.0 + zeta[p]
            found += zeta[p]
        seen[c] = found / P
        count += weight[c]


@compiled
def _first_tokens(first: Array, ratio: Array, beta: float, own: float, total: Array, drift: Array) -> None:
    """Every token sees those before it, and itself; `total` becomes the sums over all of them."""
    for j in range(len(first)):
        c, s = np.cos(first[j]), np.sin(first[j])
        zr, zi, Z, pull = 1.0, 0.0, j + own, 0.0
        for m in range(len(ratio)):
            zr, zi = zr * c - zi * s, zr * s + zi * c  # e^{i (m + 1) theta}
            Z += 2.0 * ratio[m] * (total[0, m] * zr + total[1, m] * zi)
            pull += 2.0 * ratio[m] * (m + 1) / beta * (total[1, m] * zr - total[0, m] * zi)
            total[0, m] += zr
            total[1, m] += zi
        drift[j] = pull / Z


@compiled
def _cell_modes(gone: Array, cosine: Array, sine: Array, turned: Array, z: Array, mean: Array) -> None:
    """z = e^{i m place} of a cell's tokens, and their mean; the starts' own is 0, and left out of it, for
    where next to nothing has moved it would drown the rest."""
    P = gone.shape[1]
    turned[:] = 0.0
    for m in range(len(cosine)):
        real, imaginary = 0.0, 0.0
        for p in range(P):
            a, b = turned[0, p], turned[1, p]
            # e^{i m moved} - 1, from that of m - 1
            turned[0, p] = a + gone[0, p] + a * gone[0, p] - b * gone[1, p]
            turned[1, p] = b + gone[1, p] + a * gone[1, p] + b * gone[0, p]
        for p in range(P):
            a = turned[0, p] * cosine[m, p] - turned[1, p] * sine[m, p]
            b = turned[0, p] * sine[m, p] + turned[1, p] * cosine[m, p]
            real += a
            imaginary += b
            z[0, m, p], z[1, m, p] = cosine[m, p] + a, sine[m, p] + b
        mean[0, m], mean[1, m] = real / P, imaginary / P
