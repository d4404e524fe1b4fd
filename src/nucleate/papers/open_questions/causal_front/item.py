"""Many tokens: the front behind which tokens have gathered, in the variable s = ln k."""

from collections.abc import Iterator

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of
from nucleate.papers.open_questions.causal_front.data import bins_of, run
from nucleate.papers.open_questions.causal_front.figures import draw
from nucleate.papers.open_questions.causal_front.measures import (
    correlations,
    crossing_times,
    growth_ratio,
    half_level,
    mass_spread,
    slopes,
    time_errors,
)
from nucleate.theory.causal_front import front_speed, mode_power

__all__ = ["ITEM"]

MAX_OFF = 0.1  # of the slope from 1 / (4 lambda), relatively
MAX_GROWTH_OFF = 0.1  # of the growth of modes from the linear law, relatively
MIN_NEAR = 0.8  # of tokens where the limit equation has them
MIN_CORRELATION = 0.8  # of masses and arcs


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """For every beta."""
    numbers: dict[str, Number] = {}
    for beta in p["betas"]:
        numbers |= dict(_front(data, p, beta))
        numbers |= dict(_clusters(data, beta))
    return numbers


def _front(data: Data, p: Parameters, beta: float) -> Iterator[tuple[str, Number]]:
    found, name, words = data[f"beta{beta:g}"], f"beta{beta:g}", f"β = {beta:g}"
    times, s = np.array(p["times"]), bins_of(p["first"], p["n"]).s
    seen = found["seen"].values  # (start, time, bin)
    level, least = half_level(seen), float(np.log(p["least"]))
    crossing = crossing_times(seen, times, level)  # (start, bin)
    predicted = 1.0 / front_speed(beta)
    yield (
        f"{name}_level",
        exact(level, f"{words}: ζ − 1 at which the front is read off, half of that at the end"),
    )
    yield (
        f"{name}_slope",
        mean_of(
            slopes(crossing, s, least), f"{words}: dt/ds of the front, k from {p['least']:g} on", predicted
        ),
    )
    for kind, about in (("own", "the same first tokens"), ("other", "first tokens of another start")):
        limit = crossing_times(found[f"{kind}_seen"].values, times, level)  # (start, bin)
        if kind == "own":
            yield (
                f"{name}_limit_slope",
                mean_of(slopes(limit, s, least), f"{words}: the same of the limit equation"),
            )
        yield (
            f"{name}_{kind}_time",
            mean_of(
                time_errors(crossing, limit, s, least), f"{words}: |t − t'| of front and limit with {about}"
            ),
        )
        near = found[f"{kind}_near"].values[:, s >= least].mean(1)  # (start,)
        yield (
            f"{name}_{kind}_near",
            mean_of(near, f"{words}: tokens within β^(−1/2) of their place in the limit with {about}"),
        )
    full = crossing_times(found["full"].values.swapaxes(1, 2), times, level)  # (start, size)
    sizes = np.log(p["full_n"])
    yield (
        f"{name}_full_slope",
        mean_of(slopes(full, sizes, 0.0), f"{words}: dt/d ln n under the full mask", 2.0 * predicted),
    )
    modes = found["modes"].values[0]  # (mode,)
    linear = np.stack([mode_power(p["n"], beta, times, int(m)) for m in modes], -1)  # (time, mode)
    at = int(np.argmin(np.abs(times - p["linear_time"])))
    about = f"{words}: growth of the power of {len(modes)} modes to t = {times[at]:g}, over e^(2λt) I_0(2λt)"
    yield f"{name}_growth", mean_of(growth_ratio(found["power"].values, linear, at), about, 1.0)


