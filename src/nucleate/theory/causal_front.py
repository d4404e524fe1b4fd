"""Many tokens on the circle under the causal mask (d = 2, Q = K = V = I), in the variable s = ln k.

Tokens near the place k = e^s of the sequence have at time t the density f(theta, s, t), and see

    mu(theta, s, t) = int_{-inf}^s e^{s'-s} f(theta, s', t) ds'.

The limit of many tokens is  df/dt + d(v f)/dtheta = 0,  v the mean of e^{beta cos u} sin u over
mu(theta + u, s), divided by that of e^{beta cos u}.  Near the uniform law mode m of mu, times k, M(s, t),
obeys  d^2 M / dt ds = lambda M,  lambda as in `onset.py`, so that

    M(s, t) = int I_0(2 sqrt(lambda t (s - s'))) dM(s', 0),

and of tokens drawn independently   E |mode|^2 = e^{2 lambda t} I_0(2 lambda t) / k   (`mode_power`), which is
e^{4 lambda t} / (k sqrt(4 pi lambda t)) for large t.  A disturbance e^{-q s} grows at lambda / (1 - q) and
moves along s with lambda / (q (1 - q)), least for q = 1/2: 4 lambda (`front_speed`), the speed at which a
front goes into the uniform law, and the slope q = 1/2 is that of the noise of independent tokens.

`continue_tokens` solves the equation behind some first tokens.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_array, finite_number, whole_number
from nucleate.theory.onset import fastest_mode, mode_growth

__all__ = [
    "ContinuedTokens",
    "all_seen_density",
    "continue_tokens",
    "front_speed",
    "mode_power",
    "seen_density",
]

MODES_BEYOND = 4.5  # modes kept, in units of sqrt(beta): I_m / I_0 is then below 5e-5
STEP = 0.05  # of the fourth-order method, in time; rates are below 1


def mode_power(k: ArrayLike, beta: float, t: ArrayLike, mode: int | None = None) -> Array:
    """E |(1/k) sum_{j <= k} e^{i mode theta_j}|^2 at time t of tokens drawn uniformly, while it is small."""
    from scipy.special import ive

    k = finite_array("k", k)
    mode = fastest_mode(beta) if mode is None else mode
    a = 2.0 * float(mode_growth(mode, beta)) * finite_array("t", t)
    return np.asarray(np.exp(2.0 * a) * ive(0, a) / k)


def front_speed(beta: float) -> float:
    """4 lambda, in s = ln k per time, lambda the growth of the fastest mode."""
    return 4.0 * float(mode_growth(fastest_mode(beta), beta))


def seen_density(theta: Array, beta: float) -> Array:
    """zeta_k - 1, angles theta (..., n) -> (..., n): the weight that token k sees of those before it, in
    units of what it would see of as many spread evenly,  zeta_k = sum_{j<k} e^{beta cos(theta_k - theta_j)} /
    ((k-1) I_0).  0 for the uniform law."""
    ratio = _ratios(beta)  # (M,)
    z = np.exp(1j * np.asarray(theta))  # (..., n)
    power, found = np.ones_like(z), np.zeros(z.shape)
    for r in ratio:
        power = power * z
        before = np.cumsum(power, -1) - power  # (..., n)
        found += 2.0 * r * (before * power.conj()).real
    return np.asarray(found / np.maximum(np.arange(z.shape[-1]), 1))


def all_seen_density(theta: Array, beta: float) -> Array:
    """The mean of zeta_k - 1 over all tokens under the full mask, each without itself; (..., n) -> (...)."""
    z, n = np.exp(1j * np.asarray(theta)), np.shape(theta)[-1]
    power, found = np.ones_like(z), np.zeros(z.shape[:-1])
    for r in _ratios(beta):
        power = power * z
        found += 2.0 * r * (np.abs(power.sum(-1)) ** 2 - n)
    return np.asarray(found / (n * (n - 1.0)))


class ContinuedTokens(NamedTuple):
    """First tokens, and the limit of many behind them, at times t."""

    t: Array  # (T,)
    s: Array  # (C,) ln k, the middles of cells
    theta: Array  # (T, C, P) where tokens are that started evenly spread
    seen: Array  # (T, C) the mean of zeta - 1 in every cell


def continue_tokens(
    x0: ArrayLike, beta: float, t: ArrayLike, end: float, cells: int = 64, particles: int = 256
) -> ContinuedTokens:
    """The limit equation for ln n < s < end behind the n first tokens x0 (n, 2), from the uniform law.

    x0 are moved with it, and are not disturbed by what follows.  Cells of equal width in s have `particles`
    that start evenly; fixed steps of the classical fourth-order method.
    """
    x0 = check_tokens("x0", x0)
    if x0.ndim != 2 or x0.shape[1] != 2:
        raise InputError(f"x0 must have shape (n, 2), but has {x0.shape}. The limit is on the circle.")
    cells = whole_number("cells", cells, least=1, help="64 do for end - ln n up to 8.")
    particles = whole_number("particles", particles, least=8, help="256 will do.")
    begin = float(np.log(len(x0)))
    end = finite_number("end", end, above=begin, help="It is ln k of the last tokens, above ln n.")
    times = finite_array("t", t)
    edges = np.linspace(begin, end, cells + 1)  # (C + 1,)
    weight = np.diff(np.exp(edges))  # (C,) tokens in every cell
    first = np.arctan2(x0[:, 1], x0[:, 0])  # (n,)
    spread = 2.0 * np.pi * (np.arange(particles) + 0.5) / particles  # (P,)
    state = np.concatenate([first, np.tile(spread, cells)])  # (n + C P,)
    system = _System(len(x0), cells, particles, weight, _ratios(beta), beta)
    kept, seen, now = [], [], 0.0
    for time in times.tolist():
        steps = max(1, int(np.ceil((time - now) / STEP - 1e-9))) if time > now else 0
        for _ in range(steps):
            state = _runge_kutta(system, state, (time - now) / steps)
        now = time
        kept.append(state[len(x0) :].reshape(cells, particles))
        seen.append(system.parts(state)[1])
    return ContinuedTokens(times, (edges[1:] + edges[:-1]) / 2.0, np.stack(kept), np.stack(seen))


class _System(NamedTuple):
    """Tokens one by one, then cells."""

    n: int
    cells: int
    particles: int
    weight: Array  # (C,)
    ratio: Array  # (M,)
    beta: float

    def parts(self, state: Array) -> tuple[Array, Array]:
        """The velocity of everyone, (n + C P,), and the mean of zeta - 1 in every cell, (C,)."""
        from scipy.special import ive

        z = np.exp(1j * state)  # (n + C P,)
        power = np.ones_like(z)
        own = 1.0 / float(ive(0, self.beta))  # what a token sees of itself, over I_0
        Z = np.concatenate([np.arange(self.n) + own, np.zeros(self.cells * self.particles)])  # (n + C P,)
        before = self.n + np.cumsum(self.weight) - self.weight / 2.0  # (C,) tokens before a cell's middle
        Z[self.n :] = np.repeat(before, self.particles)
        drift = np.zeros(len(z))
        for m, r in enumerate(self.ratio, start=1):
            power = power * z
            sums = self._seen(power)  # (n + C P,)
            inner = sums * power.conj()
            Z += 2.0 * r * inner.real
            drift += 2.0 * r * m / self.beta * inner.imag
        seen = (Z[self.n :].reshape(self.cells, self.particles)).mean(1) / before - 1.0  # (C,)
        return drift / Z, seen

    def _seen(self, power: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Sums of e^{i m theta} over all before: of a token its predecessors, of a particle the tokens, the
        cells before, and half its own."""
        tokens, rest = power[: self.n], power[self.n :].reshape(self.cells, self.particles)
        total = np.cumsum(tokens)
        cell = rest.mean(1) * self.weight  # (C,)
        behind = total[-1] + np.cumsum(cell) - cell / 2.0  # (C,)
        return np.concatenate([total - tokens, np.repeat(behind, self.particles)])


def _runge_kutta(system: _System, state: Array, h: float) -> Array:
    k1 = system.parts(state)[0]
    k2 = system.parts(state + h / 2.0 * k1)[0]
    k3 = system.parts(state + h / 2.0 * k2)[0]
    k4 = system.parts(state + h * k3)[0]
    return state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _ratios(beta: float) -> Array:
    """I_m / I_0, m = 1, ..., M."""
    from scipy.special import ive

    beta = finite_number("beta", beta, above=0.0, help="At beta = 0 only one mode grows.")
    m = np.arange(1.0, MODES_BEYOND * np.sqrt(beta) + 8.0)
    return np.asarray(ive(m, beta) / ive(0, beta))
