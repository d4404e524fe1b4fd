"""How fast token k comes to consensus at x_1 under the causal mask: several heads with V_h = c_h I, ALiBi,
exponential weights (ours).

At consensus all tokens are x_1, and all scores of a head are equal but for ALiBi's -m (k - j).  A
perturbation x_j = x_1 + u_j changes the weights too, but those changes multiply x_1, which the projection at
x_1 takes away.  So

    u_k' = sum_h g_h c_h (sum_{j <= k} a^h_kj u_j - u_k),        sum_j a^h_kj = 1,

with g = 1 for softmax and e^{beta <Q x_1, K x_1>} for exponential weights: a triangular system whose diagonal
is

    -sum_h g_h c_h (1 - a^h_kk),   a_kk = 1 / k,  or with ALiBi 1 / (1 + e^{-m} + ... + e^{-m (k-1)}).
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, whole_number

__all__ = ["decay_rates"]


def decay_rates(n: int, values: ArrayLike = 1.0, slopes: ArrayLike = 0.0, gains: ArrayLike = 1.0) -> Array:
    """The rate of token k = 1 .. n, (n,), each d - 1 times an eigenvalue at consensus.

    values  c_h of each head, a number or (h,)
    slopes  ALiBi's m of each head; 0 without
    gains   1 for softmax, e^{beta <Q x_1, K x_1>} for exponential weights

    All rates after the first are negative, and tokens end at x_1, where every g_h c_h is positive.
    """
    n = whole_number("n", n, least=1, help="It is the number of tokens.")
    given = {
        name: finite_array(name, value)
        for name, value in (("values", values), ("slopes", slopes), ("gains", gains))
    }
    try:
        c, m, g = np.broadcast_arrays(*(np.atleast_1d(value) for value in given.values()))  # (h,) each
    except ValueError:
        c = np.empty((0, 0))
    if c.ndim > 1 or c.size == 0:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in given.items())
        raise InputError(f"values, slopes and gains must have one number per head, but have shapes {shapes}.")
    if (m < 0.0).any():
        raise InputError(f"slopes must not be negative, but are as low as {m.min():g}. 0 switches ALiBi off.")
    if (g <= 0.0).any():
        raise InputError(f"gains must be positive, but are as low as {g.min():g}. For repulsion use values.")
    decays = np.exp(-m[:, None] * np.arange(n))  # (h, n)
    own = 1.0 / np.cumsum(decays, axis=1)  # (h, n) a_kk
    return np.asarray(-(g * c) @ (1.0 - own))  # (n,)
