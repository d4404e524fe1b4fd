"""How many centers to expect: exact counts against Monte Carlo, 40 digits and independent recursions."""

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.observe.centers import renyi_centers
from nucleate.sphere import uniform
from nucleate.theory.counts import (
    MonteCarlo,
    cap_share,
    expected_centers,
    monte_carlo_centers,
    parked_cars,
    renyi_constant,
)

EPS = float(np.finfo(float).eps)


# Caps


@pytest.mark.parametrize("d", [2, 3, 4, 5, 8, 50])
def test_cap_share_equals_the_papers_formula_in_40_digits(d: int) -> None:
    for delta in (1e-4, 0.01, 0.5, 1.0, 1.5, np.pi / 2, 2.0, 3.0, 3.1415):
        with mp.workdps(40):  # 1/2 I_{sin^2 delta}((d-1)/2, 1/2) up to a right angle, one minus that beyond
            half = (
                mp.betainc(mp.mpf(d - 1) / 2, mp.mpf(1) / 2, 0, mp.sin(mp.mpf(delta)) ** 2, regularized=True)
                / 2
            )
            exact = float(half if delta <= np.pi / 2 else 1 - half)
        # the power (d - 1)/2 of a rounded number
        assert cap_share(delta, d) == pytest.approx(exact, rel=100 * EPS * d)


def test_cap_share_is_delta_over_pi_on_the_circle_and_sin_squared_half_on_the_sphere() -> None:
    for delta in (0.1, 1.0, 2.5, np.pi):
        assert cap_share(delta, 2) == delta / np.pi
        assert cap_share(delta, 3) == pytest.approx(np.sin(delta / 2) ** 2, rel=1e-14)


def test_cap_share_is_the_share_of_uniform_points() -> None:
    for d in (2, 3, 4, 7):
        x = uniform(40_000, d, seed=d)
        for delta in (0.8, 1.7):
            share = float((np.arccos(np.clip(x[:, 0], -1.0, 1.0)) < delta).mean())
            sigma = cap_share(delta, d)
            assert abs(share - sigma) < 4.0 * np.sqrt(sigma * (1.0 - sigma) / 40_000)


# Strong centers


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize(("delta", "n"), [(0.5, 200), (1.0, 60), (4.0 / 3.0, 15), (2.5, 8)])
def test_strong_centers_number_what_is_expected_within_four_standard_errors(
    delta: float, d: int, n: int
) -> None:
    counted = monte_carlo_centers(delta, d, n, strong=True, runs=2000, seed=d)
    assert abs(counted.mean - expected_centers(delta, d, n, strong=True)) < 4.0 * counted.standard_error


def test_the_printed_formula_for_d_3_is_refuted_by_the_same_count() -> None:
    # delta = 4/3, 60 tokens: (1 - sigma)^60 is 2e-13, so n = 60 is infinity here.
    counted, sine = (
        monte_carlo_centers(4.0 / 3.0, 3, 60, strong=True, runs=4000, seed=3),
        np.sin(2.0 / 3.0) ** 2,
    )
    assert abs(counted.mean - 1.0 / sine) < 4.0 * counted.standard_error
    assert abs(counted.mean - 1.0 / (3.0 * sine)) > 50.0 * counted.standard_error
    # the first token is always a center
    assert 1.0 / (3.0 * np.sin(np.pi / 2) ** 2) < 1.0 == expected_centers(np.pi, 3, strong=True)


def test_strong_counts_equal_the_sum_of_chances_term_by_term() -> None:
    for delta, d, n in ((0.5, 2, 30), (1.0, 3, 5), (2.0, 6, 17), (np.pi, 4, 9), (0.01, 5, 3)):
        with mp.workdps(40):
            total = float(mp.fsum((1 - mp.mpf(cap_share(delta, d))) ** (k - 1) for k in range(1, n + 1)))
        assert expected_centers(delta, d, n, strong=True) == pytest.approx(total, rel=1e-13)


def test_strong_counts_lose_no_digits_where_caps_are_tiny() -> None:
    delta, n = 1e-7, 10**14  # sigma = 2.5e-15: (1 - sigma)^n in doubles is off by 10 %
    with mp.workdps(50):
        sigma = mp.sin(mp.mpf(delta) / 2) ** 2
        exact = float((1 - (1 - sigma) ** n) / sigma)
    assert expected_centers(delta, 3, n, strong=True) == pytest.approx(exact, rel=1e-13)
    assert expected_centers(0.5, 4000, strong=True) == np.inf  # 1 / sigma is beyond doubles
    assert expected_centers(0.5, 4000, 10, strong=True) == 10.0


