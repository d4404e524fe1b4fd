"""The equation for the overlap of equiangular tokens: against velocities, against itself, at its limits."""

import numpy as np
import pytest

from nucleate.papers.perspective.equiangular import overlap, rate, time_to_reach


def test_the_time_to_an_overlap_is_that_at_which_the_overlap_is_reached() -> None:
    for beta in (0.0, 2.0, 6.0):
        t = time_to_reach(0.9, 32, beta, 0.1)
        assert overlap(0.1, [0.0, t], 32, beta)[-1] == pytest.approx(0.9, abs=1e-9)  # both are good to 1e-10


def test_beta_zero_is_solved_by_hand() -> None:
    # beta = 0, n = 2: rho' = (1 - rho)(1 + rho), so that rho = tanh(t) from 0
    t = np.linspace(0.0, 3.0, 7)
    assert overlap(0.0, t, 2, 0.0) == pytest.approx(np.tanh(t), abs=1e-11)
    assert rate(0.25, 2, 0.0) == pytest.approx(1.0 - 0.25**2)


def test_both_weights_agree_without_temperature() -> None:
    rho = np.linspace(0.0, 1.0, 5)
    assert rate(rho, 9, 0.0, "exponential") == pytest.approx(rate(rho, 9, 0.0))
    assert (rate(rho[:-1], 9, 3.0, "exponential") != rate(rho[:-1], 9, 3.0)).all()
