"""The verdicts on the front, and the bounds that they are judged by."""

from collections.abc import Callable, Iterable

import numpy as np

from nucleate.papers.core.criteria import Part, above, below, within, word_of
from nucleate.papers.core.item import Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number
from nucleate.papers.open_questions.causal_front.data import cases
from nucleate.papers.open_questions.causal_front.numbers import BEHIND_TIMES, PASSING_TIMES
from nucleate.theory.causal_front import fastest_degree, front_speed

__all__ = [
    "LOGARITHMS",
    "MAX_ERROR",
    "MAX_FAR_OFF",
    "MAX_GROWTH_OFF",
    "MAX_JOINT_OFF",
    "MAX_NUMBER_OFF",
    "MAX_SHAPE_OFF",
    "MAX_SPEED_OFF",
    "MIN_CORRELATION",
    "MIN_NEAR",
    "MIN_SAME",
    "shape_verdict",
    "together",
    "verdicts",
]

MAX_GROWTH_OFF = 0.1  # of the growth of modes from the linear law, relatively
MAX_SPEED_OFF = 0.15  # of the speed from the predicted one, relatively, in runs
MAX_FAR_OFF = 0.03  # the same of the limit equation, far from the beginning
MAX_JOINT_OFF = 0.1  # the same, where the coefficient of ln t is fitted as well
LOGARITHMS = (0.0, 1.0, 1.5, 2.0, 3.0)  # coefficients of ln t that are told apart
MAX_ERROR = 0.05  # of the limit equation behind first tokens
MIN_NEAR = 0.8  # of tokens where the limit equation has them, on the circle
MIN_SAME = 0.5  # of tokens where a second run has them, on the sphere
MAX_NUMBER_OFF = 0.15  # of the number of clusters from that predicted, relatively
MIN_CORRELATION = 0.8  # of masses and those of the limit equation
MAX_SHAPE_OFF = 0.2  # of profiles of the limit equation from those of runs, relative root mean square


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    return (
        _growth(numbers, p),
        _speed(numbers, p),
        _far_speed(numbers, p),
        _far_logarithm(numbers, p),
        _circle_decided(numbers, p),
        _sphere_decided(numbers, p),
        _number(numbers, p),
        _renyi_number(numbers, p),
        _spread(numbers, p),
        _predicted_masses(numbers, p),
        _literal_time(numbers, p),
        _far_joint(numbers, p),
        shape_verdict(numbers, p, PASSING_TIMES, "while the front passes"),
        shape_verdict(numbers, p, BEHIND_TIMES, "behind the front"),
    )


def together(truths: Iterable[Part]) -> Part:
    """All of them; undecided if there is none."""
    every = list(truths)
    if False in every:
        return False
    return None if None in every or not every else True


def _possible(one: Number) -> tuple[float, ...]:
    """The coefficients of ln t in its interval."""
    low, high = one.ends
    return tuple(c for c in LOGARITHMS if low <= c <= high)


def _alone(one: Number, c: float) -> Part:
    """Whether of the coefficients only that one is in its interval."""
    found = _possible(one)
    if np.isnan(one.value):
        return None
    return False if c not in found else True if found == (c,) else None


def _possible_words(one: Number) -> str:
    return ", ".join(f"{c:g}" for c in _possible(one)) or "none"


def _listed(numbers: Numbers, p: Parameters, key: str, d: int | None = None) -> str:
    some = [case for case in cases(p) if d is None or case.d == d]
    return ", ".join(f"{numbers[f'{case.name}_{key}']} ({case.words})" for case in some)


def _all(p: Parameters, good: Callable[[str], Part], d: int | None = None) -> Part:
    """Whether it is good in every case of that dimension."""
    return together(good(case.name) for case in cases(p) if d is None or case.d == d)


def _growth(numbers: Numbers, p: Parameters) -> Verdict:
    def good(name: str) -> Part:
        return together(
            (
                within(numbers[f"{name}_growth"], 1.0, MAX_GROWTH_OFF),
                above(numbers[f"{name}_explained_gain"], 0.0),
            )
        )

    return Verdict(
        "under the causal mask modes of independent tokens grow by I_0(2√(λt(s−s'))) from every place s' of"
        " the sequence, and their power like e^(2λt) I_0(2λt), λ the rate under the full mask",
        word_of([_all(p, good)]),
        f"measured over predicted modes at t = {p['linear_time']:g}: {_listed(numbers, p, 'growth')};"
        f" explained are {_listed(numbers, p, 'explained')} of their squares, more than with one factor as"
        f" under the full mask by {_listed(numbers, p, 'explained_gain')}",
    )


