"""The coefficients of nucleate.kernels.vector_math, made anew.

    python tests/support/fit_coefficients.py

Chebyshev fits in 40 digits, rounded to doubles.  The intervals of exp, sine and cosine are a little wider
than needed, for arguments that rounding leaves just outside.
"""

from collections.abc import Callable
from typing import Any

import mpmath as mp

__all__ = ["fitted_coefficients"]


def fitted_coefficients() -> dict[str, tuple[float, ...]]:
    """By the names they have in vector_math, lowest order first."""

    def fit(function: Callable[[Any], Any], low: Any, high: Any, count: int) -> tuple[float, ...]:
        return tuple(float(c) for c in reversed(mp.chebyfit(function, [low, high], count)))

    def exp2(f: Any) -> Any:
        return mp.expm1(f * mp.ln2) / f if f else +mp.ln2

    def sine(u: Any) -> Any:
        return (mp.sin(mp.sqrt(u)) / mp.sqrt(u) - 1) / u

    def cosine(u: Any) -> Any:
        return (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2

    with mp.workdps(40):
        r, u = mp.mpf("1.0001") * mp.ln2 / 2, (mp.mpf("1.001") * mp.pi / 4) ** 2
        return {
            "EXP": fit(mp.exp, -r, r, 12),
            "EXP2": fit(exp2, -mp.mpf(1) / 2, mp.mpf(1) / 2, 11),
            "EXP2_SHORT": fit(exp2, -mp.mpf(1) / 32, mp.mpf(1) / 32, 6),
            "EXP2_BRIEF": fit(lambda f: mp.power(2, f), -mp.mpf(1) / 2, mp.mpf(1) / 2, 8),
            "EXP2_BRIEF_SHORT": fit(lambda f: mp.power(2, f), -mp.mpf(1) / 32, mp.mpf(1) / 32, 5),
            "EXP2_SINGLE": fit(lambda f: mp.power(2, f), -mp.mpf(1) / 2, mp.mpf(1) / 2, 7),
            "SINE": fit(sine, 0, u, 6),
            "COSINE": fit(cosine, 0, u, 6),
        }


if __name__ == "__main__":
    for name, values in fitted_coefficients().items():
        print(f"{name} = {values}")
