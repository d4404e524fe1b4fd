"""Hard attention: the two nearest tokens meet first, and when (ours; leaders: 2407.01602, merge order:
2509.25040).

Full mask, Q = K = V = I: token i moves towards the nearest other token, x_i' = P_{x_i}(x_j), at the speed
of the sine of the angle between them.  Two tokens that are nearest to each other close their angle g at

    g' = -2 sin g,       tan(g(t) / 2) = tan(g(0) / 2) e^{-2 t}.

Any two tokens at an angle h <= pi/2 have h' >= -2 sin h, for neither is faster than sin h: the one that it
moves to is not farther away than h.  So the least of all angles, if it is at most pi/2 and belongs to one
pair, stays the least, that pair keeps choosing each other, and it is the first to come as close as one
likes.
"""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array

__all__ = ["nearest_gap"]


def nearest_gap(gap: ArrayLike, t: ArrayLike) -> Array:
    """The angle between the two nearest tokens at the time t, from `gap`, at most pi/2, on."""
    gap, t = finite_array("gap", gap), finite_array("t", t)
    if ((gap <= 0.0) | (gap > np.pi / 2.0)).any():
        worst = gap[(gap <= 0.0) | (gap > np.pi / 2.0)].flat[0]
        raise InputError(
            f"gap must be an angle above 0 and up to pi/2, but is {worst:g}. Of farther tokens others may"
            " come closer first."
        )
    return np.asarray(2.0 * np.arctan(np.tan(gap / 2.0) * np.exp(-2.0 * t)))
