"""Noise, in NumPy: tokens that drift and diffuse on the sphere S^{d-1},

    dx_k = P_{x_k} A_k dt + sqrt(2 / kappa) dW_k,

W_k independent Brownian motions on the sphere: the noise alone spreads a token by the heat equation
f' = (1 / kappa) Laplace f, so that E x(t) = x(0) e^{-(d-1) t / kappa}.

One step (`noisy_step`) is Strang's splitting: noise for dt/2, drift for dt by Heun's method, noise for dt/2.
Noise for a time h (`diffuse`) goes along a great circle:

    x <- cos|v| x + sin|v| v / |v|,    v = sqrt(2 c / kappa) P_x w,    w ~ N(0, h I)  in R^d.

With c = 1 and s = 2 h / kappa such a move takes a function f, on average, to

    f + s/2 Laplace f + s^2 (Laplace^2 / 8 + (d-2) Laplace / 12) f + O(s^3).

Heat has no (d-2) term, and c = 1 - (d-2) s / 6 + O(s^2) takes it away.  So all three parts are right to
second order, and the step has weak order 2.

The path w is drawn by a generator that counts (Philox4x64-10): what token k feels at step i of a run depends
on (seed, run, k, i) and on nothing else.  A path drawn in steps of path_dt can be read in coarser steps,
whose increments are sums, and in halves, quarters and so on, which Brownian bridges put in between
(`increment`).
The compiled form, `integrate/stochastic.py`, is tested against this file.
"""

from collections.abc import Callable

import numpy as np

from nucleate.checks import Array, InputError
from nucleate.sphere import retract, tangent

__all__ = [
    "MAX_LEVEL",
    "diffuse",
    "heun",
    "increment",
    "noisy_step",
    "normals",
    "path_grid",
    "spread",
    "width",
]

MAX_LEVEL = 40  # halvings of a step of the path
GRID_TOLERANCE = 1e-9  # a ratio of two steps this close to a whole number is one


def noisy_step(
    drift: Callable[[Array], Array], x: Array, w: tuple[Array, Array], kappa: float, dt: float
) -> Array:
    """Tokens x (..., n, d) after one step; w are the path's increments over its halves, (..., n, m) each."""
    x = diffuse(x, w[0], kappa, dt / 2.0)  # (..., n, d)
    x = heun(drift, x, dt)  # (..., n, d)
    return diffuse(x, w[1], kappa, dt / 2.0)  # (..., n, d)


def heun(drift: Callable[[Array], Array], x: Array, dt: float) -> Array:
    """Tokens x (..., n, d) moved by the drift for a time dt."""
    k1 = drift(x)  # (..., n, d)
    k2 = drift(retract(x + dt * k1))  # (..., n, d)
    return retract(x + dt / 2.0 * (k1 + k2))  # (..., n, d)


def diffuse(x: Array, w: Array, kappa: float, h: float) -> Array:
    """Tokens x (..., n, d) moved along great circles by the increment w (..., n, m) of a time h.

    On the circle there is one direction to go and w is a number, m = 1; elsewhere m = d.
    """
    d = x.shape[-1]
    P_w = w * np.stack([-x[..., 1], x[..., 0]], axis=-1) if d == 2 else tangent(x, w)  # (..., n, d)
    v = spread(kappa, h, d) * P_w  # (..., n, d)
    angle = np.sqrt((v * v).sum(-1, keepdims=True))  # (..., n, 1)
    # (..., n, d), np.sinc(z) = sin(pi z) / (pi z); unit but for rounding, which a long w would leave
    return retract(np.cos(angle) * x + np.sinc(angle / np.pi) * v)


def spread(kappa: float, h: float, d: int) -> float:
    """sqrt(2 c / kappa), c = (1 - e^-a) / a with a = (d-2) s / 3: positive also where s is large."""
    a = (d - 2) * (2.0 * h / kappa) / 3.0
    c = -np.expm1(-a) / a if a > 0.0 else 1.0
    return float(np.sqrt(2.0 * c / kappa))


def width(d: int) -> int:
    """m, the numbers per token and increment."""
    return 1 if d == 2 else d


# The path


def increment(seed: int, run: int, path_dt: float, h: float, i: int, n: int, d: int) -> Array:
    """w (n, m): the increment of the path over the time from i h to (i+1) h, for n tokens in dimension d."""
    parts, level = path_grid(path_dt, h)
    shape = n, width(d)
    if level == 0:
        fine = [normals(seed, run, 0, j, shape) for j in range(i * parts, (i + 1) * parts)]  # (n, m) each
        return np.sqrt(path_dt) * np.sum(fine, axis=0)
    w = np.sqrt(path_dt) * normals(seed, run, 0, i >> level, shape)  # (n, m)
    for below in range(1, level + 1):  # a Brownian bridge: the two halves of w are w/2 + b and w/2 - b
        z = normals(seed, run, below, i >> (level - below + 1), shape)  # (n, m)
        b = np.sqrt(path_dt / 2.0 ** (below - 1)) / 2.0 * z  # (n, m)
        w = w / 2.0 - b if (i >> (level - below)) & 1 else w / 2.0 + b
    return w


def path_grid(path_dt: float, h: float) -> tuple[int, int]:
    """How a time h lies on the path: (parts, 0) if it is `parts` steps of it, (1, level) if a step of the
    path is 2^level times h."""
    ratio = h / path_dt
    parts = round(ratio)
    if parts >= 1 and abs(ratio - parts) <= GRID_TOLERANCE * ratio:
        return parts, 0
    level = round(-np.log2(ratio))
    if 1 <= level <= MAX_LEVEL and abs(ratio * 2.0**level - 1.0) <= GRID_TOLERANCE:
        return 1, level
    raise InputError(
        f"path_dt = {path_dt:g} does not fit dt = {2.0 * h:g}: half a step must be a whole number of path_dt,"
        f" or path_dt 2, 4, 8, ... half steps. Give path_dt={h:g}, or leave it out."
    )


def normals(seed: int, run: int, level: int, i: int, shape: tuple[int, ...]) -> Array:
    """Standard normals of step i of the path at a level, read off one stream: token k's do not depend on n.

    The stream is Philox4x64-10 with key (seed, run), counted from (0, i, level, 0) on; a pair of its numbers
    makes two normals (Box and Muller).
    """
    count = int(np.prod(shape))
    philox = np.random.Philox(key=np.array([seed, run], dtype=np.uint64), counter=[0, i, level, 0])
    u = ((philox.random_raw(count + count % 2) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53  # in (0, 1]
    radius, angle = np.sqrt(-2.0 * np.log(u[0::2])), 2.0 * np.pi * u[1::2]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)  # (pairs, 2)
    return z.reshape(-1)[:count].reshape(shape)
