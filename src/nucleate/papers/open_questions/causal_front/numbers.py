"""What is measured of the runs and of the limit equation, case by case and over all starts."""

from collections.abc import Iterator

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Parameters
from nucleate.papers.core.numbers import Number, exact, mean_of
from nucleate.papers.open_questions.causal_front.crossings import LEVEL, crossing_times
from nucleate.papers.open_questions.causal_front.data import (
    Case,
    bins_of,
    cases,
    expected_clusters,
    far_places,
)
from nucleate.papers.open_questions.causal_front.measures import (
    correlations,
    effective_number,
    joint_speeds,
    logarithms,
    mass_spread,
    number_behind,
    profile_bias,
    profile_distances,
    propagated_share,
    relative_masses,
    same_place,
    slopes,
    speed_ratios,
)
from nucleate.theory.causal_front import cell_front_speed, fastest_degree, front_speed

__all__ = [
    "BEHIND_TIMES",
    "PASSING_TIMES",
    "Named",
    "far_numbers",
    "joint_numbers",
    "known",
    "measure",
    "place_numbers",
    "shape_numbers",
]

PASSING_TIMES = (2.0, 4.0)  # at which profiles are compared, while the front passes
BEHIND_TIMES = (6.0, 8.0, 10.0)  # and behind it

CONSTANT = 0.5  # unit of time, added to t to see what a constant does that nobody knows
MASS_QUANTILES = {"low": 0.05, "high": 0.95}