def _speed(numbers: Numbers, p: Parameters) -> Verdict:
    slower = _all(p, lambda name: above(numbers[f"{name}_full_difference"], 0.0), 2)
    return Verdict(
        f"clusters form by a front that moves at 4λ in ln k to {MAX_SPEED_OFF:.0%}, given that c, the"
        " coefficient of ln t, is 3/2, and that passes token k after a time that grows less with ln k than"
        " the full mask's does with ln n; runs cannot tell 4λ and c apart",
        word_of([together((within(numbers["speed"], 1.0, MAX_SPEED_OFF), slower))]),
        f"the slope of 4λt − (3/2) ln t over ln k is {numbers['speed']} over all runs; dt/ds is"
        f" {_listed(numbers, p, 'slope')}, and under the full mask dt/d ln n is more by"
        f" {_listed(numbers, p, 'full_difference', 2)}. With c fitted as well, the speed over 4λ is"
        f" {numbers['joint_speed']} and c {numbers['joint_logarithm']}, correlated by"
        f" {numbers['joint_correlation']}",
    )


def _far_speed(numbers: Numbers, p: Parameters) -> Verdict:
    good = together(within(numbers[f"far_{kind}_ratio"], 1.0, MAX_FAR_OFF) for kind in ("noisy", "quiet"))
    return Verdict(
        f"far from the beginning the front of the limit equation moves at 4λ to {MAX_FAR_OFF:.0%}, given that"
        " c, the coefficient of ln t, is 3/2 with the noise of independent tokens and 3 without",
        word_of([good]),
        f"from s = {p['far']['begin']:g} to {p['far']['end'] - 5:g}, corrected for cells, the slopes of 4λt"
        f" − (3/2) ln t and 4λt − 3 ln t over s are {numbers['far_noisy_ratio']} and"
        f" {numbers['far_quiet_ratio']}; dt/ds is {numbers['far_noisy']} and {numbers['far_quiet']}, where"
        f" 1/(4λ) is {1.0 / front_speed(p['far']['beta']):.4f}",
    )


def _far_logarithm(numbers: Numbers, p: Parameters) -> Verdict:
    quiet, difference = numbers["far_quiet_logarithm"], numbers["far_logarithm_difference"]
    good = together((_alone(quiet, 3.0), _alone(difference, 1.5)))
    runs, noisy, less = (numbers[key] for key in ("logarithm", "far_noisy_logarithm", "logarithm_difference"))
    return Verdict(
        "c, the coefficient of ln t, given that the speed is 4λ: of 0, 1, 3/2, 2 and 3, 3 alone is possible"
        " far from the beginning without noise, and noise takes 3/2 of it away",
        word_of([good]),
        f"without noise it is {quiet} (in the interval: {_possible_words(quiet)}), and noise takes away"
        f" {difference} of the same start (in the interval: {_possible_words(difference)}); with noise alone"
        f" it is {noisy} (in the interval: {_possible_words(noisy)}). In runs, which were not part of the"
        f" criterion, it is {runs} (in the interval: {_possible_words(runs)}), and the limit equation without"
        f" noise behind the same tokens has {less} more (in the interval: {_possible_words(less)}), where"
        " the heuristic has 3/2. A constant of half a unit added to t changes c by"
        f" {numbers['far_noisy_logarithm_later']} with noise, {numbers['far_quiet_logarithm_later']} without,"
        f" and the difference by {numbers['far_logarithm_difference_later']}",
    )


def _circle_decided(numbers: Numbers, p: Parameters) -> Verdict:
    def good(name: str) -> Part:
        return together(
            (
                above(numbers[f"{name}_near"], MIN_NEAR),
                above(numbers[f"{name}_near_gain"], 0.0),
                numbers[f"{name}_error"].value <= MAX_ERROR,
            )
        )

    return Verdict(
        f"on the circle the first {p['first']} tokens decide: the limit equation behind them has later tokens"
        " where they go",
        word_of([_all(p, good, 2)]),
        f"within β^(−1/2) of it are {_listed(numbers, p, 'near', 2)} of the later tokens; behind another"
        f" start's first tokens {_listed(numbers, p, 'other_near', 2)}; halving its cells changes the"
        f" solution by {_listed(numbers, p, 'error', 2)} of its largest value",
    )


def _sphere_decided(numbers: Numbers, p: Parameters) -> Verdict:
    def good(name: str) -> Part:
        return together((above(numbers[f"{name}_near"], MIN_SAME), above(numbers[f"{name}_near_gain"], 0.0)))

    return Verdict(
        f"on the sphere the first {p['first']} tokens decide where most later ones go",
        word_of([_all(p, good, 3)]),
        "within β^(−1/2) of their place in a run with other later tokens are"
        f" {_listed(numbers, p, 'near', 3)}; with other first tokens {_listed(numbers, p, 'other_near', 3)}",
    )


def _number(numbers: Numbers, p: Parameters) -> Verdict:
    degree = fastest_degree(p["far"]["beta"])
    good = together(
        within(numbers[f"far_{kind}_number"], degree, MAX_NUMBER_OFF * degree) for kind in ("noisy", "quiet")
    )
    return Verdict(
        "far from the beginning the first front leaves as many clusters as the fastest degree",
        word_of([good]),
        f"effective number {numbers['far_noisy_number']} with noise, {numbers['far_quiet_number']} without,"
        f" the fastest degree being {degree}; in runs, where the first tokens are near, it is"
        f" {_listed(numbers, p, 'number')} of that (on the sphere of the maxima of a random wave)",
    )