def _clusters(data: Data, beta: float) -> Iterator[tuple[str, Number]]:
    found, name, words = data[f"beta{beta:g}"], f"beta{beta:g}", f"β = {beta:g}"
    mass, arc = found["mass"].values, found["arc"].values  # (start, cluster)
    yield f"{name}_clusters", mean_of((~np.isnan(mass)).sum(1), f"{words}: clusters at the end")
    yield (
        f"{name}_spread",
        mean_of(mass_spread(mass), f"{words}: standard deviation of masses over their mean"),
    )
    yield f"{name}_mass", mean_of(correlations(mass, arc), f"{words}: correlation of masses and arcs")
    yield (
        f"{name}_mass_null",
        mean_of(correlations(mass, arc, 1), f"{words}: the same with the arcs of another start"),
    )


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    return (_growth(numbers, p), _speed(numbers, p), _limit(numbers, p), _arcs(numbers, p))


def _listed(numbers: Numbers, p: Parameters, key: str) -> str:
    return ", ".join(_interval(numbers[f"beta{beta:g}_{key}"]) for beta in p["betas"])


def _interval(one: Number) -> str:
    return f"{one.value:.3f}" if one.low is None else f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"


def _ends(one: Number) -> tuple[float, float]:
    return one.value if one.low is None else one.low, one.value if one.high is None else one.high


def _at(p: Parameters) -> str:
    return "for β = " + ", ".join(f"{beta:g}" for beta in p["betas"])


def _growth(numbers: Numbers, p: Parameters) -> Verdict:
    good = all(
        1.0 - MAX_GROWTH_OFF <= end <= 1.0 + MAX_GROWTH_OFF
        for beta in p["betas"]
        for end in _ends(numbers[f"beta{beta:g}_growth"])
    )
    return Verdict(
        "under the causal mask the power of a mode of independent tokens grows like e^(2λt) I_0(2λt) while"
        " the first tokens do not matter, λ its rate under the full mask",
        "observed" if good else "not observed",
        f"measured over predicted growth to t = {p['linear_time']:g} is {_listed(numbers, p, 'growth')}"
        f" {_at(p)}",
    )


def _speed(numbers: Numbers, p: Parameters) -> Verdict:
    good = True
    for beta in p["betas"]:
        one, predicted = numbers[f"beta{beta:g}_slope"], 1.0 / front_speed(beta)
        low, high = _ends(one)
        good &= abs(one.value / predicted - 1.0) <= MAX_OFF and low > 0.0 and high < 2.0 * predicted
    expected = ", ".join(f"{1.0 / front_speed(beta):.3f}" for beta in p["betas"])
    return Verdict(
        "clusters form by a front that moves through s = ln k at the speed 4λ: dt/ds = 1/(4λ), half of the"
        " full mask's 1/(2λ)",
        "observed" if good else "not observed",
        f"dt/ds is {_listed(numbers, p, 'slope')} {_at(p)}, where 1/(4λ) is {expected}; of the limit equation"
        f" behind the first tokens it is {_listed(numbers, p, 'limit_slope')}, under the full mask"
        f" {_listed(numbers, p, 'full_slope')}",
    )


def _limit(numbers: Numbers, p: Parameters) -> Verdict:
    good = all(
        _ends(numbers[f"beta{beta:g}_own_near"])[0] >= MIN_NEAR
        and _ends(numbers[f"beta{beta:g}_own_near"])[0] > _ends(numbers[f"beta{beta:g}_other_near"])[1]
        for beta in p["betas"]
    )
    return Verdict(
        f"the first {p['first']} tokens decide: the limit equation behind them has all later tokens where"
        f" they go",
        "observed" if good else "not observed",
        f"within β^(−1/2) of their predicted place at the end are {_listed(numbers, p, 'own_near')} of the"
        f" tokens {_at(p)} (with another start's first tokens {_listed(numbers, p, 'other_near')}); the"
        f" front comes {_listed(numbers, p, 'own_time')} earlier or later than predicted"
        f" (with another start's {_listed(numbers, p, 'other_time')})",
    )


