"""How fast the front is, and the masses that it leaves."""

import numpy as np

from nucleate.checks import Array

__all__ = [
    "correlations",
    "effective_number",
    "even_weight",
    "joint_speeds",
    "logarithms",
    "mass_spread",
    "number_behind",
    "profile_bias",
    "profile_distances",
    "propagated_share",
    "relative_masses",
    "same_place",
    "slopes",
    "speed_ratios",
]


def slopes(value: Array, s: Array, least: float, most: float = np.inf) -> Array:
    """Slope over s of every row, least squares over the bins with least <= s <= most whose value is known:
    (start, bin) -> (start,)."""
    found = []
    for row in value:
        use = (s >= least) & (s <= most) & np.isfinite(row)
        found.append(np.polyfit(s[use], row[use], 1)[0] if use.sum() > 2 else np.nan)
    return np.array(found)


def speed_ratios(
    crossing: Array, s: Array, speed: float, logarithm: float = 1.5, *, least: float, most: float = np.inf
) -> Array:
    """Slope over s of v t - c ln t at the times t at which the front passes, of every start, v the speed (4
    lambda) and c the logarithm: 1 if it goes as predicted, about 2 if it took ln k / (2 lambda): (start, bin)
    -> (start,)."""
    return slopes(speed * crossing - logarithm * np.log(crossing), s, least, most)


def logarithms(crossing: Array, s: Array, speed: float, *, least: float, most: float = np.inf) -> Array:
    """The c with which the slope over s of v t - c ln t is 1, of every start: (start, bin) -> (start,)."""
    without = speed_ratios(crossing, s, speed, 0.0, least=least, most=most)
    return (without - 1.0) / slopes(np.log(crossing), s, least, most)


def joint_speeds(crossings: list[tuple[Array, Array, float]], *, least: float, most: float = np.inf) -> Array:
    """v in units of the speed (4 lambda), and c, fitted together: those with which v t - c ln t is straight
    over s with the slope 1, for all starts of all kinds at once; as jackknife values, one for every start,
    whose mean and spread are those of v and c: [crossing (start, bin), s (bin,), speed] -> (start, 2).

    Places are exact and times are not, so the two conditions are that s and its square, not t, have nothing
    in common with what is left over."""
    found = []
    for crossing, s, speed in crossings:
        for row in crossing:
            use = (s >= least) & (s <= most) & np.isfinite(row)
            if use.sum() < 4:
                continue
            tilt = s[use] - s[use].mean()
            bend = tilt**2 - np.polyval(np.polyfit(tilt, tilt**2, 1), tilt)
            terms = np.stack([speed * row[use], -np.log(row[use]), s[use]])  # (3, bins)
            found.append(np.stack([terms @ tilt, terms @ bend]))  # (2, 3)
    if len(found) < 2:
        return np.full((1, 2), np.nan)
    each = np.stack(found)  # (start, 2, 3)

    def solved(total: Array) -> Array:
        return np.asarray(np.linalg.solve(total[:, :2], total[:, 2]))

    whole = each.sum(0)
    return np.stack([len(each) * solved(whole) - (len(each) - 1) * solved(whole - one) for one in each])


def profile_distances(seen: Array, limit: Array) -> Array:
    """How far the limit equation's profile is from the run's, of every start: root mean square of the
    difference over bins, over that of the run's: (start, bin) -> (start,)."""
    return np.asarray(np.sqrt(((limit - seen) ** 2).mean(1) / (seen**2).mean(1)))


def profile_bias(seen: Array, limit: Array) -> Array:
    """How much more the limit equation has on the mean of bins, over the mean of the run's, of every start:
    (start, bin) -> (start,)."""
    return np.asarray((limit - seen).mean(1) / seen.mean(1))


def even_weight(beta: float, d: int) -> float:
    """The mean of e^{beta (u - 1)} over the uniform law: I_0(beta) e^{-beta} for d = 2."""
    from scipy.special import gamma, ive

    return float(gamma(d / 2.0) * (2.0 / beta) ** (d / 2.0 - 1.0) * ive(d / 2.0 - 1.0, beta))


def number_behind(settled: Array, s: Array, beta: float, least: float, d: int = 2) -> Array:
    """The effective number of clusters that the first front leaves, of every start: e^beta / (I_0 zeta) of
    what is seen behind it, on spheres with the uniform law's mean in the place of I_0, averaged over s from
    `least` on where that is known: (start, bin) -> (start,)."""
    known = [row[(s >= least) & np.isfinite(row)] for row in settled]
    even = even_weight(beta, d)
    return np.array([np.mean(1.0 / (even * (1.0 + row))) if len(row) else np.nan for row in known])


def propagated_share(modes: Array, kind: int) -> tuple[Array, Array]:
    """How modes follow from what the linear law makes of the start's, of every start: the factor c with the
    least sum of |measured - c predicted|^2, and the share of the squares that is explained with c = 1 for
    kind 1, the causal law, and with the best c for kind 0, the start's own modes, which is as under the full
    mask: modes (start, 3, mode, 2) -> (start,) each."""
    value = modes[..., 0] + 1j * modes[..., 1]  # (start, 3, mode)
    predicted, measured = value[:, kind], value[:, 2]  # (start, mode)
    factor = (measured * predicted.conj()).real.sum(-1) / (np.abs(predicted) ** 2).sum(-1)  # (start,)
    taken = np.ones_like(factor) if kind == 1 else factor
    rest = (np.abs(measured - taken[:, None] * predicted) ** 2).sum(-1)  # (start,)
    return np.asarray(factor), np.asarray(1.0 - rest / (np.abs(measured) ** 2).sum(-1))


def effective_number(mass: Array) -> Array:
    """1 / sum of squared shares, of the clusters of every start: (start, cluster) -> (start,)."""
    share = mass / np.nansum(mass, 1, keepdims=True)
    return np.asarray(1.0 / np.nansum(share**2, 1))


def mass_spread(mass: Array, expected: float) -> Array:
    """Standard deviation over mean of the shares of a start's clusters that have at least a tenth of an even
    share: (start, cluster) -> (start,)."""
    kept = [row[row > 0.1 / expected] for row in mass]
    return np.array([one.std() / one.mean() for one in kept])


def relative_masses(mass: Array, expected: float) -> Array:
    """Masses over the mean of their start's, of all clusters of all starts that have at least a tenth of an
    even share: (start, cluster) -> (clusters,)."""
    kept = [row[row > 0.1 / expected] for row in mass]
    return np.concatenate([row / row.mean() for row in kept])


def correlations(mass: Array, predicted: Array) -> Array:
    """Of masses and predicted masses, of every start: (start, cluster) -> (start,)."""
    found = []
    for row, other in zip(mass, predicted, strict=True):
        good = ~np.isnan(row) & ~np.isnan(other)
        found.append(np.corrcoef(row[good], other[good])[0, 1] if good.sum() > 2 else np.nan)
    return np.array(found)


def same_place(probe: Array, beta: float) -> tuple[Array, Array]:
    """The share of probes that end within beta^(-1/2) in two runs: of the same first tokens, and of those of
    the next start: probe (start, 2, probes, d) -> (start,) each."""
    known = np.isfinite(probe[0, 0, :, 0])
    first, second = probe[:, 0, known], probe[:, 1, known]  # (start, probes, d)
    limit = np.cos(beta**-0.5)
    same = ((first * second).sum(-1) >= limit).mean(-1)
    other = ((first * np.roll(first, 1, 0)).sum(-1) >= limit).mean(-1)
    return np.asarray(same), np.asarray(other)