Named = Iterator[tuple[str, Number]]


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Case by case, then all together."""
    numbers: dict[str, Number] = {}
    ratios, literal, coefficients, differences, arrived = [], [], [], [], []
    passed: list[tuple[Array, Array, float]] = []
    for case in cases(p):
        times, s = np.array(p["times"]), bins_of(p["first"], case.n).s
        least = float(np.log(p["least"]))
        crossing = crossing_times(data[case.name]["seen"].values, times, LEVEL)  # (start, bin)
        speed = front_speed(case.beta, case.d)
        ratios.append(speed_ratios(crossing, s, speed, least=least))
        literal.append(speed_ratios(crossing, s, speed, 0.0, least=least))
        coefficients.append(logarithms(crossing, s, speed, least=least))
        arrived.append(speed * crossing[:, -1] / s[-1])
        passed.append((crossing, s, speed))
        if case.d == 2:
            quiet = crossing_times(data[case.name]["own_seen"].values, times, LEVEL)  # (start, bin)
            differences.append(logarithms(quiet, s, speed, least=least) - coefficients[-1])
        for part in (_front_of, shape_numbers, _growth_of, _masses_of, place_numbers):
            numbers |= dict(part(data, p, case))
    about = "all runs: d(4λt − 3/2 ln t)/ds of the front: 1 as predicted, 2 without a logarithm at 2λ"
    numbers["speed"] = mean_of(known(np.concatenate(ratios)), about, 1.0)
    about = "all runs: d(4λt)/ds of the front, no logarithm taken off: 1 if it takes ln n/(4λ)"
    numbers["literal"] = mean_of(known(np.concatenate(literal)), about, 1.0)
    about = "all runs: time at which the front passes the last bin, over ln k/(4λ), from t = 0 on"
    numbers["arrived"] = mean_of(known(np.concatenate(arrived)), about)
    numbers |= dict(joint_numbers("", "all runs", passed, 1.5, float(np.log(p["least"])), np.inf))
    about = "all runs: c with which d(4λt − c ln t)/ds is 1"
    numbers["logarithm"] = mean_of(known(np.concatenate(coefficients)), about, 1.5)
    about = "all runs on the circle: c of the limit equation without noise, behind the same tokens, minus c"
    numbers["logarithm_difference"] = mean_of(known(np.concatenate(differences)), about, 1.5)
    return numbers | dict(_mass_quantiles(data, p)) | dict(far_numbers(data, p))


def _mass_quantiles(data: Data, p: Parameters) -> Named:
    """Between which nine of ten clusters on the circle are."""
    circle = [case for case in cases(p) if case.d == 2]
    mass = np.concatenate(
        [
            relative_masses(data[case.name]["mass"].values, expected_clusters(fastest_degree(case.beta), 2))
            for case in circle
        ]
    )
    for name, level in MASS_QUANTILES.items():
        about = (
            f"all runs on the circle: {level:.0%} quantile of the masses of {len(mass)} clusters, each over"
        )
        yield f"mass_{name}", exact(float(np.quantile(mass, level)), f"{about} the mean of its start")


def known(values: Array) -> Array:
    """Those that are known; one unknown value if none is."""
    known = values[np.isfinite(values)]
    return known if len(known) else np.array([np.nan])


def _front_of(data: Data, p: Parameters, case: Case) -> Named:
    found, name, words = data[case.name], case.name, case.words
    times, s = np.array(p["times"]), bins_of(p["first"], case.n).s
    least = float(np.log(p["least"]))
    slope = slopes(crossing_times(found["seen"].values, times, LEVEL), s, least)  # (start,)
    about = f"{words}: dt/ds of the front, k from {p['least']:g} on"
    yield f"{name}_slope", mean_of(known(slope), about, 1.0 / front_speed(case.beta, case.d))
    if case.d > 2:
        return
    limit = slopes(crossing_times(found["own_seen"].values, times, LEVEL), s, least)
    yield (
        f"{name}_own_slope",
        mean_of(known(limit), f"{words}: the same of the limit equation without noise"),
    )
    about = (
        f"{words}: largest change of the limit equation's ζ − 1 in the last halving, over its largest value"
    )
    yield f"{name}_error", exact(float(found["own_error"].max()), about)
    full = crossing_times(found["full"].values.swapaxes(1, 2), times, LEVEL)  # (start, size)
    full_slope = slopes(full, np.log(p["full_n"]), 0.0)  # (start,)
    about = f"{words}: dt/d ln n under the full mask"
    yield f"{name}_full_slope", mean_of(known(full_slope), about, 2.0 / front_speed(case.beta))
    about = f"{words}: that minus dt/ds of the front of the same start"
    yield f"{name}_full_difference", mean_of(known(full_slope - slope), about)


def joint_numbers(
    key: str,
    words: str,
    crossings: list[tuple[Array, Array, float]],
    logarithm: float,
    least: float,
    most: float,
) -> Named:
    """v and c fitted together, and how they hang together."""
    fitted = joint_speeds(crossings, least=least, most=most)  # (start, 2)
    about = f"{words}: v/(4λ), v and c fitted together so that vt − c ln t is straight with slope 1"
    yield f"{key}joint_speed", mean_of(fitted[:, 0], about, 1.0)
    yield f"{key}joint_logarithm", mean_of(fitted[:, 1], f"{words}: c of that fit", logarithm)
    known = len(fitted) > 2
    correlation = float(np.corrcoef(fitted[:, 0], fitted[:, 1])[0, 1]) if known else np.nan
    yield f"{key}joint_correlation", exact(correlation, f"{words}: correlation of that v with that c")


def shape_numbers(data: Data, p: Parameters, case: Case) -> Named:
    """Profiles of runs and of the limit equation behind their first tokens, or another start's, where it was
    solved."""
    if "own_seen" not in data[case.name]:
        return
    found, late = data[case.name], bins_of(p["first"], case.n).s >= np.log(p["least"])
    for t in (t for t in PASSING_TIMES + BEHIND_TIMES if t in p["times"]):
        seen, own, other = (
            found[f"{kind}seen"].values[:, p["times"].index(t)][:, late] for kind in ("", "own_", "other_")
        )  # (start, bin) each
        name, about = f"{case.name}_shape_{t:g}", f"{case.words}, t = {t:g}, k from {p['least']:g} on"
        off, null = profile_distances(seen, own), profile_distances(seen, other)  # (start,)
        about = f"{about}: relative rms between the run's ζ − 1 and the limit equation's"
        yield name, mean_of(off, about)
        yield f"{name}_other", mean_of(null, f"{about}, behind another start's first tokens")
        yield f"{name}_gain", mean_of(null - off, f"{about}: the latter minus the former, start by start")
        about = f"{case.words}, t = {t:g}: mean of the limit equation's ζ − 1 over the run's, less 1"
        yield f"{name}_bias", mean_of(profile_bias(seen, own), about)


def _growth_of(data: Data, p: Parameters, case: Case) -> Named:
    modes = data[case.name]["modes"].values  # (start, 3, mode, 2)
    factor, share = propagated_share(modes, 1)
    unmasked = propagated_share(modes, 0)[1]  # (start,)
    about = f"{case.words}: modes at t = {p['linear_time']:g} over those that the law makes of the start"
    yield f"{case.name}_growth", mean_of(factor, about, 1.0)
    about = f"{case.words}: share of their squares that is explained so"
    yield f"{case.name}_explained", mean_of(share, about)
    about = f"{case.words}: the same, if modes grew by one factor as under the full mask"
    yield f"{case.name}_unmasked", mean_of(unmasked, about)
    about = f"{case.words}: the difference of the two, start by start"
    yield f"{case.name}_explained_gain", mean_of(share - unmasked, about)


def _masses_of(data: Data, p: Parameters, case: Case) -> Named:
    found, name, words = data[case.name], case.name, case.words
    mass, renyi = found["mass"].values, found["renyi_mass"].values  # (start, cluster)
    degree = fastest_degree(case.beta, case.d)
    wave = expected_clusters(degree, case.d)
    number, centers = effective_number(mass), effective_number(renyi)  # (start,)
    yield f"{name}_effective", mean_of(number, f"{words}: effective number of clusters of the last tokens")
    about = f"{words}: the same of regions around Rényi centers"
    yield f"{name}_renyi_effective", mean_of(centers, about)
    about = f"{words}: the same around as many random places as there are clusters"
    drawn = found["random_mass"].values  # (start, draw, cluster)
    yield f"{name}_random_effective", mean_of([effective_number(one).mean() for one in drawn], about)
    about = f"{words}: the number over that of a random wave of the fastest degree, {wave:.1f}"
    yield f"{name}_number", mean_of(number / wave, about, 1.0)
    about = f"{words}: the number over that around Rényi centers of the same start"
    yield f"{name}_renyi_number", mean_of(number / centers, about, 1.0)
    about = f"{words}: by how much more |ln| of the former is than |ln| of the latter, start by start"
    nearer = np.abs(np.log(number / wave)) - np.abs(np.log(number / centers))
    yield f"{name}_renyi_nearer", mean_of(nearer, about)
    spread, even = mass_spread(mass, wave), mass_spread(renyi, wave)  # (start,)
    random = np.array([mass_spread(one, wave).mean() for one in drawn])  # (start,)
    yield f"{name}_spread", mean_of(spread, f"{words}: spread of masses over the mean")
    yield f"{name}_renyi_spread", mean_of(even, f"{words}: the same around Rényi centers")
    about = f"{words}: the same around as many random places as there are clusters"
    yield f"{name}_random_spread", mean_of(random, about)
    about = f"{words}: spread minus that around random places, start by start"
    yield f"{name}_below_random", mean_of(spread - random, about)
    about = f"{words}: spread minus that around Rényi centers, start by start"
    yield f"{name}_above_renyi", mean_of(spread - even, about)
    if case.d == 2:
        own, other = (correlations(mass, found[f"{kind}_mass"].values) for kind in ("own", "other"))
        about = f"{words}: correlation of masses with those of the limit equation"
        yield f"{name}_own_mass", mean_of(known(own), f"{about} behind the first tokens")
        yield f"{name}_other_mass", mean_of(known(other), f"{about} behind those of another start")
        yield f"{name}_mass_gain", mean_of(known(own - other), f"{about}: the former minus the latter")


def place_numbers(data: Data, p: Parameters, case: Case) -> Named:
    """Where later tokens go; without the limit equation's places, a second run is asked."""
    found, name = data[case.name], case.name
    if "own_near" in found:
        late = bins_of(p["first"], case.n).s >= np.log(p["least"])
        own, other = (found[f"{kind}_near"].values[:, late].mean(1) for kind in ("own", "other"))
        about = f"{case.words}: tokens within β^(−1/2) of their place in the limit equation"
    else:
        own, other = same_place(found["probe"].values, case.beta)
        about = f"{case.words}: tokens within β^(−1/2) of their place in a second run"
    yield f"{name}_near", mean_of(own, f"{about} with the same first {p['first']} tokens")
    yield f"{name}_other_near", mean_of(other, f"{about} with the first tokens of another start")
    yield f"{name}_near_gain", mean_of(own - other, f"{about}: the former minus the latter")


