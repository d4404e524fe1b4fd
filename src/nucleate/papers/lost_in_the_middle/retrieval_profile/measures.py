"""Groups of neighbouring tokens, what the formula says about them, and how far N tokens may be from it."""

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array
from nucleate.theory.lost_in_the_middle import least_remembered, memory, u_shaped_until

__all__ = [
    "amplitudes",
    "compared_group",
    "expected_profile",
    "finite_profile",
    "grouped",
    "judged_ends",
    "places",
    "tolerance",
    "u_shaped",
]

CLEARLY_BEFORE, CLEARLY_AFTER = 0.9, 1.25  # a t over that up to which there is a U; nothing is judged between
LATEST_JUDGED = 1.0  # a t up to which the formula is judged; e^{2at}/N is a tenth there
LEAST_EXCESS = 0.1  # of an end over the least remembered group; where less is expected, chance decides
HALF = 0.5  # the place that the ends are compared with where there is to be no U


def places(N: int) -> Array:
    """sigma_0 of tokens 1 .. N-1, (N-1,)."""
    return np.asarray((np.arange(N - 1) + 0.5) / N)


def grouped(values: Array, groups: int) -> Array:
    """Means of neighbouring tokens, (..., N-1) -> (..., groups)."""
    parts = np.array_split(np.arange(values.shape[-1]), groups)
    return np.stack([values[..., part].mean(-1) for part in parts], axis=-1)


def expected_profile(N: int, at: float, lam: float, groups: int) -> Array:
    """The formula for N tokens, in groups, (groups,)."""
    return grouped(memory(places(N), at, lam), groups)


def finite_profile(N: int, at: float, lam: float, own: bool) -> Array:
    """The linear law of N tokens instead of infinitely many, (N-1,): N times the last row of e^{at M}, M the
    decays over their sums, which hold the token's own or do not."""
    from scipy.linalg import expm

    j, k = np.arange(N)[:, None], np.arange(N)[None, :]
    decay = np.where(k < j, np.exp(-lam * (j - k) / N), 0.0)  # (N, N)
    Z = decay.sum(1) + (1.0 if own else 0.0)  # (N,)
    Z[0] = 1.0  # token 1 sees no other
    return np.asarray(N * expm(at * decay / Z[:, None])[-1, :-1])


def tolerance(N: int, at: float, lam: float, groups: int) -> Array:
    """How far N tokens may be from the formula, (groups,): what the own term in Z_j changes, what sums for
    integrals change, and e^{2at}/N of it for the fluctuations that the linear law leaves out (of mode n they
    are 1/N at first, in the square, and grow by at most e^{2at})."""
    formula = expected_profile(N, at, lam, groups)
    own, without = (grouped(finite_profile(N, at, lam, one), groups) for one in (True, False))
    return np.asarray(np.abs(own - without) + np.abs(without - formula) + np.exp(2.0 * at) / N * formula)


def u_shaped(at: float, lam: float) -> bool | None:
    """Whether there is to be a U; None too near the time up to which there is."""
    until = u_shaped_until(lam)
    return True if at <= CLEARLY_BEFORE * until else False if at >= CLEARLY_AFTER * until else None


def compared_group(at: float, lam: float, groups: int) -> int:
    """The group that both ends are compared with: the least remembered one, or that at one half."""
    place = least_remembered(at, lam) if u_shaped(at, lam) else HALF
    return min(int(place * groups), groups - 1)


def judged_ends(N: int, at: float, lam: float, groups: int) -> tuple[bool, bool]:
    """Whether the first and the last group are to exceed the least remembered one clearly, by the law of N
    tokens, own terms in it."""
    if not u_shaped(at, lam):
        return False, False
    profile = grouped(finite_profile(N, at, lam, own=True), groups)  # (groups,)
    least = (1.0 + LEAST_EXCESS) * profile[compared_group(at, lam, groups)]
    return bool(profile[0] >= least), bool(profile[-1] >= least)


def amplitudes(response: Array, at: ArrayLike, lam: float) -> Array:
    """How large profiles (runs, times, N-1) are, all tokens together, over the linear law of N tokens, own
    terms in it, (runs, times)."""
    N = response.shape[-1] + 1
    law = [finite_profile(N, float(one), lam, own=True).mean() for one in np.asarray(at)]  # (times,)
    return np.asarray(response.mean(-1) / law)
