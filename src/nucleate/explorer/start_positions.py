"""Starting positions that the explorer offers besides uniform ones; the same for the same seed."""

import numpy as np

from nucleate.checks import Array, InputError, finite_number, whole_number
from nucleate.sphere import retract, uniform
from nucleate.theory.counts import cap_share

__all__ = ["cap", "planted"]

# narrower caps in 64 dimensions have a share of the sphere that doubles cannot hold
MIN_CAP_ANGLE_RADIANS = 1e-3
MAX_SPREAD_RADIANS = 3.0


def cap(n: int, d: int, angle: float, seed: int = 0) -> Array:
    """n independent uniform points (n, d) of the cap of points within `angle` of the first axis.

    sin^2(theta/2) of a uniform point has the distribution Beta((d-1)/2, (d-1)/2), cut off at the angle.
    """
    from scipy.special import betaincinv

    angle = finite_number(
        "angle", angle, least=MIN_CAP_ANGLE_RADIANS, help="It is the radius of the cap, in radians."
    )
    if angle > np.pi:
        raise InputError(f"angle must be at most pi, but is {angle}. pi is the whole sphere.")
    rng = np.random.default_rng(seed)
    share = rng.random(n) * cap_share(angle, d)  # (n,) of the sphere
    theta = 2.0 * np.arcsin(np.sqrt(betaincinv((d - 1) / 2.0, (d - 1) / 2.0, share)))  # (n,)
    around = retract(rng.standard_normal((n, d - 1)))  # (n, d - 1); for d = 2 plus or minus 1
    return retract(np.concatenate([np.cos(theta)[:, None], np.sin(theta)[:, None] * around], axis=1))


def planted(n: int, d: int, clusters: int, spread: float, seed: int = 0) -> Array:
    """n points (n, d) around `clusters` uniform ones, token j around number j mod clusters, Gaussian with
    about `spread` radians."""
    clusters = whole_number("clusters", clusters, least=1, help="It is the number of planted clusters.")
    spread = finite_number(
        "spread", spread, least=0.0, help="It is the size of a planted cluster, in radians."
    )
    if clusters > n or spread > MAX_SPREAD_RADIANS:
        raise InputError(
            f"At most n = {n} clusters with a spread up to {MAX_SPREAD_RADIANS:g} can be planted, but there"
            f" are {clusters} with {spread:g}."
        )
    rng = np.random.default_rng(seed)
    centers = uniform(clusters, d, rng)  # (clusters, d)
    return retract(centers[np.arange(n) % clusters] + spread * rng.standard_normal((n, d)) / np.sqrt(d))