def _renyi_number(numbers: Numbers, p: Parameters) -> Verdict:
    def good(name: str) -> Part:
        return together(
            (
                within(numbers[f"{name}_renyi_number"], 1.0, MAX_NUMBER_OFF),
                above(numbers[f"{name}_renyi_nearer"], 0.0),
            )
        )

    return Verdict(
        "in runs on the circle there are as many clusters as arcs around Rényi centers with c = 4 make, which"
        " is nearer than the fastest degree",
        word_of([_all(p, good, 2)]),
        f"effective number over that of the arcs {_listed(numbers, p, 'renyi_number', 2)}, over the fastest"
        f" degree {_listed(numbers, p, 'number', 2)}; on the sphere {_listed(numbers, p, 'renyi_number', 3)}"
        f" and {_listed(numbers, p, 'number', 3)}",
    )


def _spread(numbers: Numbers, p: Parameters) -> Verdict:
    def good(name: str) -> Part:
        return together(
            (below(numbers[f"{name}_below_random"], 0.0), above(numbers[f"{name}_above_renyi"], 0.0))
        )

    return Verdict(
        "on the circle masses are more even than arcs around as many random places, and less than arcs around"
        " Rényi centers",
        word_of([_all(p, good, 2)]),
        f"spread over the mean {_listed(numbers, p, 'spread', 2)}; around random places"
        f" {_listed(numbers, p, 'random_spread', 2)}, around Rényi centers"
        f" {_listed(numbers, p, 'renyi_spread', 2)}; on the sphere {_listed(numbers, p, 'spread', 3)},"
        f" {_listed(numbers, p, 'random_spread', 3)}, {_listed(numbers, p, 'renyi_spread', 3)}. Nine of ten"
        f" clusters on the circle have between {numbers['mass_low'].value:.2f} and"
        f" {numbers['mass_high'].value:.2f} of their start's mean",
    )


def _predicted_masses(numbers: Numbers, p: Parameters) -> Verdict:
    def good(name: str) -> Part:
        return together(
            (above(numbers[f"{name}_own_mass"], MIN_CORRELATION), above(numbers[f"{name}_mass_gain"], 0.0))
        )

    return Verdict(
        "on the circle the limit equation behind the first tokens has the masses of the clusters",
        word_of([_all(p, good, 2)]),
        f"correlation with them {_listed(numbers, p, 'own_mass', 2)}; behind another start's first tokens"
        f" {_listed(numbers, p, 'other_mass', 2)}",
    )


def _literal_time(numbers: Numbers, p: Parameters) -> Verdict:
    return Verdict(
        "the front takes the time ln n/(4λ), no logarithm taken off: the slope of 4λt over ln k is 1 to"
        f" {MAX_SPEED_OFF:.0%} in runs",
        word_of([within(numbers["literal"], 1.0, MAX_SPEED_OFF)]),
        f"the slope is {numbers['literal']} over all runs; dt/ds is {_listed(numbers, p, 'slope')}. The whole"
        f" time to the last tokens is {numbers['arrived']} of ln k/(4λ), which a constant in t decides",
    )


def _far_joint(numbers: Numbers, p: Parameters) -> Verdict:
    kinds = ("noisy", "quiet")
    speeds = [numbers[f"far_{kind}_joint_speed"] for kind in kinds]
    coefficients = [numbers[f"far_{kind}_joint_logarithm"] for kind in kinds]
    correlations = [numbers[f"far_{kind}_joint_correlation"] for kind in kinds]
    return Verdict(
        f"far from the beginning the front of the limit equation moves at 4λ to {MAX_JOINT_OFF:.0%}, whatever"
        " c is: both fitted together",
        word_of([together(within(speed, 1.0, MAX_JOINT_OFF) for speed in speeds)]),
        f"with noise and without, the speed over 4λ is {speeds[0]} and {speeds[1]}, c {coefficients[0]} and"
        f" {coefficients[1]}, correlated by {correlations[0]} and {correlations[1]}",
    )


def shape_verdict(
    numbers: Numbers, p: Parameters, some: tuple[float, ...], where: str, d: int = 2
) -> Verdict:
    """Of profiles at some times, in all cases of one dimension."""
    times = [t for t in some if t in p["times"]]

    def good(name: str) -> Part:
        every = [f"{name}_shape_{t:g}" for t in times]
        return together(
            truth
            for key in every
            for truth in (below(numbers[key], MAX_SHAPE_OFF), above(numbers[f"{key}_gain"], 0.0))
        )

    def said(t: float) -> str:
        off, null, bias = (_listed(numbers, p, f"shape_{t:g}{kind}", d) for kind in ("", "_other", "_bias"))
        return f"t = {t:g}: {off}; behind another start's first tokens {null}; on the mean more by {bias}"

    place = "circle" if d == 2 else "sphere"
    return Verdict(
        f"the shape of the front, {where} (t = {', '.join(f'{t:g}' for t in some)}): on the {place} the limit"
        f" equation behind the first tokens has ζ − 1 over k to {MAX_SHAPE_OFF:.0%} from k = {p['least']:g}"
        " on, and better than behind another start's",
        word_of([_all(p, good, d)]),
        "relative rms, " + "; ".join(said(t) for t in times),
    )