def _arcs(numbers: Numbers, p: Parameters) -> Verdict:
    good = all(
        _ends(numbers[f"beta{beta:g}_mass"])[0] >= MIN_CORRELATION
        and _ends(numbers[f"beta{beta:g}_mass"])[0] > _ends(numbers[f"beta{beta:g}_mass_null"])[1]
        for beta in p["betas"]
    )
    return Verdict(
        "the mass of a cluster is the share of the circle that is nearest to its leader",
        "observed" if good else "not observed",
        f"correlation of masses and arcs {_listed(numbers, p, 'mass')} {_at(p)} (arcs of another start:"
        f" {_listed(numbers, p, 'mass_null')}); masses vary by {_listed(numbers, p, 'spread')} of their"
        f" mean, over {_listed(numbers, p, 'clusters')} clusters",
    )


ITEM = Item(
    key="causal-front",
    title="Many tokens: the front",
    cost=Cost(quick=30.0, full=300.0),
    source="section 6: does each center capture a share of all tokens in a time that does not grow with n",
    statement=(
        "Of the limit of many tokens the paper makes no claim; it asks whether each Rényi center captures"
        " Ω(n) tokens in a time O(1)."
    ),
    ours=(
        "In s = ln k the limit of many tokens is df/dt + d(vf)/dθ = 0, v the drift in the mean of f over s'"
        " < s with the weight e^{s'−s}. Near the uniform law k times a mode obeys ∂²M/∂t∂s = λM, λ = (m²/β)"
        " I_m/I_0: noise of independent tokens grows to the power e^{2λt} I_0(2λt)/k, and a front e^{−qs}"
        " moves at λ/(q(1−q)), at least 4λ. So clusters should reach token n at ln n/(4λ) plus a constant,"
        " not at ln n/(2λ) as under the full mask, and be those of the first tokens."
    ),
    parameters={
        "Q, K, V": "I",
        "d": 2,
        "betas": [16.0, 64.0, 256.0],
        "n": 100_000,
        "first": 300,
        "least": 1000,
        "starts": 5,
        "times": [round(0.4 * i, 1) for i in range(36)],
        "linear_time": 1.2,
        "full_n": [1000, 10_000, 100_000],
    },
    quick={
        "betas": [16.0, 64.0],
        "n": 10_000,
        "starts": 3,
        "least": 600,
        "linear_time": 0.4,
        "full_n": [1000, 10_000],
    },
    choices=(
        (
            "What token k sees, ζ_k = Σ_{j<k} e^{β cos(θ_k−θ_j)}/((k−1) I_0(β)), is 1 for the uniform law."
            " The front is where the mean of ζ − 1 over tokens of about the same place, 0.25 in s, reaches"
            " half of its mean at the end of the runs; dt/ds by least squares for every start from k = 1000"
            " on."
        ),
        (
            "The limit equation is solved behind the first 300 tokens of a start, which move exactly, with"
            " 256 characteristics for each 0.25 of s. Nulls: the first tokens of another start; the full"
            " mask, with the same level; arcs of another start."
        ),
        (
            "Nothing is fitted. Before the criteria were written, four runs of 10⁴ tokens at β = 16 had been"
            " looked at; β = 64 and 256, and longer sequences, had not."
        ),
    ),
    criteria=(
        f"First: observed if the 95 % interval of measured over predicted growth of power is within"
        f" {MAX_GROWTH_OFF:.0%} of 1 at every β. Second: observed if dt/ds is within {MAX_OFF:.0%} of 1/(4λ)"
        f" at every β and its interval below 1/(2λ). Third: observed if the interval of the share of tokens"
        f" near their predicted place is above {MIN_NEAR:.0%} at every β and above that with another start's"
        f" first tokens. Fourth: observed if the interval of the correlation of masses and arcs is above"
        f" {MIN_CORRELATION:g} and above that with another start's arcs."
    ),
    captions={
        "causal-front": (
            "Left: what tokens see above the uniform law, over their place in the sequence, at several"
            " times: mean of the runs (lines) and the limit equation behind their first 300 tokens (dotted)."
            " Middle: when the front passes (dots, 95 % of starts; red the slope 1/(4λ); grey 1/(2λ); rings"
            " the full mask with n tokens). Right: masses of clusters against the arcs nearest to their"
            " leaders."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
