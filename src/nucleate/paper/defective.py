"""Two tokens under V = (1 1; 0 1), a defective top: why the end depends on the tolerance from beta = 8 or so on (ours).

At the angles a1 and pi + q the tokens obey a1' = -sin(a1)^2, so cot(a1) = t + const, and with p / (1 - p) = e^{-beta (1 + cos(q - a1))}
    q' = p (sin(q - a1) + sin(q) sin(a1)) - (1 - p) sin(q)^2.
For a1 -> 0 the second token rests at q = e^{-2 beta}, nearly: held there by a force of at most e^{-4 beta} / 4, which at beta = 9 is less than the
rounding of a number near 1.  In q itself nothing is lost.
"""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["TOLERANCES", "defective", "exact_end", "simulated_end"]

V = ((1.0, 1.0), (0.0, 1.0))
ANGLES = (1.0, 0.5)  # a1 and q at first
TOLERANCES = (1e-8, 1e-10, 1e-12)
LATE = 1000.0  # the end is at LATE e^{2 beta}


def simulated_end(beta: float, tolerance: float) -> float:
    """The angle q of the second token at the end, from the tokens' coordinates, between -pi and pi."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.paper.keep import finished

    angles = np.array([ANGLES[0], np.pi + ANGLES[1]])
    t = LATE * float(np.exp(2.0 * beta))
    run = finished(simulate(Attention(beta, V=V), np.stack([np.cos(angles), np.sin(angles)], axis=1), t, [t], tolerance, tolerance / 100.0))
    x = run.x[-1, 1]  # (2,)
    return float(np.arctan2(-x[1], -x[0]))


def exact_end(beta: float) -> float:
    """The same from the equation in q, over the logarithm of time, with relative errors of 1e-10."""
    from scipy.integrate import solve_ivp

    first = float(1.0 / np.tan(ANGLES[0]))

    def velocity(s: float, q: Array) -> Array:
        t = np.exp(s) - 1.0
        a = np.arctan2(1.0, t + first)
        p = 1.0 / (1.0 + np.exp(beta * 2.0 * np.cos((q - a) / 2.0) ** 2))
        return np.asarray((t + 1.0) * (p * (np.sin(q - a) + np.sin(q) * np.sin(a)) - (1.0 - p) * np.sin(q) ** 2))

    found = solve_ivp(velocity, (0.0, float(np.log(LATE) + 2.0 * beta)), [ANGLES[1]], method="Radau", rtol=1e-10, atol=1e-30)
    return float(found.y[0, -1])


def defective(betas: list[float]) -> "Dataset":
    """Ends at every beta: simulated with several tolerances, and exact."""
    import xarray

    simulated = np.array([[simulated_end(beta, tolerance) for tolerance in TOLERANCES] for beta in betas])  # (betas, tolerances)
    return xarray.Dataset(
        {"simulated": (("beta", "tolerance"), simulated), "exact": ("beta", np.array([exact_end(beta) for beta in betas]))},
        {"beta": np.array(betas), "tolerance": np.array(TOLERANCES)},
    )
