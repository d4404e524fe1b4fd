"""Lines through points with errors, and how far a number is from what it ought to be."""

import numpy as np
import pytest

from nucleate.papers.core.line_fits import (
    MAX_STANDARD_ERRORS,
    fit_line,
    most_standard_errors,
    number_with_error,
    standard_errors_off,
)
from nucleate.papers.core.numbers import Number


def test_a_weighted_line_is_that_of_polyfit() -> None:
    rng = np.random.default_rng(1)
    x, error = np.sort(rng.random(9)), rng.uniform(0.5, 2.0, 9)
    y = 2.0 + 3.0 * x + error * rng.standard_normal(9)
    fit = fit_line(x, y, error)
    slope, at0 = np.polyfit(x, y, 1, w=1.0 / error)
    cov = np.polyfit(x, y, 1, w=1.0 / error, cov="unscaled")[1]
    scatter = max(1.0, float((((y - at0 - slope * x) / error) ** 2).sum() / 7))
    np.testing.assert_allclose(
        [fit.slope, fit.intercept], [slope, at0], rtol=1e-10
    )  # the same normal equations
    np.testing.assert_allclose(
        [fit.slope_error**2, fit.intercept_error**2], np.diag(cov) * scatter, rtol=1e-10
    )


def test_distance_from_the_expected_is_counted_in_standard_errors() -> None:
    number = number_with_error(5.0, 0.5, "five", "", 4.0)
    assert standard_errors_off(number) == pytest.approx(2.0)
    assert standard_errors_off(Number(1.0, "one", expected=1.0)) == 0.0
    assert standard_errors_off(Number(1.0, "one", expected=2.0)) == np.inf


def test_the_farthest_of_several_true_numbers_is_too_far_once_in_a_thousand_times() -> None:
    from scipy.stats import norm

    assert round(most_standard_errors(1), 1) == MAX_STANDARD_ERRORS
    for many in (2, 6, 40):
        inside = 1.0 - 2.0 * norm.sf(most_standard_errors(many))
        assert 1.0 - inside**many == pytest.approx(1e-3, rel=1e-3)  # independent numbers: a little less
