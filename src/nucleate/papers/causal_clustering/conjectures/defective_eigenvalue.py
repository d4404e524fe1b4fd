"""Two tokens under V = (1 1; 0 1), a defective eigenvalue: where the second ends, and why that depends on the
tolerance from beta = 8 or so on (ours).

At the angles a and pi + q, both between 0 and pi, the tokens obey (cot a)' = 1, and with p / (1 - p) =
e^{-beta (1 + cos(q - a))}
    q' = p (sin(q - a) + sin(q) sin(a)) - (1 - p) sin(q)^2,
or for D = cot q - cot a, the lead of the second token,
    D' = -p - p (sin a / sin q) (1 - D).
D hardly changes until both angles are small, where D' = p (D - 2): if D < 2 at first the second token tends
to q = e^{-2 beta}, nearly, beside -xi, held there by a force of at most e^{-4 beta} / 4, which at beta = 9 is
less than the rounding of a number near 1; in q itself nothing is lost. If D > 2 it slips through -xi, pulled
by what is left of a, and goes round to xi. A token that starts near the first one, across xi, is drawn
straight there and has D < -2 at the beta used here. (docs/conjectures.md, also for other V.)
"""

from math import atan2, cos, exp, log, sin, tan
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "MAX_LEAD",
    "RULE_BETA",
    "STARTS",
    "ends_from_two_starts",
    "ends_from_uniform_starts",
    "exact_end",
    "lead",
    "simulated_end",
]

V = ((1.0, 1.0), (0.0, 1.0))
# a and q at first: D = 1.19, which ends beside -xi, and D = 2.29, which slips through
STARTS = ((1.0, 0.5), (2.0, 0.5))
MAX_LEAD = 2.0  # of a token that does not slip through
TOLERANCES = (1e-8, 1e-10, 1e-12)
END_FACTOR = 1000.0  # the end is at this times e^{2 beta}
RULE_BETA = 5.0  # large enough for the rule, and e^{-4 beta} is far above the tolerance
RULE_TOLERANCE = 1e-12


def lead(a: Array | float, q: Array | float) -> Array:
    """D = cot q - cot a: the time by which the second token is ahead of the first on the way to its pole."""
    return np.asarray(1.0 / np.tan(q) - 1.0 / np.tan(a))


def simulated_end(beta: float, tolerance: float, angles: Array) -> Array:
    """The angle q of the second token at the end, from the tokens' coordinates, between -pi and pi: starts
    (b, 2) of a and q, ends (b,)."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    at = np.stack([angles[:, 0], np.pi + angles[:, 1]], axis=1)  # (b, 2)
    t = END_FACTOR * float(np.exp(2.0 * beta))
    run = uninterrupted(
        simulate(
            Attention(beta, V=V),
            np.stack([np.cos(at), np.sin(at)], axis=-1),
            t,
            save=[t],
            rtol=tolerance,
            atol=tolerance / 100.0,
        )
    )
    x = run.x[:, -1, 1]  # (b, 2)
    return np.asarray(np.arctan2(-x[:, 1], -x[:, 0]))


def exact_end(beta: float, angles: tuple[float, float] = STARTS[0]) -> float:
    """The same from the equation in q, over the logarithm of time, with relative errors of 1e-10."""
    from scipy.integrate import solve_ivp

    first = 1.0 / tan(angles[0])

    def velocity(s: float, y: Array) -> float:
        t, q = exp(s) - 1.0, float(y[0])
        a = atan2(1.0, t + first)
        p = 1.0 / (1.0 + exp(beta * 2.0 * cos((q - a) / 2.0) ** 2))
        return (t + 1.0) * (p * (sin(q - a) + sin(q) * sin(a)) - (1.0 - p) * sin(q) ** 2)

    end = log(END_FACTOR) + 2.0 * beta
    found = solve_ivp(velocity, (0.0, end), [angles[1]], method="LSODA", rtol=1e-12, atol=1e-30)
    return float(found.y[0, -1])


def ends_from_two_starts(betas: list[float]) -> "Dataset":
    """Ends from both starts at every beta: simulated with several tolerances, and exact."""
    import xarray

    simulated = np.array(
        [[simulated_end(beta, tolerance, np.array(STARTS)) for tolerance in TOLERANCES] for beta in betas]
    )
    exact = np.array([[exact_end(beta, angles) for beta in betas] for angles in STARTS])
    return xarray.Dataset(
        {"simulated": (("beta", "tolerance", "start"), simulated), "exact": (("start", "beta"), exact)},
        {"beta": np.array(betas), "tolerance": np.array(TOLERANCES)},
    )


def ends_from_uniform_starts(starts: int, seed: int) -> "Dataset":
    """Uniform starts on opposite sides of the axis: a, q, and where the second token ends."""
    import xarray

    angles = np.random.default_rng(seed).uniform(0.0, np.pi, (starts, 2))  # (b, 2)
    end = simulated_end(RULE_BETA, RULE_TOLERANCE, angles)
    return xarray.Dataset({"angles": (("start", "token"), angles), "end": ("start", end)})
