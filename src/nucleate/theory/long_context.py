"""What one layer of attention makes of the angles between n tokens, where beta grows like gamma log n.

n tokens of equal overlaps rho (Q = K = V = I, full mask, no residual): A_i = (a - b) x_i + b S, S the sum of
all tokens and a / b = e^{beta (1 - rho)} = n^{gamma (1 - rho)}.  With g = a / b - 1 and s = <x_i, S> =
1 + (n - 1) rho, so that |S|^2 = n s,

    cos(A_i, A_j) = (g^2 rho + 2 g s + n s) / (g^2 + 2 g s + n s).

For rho > 0, s grows like n rho, and g^2, 2 g s and n s are of the same size only where g is like n, at
gamma = 1 / (1 - rho).  Below, n s wins and all outputs coincide; above, g^2 wins and nothing has changed; at
equality the limit is (rho + 2 rho + rho) / (1 + 2 rho + rho) = 4 rho / (1 + 3 rho).  (2510.05554.)
For rho = 0, s stays 1, and the same happens where g^2 is like n: at gamma = 1/2, with the limit 1/2 (ours).
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_number, whole_number

__all__ = ["critical_gamma", "layer_cosine", "limiting_cosine", "output_cosine"]


def critical_gamma(rho: float) -> float:
    """The gamma at which attention neither merges all tokens nor leaves them as they are, n -> infinity."""
    return 0.5 if _overlap(rho) == 0.0 else 1.0 / (1.0 - rho)


def limiting_cosine(gamma: float, rho: float) -> float:
    """The cosine between two outputs for n -> infinity; critical is only the double `critical_gamma`."""
    gamma, critical = _gamma(gamma), critical_gamma(rho)
    if gamma == critical:
        return 0.5 if rho == 0.0 else 4.0 * rho / (1.0 + 3.0 * rho)
    return 1.0 if gamma < critical else float(rho)


def output_cosine(n: int, gamma: float, rho: float) -> float:
    """The cosine between two outputs for n tokens, exactly."""
    n = whole_number("n", n, least=2, help="One token alone has no angles.")
    gamma, rho = _gamma(gamma), _overlap(rho)
    return float(layer_cosine(n, rho, gamma * np.log(n)))


def layer_cosine(n: ArrayLike, rho: ArrayLike, beta: ArrayLike) -> Array:
    """The same for any beta; arrays, or numbers, that are not checked."""
    n, rho, beta = (np.asarray(value, dtype=np.float64) for value in (n, rho, beta))
    s = 1.0 + (n - 1.0) * rho
    inverse = np.exp(-beta * (1.0 - rho))  # b / a; all terms times its square, as g itself may overflow
    own, mixed, shared = (1.0 - inverse) ** 2, 2.0 * (1.0 - inverse) * inverse * s, inverse**2 * n * s
    return np.asarray((own * rho + mixed + shared) / (own + mixed + shared))


def _gamma(gamma: float) -> float:
    return finite_number("gamma", gamma, least=0.0, help="beta is gamma log n.")


def _overlap(rho: float) -> float:
    rho = finite_number("rho", rho, least=0.0, help="Of infinitely many tokens not all can be farther apart.")
    if rho >= 1.0:
        raise InputError(f"rho must be less than 1, but is {rho}. Tokens that coincide stay so.")
    return rho