def far_numbers(data: Data, p: Parameters, d: int = 2) -> Named:
    """Speed, logarithm and number of clusters of the limit equation far from the beginning."""
    far, found = p["far"], data["far"]["crossing"].values  # (start, noise, halving, cell)
    beta, begin, end = far["beta"], far["begin"], far["end"] - 5.0
    s = far_places(p, found.shape[-1])
    where = f"β = {beta:g}, s from {begin:g} to {end:g}"
    # how much slower cells of this width and half of it are, whatever lambda is
    narrow, half_narrow = (
        cell_front_speed(beta, float(s[1] - s[0]) / parts) / front_speed(beta) for parts in (1.0, 2.0)
    )
    speed = front_speed(beta, d) * narrow
    coefficients, later = [], []
    for i, (kind, words, logarithm, digits) in enumerate(
        (("noisy", "with noise", 1.5, "3/2"), ("quiet", "without noise", 3.0, "3"))
    ):
        crossing, halved = found[:, i, 0], found[:, i, 1]  # (start, cell)
        slope = slopes(crossing, s, begin, end)  # (start,)
        about = f"limit equation {words}, {where}: dt/ds of the front, for cells of width 0"
        yield f"far_{kind}", mean_of(known(slope * narrow), about, 1.0 / front_speed(beta, d))
        change = slope / slopes(halved, s, begin, end) - 1.0
        about = f"limit equation {words}, {where}: dt/ds with cells of 0.25 over that with halves, less 1"
        yield f"far_{kind}_change", mean_of(known(change), about, half_narrow / narrow - 1.0)
        ratio = speed_ratios(crossing, s, speed, logarithm, least=begin, most=end)
        about = f"limit equation {words}, {where}: d(vt − {digits} ln t)/ds of the front, v = 4λ of the cells"
        yield f"far_{kind}_ratio", mean_of(known(ratio), about, 1.0)
        about = f"limit equation {words}, {where}: c with which d(vt − c ln t)/ds is 1"
        coefficient = logarithms(crossing, s, speed, least=begin, most=end)
        coefficients.append(coefficient)
        later.append(logarithms(crossing + CONSTANT, s, speed, least=begin, most=end) - coefficient)
        yield f"far_{kind}_logarithm", mean_of(known(coefficient), about, logarithm)
        about = f"limit equation {words}, {where}: change of that c, if t were {CONSTANT:g} more"
        yield f"far_{kind}_logarithm_later", mean_of(known(later[-1]), about)
        yield from joint_numbers(
            f"far_{kind}_",
            f"limit equation {words}, {where}, 4λ that of the cells",
            [(crossing, s, speed)],
            logarithm,
            begin,
            end,
        )
        whole = joint_speeds([(crossing, s, speed)], least=begin, most=end)  # (start, 2)
        moved = joint_speeds([(crossing + CONSTANT, s, speed)], least=begin, most=end)
        about = f"limit equation {words}, {where}: change of {{}} fitted together with {{}}, if t were"
        about = f"{about} {CONSTANT:g} more"
        yield f"far_{kind}_later_speed", mean_of((moved - whole)[:, 0], about.format("v/(4λ)", "c"))
        yield f"far_{kind}_later_logarithm", mean_of((moved - whole)[:, 1], about.format("c", "v"))
        number = number_behind(data["far"]["settled"].values[:, i], s, beta, begin, d)
        about = f"limit equation {words}, {where}: effective number of clusters behind the first front"
        wave = expected_clusters(fastest_degree(beta, d), d)
        yield f"far_{kind}_number", mean_of(known(number), about, wave)
    about = f"limit equation, {where}: c without noise minus c with noise, start by start"
    yield "far_logarithm_difference", mean_of(known(coefficients[1] - coefficients[0]), about, 1.5)
    about = f"{about}: change if t were {CONSTANT:g} more"
    yield "far_logarithm_difference_later", mean_of(known(later[1] - later[0]), about)