def test_counts_at_beta_64_are_those_of_the_paper_notes() -> None:
    assert expected_centers(0.5, 2, strong=True) == pytest.approx(2.0 * np.pi, rel=1e-15)
    assert expected_centers(0.5, 2) == pytest.approx(9.3946, abs=5e-5)  # five printed digits
    assert expected_centers(4.0 / 3.0, 3, strong=True) == pytest.approx(2.615, abs=5e-4)


# Rényi centers on the circle


def test_renyi_constant_equals_its_integral_in_30_digits() -> None:
    with mp.workdps(30):
        exact = (
            mp.quad(
                lambda t: mp.exp(-2 * (mp.e1(t) + mp.log(t) + mp.euler)), [0, 0.5, 1, 2, 4, 8, 16, 32, 64]
            )
            + mp.exp(-2 * mp.euler) / 64
        )
    assert renyi_constant() == pytest.approx(float(exact), rel=1e-14)
    assert renyi_constant() == pytest.approx(0.7475979, abs=5e-8)  # seven printed digits


def test_parked_cars_equal_the_integral_equation_solved_by_hand() -> None:
    for x, cars in (
        (0.0, 0.0),
        (0.999, 0.0),
        (1.0, 0.0),
        (1.001, 1.0),
        (2.0, 1.0),
        (2.5, 1.0 + 2.0 * 0.5 / 1.5),
        (3.0, 2.0),
    ):
        assert parked_cars(x) == pytest.approx(cars, rel=1e-14)
    for x in (3.2, 3.7, 4.0):  # M(y) = 3 - 2/(y - 1) on [2, 3]
        integral = 1.0 + 3.0 * (x - 3.0) - 2.0 * np.log(x - 2.0)
        assert parked_cars(x) == pytest.approx(1.0 + 2.0 * integral / (x - 1.0), rel=1e-14)


def test_parked_cars_obey_the_integral_equation() -> None:
    node, weight = np.polynomial.legendre.leggauss(20)
    for x in (4.3, 5.0, 7.77, 12.0, 20.5, 31.9, 32.0, 33.4, 40.0):
        ends = [*np.arange(0.0, np.floor(x - 1.0) + 1.0), x - 1.0]  # M bends at whole lengths
        pieces = [(a, b) for a, b in pairwise(ends) if b > a]
        integral = sum(
            (b - a) / 2 * (weight @ [parked_cars(a + (b - a) * (s + 1) / 2) for s in node]) for a, b in pieces
        )
        assert parked_cars(x) == pytest.approx(1.0 + 2.0 / (x - 1.0) * integral, rel=1e-13)


def test_parked_cars_equal_a_slow_solution_in_30_digits() -> None:
    """The equation differentiated: ((x - 1) (M(x) - 1))' = 2 M(x - 1); Taylor series around every half unit,
    all in mpmath."""
    with mp.workdps(30):
        step, order = mp.mpf(1) / 2, 60
        # around k/2: 0 on [0, 1], 1 on (1, 2]
        taylor = {k: [mp.mpf(k >= 2)] + [mp.mpf(0)] * order for k in range(4)}
        end = mp.mpf(1)
        # on [k/2, k/2 + 1/2], y = x - k/2; f = M - 1 solves (y + k/2 - 1) f' + f = 2 M(x - 1)
        for k in range(4, 40):
            a, f = mp.mpf(k) / 2 - 1, [end - 1]
            for i in range(order):
                f.append((2 * taylor[k - 2][i] - (i + 1) * f[i]) / (a * (i + 1)))
            taylor[k] = [f[0] + 1, *f[1:]]
            end = mp.fsum(c * step**i for i, c in enumerate(taylor[k]))
        for x in (2.25, 2.9, 3.3, 4.75, 6.1, 9.99, 13.0, 19.9):
            k = int(2 * x)
            exact = mp.fsum(c * (mp.mpf(x) - mp.mpf(k) / 2) ** i for i, c in enumerate(taylor[k]))
            assert parked_cars(x) == pytest.approx(float(exact), rel=1e-14)


def test_the_circle_count_approaches_renyis_constant() -> None:
    for delta in (1e-4, 1e-3, 0.01, 0.1, 0.19):
        assert expected_centers(delta, 2) == pytest.approx(renyi_constant() * 2.0 * np.pi / delta, rel=1e-12)
    for delta in (2.0 * np.pi / 32.999, 2.0 * np.pi / 33.001):  # where the recursion hands over to the limit
        assert expected_centers(delta, 2) == pytest.approx(renyi_constant() * 2.0 * np.pi / delta, rel=1e-14)


def test_the_circle_jams_at_one_center_for_pi_and_two_just_below() -> None:
    assert expected_centers(np.pi, 2) == 1.0  # nothing is farther than pi
    assert expected_centers(3.14, 2) == expected_centers(2.1, 2) == 2.0
    assert expected_centers(2.0, 2) == pytest.approx(1.0 + parked_cars(np.pi - 1.0), rel=1e-15)


