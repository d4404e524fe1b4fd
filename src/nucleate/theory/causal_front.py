"""Very many tokens under the causal mask (Q = K = V = I), in the variable s = ln k.

Tokens near the place k = e^s of the sequence have at the time t the density f(x, s, t) on the sphere, and see

    mu(x, s, t) = int_{-inf}^s e^{s'-s} f(x, s', t) ds'.

The limit of many tokens is  df/dt + div(f v) = 0,  v the drift of attention in mu; a token's own weight,
e^beta / I_0 beside k on the circle, is left out of it.  Near the uniform law a mode of degree m of e^s mu,
M(s, t), the sum of a harmonic of that degree over the first k tokens, obeys

    d^2 M / dt ds = lambda_m M,    lambda_m = m (m + d - 2) / beta * I_{m+d/2-1}(beta) / I_{d/2-1}(beta)

(`mode_rates`; for d = 2 that of `onset`), so that  M(s, t) = int I_0(2 sqrt(lambda t (s - s'))) dM(s', 0).

Noise.  Tokens drawn independently have E |dM(s', 0)|^2 = e^{s'} ds', and  int I_0(2 sqrt(a u))^2 e^{-u} du =
e^{2a} I_0(2a)  leaves the mean of a mode over k tokens with the power

    e^{2 lambda t} I_0(2 lambda t) / k,  about  e^{4 lambda t} / (k sqrt(4 pi lambda t))      (`mode_power`),

where the full mask has e^{2 lambda t} / k.  Most of it comes from s' = s - 4 lambda t.

The front.  A disturbance e^{-q s} grows at lambda / (1 - q) and moves through s at lambda / (q (1 - q)),
least at q = 1/2: 4 lambda (`front_speed`).  q = 1/2 is also the slope of the noise, k^{-1/2}, and the noise
that matters at the front comes from the first tokens, which are not near the uniform law.  We take it for a
pulled front, one whose speed is set by what is small ahead of it, that starts there, with noise ahead of it
of just the critical slope.  Linear spreading with the gathered tokens as an absorbing end,
exp(-y/2 - y^2/(4 D t)),  D = 8 lambda,  has a front from the first tokens alone at
4 lambda t - 3 ln t + const.  Noise from s' arrives with s' / t^{3/2}, and its squares, added up to s' of
order sqrt(t), make t^{3/4} t^{-3/2}: the front is then at

    s = 4 lambda t - (3/2) ln t + const,                                                  (`front_places`)

which no fit is made for; with noise the constant is a random term of order one.  That a pulled front forms,
its speed and both logarithms are heuristic, the rest is exact to first order.  Measured up to t = 17, and
given that the speed is 4 lambda, the coefficient is 2.92 +- 0.18 without noise, and 1.05 +- 0.36 less with
noise; with the speed fitted as well it is much less certain (docs/open-questions/front.md).

`continue_tokens` solves the equation on the circle behind some first tokens, with its error, with or without
the noise of the tokens that follow; `causal_front_sphere` solves it on the sphere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_array, finite_number, whole_number

__all__ = [
    "ContinuedTokens",
    "cell_front_speed",
    "continue_tokens",
    "fastest_degree",
    "front_places",
    "front_speed",
    "halved",
    "mode_power",
    "mode_rates",
    "seen_density",
]

MODES_BEYOND = 4.5  # modes kept, in units of sqrt(beta): I_m / I_0 is then below 5e-5
CELLS_PER_S = 4  # at first, of the limit equation
STEP = 0.2  # of the fourth-order method in time: half of it changes `seen` by less than 1e-4 of its largest
HALVINGS = 3  # at most
NOISE = 1  # so that the noise of a seed is not that of the tokens that `uniform` draws with it


def mode_rates(m: ArrayLike, beta: float, d: int = 2) -> Array:
    """lambda_m, the rate at which a mode of degree m grows out of the uniform law on S^{d-1} (full mask)."""
    from scipy.special import ive

    m = finite_array("m", m)
    beta = finite_number("beta", beta, above=0.0, help="At beta = 0 only one mode grows.")
    d = whole_number("d", d, least=2, help="Tokens lie on a circle or a sphere.")
    return np.asarray(m * (m + d - 2) / beta * ive(m + d / 2 - 1, beta) / ive(d / 2 - 1, beta))


def fastest_degree(beta: float, d: int = 2) -> int:
    """The degree of the modes that grow fastest, near sqrt(2 beta)."""
    beta = finite_number("beta", beta, above=0.0, help="At beta = 0 only one mode grows.")
    m = np.arange(1.0, 3.0 * np.sqrt(beta) + 10.0)
    return int(m[mode_rates(m, beta, d).argmax()])


def mode_power(k: ArrayLike, beta: float, t: ArrayLike, m: int | None = None, d: int = 2) -> Array:
    """The power of a mode of degree m (left out: the fastest) of the mean over k independent uniform tokens
    at the time t, while it is small; 1 / k at t = 0."""
    from scipy.special import ive

    m = fastest_degree(beta, d) if m is None else m
    a = 2.0 * float(mode_rates(m, beta, d)) * finite_array("t", t)
    return np.asarray(np.exp(2.0 * a) * ive(0, a) / finite_array("k", k))


def front_speed(beta: float, d: int = 2) -> float:
    """4 lambda, in s = ln k per time, lambda the rate of the fastest modes: of the front in the limit, by a
    heuristic."""
    return 4.0 * float(mode_rates(fastest_degree(beta, d), beta, d))


def cell_front_speed(beta: float, width: float) -> float:
    """The same of the limit equation in cells of that width in s, on the circle: a disturbance e^{-q s} grows
    in them at lambda tanh(width / 2) / tanh((1 - q) width / 2), and moves at least at about 2 lambda
    tanh(width / 2) / tanh(width / 4).  Cells of 0.25 have 0.4 % less than 4 lambda."""
    width = finite_number("width", width, above=0.0, help="Cells of width 0 have front_speed.")
    q = np.linspace(0.4, 0.6, 20_001)  # the least is near 1/2
    speed = np.tanh(width / 2.0) / (np.tanh((1.0 - q) * width / 2.0) * q)  # over lambda
    return front_speed(beta) / 4.0 * float(speed.min())


def front_places(t: ArrayLike, beta: float, d: int = 2, logarithm: float = 1.5) -> Array:
    """s of the front at the times t, up to a constant: 4 lambda t - (3/2) ln t, or with another logarithm; a
    heuristic."""
    t = finite_array("t", t)
    return np.asarray(front_speed(beta, d) * t - logarithm * np.log(t))


def seen_density(theta: Array, beta: float) -> Array:
    """zeta_k - 1, angles theta (..., n) -> (..., n): the weight that token k sees of those before it, in
    units of what it would see of as many spread evenly,  zeta_k = sum_{j<k} e^{beta cos(theta_k - theta_j)} /
    ((k-1) I_0).  0 for the uniform law."""
    z = np.exp(1j * np.asarray(theta))  # (..., n)
    power, found = np.ones_like(z), np.zeros(z.shape)
    for r in _ratios(beta):
        power = power * z
        before = np.cumsum(power, -1) - power  # (..., n)
        found += 2.0 * r * (before * power.conj()).real
    return np.asarray(found / np.maximum(np.arange(z.shape[-1]), 1))


class ContinuedTokens(NamedTuple):
    """First tokens, and the limit of many behind them, at times t."""

    t: Array  # (T,)
    s: Array  # (C,) ln k, the middles of cells
    start: Array  # (P,) angles at which tokens start, evenly spread
    moved: Array  # (T, C, P) how far they have gone
    seen: Array  # (T, C) the mean of zeta - 1 in every cell
    coarser: Array  # (T, C / 2) `seen` before the last halving; as it is if there was none
    error: float  # of `seen`: the largest change in the last halving; inf if there was none


def continue_tokens(
    x0: ArrayLike,
    beta: float,
    t: ArrayLike,
    end: float,
    *,
    noise: int | None = None,
    tol: float = 0.05,
    halvings: int = HALVINGS,
) -> ContinuedTokens:
    """The limit equation for ln n < s < end behind the n first tokens x0 (n, 2), which move exactly.

    noise      left out, later tokens are spread evenly: the limit itself.  A seed: every quarter of s has the
               noise of as many independent tokens as it stands for, to first order, in a random stream of its
               own
    tol        cells in s and distances of starts in a cell are halved until `seen` changes by at most tol of
               its largest value, and at most `halvings` times, so that it may be worse; the last change is
               `error`.  Cells of 0.25, never halved, make the front about 0.4 % too slow
    """
    x0 = check_tokens("x0", x0)
    if x0.ndim != 2 or x0.shape[1] != 2:
        raise InputError(f"x0 must have shape (n, 2), but has {x0.shape}. The limit is on the circle.")
    tol = finite_number("tol", tol, above=0.0, help="0.05 will do.")
    halvings = whole_number("halvings", halvings, least=0, help="3 will do.")
    begin = float(np.log(len(x0)))
    end = finite_number("end", end, above=begin, help="It is ln k of the last tokens, above ln n.")
    times = finite_array("t", t)
    cells = max(1, round(CELLS_PER_S * (end - begin)))
    draws = None if noise is None else _draws(noise, cells, len(_ratios(beta)))  # (coarsest C, M)
    found: ContinuedTokens = halved(
        lambda finer: _solve(x0, beta, times, end, cells * finer, finer, draws), tol, halvings
    )
    return found


def halved(solve: Callable[[int], Any], tol: float, halvings: int) -> Any:
    """solve(1), solve(2), solve(4) and so on, with cells and distances of starts that many times finer, until
    `seen` changes by at most tol of its largest value, at most `halvings` times; the last of these records,
    with the last change as its `error`."""
    coarse = solve(1)
    for halving in range(1, halvings + 1):
        fine = solve(1 << halving)
        pairs = fine.seen.reshape(len(fine.seen), -1, 2).mean(2)  # (T, C)
        error = float(np.abs(pairs - coarse.seen).max())
        coarse = fine._replace(coarser=coarse.seen, error=error)
        if error <= tol * np.abs(fine.seen).max():
            break
    return coarse


def _draws(seed: int, cells: int, modes: int) -> NDArray[np.complex128]:
    """Independent complex normal numbers of variance 1 for the coarsest cells, (C, M)."""
    normal = np.random.default_rng((NOISE, seed)).standard_normal((2, cells, modes)) / np.sqrt(2.0)
    return np.asarray(normal[0] + 1j * normal[1])


def _solve(
    x0: Array,
    beta: float,
    times: Array,
    end: float,
    cells: int,
    finer: int,
    draws: NDArray[np.complex128] | None,
) -> ContinuedTokens:
    ratio = _ratios(beta)  # (M,)
    edges = np.linspace(np.log(len(x0)), end, cells + 1)  # (C + 1,)
    weight = np.diff(np.exp(edges))  # (C,) tokens in every cell
    starts = (int(2.5 * len(ratio)) + 16) * finer  # P, so that modes of the starts are not mistaken
    spread = 2.0 * np.pi * (np.arange(starts) + 0.5) / starts  # (P,)
    moved = np.zeros((cells, starts))
    m = np.arange(1, len(ratio) + 1)  # (M,)
    if draws is not None:
        stands_for = weight.reshape(len(draws), -1).sum(1)  # (coarsest C,) tokens
        mean = np.repeat(draws / np.sqrt(stands_for)[:, None], finer, axis=0)  # (C, M), however fine
        moved = 2.0 * ((mean / (1j * m)) @ np.exp(-1j * np.outer(m, spread))).real  # (C, P)
    system = _System(len(x0), weight, np.exp(1j * np.outer(m, spread)), ratio, beta)
    state = (np.arctan2(x0[:, 1], x0[:, 0]), moved)  # (n,), (C, P)
    kept, seen, now = [], [], 0.0
    for time in times.tolist():
        steps = max(1, int(np.ceil((time - now) / STEP - 1e-9))) if time > now else 0
        for _ in range(steps):
            state = _runge_kutta(system, state, (time - now) / steps)
        now = time
        kept.append(state[1])
        seen.append(system.fast_velocities(*state)[2])
    middle, found = (edges[1:] + edges[:-1]) / 2.0, np.stack(seen)
    return ContinuedTokens(times, middle, spread, np.stack(kept), found, found, np.inf)


State = tuple[Array, Array]  # angles of the first tokens (n,), ways of the starts of every cell (C, P)


class _System(NamedTuple):
    """Tokens one by one, then cells.  Ways, not places, are what is kept of the cells: where next to nothing
    has moved, far ahead of the front, modes of the places would be lost in rounding."""

    n: int
    weight: Array  # (C,)
    spread: NDArray[np.complex128]  # (M, P) e^{i m theta} of the starts
    ratio: Array  # (M,)
    beta: float

    @property
    def own(self) -> float:
        """What a token sees of itself, over I_0."""
        from scipy.special import ive

        return 1.0 / float(ive(0, self.beta))

    def velocities(self, first: Array, moved: Array) -> tuple[Array, Array, Array]:
        """Of tokens (n,) and cells (C, P), and the mean of zeta - 1 in every cell, (C,)."""
        z = np.exp(1j * first)  # (n,)
        half = np.sin(moved / 2.0)
        gone = -2.0 * half**2 + 1j * np.sin(moved)  # (C, P) e^{i moved} - 1, exact where it is small
        power, turned = np.ones_like(z), np.zeros_like(gone)
        Z, drift = np.arange(self.n) + self.own, np.zeros(self.n)  # (n,)
        zeta, way = np.zeros(moved.shape), np.zeros(moved.shape)  # (C, P)
        count = self.n + np.cumsum(self.weight) - self.weight / 2.0  # (C,) tokens before a cell's middle
        for m, r in enumerate(self.ratio, start=1):
            power = power * z
            turned = turned + gone + turned * gone  # (C, P) e^{i m moved} - 1
            total = np.cumsum(power)
            inner = (total - power) * power.conj()
            Z += 2.0 * r * inner.real
            drift += 2.0 * r * m / self.beta * inner.imag
            cell = (turned * self.spread[m - 1]).mean(1) * self.weight  # (C,); the starts' own sum is 0
            behind = (total[-1] + np.cumsum(cell) - cell / 2.0) / count  # (C,)
            around = behind[:, None] * ((1.0 + turned) * self.spread[m - 1]).conj()  # (C, P)
            zeta += 2.0 * r * around.real
            way += 2.0 * r * m / self.beta * around.imag
        return drift / Z, way / (1.0 + zeta), zeta.mean(1)

    def fast_velocities(self, first: Array, moved: Array) -> tuple[Array, Array, Array]:
        """The same, compiled."""
        from nucleate.theory.causal_front_velocities import velocities_into

        found = np.empty_like(first), np.empty_like(moved), np.empty(len(moved))
        cosine, sine = self.spread.real.copy(), self.spread.imag.copy()  # (M, P)
        velocities_into(first, moved, self.weight, cosine, sine, self.ratio, self.beta, self.own, *found)
        return found


def _runge_kutta(system: _System, state: State, h: float) -> State:
    """One step of the classical fourth-order method."""
    a = system.fast_velocities(*state)
    b = system.fast_velocities(state[0] + h / 2.0 * a[0], state[1] + h / 2.0 * a[1])
    c = system.fast_velocities(state[0] + h / 2.0 * b[0], state[1] + h / 2.0 * b[1])
    d = system.fast_velocities(state[0] + h * c[0], state[1] + h * c[1])
    first, moved = (state[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]) for i in (0, 1))
    return first, moved


def _ratios(beta: float) -> Array:
    """I_m / I_0, m = 1, ..., M."""
    from scipy.special import ive

    beta = finite_number("beta", beta, above=0.0, help="At beta = 0 only one mode grows.")
    m = np.arange(1.0, MODES_BEYOND * np.sqrt(beta) + 8.0)
    return np.asarray(ive(m, beta) / ive(0, beta))
