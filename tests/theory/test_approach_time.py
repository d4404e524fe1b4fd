"""The time to reach a cluster that stays: against forty digits, and against the flow itself."""

import mpmath as mp
import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.theory.approach_time import log_approach_time, log_approach_times
from nucleate.theory.flows import log_two_token_time

EQUAL = (1.0, 0.0, 0.0, 1.0)  # A = I


@pytest.mark.parametrize(
    ("beta", "angle", "radius", "weight"),
    [(4.0, 2.0, 0.05, 3.0), (64.0, 0.2, 0.0125, 17.0), (1e4, 2.5, 1e-3, 50.0), (1e4, 3.1415, 1e-3, 1.0)],
)
def test_log_times_are_those_of_the_closed_form(
    beta: float, angle: float, radius: float, weight: float
) -> None:
    """In digits enough for the large terms to cancel; 1e-12 of log T is rounding of beta (1 - cos phi)."""
    with mp.workdps(80):
        b, u0, u1 = mp.mpf(beta), mp.cos(mp.mpf(angle)), mp.cos(mp.mpf(radius))

        def phi(u: mp.mpf) -> mp.mpf:
            return -(mp.ei(b * (1 - u)) + mp.exp(2 * b) * mp.e1(b * (1 + u))) / 2

        expected = float(mp.log(mp.atanh(u1) - mp.atanh(u0) + (phi(u1) - phi(u0)) / weight))
    assert log_approach_time(beta, angle, radius, weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("beta", "angle", "radius", "weight", "scores"),
    [(36.0, 2.0, 0.02, 4.0, (0.7, 0.4, -0.3, 1.5)), (60.0, 2.8, 0.05, 4.0, (0.7, -0.6, 0.3, -0.5))],
)
def test_log_times_for_other_scores_are_those_of_many_digits(
    beta: float, angle: float, radius: float, weight: float, scores: tuple[float, ...]
) -> None:
    """In the second the largest exponent lies in between."""
    with mp.workdps(20):
        yy, ye, ey, ee = map(mp.mpf, scores)

        def pace(p: mp.mpf) -> mp.mpf:
            c, s = mp.cos(p), mp.sin(p)
            exponent = beta * (yy * c * c + (ye + ey) * s * c + ee * s * s - yy * c - ye * s)
            return (1 + mp.exp(exponent) / weight) / s

        expected = float(mp.log(mp.quad(pace, mp.linspace(radius, angle, 40))))
    assert log_approach_time(beta, angle, radius, weight, scores) == pytest.approx(expected, rel=1e-12)


def test_with_equal_scores_it_is_the_two_token_time() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        beta, angle, weight = rng.uniform(0.0, 200.0), rng.uniform(0.1, 3.0), rng.uniform(1.0, 300.0)
        expected = log_two_token_time(beta, float(np.cos(angle)), float(np.cos(0.01)), weight)
        assert log_approach_time(beta, angle, 0.01, weight) == pytest.approx(expected, abs=1e-9)


def test_who_is_there_needs_no_time_and_who_is_opposite_never_arrives() -> None:
    angle = np.array([0.005, 0.01, np.pi, 1.0])
    found = log_approach_times(9.0, angle, 0.01, np.ones(4), np.tile(EQUAL, (4, 1)))
    assert found[:3].tolist() == [-np.inf, -np.inf, np.inf]
    assert np.isfinite(found[3])


@pytest.mark.parametrize(
    "bad",
    [{"beta": -1.0}, {"angle": 4.0}, {"radius": 0.0}, {"weight": 0.0}, {"scores": (1.0, 0.0)}],
)
def test_bad_input_is_refused_by_name(bad: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        log_approach_time(**{"beta": 1.0, "angle": 1.0, "radius": 0.1, **bad})  # type: ignore[arg-type]  # some are the slip
