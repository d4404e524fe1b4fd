"""Lemma A.1: arithmetic on intervals, what is proved, and failures that change the verdicts."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from support.small_items import made, words_changed

from nucleate.papers.causal_clustering.lemmaA1.data import margins
from nucleate.papers.causal_clustering.lemmaA1.proofs import PROOFS, second_bound_threshold
from nucleate.papers.causal_clustering.shared.interval_arithmetic import (
    Interval,
    Proof,
    prove,
    series_remainder,
)
from nucleate.papers.core.numbers import Number
from nucleate.theory.interaction import interaction, interaction_slope


def test_sums_products_and_quotients_of_pieces_hold_every_value() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = np.sort(rng.standard_normal((2, 2)), axis=1)
        x, y = Interval(a[:1], a[1:]), Interval(b[:1], b[1:])
        # exact: no rounding in the comparison
        at = [(Fraction(p), Fraction(q)) for p in (*a, a.mean()) for q in (*b, b.mean())]
        laws: list[tuple[Interval, Callable[[Fraction, Fraction], Fraction]]] = [
            (x + y, lambda p, q: p + q),
            (x - y, lambda p, q: p - q),
            (x * y, lambda p, q: p * q),
            (x.over(7), lambda p, q: p / 7),
        ]
        for found, law in laws:
            values = [law(p, q) for p, q in at]
            assert Fraction(float(found.low[0])) <= min(values)
            assert max(values) <= Fraction(float(found.high[0]))


@pytest.mark.parametrize("first", [3, 4, 5, 6])
def test_the_remainder_of_sine_and_cosine_is_enclosed(first: int) -> None:
    y = np.concatenate([np.linspace(0.0, 40.0, 101), np.geomspace(1e-12, 1e-2, 20)])
    found = series_remainder(Interval(y, y), first)
    with mp.workdps(50):
        for at, low, high in zip(y, found.low, found.high, strict=True):
            value = mp.nsum(
                lambda i, at=at: (
                    (-1) ** int(i) * mp.mpf(float(at)) ** int(i) / mp.factorial(first + 2 * int(i))
                ),
                [0, 60],
                method="direct",
            )
            assert low <= value <= high
            # some hundred roundings of terms that are at most 40^3/9! and so below 1
            assert high - low < 1e-13


def test_what_is_false_is_not_proved_and_what_touches_zero_stays_undecided() -> None:
    assert not prove(lambda y: y - 0.5, 0.0, 1.0).holds
    touching = prove(lambda y: (y - 0.3) * (y - 0.3), 0.0, 1.0)
    assert not touching.holds
    assert touching.undecided > 0
    assert prove(lambda y: y * y + 1e-6, -1.0, 1.0).holds
    late = prove(lambda y: y - 0.999, 0.0, 1.0)
    assert (late.holds, late.undecided > 0) == (False, True)


def test_a_proof_covers_its_interval_without_gaps() -> None:
    seen: list[tuple[float, float]] = []

    def watched(y: Interval) -> Interval:
        found = (y - 0.31) * (y - 0.31) + 1e-7  # needs many halvings
        seen.extend(
            (float(a), float(b)) for a, b, low in zip(y.low, y.high, found.low, strict=True) if low > 0.0
        )
        return found

    assert prove(watched, 0.0, 1.0).holds
    pieces = sorted(seen)
    assert pieces[0][0] == 0.0
    assert pieces[-1][1] == 1.0
    assert all(one[1] == other[0] for one, other in pairwise(pieces))


@pytest.mark.parametrize("name", list(PROOFS))
def test_what_is_proved_is_what_the_lemma_says(name: str) -> None:
    """Every expression, written out in sine and cosine, at points at which no digits cancel."""
    _, positive, end = PROOFS[name]
    x = np.linspace(0.4, 0.999 * np.sqrt(end), 60)
    y, s = x * x, np.sin(x) / x
    direct = {
        "sine_below": (x - np.sin(x)) / x**3,
        "sine_above": (np.sin(x) - x + x**3 / 6) / x**5,
        "cosine_above": (np.cos(x) - 1 + y / 2) / y**2,
        "cosine_below": (1 - y / 2 + y**2 / 24 - np.cos(x)) / y**3,
        "tau_above": (np.cos(x) / np.sin(x) ** 2 + 0.5 - 1 / y) * s**2,
        "tau_below": (np.sin(x) ** 2 - y * np.cos(x)) / y**2,
        "slope_far": y * np.exp(y**2 / 24 - y / 2 + 1 - np.cos(x)) - np.sin(x) ** 2 + np.cos(x),
    }[name]
    found = positive(Interval(y, y))
    # digits that the direct forms lose near 0.4: five powers of x
    tolerance = 1e-9 * np.maximum(1.0, np.abs(direct))
    assert (found.low - tolerance <= direct).all()
    assert (direct <= found.high + tolerance).all()


def test_the_second_bound_on_g_holds_from_the_threshold_on_and_not_before() -> None:
    false, true = second_bound_threshold()
    assert 0.0 < true - false <= 1e-5
    x = np.linspace(1e-3, 3 * np.pi, 200_001)

    def margin(beta: float) -> float:
        return float(
            (interaction_slope(x, beta) + beta * x**2 * np.exp(-beta * x**2 / 2 * (1 - x**2 / 12))).min()
        )

    assert margin(false - 1e-6) < 0.0 < margin(true + 1e-6)
    assert margin(1.0) > 0.0


def test_the_margins_are_those_of_the_bounds_one_by_one() -> None:
    for beta in (0.05, 1.0, 30.0):
        x = np.linspace(0.01, np.pi, 40)
        held = margins(x, beta) > 0.0  # (4, x)
        for i, at in enumerate(x):
            h, g = float(interaction(at, beta)), float(interaction_slope(at, beta))
            low, high = np.exp(-beta * at**2 / 2), np.exp(-beta * at**2 / 2 + beta * at**4 / 24)
            one_by_one = [
                h > low * (at - at**3 / 6),
                h < at * high,
                g > low * (1 - at**2 / 2 - beta * at**2),
                g > -beta * at**2 * high,
            ]
            assert held[:, i].tolist() == one_by_one


@pytest.mark.parametrize(("bound", "part"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_one_point_of_the_grid_changes_the_verdict_on_its_bound(bound: int, part: int) -> None:
    fails = made("lemmaA.1").data["grid"]["fails"].values.copy()
    fails[bound, 3] = 1.0
    told = words_changed("lemmaA.1", "grid", fails=fails)
    assert [i for i, word in enumerate(told) if word == "disagrees"] == [part]


@pytest.mark.parametrize(
    ("claim", "parts"),
    [("sine_below", [1, 2]), ("cosine_below", [1, 2]), ("tau_above", [0]), ("slope_far", [3])],
)
def test_a_claim_that_is_not_proved_changes_the_verdict(claim: str, parts: list[int]) -> None:
    holds = made("lemmaA.1").data["proofs"]["holds"].values.copy()
    holds[list(PROOFS).index(claim)] = 0
    told = words_changed("lemmaA.1", "proofs", holds=holds)
    assert [i for i, word in enumerate(told) if word == "disagrees"] == parts


def test_a_threshold_that_is_not_enclosed_contradicts_the_proof() -> None:
    assert words_changed("lemmaA.1", "proofs", far_false=0.0)[4] == "contradicted"
    assert words_changed("lemmaA.1", "proofs", far_false=0.1)[4] == "contradicted"
    assert words_changed("lemmaA.1", "proofs", far_true=1.2, far_false=1.19999)[4] == "contradicted"


def test_what_the_threshold_s_proof_asks_for() -> None:
    """The remainder in the exponent is not negative, and F rises with beta."""
    x = np.linspace(0.01, 3 * np.pi, 2000)
    assert (x**4 / 24 - x**2 / 2 + 1 - np.cos(x) >= 0.0).all()
    r = x**4 / 24 - x**2 / 2 + 1 - np.cos(x)
    F = [
        beta * (x**2 * np.exp(np.minimum(beta * r, 600.0)) - np.sin(x) ** 2) + np.cos(x)
        for beta in (0.1, 0.3)
    ]
    assert (F[1] > F[0]).all()


def test_a_function_that_turns_twice_has_another_shape() -> None:
    assert words_changed("lemmaA.1", "grid", turns=2.0)[0] == "disagrees"


def test_a_number_that_is_proved_says_on_how_many_pieces() -> None:
    number: Number = made("lemmaA.1").numbers["sine_below"]
    assert number.how.startswith("on 64 pieces, 0 undecided")
    assert Proof(True, 0.1, 64, 0).holds
