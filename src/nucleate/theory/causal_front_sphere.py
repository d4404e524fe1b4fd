"""The limit of very many tokens under the causal mask (`causal_front`), solved on the sphere (d = 3).

The equation is the circle's.  Behind first tokens, which move exactly, come cells in s = ln k.  A cell has
starts spread over the sphere, each with the weight of a product rule, Gauss-Legendre in x_3 times even
longitudes, so that the harmonics of all degrees used are 0 on average over the starts; each start is carried
by the flow.  A cell sees all before it and half of itself,

    zeta(x) = sum_l (2 l + 1) i_l(beta) / i_0(beta) mean P_l(<x, y>),      v = grad zeta / (beta zeta),

as a sum over harmonics S_lm (`kernels.harmonics`), at the cost P C (L + 1)^2 / 2 for P starts and C cells.

Ways from the starts are kept, not places, as on the circle: of places the modes far ahead of the front, about
e^{-s} without noise, would be lost in rounding near s = 40.

Noise of independent tokens, k of a cell: each harmonic of mean square 1 has over them a mean of variance
1 / k.  To first order the density 1 + sum a_lm y_lm is that of starts moved by the gradient of sum a_lm y_lm
/ (l (l + 1)).  With fewer tokens than modes that is too weak: in cells of 85 the fastest modes have about two
thirds of that power at beta = 8.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, check_tokens, finite_array, finite_number, whole_number
from nucleate.theory.causal_front import CELLS_PER_S, HALVINGS, STEP, halved
from nucleate.theory.causal_front_sphere_velocities import (
    PAIR,
    HarmonicField,
    gradients_into,
    seen_into,
    velocities_into,
)

__all__ = ["ContinuedOnSphere", "continue_on_sphere", "seen_on_sphere"]

LEFT_OUT = 1e-3  # of zeta for the uniform law, at most, by degrees beyond L
NOISE = 3  # so that the noise of a seed is that of no tokens, random places or circle drawn with it


class ContinuedOnSphere(NamedTuple):
    """First tokens, and the limit of many behind them, at times t."""

    t: Array  # (T,)
    s: Array  # (C,) ln k, the middles of cells
    start: Array  # (P, 3) where tokens start
    share: Array  # (P,) of a cell's tokens that start there
    moved: Array  # (C, P, 3) how far they have gone at the last time
    seen: Array  # (T, C) the mean of zeta - 1 in every cell
    coarser: Array  # (T, C / 2) `seen` before the last halving; as it is if there was none
    error: float  # of `seen`: the largest change in the last halving; inf if there was none


def continue_on_sphere(
    x0: ArrayLike,
    beta: float,
    t: ArrayLike,
    end: float,
    *,
    noise: int | None = None,
    tol: float = 0.05,
    halvings: int = HALVINGS,
) -> ContinuedOnSphere:
    """The limit equation for ln n < s < end behind the n first tokens x0 (n, 3), which move exactly: what
    `causal_front.continue_tokens` is on the circle, with the same noise, tol and halvings."""
    x0 = check_tokens("x0", x0)
    if x0.ndim != 2 or x0.shape[1] != 3:
        raise InputError(
            f"x0 must have shape (n, 3), but has {x0.shape}. For tokens on the circle use continue_tokens."
        )
    beta = finite_number("beta", beta, above=0.0, help="At beta = 0 only one mode grows.")
    tol = finite_number("tol", tol, above=0.0, help="0.05 will do.")
    halvings = whole_number("halvings", halvings, least=0, help="3 will do.")
    begin = float(np.log(len(x0)))
    end = finite_number("end", end, above=begin, help="It is ln k of the last tokens, above ln n.")
    times = finite_array("t", t)
    cells = max(1, round(CELLS_PER_S * (end - begin)))
    found: ContinuedOnSphere = halved(
        lambda finer: _solve(x0, beta, times, end, cells, finer, noise), tol, halvings
    )
    return found


def seen_on_sphere(x: Array, beta: float) -> Array:
    """zeta_k - 1 of tokens x (n, 3), what `causal_front.seen_density` is on the circle: (n,)."""
    from nucleate.kernels.harmonics import degrees, norms

    L, found = degrees(beta, 3, LEFT_OUT * _uniform_weight(beta)), np.empty(len(x))
    seen_into(np.ascontiguousarray(x), _weights(beta, L), norms(L)[1].copy(), L, found)
    return beta * found


class _Starts(NamedTuple):
    """Where tokens of a cell start: rings of equal height, with evenly spread longitudes."""

    place: Array  # (3, P), ring by ring
    share: Array  # (rings,) of a cell's tokens, of each start of a ring
    harmonics: Array  # (rings, rows) q_lm of a ring's height


def _starts(L: int, finer: int) -> _Starts:
    """As far apart as on the circle, where 2.5 of them stand for a wave of degree L."""
    from nucleate.kernels.harmonics import norms, pairs_of

    around = -(-int((2.5 * L + 16.0) * finer) // PAIR) * PAIR
    height, weight = np.polynomial.legendre.leggauss(around // 2)  # (rings,) each
    longitude = 2.0 * np.pi * (np.arange(around) + 0.5) / around
    radius = np.sqrt(1.0 - height**2)
    place = np.stack(
        [
            np.outer(radius, np.cos(longitude)),
            np.outer(radius, np.sin(longitude)),
            np.outer(height, np.ones(around)),
        ]
    )
    (ell, m), recurrence = pairs_of(L), norms(L)[1]
    q = np.zeros((len(height), len(ell)))  # as in `kernels.harmonics`
    for row in range(len(ell)):
        before = q[:, row - 2] if ell[row] > m[row] + 1 else 0.0
        q[:, row] = 1.0 if ell[row] == m[row] else height * q[:, row - 1] - recurrence[row - 1] * before
    return _Starts(place.reshape(3, -1), weight / 2.0 / around, q)


State = tuple[Array, Array]  # first tokens (n, 3), ways of the starts of every cell (C, 3, P)


class _System(NamedTuple):
    """Tokens one by one, then cells."""

    tokens: Array  # (C,)
    starts: _Starts
    beta: float
    L: int

    def velocities(self, first: Array, moved: Array) -> tuple[Array, Array, Array]:
        """Of tokens (n, 3) and cells (C, 3, P), and the mean of zeta - 1 in every cell, (C,)."""
        found = np.empty_like(first), np.empty_like(moved), np.empty(len(moved))
        place, share, q = self.starts
        some = _harmonic_field(_weights(self.beta, self.L), self.L)
        velocities_into(first, moved, place, share, q, self.tokens, some, self.beta, *found)
        return found


def _weights(beta: float, L: int) -> Array:
    """Of every row, what makes (zeta - 1) / beta of means of harmonics, (rows,)."""
    from nucleate.kernels.harmonics import coefficients, norms, pairs_of

    c_0, across, _ = coefficients(beta, L, 3)
    return np.asarray(norms(L)[0] * across[pairs_of(L)[0]] / c_0)


def _harmonic_field(weight: Array, L: int) -> HarmonicField:
    from nucleate.kernels.harmonics import norms

    rows = len(weight)
    value = np.stack([weight, np.zeros(rows)], 1)
    return HarmonicField(np.zeros((1, 2 * rows)), value, np.zeros((rows, 6)), norms(L)[1].copy(), L)


def _solve(
    x0: Array, beta: float, times: Array, end: float, cells: int, finer: int, noise: int | None
) -> ContinuedOnSphere:
    from nucleate.kernels.harmonics import degrees

    L = degrees(beta, 3, LEFT_OUT * _uniform_weight(beta))
    edges = np.linspace(np.log(len(x0)), end, cells * finer + 1)  # (C + 1,)
    system = _System(np.diff(np.exp(edges)), _starts(L, finer), beta, L)
    moved = np.zeros((cells * finer, *system.starts.place.shape))
    if noise is not None:
        moved += np.repeat(_noise(system, cells, noise), finer, axis=0)  # however fine
    state, seen, now = (x0.copy(), moved), [], 0.0
    for time in times.tolist():
        steps = max(1, int(np.ceil((time - now) / STEP - 1e-9))) if time > now else 0
        for _ in range(steps):
            state = _runge_kutta(system, state, (time - now) / steps)
        now = time
        seen.append(system.velocities(*state)[2])
    middle, found = (edges[1:] + edges[:-1]) / 2.0, np.stack(seen)
    start, share, rings = system.starts.place, system.starts.share, len(system.starts.share)
    every = np.repeat(share, start.shape[1] // rings)  # (P,)
    return ContinuedOnSphere(
        times, middle, start.T.copy(), every, state[1].swapaxes(1, 2), found, found, np.inf
    )


def _uniform_weight(beta: float) -> float:
    """The mean of e^{beta (u - 1)} for the uniform law: over it, what a token sees of itself is 1."""
    return float(-np.expm1(-2.0 * beta) / (2.0 * beta))


def _noise(system: _System, cells: int, seed: int) -> Array:
    """Ways of the starts of the coarsest cells, (C, 3, P), which leave the modes of independent tokens."""
    from nucleate.kernels.harmonics import norms, pairs_of

    (ell, _), kappa = pairs_of(system.L), norms(system.L)[0]
    normal = np.random.default_rng((NOISE, seed)).standard_normal((cells, len(ell), 2))
    tokens = system.tokens.reshape(cells, -1).sum(1)  # (C,)
    potential = np.sqrt((2 * ell + 1) * kappa) / np.maximum(ell * (ell + 1), 1) * (ell > 0)  # (rows,)
    some = _harmonic_field(potential, system.L)
    found = np.zeros((cells, *system.starts.place.shape))
    for c in range(cells):
        some.base[0] = normal[c].ravel() / np.sqrt(tokens[c])
        gradients_into(some, system.starts.place, found[c])
    return _on_sphere(system.starts.place, found)


def _on_sphere(start: Array, moved: Array) -> Array:
    """Ways whose ends are on the sphere, exact where they are small: start (3, P), moved (C, 3, P)."""
    beyond = (moved * (2.0 * start + moved)).sum(1, keepdims=True)  # (C, 1, P) |start + moved|^2 - 1
    shrink = np.expm1(-0.5 * np.log1p(beyond))
    return np.asarray(moved + shrink * (start + moved))


def _runge_kutta(system: _System, state: State, h: float) -> State:
    """One step of the classical fourth-order method."""
    a = system.velocities(*state)
    b = system.velocities(state[0] + h / 2.0 * a[0], state[1] + h / 2.0 * a[1])
    c = system.velocities(state[0] + h / 2.0 * b[0], state[1] + h / 2.0 * b[1])
    d = system.velocities(state[0] + h * c[0], state[1] + h * c[1])
    first, moved = (state[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]) for i in (0, 1))
    return first / np.linalg.norm(first, axis=1, keepdims=True), _on_sphere(system.starts.place, moved)
