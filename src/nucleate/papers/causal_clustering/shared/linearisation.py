"""Small perturbations: the Jacobian of the velocity at any tokens, the rates with which perturbations grow or
decay, and equilibria to rounding."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, drift
from nucleate.checks import Array
from nucleate.sphere import retract

__all__ = ["causal_eigenvalues", "find_equilibrium", "jacobian", "jacobian_by_differences", "tangent_bases"]

NEWTON_STEPS = 40  # of Newton's method: from a run's end a handful is enough


def tangent_bases(x: Array) -> Array:
    """An orthonormal basis of the tangent space at every token: x (n, d) -> (n, d, d-1)."""
    return np.asarray(np.linalg.svd(x[:, None, :])[2][:, 1:].mT)


def jacobian(model: Attention, x: Array) -> Array:
    """The derivative of every token's velocity by every token's place, in the bases of `tangent_bases`: x (n,
    d) -> (n, d-1, n, d-1).

    With p_kj the attention, m_k = sum_j p_kj x_j and A = K^T Q, a perturbation u changes the mean m_k and the
    velocity f_k of token k by
        dm_k = sum_j p_kj (u_j + beta (x_j - m_k) (<A x_k, u_j> + <A^T x_j, u_k>)),
        df_k = P_{x_k} V dm_k - <x_k, V m_k> u_k.
    """
    n, d = x.shape
    beta, Q, K, V = model.parameters(d)
    A, B = K.T @ Q, tangent_bases(x)  # (d, d), (n, d, d-1)
    p = attention(model, x)  # (n, n)
    m = p @ x  # (n, d)
    apart = x[None] - m[:, None]  # (n, n, d) x_j - m_k
    own = beta * np.einsum("kj,kja,jb->kab", p, apart, x) @ A  # (n, d, d) through token k's own query
    # (n, n, d, d) through the tokens seen
    seen = p[..., None, None] * (np.eye(d) + beta * apart[..., None] * (x @ A.T)[:, None, None])
    seen[np.arange(n), np.arange(n)] += own
    J = np.einsum("kax,kjab,jby->kxjy", (V.T @ B), seen, B)  # (n, d-1, n, d-1)
    J[np.arange(n), :, np.arange(n)] -= ((m @ V.T) * x).sum(-1)[:, None, None] * np.eye(d - 1)
    return np.asarray(J)


def attention(model: Attention, x: Array) -> Array:
    """p_kj, how much of token k's attention goes to token j: x (n, d) -> (n, n)."""
    beta, Q, K, _ = model.parameters(x.shape[-1])
    _, _, sees = model.context(x)
    s = np.where(sees, beta * (x @ Q.T) @ (x @ K.T).T, -np.inf)  # (n, n)
    with np.errstate(under="ignore"):
        w = np.exp(s - s.max(-1, keepdims=True))
    return np.asarray(w / w.sum(-1, keepdims=True))


def jacobian_by_differences(model: Attention, x: Array, h: float = 1e-5) -> Array:
    """The same as `jacobian` by central differences of the velocity, without any of its formulas."""
    n, d = x.shape
    B, J = tangent_bases(x), np.empty((n, d - 1, n, d - 1))
    for j in range(n):
        for b in range(d - 1):
            perturbation = np.zeros_like(x)
            perturbation[j] = h * B[j, :, b]
            ahead, behind = (drift(model, retract(x + sign * perturbation)) for sign in (1.0, -1.0))  # (n, d)
            J[:, :, j, b] = np.einsum("kax,ka->kx", B, ahead - behind) / (2.0 * h)
    return J


def causal_eigenvalues(J: Array) -> NDArray[np.complex128]:
    """The eigenvalues of a Jacobian in which no token feels a later one, token by token: (n, d-1, n, d-1) ->
    (n, d-1).

    The blocks on the diagonal have them all, and do not mix equal ones of different tokens, which rounding
    would spread.
    """
    n = len(J)
    return np.asarray(np.linalg.eigvals(J[np.arange(n), :, np.arange(n)]), dtype=np.complex128)


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Tokens whose velocity is zero, to rounding."""

    x: Array  # (n, d)
    speed: float  # the largest that is left
    moved: float  # how far the farthest token was from it
    rates: NDArray[np.complex128]  # (n, d-1) of small perturbations; all real parts negative: attracting

    @property
    def growth(self) -> float:
        """The largest real part: negative where it attracts."""
        return float(self.rates.real.max())


def find_equilibrium(model: Attention, x: Array) -> Equilibrium:
    """The equilibrium near the tokens x (n, d), by Newton's method on the sphere (causal mask or window)."""
    n, d = x.shape
    best, start = x, x
    for _ in range(NEWTON_STEPS):
        B = tangent_bases(x)
        f = np.einsum("kax,ka->kx", B, drift(model, x)).reshape(-1)  # (n (d-1),)
        step = np.linalg.lstsq(jacobian(model, x).reshape(n * (d - 1), -1), -f, rcond=None)[0]
        x = retract(x + np.einsum("kax,kx->ka", B, step.reshape(n, d - 1)))
        if _speed(model, x) < _speed(model, best):
            best = x
        if np.abs(step).max() < 1e-15:
            break
    return Equilibrium(
        best,
        _speed(model, best),
        float(np.linalg.norm(best - start, axis=-1).max()),
        causal_eigenvalues(jacobian(model, best)),
    )


def _speed(model: Attention, x: Array) -> float:
    return float(np.linalg.norm(drift(model, x), axis=-1).max())
