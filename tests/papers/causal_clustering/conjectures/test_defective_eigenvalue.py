"""Two tokens under a defective eigenvalue."""

import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.papers.causal_clustering.conjectures.defective_eigenvalue import (
    STARTS,
    exact_end,
    lead,
    simulated_end,
)


def test_with_a_defective_eigenvalue_the_second_token_ends_e_to_minus_two_beta_from_the_pole() -> None:
    for beta in (3.0, 6.0, 9.0, 12.0):
        assert exact_end(beta) * np.exp(2.0 * beta) == pytest.approx(1.0, abs=0.01)
    assert simulated_end(4.0, 1e-10, np.array(STARTS[:1]))[0] == pytest.approx(exact_end(4.0), rel=1e-5)


def test_a_second_token_far_enough_ahead_slips_through_the_opposite_pole() -> None:
    assert lead(*STARTS[0]) < 2.0 < lead(*STARTS[1])
    late = 1000.0 * np.exp(8.0)
    # at xi, where it comes like 1/t
    assert exact_end(4.0, STARTS[1]) == pytest.approx(-np.pi + 1.0 / late, abs=0.1 / late)
    beside, slipped = simulated_end(4.0, 1e-10, np.array([STARTS[0], STARTS[1]]))
    assert abs(beside) < 1e-3
    assert np.pi - abs(slipped) < 1e-6
    for q in (0.55, 0.43):  # on either side of D = 2 from a = 2
        D = float(lead(2.0, q))
        assert (abs(exact_end(5.0, (2.0, q))) > 3.0) == (D > 2.0)


@pytest.mark.parametrize("kappa", [0.3, 1.0, 2.5])
def test_how_far_a_token_is_ahead_changes_as_the_documented_equation_says(kappa: float) -> None:
    beta, (a, q) = 1.3, np.random.default_rng(2).uniform(0.2, 2.9, 2)
    angles = np.array([a, np.pi + q])
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (2, 2)
    v = drift(Attention(beta, V=[[1.0, kappa], [0.0, 1.0]]), x)  # (2, 2)
    turn = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]  # (2,) a' and q'
    p, D = 1.0 / (1.0 + np.exp(beta * (1.0 + np.cos(q - a)))), 1.0 / np.tan(q) - 1.0 / np.tan(a)
    assert turn[0] == pytest.approx(-kappa * np.sin(a) ** 2)
    assert -turn[1] / np.sin(q) ** 2 + turn[0] / np.sin(a) ** 2 == pytest.approx(
        -p * kappa - p * np.sin(a) / np.sin(q) * (kappa - D)
    )
