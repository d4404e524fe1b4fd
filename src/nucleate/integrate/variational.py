"""THE VARIATIONAL EQUATION of (CSA), in NumPy and in the paper's letters: how a small change u grows.

Token k moves with P_{x_k} y_k, y_k = V m_k, m_k = sum_j w_kj x_j, w_kj = exp(s_kj) / Z_k, and scores s_kj =
beta <Q x_k, K x_j>.  If x changes by u, then to first order

    s_kj changes by   r_kj = beta (<Q u_k, K x_j> + <Q x_k, K u_j>),
    m_k  by           sum_j w_kj (u_j + (r_kj - sum_i w_ki r_ki) x_j),
    u_k' =            P_{x_k} V (that) - <u_k, y_k> x_k - <x_k, y_k> u_k.

Under the causal mask, or a window, u_k' depends on u_1 .. u_k alone: block lower triangular.  What u_k itself
adds to u_k' is the block on the diagonal,

    J_k = P_{x_k} V (beta C_k K^T Q + beta w_kk (x_k - m_k) (K^T Q x_k)^T + w_kk I)
          - x_k y_k^T - <x_k, y_k> I,

C_k = sum_j w_kj x_j x_j^T - m_k m_k^T, and the Lyapunov exponents of all tokens are those of u_k' = J_k u_k,
token by token.  `lyapunov` integrates that, compiled, and is tested against this file.
"""

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.sphere import tangent

__all__ = ["diagonal_blocks", "variation"]


def variation(model: Attention, x: Array, u: Array) -> Array:
    """u' for a change u (n, d) of the tokens x (n, d): the derivative of `drift` at x in the direction u."""
    w, m = _weights(model, x)  # (n, n), (n, d)
    beta, Q, K, V = model.parameters(x.shape[-1])  # (1, 1), (d, d) three times
    r = beta * ((u @ Q.T) @ (x @ K.T).T + (x @ Q.T) @ (u @ K.T).T)  # (n, n)
    r = r - (w * r).sum(-1, keepdims=True)  # (n, n)
    y, change = m @ V.T, (w @ u + (w * r) @ x) @ V.T  # (n, d) twice
    along, height = (u * y).sum(-1, keepdims=True), (x * y).sum(-1, keepdims=True)  # (n, 1) twice
    return tangent(x, change) - along * x - height * u  # (n, d)


def diagonal_blocks(model: Attention, x: Array) -> Array:
    """J_k of every token of x (n, d), (n, d, d)."""
    n, d = x.shape
    w, m = _weights(model, x)  # (n, n), (n, d)
    beta, Q, K, V = model.parameters(d)  # (1, 1), (d, d) three times
    A, own, one = beta * K.T @ Q, np.diag(w), np.eye(d)  # (d, d), (n,), (d, d)
    J = np.empty((n, d, d))
    for k in range(n):
        y = V @ m[k]  # (d,)
        C = (x.T * w[k]) @ x - np.outer(m[k], m[k])  # (d, d)
        change = V @ (C @ A + own[k] * np.outer(x[k] - m[k], A @ x[k]) + own[k] * one)  # (d, d)
        J[k] = change - np.outer(x[k], x[k] @ change) - np.outer(x[k], y) - (x[k] @ y) * one
    return J


def _weights(model: Attention, x: Array) -> tuple[Array, Array]:
    """w_kj / Z_k (n, n) and m_k (n, d)."""
    beta, Q, K, _ = model.parameters(x.shape[-1])
    _, _, sees = model.context(x)  # (n, n)
    s = np.where(sees, beta * (x @ Q.T) @ (x @ K.T).T, -np.inf)  # (n, n)
    w = np.exp(s - s.max(-1, keepdims=True))  # (n, n)
    w = w / w.sum(-1, keepdims=True)
    return w, w @ x
