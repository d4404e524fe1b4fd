"""2^x on the card, for x <= 0: in double precision by a polynomial, in single by the card's own unit.

x = i + r with i whole and |r| <= 1/2; 2^r is a polynomial in r, near the best of its degree, and i is added
to the exponent bits.  Adding 1.5 * 2^52 rounds to a whole number, and leaves it in the low bits.
"""

from typing import Any

import numpy as np
from numba import float32, float64, int32

from nucleate.gpu.device import SIMULATED, device_function

__all__ = ["exp2_double", "exp2_single"]

ROUND = 6755399441055744.0  # 1.5 * 2^52
MIN_EXPONENT = -1000  # below it the result is 2^-1000: nothing beside the largest weight, which is 1
DEGREE, LOW_DEGREE = 10, 6  # errors 2e-15 and 3e-9, as shares


def coefficients(degree: int) -> tuple[float, ...]:
    """Of 2^r on |r| <= 1/2, lowest first."""
    series = np.polynomial.chebyshev.Chebyshev.interpolate(lambda r: 2.0**r, degree, domain=[-0.5, 0.5])
    powers = series.convert(kind=np.polynomial.Polynomial, domain=[-1, 1], window=[-1, 1])
    return tuple(float(c) for c in powers.coef)


def exp2_double(exact: bool) -> Any:
    """The function for doubles: to the last bits, or to eight digits."""
    if SIMULATED:
        return device_function(lambda x: 2.0**x)
    from numba.cuda import libdevice

    dadd, fma = libdevice.dadd_rn, libdevice.fma
    low, high, join = libdevice.double2loint, libdevice.double2hiint, libdevice.hiloint2double
    c = coefficients(DEGREE if exact else LOW_DEGREE)
    c7, c8, c9, c10 = c[7:] if exact else (0.0, 0.0, 0.0, 0.0)

    @device_function
    def exp2(x):
        rounded = dadd(x, ROUND)
        r = dadd(x, -dadd(rounded, -ROUND))
        p = c[6]
        if exact:
            p = fma(fma(fma(fma(c10, r, c9), r, c8), r, c7), r, p)
        p = fma(fma(fma(p, r, c[5]), r, c[4]), r, c[3])
        p = fma(fma(fma(p, r, c[2]), r, c[1]), r, c[0])
        i = max(low(rounded), int32(MIN_EXPONENT))
        return join(high(p) + int32(i << int32(20)), low(p))

    return exp2


def exp2_single() -> Any:
    """The function for single precision, good to 2e-7."""
    if SIMULATED:
        return device_function(lambda x: float32(2.0 ** float64(x)))
    from numba.cuda import libdevice

    return libdevice.exp2f
