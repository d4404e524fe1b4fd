"""Systems of the family known exactly, or by an equation of one or two unknowns: each with the tokens
and, where the norm has a radius, their lengths at any time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array
from nucleate.sphere import retract

__all__ = ["Known", "equiangular", "equiangular_start", "one_token_pre", "overlap_and_length", "overlaps"]


@dataclass(frozen=True, eq=False)
class Known:
    """A block, a start, a final time, and directions (n, d) and lengths (n,) at any time."""

    name: str
    model: Block
    x0: Array  # (n, d)
    t: float
    solution: Callable[[float], tuple[Array, Array]]

    def frames(self, times: Array) -> tuple[Array, Array]:
        """(m, n, d) and (m, n)."""
        found = [self.solution(float(time)) for time in times]
        return np.stack([x for x, _ in found]), np.stack([r for _, r in found])


def one_token_pre(V: Array, x0: Array, t: float, name: str, radius: float = 1.0) -> Known:
    """A single token under "pre": y' = V y / |y|.

    In the time ds = dt / |y| it is dy/ds = V y, so y = e^{sV} y(0), and t = int_0^s |e^{uV} y(0)| du.
    """
    y0 = radius * x0

    def y(s: float) -> Array:
        return np.asarray(expm(s * V) @ y0)

    def clock(s: float) -> float:
        nodes, weights = np.polynomial.legendre.leggauss(60)  # in [-1, 1]; |y| is analytic
        return (
            float(
                sum(w * np.linalg.norm(y(0.5 * s * (1.0 + u))) for u, w in zip(nodes, weights, strict=True))
            )
            * 0.5
            * s
        )

    def solution(time: float) -> tuple[Array, Array]:
        s = 0.0
        if time > 0.0:
            high = 1.0
            while clock(high) < time:
                high *= 2.0
            s = float(brentq(lambda s: clock(s) - time, 0.0, high, xtol=1e-15, rtol=1e-15))
        return retract(y(s))[None], np.array([np.linalg.norm(y(s))])

    return Known(name, Block(Attention(2.0, V=V), norm="pre", radius=radius), x0.reshape(1, -1), t, solution)


def equiangular_start(n: int, rho: float) -> Array:
    """n tokens in dimension n, all overlaps rho."""
    gram = (1.0 - rho) * np.eye(n) + rho  # (n, n)
    values, vectors = np.linalg.eigh(gram)
    return retract(vectors * np.sqrt(values) @ vectors.T)


def equiangular(norm: str, n: int, beta: float, rho: float, t: float, radius: float = 1.0) -> Known:
    """All overlaps equal under the full mask, V = I, where they stay equal: `overlap_and_length` at time t.

    The tokens lie at equal angles around their mean, which rests: they are those of the start with another
    overlap.
    """
    options = {"radius": radius} if norm in ("pre", "peri") else {}
    model = Block(Attention(beta, mask="full"), norm=norm, **options)  # type: ignore[arg-type]  # a plain text

    def solution(time: float) -> tuple[Array, Array]:
        q, r = overlap_and_length(norm, n, beta, rho, radius, np.array([time]))[0]
        return equiangular_start(n, -np.expm1(-q)), np.full(n, r)

    return Known(f"equiangular {norm} n={n} r={radius:g}", model, equiangular_start(n, rho), t, solution)


def overlap_and_length(norm: str, n: int, beta: float, rho: float, r: float, times: Array) -> Array:
    """(m, 2): q = -log(1 - rho) and r at the times, to about 1e-12.

    A_i = (e^beta x_i + e^{beta rho} sum_{j != i} x_j) / Z, hence <x_i, A_i> = (e^beta + (n-1) w rho) / Z with
    w = e^{beta rho}, and rho' = 2 (<x_j, A_i> - rho <x_i, A_i>) / s = 2 w (1 - rho) (1 + (n-1) rho) / (Z s).
    """

    def velocity(_: float, state: Array) -> list[float]:
        q, length = state
        overlap = -np.expm1(-q)
        # relative to e^beta, so that nothing overflows
        w = np.exp(-beta * np.exp(-q))
        Z = 1.0 + (n - 1) * w
        along = (1.0 + (n - 1) * w * overlap) / Z
        across = w * np.exp(-q) * (1.0 + (n - 1) * overlap) / Z  # <x_j, A_i> - rho <x_i, A_i>
        square = (1.0 + 2.0 * w * (n - 1) * overlap + w * w * (n - 1) * (1.0 + (n - 2) * overlap)) / Z**2
        s = {"post": 1.0, "pre": length, "peri": length * np.sqrt(square), "ngpt": np.sqrt(square)}[norm]
        growth = length * along / s if norm in ("pre", "peri") else 0.0
        return [2.0 * across * np.exp(q) / s, growth]

    start = [-np.log1p(-rho), r]
    if times[-1] == 0.0:
        return np.array([start])
    found = solve_ivp(
        velocity, (0.0, times[-1]), start, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times
    )
    return np.asarray(found.y.T)


def overlaps(x: Array) -> Array:
    """The overlap of the first two tokens, x (..., n, d)."""
    return np.asarray((x[..., 0, :] * x[..., 1, :]).sum(-1))
