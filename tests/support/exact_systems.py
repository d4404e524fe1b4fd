"""What is known exactly: the drift to 50 digits, and systems whose whole motion has a closed form or one
quadrature.

Nothing here uses an ODE solver or code of the package beyond the records it is tested with.  Each system is
an `Exact`: the model, the start, a final time, and `solution(t)`, the tokens at any time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import brentq

from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.sphere import retract

__all__ = [
    "Exact",
    "drift_to_50_digits",
    "equiangular",
    "kuramoto_groups",
    "metastable",
    "one_token",
    "one_token_and_a_frozen_one",
    "solvable",
    "two_token_time",
    "two_tokens",
]


def drift_to_50_digits(model: Attention, x: Array, only: int | None = None) -> Array:
    """The equation term by term for tokens x (n, d) taken as the doubles they are; every operation with 50
    digits, rounded once at the end.

    (n, d), or (1, d) when `only` one token is asked for.
    """
    n, d = x.shape
    out = []

    def times(M: Any, y: Any) -> Any:
        return y if M is None else M * y  # None is I, and I y is y to the last digit

    with mp.workdps(50):
        beta = mp.mpf(float(model.beta))
        Q, K, V = (None if M is None else mp.matrix(M.tolist()) for M in (model.Q, model.K, model.V))
        tokens = [mp.matrix(row.tolist()) for row in x]
        keys, values = [times(K, y) for y in tokens], [times(V, y) for y in tokens]
        rest = (
            []
            if model.frozen is None
            else [
                (mp.mpf(float(a)), mp.matrix(y.tolist()))
                for a, y in zip(model.frozen.weight, model.frozen.x, strict=True)
            ]
        )
        frozen = [(a, times(K, y), times(V, y)) for a, y in rest]
        for k in range(n) if only is None else [only]:
            first = max(0, k - model.mask.w + 1) if isinstance(model.mask, Window) else 0
            last = n if model.mask == "full" else k + 1
            seen = [*frozen, *((mp.mpf(1), keys[j], values[j]) for j in range(first, last))]
            query = times(Q, tokens[k])
            # mpmath's exponents have no bounds
            weights = [a * mp.exp(beta * mp.fdot(query, key)) for a, key, _ in seen]
            Z = mp.fsum(weights)
            mean = [
                mp.fsum(w * value[c] for w, (_, _, value) in zip(weights, seen, strict=True)) / Z
                for c in range(d)
            ]
            along = mp.fdot(mean, tokens[k])
            out.append([float(mean[c] - along * tokens[k][c]) for c in range(d)])
    return np.array(out)


@dataclass(frozen=True, eq=False)
class Exact:
    """A system whose motion is known."""

    name: str
    model: Attention
    x0: Array  # (n, d)
    t: float
    solution: Callable[[float], Array]  # time -> (n, d)

    def frames(self, times: Array) -> Array:
        """The tokens at all times: (m, n, d)."""
        return np.stack([self.solution(float(time)) for time in times])


def one_token(V: Array, x0: Array, t: float, name: str, beta: float = 3.0) -> Exact:
    """A single token sees itself only: x' = P_x(V x), whatever beta.

    y' = V y has y(t) = e^{tV} y(0), and x = y / |y| obeys x' = (y' - <x, y'> x) / |y| = V x - <x, V x> x.
    Hence x(t) = e^{tV} x(0) / |e^{tV} x(0)| (Lemma 3.1).  e^{tV} is scaled by e^{-ct}, c the trace / d, which
    x does not feel.
    """
    d = len(V)
    centred = V - np.trace(V) / d * np.eye(d)
    return Exact(
        name, Attention(beta, V=V), x0.reshape(1, d), t, lambda time: retract(expm(time * centred) @ x0)[None]
    )


def two_token_time(u0: float, u1: float, beta: float, weight: float = 1.0) -> float:
    """The time in which <x_1, x_2> goes from u0 to u1 (Q = K = V = I, causal).

    x_1 rests and u' = <x_1, P_{x_2} x_1> w / (1 + w) = (1 - u^2) / (1 + e^{beta (1 - u)}), w = e^{beta (u -
    1)}, so dt = (1 + e^{beta (1 - u)}) du / (1 - u^2).  With 1 / (1 - u^2) = (1/(1 - u) + 1/(1 + u)) / 2 the
    integral is artanh u + F(u), F(u) = -1/2 [Ei(beta (1 - u)) + e^{2 beta} E1(beta (1 + u))]; and 2 artanh u
    for beta = 0. A rest token of weight a, w -> a w, makes it artanh u + F(u) / a.
    """
    with mp.workdps(40):
        return float(_clock(mp.atanh(mp.mpf(u1)), beta, weight) - _clock(mp.atanh(mp.mpf(u0)), beta, weight))


def _clock(s: mp.mpf, beta: float, weight: float) -> mp.mpf:
    """artanh u + F(u) / a at u = tanh s; 1 - u = 2 / (1 + e^{2s}) loses no digits."""
    if beta == 0:
        return s * (1 + 1 / mp.mpf(weight))
    below, above = 2 / (1 + mp.exp(2 * s)), 2 / (1 + mp.exp(-2 * s))  # 1 - u, 1 + u
    return s - (mp.ei(beta * below) + mp.exp(2 * beta) * mp.e1(beta * above)) / (2 * mp.mpf(weight))


def _overlap_at(time: float, u0: float, beta: float, weight: float) -> tuple[float, float]:
    """(u, sqrt(1 - u^2)) after `time`, by Newton's method in s = artanh u, whose clock runs at 1 + e^{beta (1
    - u)} / a >= 1."""
    with mp.workdps(40):
        start = mp.atanh(mp.mpf(u0))
        goal = _clock(start, beta, weight) + mp.mpf(time)
        low, high = sorted((start, start + mp.mpf(time)))  # s moves slower than time
        s = (low + high) / 2 if time else start
        for _ in range(400):
            miss = _clock(s, beta, weight) - goal
            if miss > 0:
                high = s
            else:
                low = s
            new = s - miss / (1 + mp.exp(beta * 2 / (1 + mp.exp(2 * s))) / weight)
            if not low < new < high:
                new = (low + high) / 2
            if abs(new - s) < mp.mpf(10) ** -25:
                return float(mp.tanh(new)), float(mp.sech(new))
            s = new
    raise AssertionError(f"no overlap found at time {time}")


def _frame(d: int, seed: int) -> tuple[Array, Array]:
    """Two orthonormal vectors of R^d in general position."""
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, 2)))[0]
    return retract(q[:, 0]), retract(q[:, 1])


def two_tokens(beta: float, u0: float, t: float, d: int, scale: float = 1.0) -> Exact:
    """x_1 rests, x_2 moves on the great circle through both, by the clock of `two_token_time`; V = scale * I
    runs it faster or backwards."""
    e, f = _frame(d, seed=d)
    x0 = retract(np.stack([e, u0 * e + np.sqrt(1 - u0 * u0) * f]))

    def solution(time: float) -> Array:
        u, v = _overlap_at(scale * time, u0, beta, 1.0)
        return np.stack([e, u * e + v * f])

    return Exact(
        f"two tokens beta={beta:g} d={d} V={scale:g}I", Attention(beta, V=scale * np.eye(d)), x0, t, solution
    )


def one_token_and_a_frozen_one(beta: float, u0: float, t: float, d: int, weight: float) -> Exact:
    """The frozen token plays x_1 with weight a: the same clock with F / a."""
    e, f = _frame(d, seed=d + 100)
    x0 = retract((u0 * e + np.sqrt(1 - u0 * u0) * f)[None])

    def solution(time: float) -> Array:
        u, v = _overlap_at(time, u0, beta, weight)
        return (u * e + v * f)[None]

    return Exact(
        f"frozen a={weight:g} beta={beta:g} d={d}",
        Attention(beta, frozen=Frozen(e[None], weight)),
        x0,
        t,
        solution,
    )


def equiangular(n: int, beta: float, rho0: float, t: float) -> Exact:
    """Full attention from n tokens with all overlaps rho: they stay equiangular, by symmetry under
    permutations.

    <x_i, x_j>' = <P_{x_i} m_i, x_j> + <x_i, P_{x_j} m_j>, m_i = (e^beta x_i + e^{beta rho} sum_{l != i} x_l)
    / Z, gives rho' = 2 e^{beta rho} (1 - rho) ((n - 1) rho + 1) / (e^beta + (n - 1) e^{beta rho}). The
    direction s of sum_i x_i rests, and x_i = cos(a) s + sin(a) p_i with p_i the fixed corners of a simplex,
    <p_i, p_j> = -1/(n - 1), so that rho = cos^2 a - sin^2 a / (n - 1), cos^2 a = ((n - 1) rho + 1) / n. With
    1 - rho = e^{-q} the clock is dt = (e^{beta e^{-q}} + n - 1) / (2 ((n - 1) rho + 1)) dq: one smooth
    quadrature.
    """
    corners = np.eye(n) - 1.0 / n  # rows p_i, not yet unit
    corners /= np.sqrt(1.0 - 1.0 / n)
    turn = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]  # general position

    def tokens(q: float) -> Array:
        apart = np.exp(-q)  # 1 - rho, to all its digits
        along, across = np.sqrt(1.0 - (n - 1) / n * apart), np.sqrt((n - 1) / n * apart)
        return np.asarray((along / np.sqrt(n) + across * corners) @ turn)  # (n, n)

    def pace(q: float) -> float:
        rho = -np.expm1(-q)
        return float((np.exp(beta * np.exp(-q)) + n - 1) / (2 * ((n - 1) * rho + 1)))

    q0 = -np.log1p(-rho0)

    def solution(time: float) -> Array:
        if time == 0.0:
            return tokens(q0)
        q = brentq(
            lambda q: quad(pace, q0, q, epsabs=1e-13, epsrel=1e-13, limit=200)[0] - time,
            q0,
            q0 + 2.0 * time,
            xtol=1e-14,
        )
        return tokens(q)  # q0 + 2 t is beyond: the pace is at least 1/2

    return Exact(
        f"equiangular n={n} beta={beta:g}", Attention(beta, mask="full"), retract(tokens(q0)), t, solution
    )


def kuramoto_groups(first: int, second: int, gap: float, t: float, angle: float = 0.4) -> Exact:
    """beta = 0, full mask, d = 2: theta_i' = (1/n) sum_j sin(theta_j - theta_i), n identical Kuramoto
    oscillators.

    Two groups of m and n - m, each at one angle, stay groups; the gap D between them obeys D' = -sin D, so
    tan(D/2) = tan(D0/2) e^{-t}. The mean angle is conserved, so the first group moves by (n - m)/n (D0 - D)
    and the second back by m/n (D0 - D).
    """
    n = first + second

    def solution(time: float) -> Array:
        closed = gap - 2.0 * np.arctan(np.tan(0.5 * gap) * np.exp(-time))  # D0 - D
        # (n,)
        theta = np.repeat([angle + second / n * closed, angle + gap - first / n * closed], [first, second])
        return np.stack([np.cos(theta), np.sin(theta)], axis=1)

    return Exact(f"kuramoto {first}+{second}", Attention(0.0, mask="full"), solution(0.0), t, solution)


def solvable() -> list[Exact]:
    """A set that meets every part of the solver: circle and spheres, attraction and repulsion, rotation,
    defective V, frozen tokens, both masks."""
    rng = np.random.default_rng(1)
    random = {
        d: one_token(rng.standard_normal((d, d)), _frame(d, 5)[0], 10.0, f"random V d={d}") for d in (2, 3, 7)
    }
    start = _frame(3, 6)[0]
    return [
        *random.values(),
        one_token(np.diag([1.0, 0.5, -2.0]), start, 20.0, "diagonal V"),
        one_token(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), start, 20.0, "defective V"),
        one_token(np.array([[0.5, -3.0, 0.0], [3.0, 0.5, 0.0], [0.0, 0.0, 0.0]]), start, 10.0, "spiral d=3"),
        one_token(np.array([[0.2, -1.0], [1.5, -0.1]]), _frame(2, 6)[0], 10.0, "rotation d=2"),
        *(two_tokens(1.0, 0.2, 8.0, d) for d in (2, 3)),
        *(two_tokens(0.0, -0.99, 20.0, d) for d in (2, 3)),
        *(two_tokens(1.0, 0.9, 8.0, d, scale=-1.0) for d in (2, 3)),
        two_tokens(4.0, 0.5, 8.0, 2, scale=2.5),
        *(one_token_and_a_frozen_one(4.0, -0.5, 40.0, d, weight=2.5) for d in (2, 3)),
        one_token_and_a_frozen_one(10.0, -0.5, 400.0, 3, weight=700.0),
        equiangular(4, 1.0, 0.0, 8.0),
        equiangular(8, 4.0, 0.1, 30.0),
        kuramoto_groups(1, 1, 3.0, 8.0),
        kuramoto_groups(3, 5, 2.5, 8.0),
    ]


def metastable() -> list[Exact]:
    """Two tokens that rest long and then meet at once: what a solver is off by at the start grows e^{beta (1
    - u0)}-fold before it shows."""
    return [
        two_tokens(beta, u0, t, d) for beta, u0, t in ((4.0, -0.9, 1300.0), (9.0, 0.0, 950.0)) for d in (2, 7)
    ]
