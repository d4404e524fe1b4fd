"""The search for counterexamples by optimisation: the least unstable equilibrium of a token off the poles,
over many models.

Earlier tokens are at xi and -xi (Conjecture 1), or all at p (Conjecture 2); the equilibria of the last token
are found by Newton's method from all over the sphere, and differential evolution looks for the model with the
equilibrium of least growth.  Below zero it attracts: a counterexample.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nucleate.checks import Array
from nucleate.sphere import retract, uniform

__all__ = ["REGIMES", "SearchResult", "Setting", "other_equilibria", "search"]

NEWTON_STARTS = 40  # all over the sphere
NEWTON_STEPS = 25
# an equilibrium nearer to a pole is taken for the pole: the two merge, and growth is zero to rounding
MIN_DISTANCE_FROM_ENDS = 0.05


@dataclass(frozen=True, eq=False)
class Setting:
    """A last token and what it sees."""

    V: Array  # (d, d)
    A: Array  # (d, d) K^T Q
    beta: float
    earlier: Array  # (q, d) places of earlier tokens
    count: Array  # (q,) how many are there
    ends: Array  # (e, d) where a token may end by the conjecture


@dataclass(frozen=True)
class Regime:
    """A family of models, by numbers between 0 and 1."""

    name: str
    words: str
    conjecture: int
    size: int  # how many numbers
    make: Callable[[Array], Setting]


def other_equilibria(setting: Setting, starts: Array) -> tuple[Array, Array, Array]:
    """The equilibria of the last token off the ends: places (r, d), the largest real part of the rates there
    (r,), speeds (r,)."""
    x = starts
    for _ in range(NEWTON_STEPS):
        f, J, B = _linearised(setting, x)  # (b, d-1), (b, d-1, d-1), (b, d, d-1)
        step = np.linalg.solve(J + 1e-14 * np.eye(J.shape[-1]), -f[..., None])  # (b, d-1, 1)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        x = retract(x + (B @ (step * np.minimum(1.0, 0.5 / np.maximum(length, 1e-300))))[..., 0])
    f, J, _ = _linearised(setting, x)
    speed, growth = np.linalg.norm(f, axis=-1), np.linalg.eigvals(J).real.max(-1)
    off = np.linalg.norm(x[:, None] - setting.ends[None], axis=-1).min(1)
    good = (speed < 1e-12) & (off > MIN_DISTANCE_FROM_ENDS)
    return x[good], growth[good], speed[good]


def _linearised(setting: Setting, x: Array) -> tuple[Array, Array, Array]:
    """The last token's velocity and its derivative in tangent bases, at every x (b, d)."""
    b, d = x.shape
    V, A, beta = setting.V, setting.A, setting.beta
    # (b, q+1, d)
    y = np.concatenate([np.broadcast_to(setting.earlier, (b, *setting.earlier.shape)), x[:, None]], axis=1)
    s = beta * np.einsum("bja,ac,bc->bj", y, A, x)  # (b, q+1)
    w = np.append(setting.count, 1.0) * np.exp(s - s.max(1, keepdims=True))
    p = w / w.sum(1, keepdims=True)
    m = np.einsum("bj,bja->ba", p, y)  # (b, d)
    apart = y - m[:, None]
    through = beta * np.einsum("bj,bja,bjc->bac", p, apart, y) @ A  # (b, d, d) the query
    # and its own key and value
    through += p[:, -1, None, None] * (np.eye(d) + beta * apart[:, -1, :, None] * (x @ A.T)[:, None])
    B = np.linalg.svd(x[:, None])[2][:, 1:].mT  # (b, d, d-1)
    pull = m @ V.T  # (b, d)
    J = B.mT @ V @ through @ B - (pull * x).sum(-1)[:, None, None] * np.eye(d - 1)
    return np.einsum("bax,ba->bx", B, pull), J, B


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best a search has found."""

    growth: float  # at the least unstable equilibrium off the ends; inf if there is none
    setting: Setting
    x: Array  # (d,) that equilibrium
    models: int  # how many were looked at
    equilibria: int  # and how many off the ends they had


def search(regime: Regime, seed: int, rounds: int) -> SearchResult:
    """Differential evolution with a fixed stream of random numbers."""
    from scipy.optimize import Bounds, differential_evolution

    from nucleate.papers.core.interruption import go_on

    d = len(regime.make(np.full(regime.size, 0.5)).V)
    starts = uniform(NEWTON_STARTS, d, seed)
    tally = [0, 0]  # models, equilibria

    def least_growth(numbers: Array) -> float:
        go_on()
        _, growth, _ = other_equilibria(regime.make(numbers), starts)
        tally[0] += 1
        tally[1] += len(growth)
        return float(growth.min()) if len(growth) else 10.0

    best = differential_evolution(
        least_growth,
        Bounds(np.zeros(regime.size), np.ones(regime.size)),
        maxiter=rounds,
        popsize=6,
        rng=np.random.default_rng(seed),
        polish=False,
        tol=0.0,
    )
    setting = regime.make(best.x)
    x, growth, _ = other_equilibria(setting, starts)
    i = int(growth.argmin()) if len(growth) else -1
    return SearchResult(
        float(growth[i]) if len(growth) else np.inf,
        setting,
        x[i] if len(growth) else np.full(d, np.nan),
        tally[0],
        tally[1],
    )


def _log_interpolated(number: float, low: float, high: float) -> float:
    return float(low * (high / low) ** number)


def _poles(V: Array, A: Array, beta: float, m: float, s: float) -> Setting:
    """m tokens at xi, the first unit vector, and s at -xi."""
    xi = np.eye(len(V))[0]
    many = np.round([m, s])
    ends = np.stack([xi, -xi])
    return Setting(V, A, beta, ends[many > 0], many[many > 0], ends)


def _identity(u: Array) -> Setting:
    """V = diag(1, l2, l3), Q = K = I, up to 100 tokens at xi and up to 3 at -xi."""
    V = np.diag([1.0, 0.02 + 0.97 * u[0], (0.02 + 0.97 * u[0]) * (0.02 + 0.97 * u[1])])
    beta, m = _log_interpolated(u[2], 0.05, 8.0), _log_interpolated(u[3], 1.0, 100.0)
    return _poles(V, np.eye(3), beta, m, 3.0 * u[4] ** 2)


def _non_normal(u: Array) -> Setting:
    """Q = K = I, V upper triangular with eigenvalues 1 > l2 > l3 > 0; the earlier tokens at xi."""
    one = _identity(np.array([u[0], u[1], u[2], u[3], 0.0]))
    V = one.V + np.array(
        [[0.0, 4.0 * u[4] - 2.0, 4.0 * u[5] - 2.0], [0.0, 0.0, 4.0 * u[6] - 2.0], [0.0, 0.0, 0.0]]
    )
    return _poles(V, np.eye(3), one.beta, float(one.count[0]), 0.0)


def _positive_definite(u: Array) -> Setting:
    """V = diag(1, l2, l3), K^T Q symmetric with eigenvalues between 0.2 and 2; one earlier token."""
    one = _identity(np.array([u[0], u[1], u[2], 0.0, 0.0]))
    a, b, c = np.pi * u[3:6]
    rotation = np.eye(3)
    for (i, j), angle in (((0, 1), a), ((0, 2), b), ((1, 2), c)):
        G = np.eye(3)
        G[[i, j], [i, j]], G[i, j], G[j, i] = np.cos(angle), -np.sin(angle), np.sin(angle)
        rotation = rotation @ G
    A = rotation @ np.diag(0.2 + 1.8 * u[6:9]) @ rotation.T
    return _poles(one.V, A, one.beta, 1.0, 0.0)


def _general(u: Array) -> Setting:
    """V = diag(1, l2, l3), any K^T Q with entries between -1 and 1; one earlier token."""
    one = _identity(np.array([u[0], u[1], u[2], 0.0, 0.0]))
    return _poles(one.V, 2.0 * u[3:12].reshape(3, 3) - 1.0, one.beta, 1.0, 0.0)


def _multiple(u: Array) -> Setting:
    """Conjecture 2: V = diag(1, 1) and W below, <Wz, z> < |z|^2 and W not symmetric, any K^T Q; up to 100
    tokens at p."""
    W = np.array([[0.98 * u[0], 4.0 * u[1] - 2.0], [2.0 - 4.0 * u[1], 0.98 * u[2]]])
    V = np.eye(4)
    V[2:, 2:] = W
    A = 2.0 * u[5:21].reshape(4, 4) - 1.0
    p = np.eye(4)[:1]
    beta, m = _log_interpolated(u[3], 0.05, 3.0), _log_interpolated(u[4], 1.0, 100.0)
    return Setting(V, A, beta, p, np.round([m]), p)


REGIMES = (
    Regime("identity", "Q = K = I, V symmetric, earlier tokens at both poles", 1, 5, _identity),
    Regime("non_normal", "Q = K = I, V not normal", 1, 7, _non_normal),
    Regime("positive_definite", "KᵀQ symmetric and positive definite, V symmetric", 1, 9, _positive_definite),
    Regime("general", "any Q and K, V symmetric", 1, 12, _general),
    Regime("multiple", "any Q and K, V within Conjecture 2", 2, 21, _multiple),
)