def jammed_circle(delta: float, rng: np.random.Generator) -> int:
    """Centers on a circle without waiting for tokens: a gap takes its next center at a uniform place among
    those it has left."""
    centers, gaps = 1, [2.0 * np.pi]
    while gaps:
        gap = gaps.pop()
        if gap > 2.0 * delta:
            place = rng.uniform(delta, gap - delta)
            centers += 1
            gaps += [place, gap - place]
    return centers


@pytest.mark.parametrize("delta", [0.05, 0.5, 1.0, 1.7])
def test_jammed_circles_hold_what_is_expected_within_four_standard_errors(delta: float) -> None:
    rng = np.random.default_rng(5)
    counts = np.array([jammed_circle(delta, rng) for _ in range(2000)])
    error = counts.std(ddof=1) / np.sqrt(len(counts))
    assert abs(counts.mean() - expected_centers(delta, 2)) < 4.0 * error


@pytest.mark.parametrize("delta", [0.5, 1.0])
def test_many_tokens_on_the_circle_have_nearly_the_jammed_number_of_centers(delta: float) -> None:
    # The last places are found late: e^{-2 gamma} (2 pi/delta)^2 / n centers are missing (Feller's law),
    # 0.003 at n = 20000 and delta = 1/2.
    n = 20_000
    counted = monte_carlo_centers(delta, 2, n, runs=300, seed=6)
    missing = np.exp(-2.0 * np.euler_gamma) * (2.0 * np.pi / delta) ** 2 / n
    assert abs(counted.mean + missing - expected_centers(delta, 2)) < 4.0 * counted.standard_error


# Where there can be only two


@pytest.mark.parametrize(
    ("delta", "d", "n"), [(2.2, 3, 4), (2.6, 5, 9), (3.0, 2, 30), (0.7, 4, 2), (1.0, 3, 1)]
)
def test_counts_of_at_most_two_centers_are_exact_in_every_dimension(delta: float, d: int, n: int) -> None:
    counted = monte_carlo_centers(delta, d, n, runs=1500, seed=7)
    assert abs(counted.mean - expected_centers(delta, d, n)) <= 4.0 * counted.standard_error
    assert expected_centers(2.2, d) == 2.0
    assert expected_centers(np.pi, d) == 1.0


# Monte Carlo


def test_monte_carlo_counts_centers_of_seeded_starts() -> None:
    starts = [uniform(50, 3, np.random.SeedSequence(9, spawn_key=(run,))) for run in range(20)]
    for strong in (False, True):
        counts = [len(renyi_centers(x, 0.9, strong=strong)) for x in starts]
        counted = monte_carlo_centers(0.9, 3, 50, strong=strong, runs=20, seed=9)
        assert counted == MonteCarlo(
            float(np.mean(counts)), float(np.std(counts, ddof=1) / np.sqrt(20)), 20, 9
        )
    assert str(MonteCarlo(9.148, 0.0021, 1000, 0)) == "9.148 ± 0.0021 (1000 runs, seed 0)"


# Input


@pytest.mark.parametrize(("delta", "d", "n"), [(0.5, 3, None), (0.5, 3, 100), (0.5, 2, 200), (1.0, 7, 3)])
def test_an_open_problem_is_said_to_be_one_and_monte_carlo_is_offered(
    delta: float, d: int, n: int | None
) -> None:
    with pytest.raises(
        InputError, match=rf"is an open problem.*monte_carlo_centers\({delta:g}, {d}, {n or 'n'}\)\.$"
    ):
        expected_centers(delta, d, n)
    assert expected_centers(delta, d, n, strong=True) > 1.0


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, np.inf, 3.2, "half"])
def test_a_delta_that_is_no_distance_is_refused(delta: float) -> None:
    for call in (
        lambda: cap_share(delta, 2),
        lambda: expected_centers(delta, 2),
        lambda: monte_carlo_centers(delta, 2, 5),
    ):
        with pytest.raises(InputError, match="delta must be"):
            call()


def test_dimensions_and_numbers_that_make_no_sense_are_refused() -> None:
    for call, words in (
        (lambda: expected_centers(0.5, 1), "d must be a whole number of at least 2, but is 1"),
        (lambda: expected_centers(0.5, 2, 0), "n must be a whole number of at least 1, but is 0"),
        (lambda: expected_centers(0.5, 2, 2.5, strong=True), "n must be a whole number"),  # type: ignore[arg-type]  # that is what is refused
        (
            lambda: monte_carlo_centers(0.5, 2, 5, runs=1),
            "runs must be a whole number of at least 2, but is 1",
        ),
        (lambda: monte_carlo_centers(0.5, 2, 5, seed=-1), "seed must be a whole number of at least 0"),
        (lambda: parked_cars(-1.0), "x must be finite and at least 0"),
    ):
        with pytest.raises(InputError, match=words):
            call()
