"""The cosine after one layer: against the outputs of the equation, and against its limits."""

import numpy as np
import pytest
from support.reference_flow import equiangular_tokens

from nucleate.attention import Attention, attend
from nucleate.checks import EPS, InputError
from nucleate.theory.long_context import critical_gamma, limiting_cosine, output_cosine


@pytest.mark.parametrize(
    ("n", "gamma", "rho"), [(2, 0.0, 0.5), (17, 1.0, 0.3), (60, 1.6, 0.0), (40, 3.0, 0.7)]
)
def test_the_formula_is_the_cosine_between_outputs_of_the_equation(n: int, gamma: float, rho: float) -> None:
    A = attend(Attention(gamma * np.log(n), mask="full"), equiangular_tokens(n, rho))  # (n, n)
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    assert (A @ A.T)[~np.eye(n, dtype=bool)] == pytest.approx(output_cosine(n, gamma, rho), abs=1e-13)


def test_at_the_transition_the_cosines_are_those_known() -> None:
    gamma = critical_gamma(0.3)
    assert output_cosine(1_000, gamma, 0.3) == pytest.approx(0.6322185, abs=1e-7)  # seven printed digits
    assert output_cosine(1_000_000, gamma, 0.3) == pytest.approx(0.6315796, abs=5e-8)
    assert limiting_cosine(gamma, 0.3) == pytest.approx(1.2 / 1.9, rel=1e-15)


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("factor", [0.0, 0.8, 1.0, 1.25])
def test_long_contexts_come_to_the_limit_on_either_side_and_at_the_transition(
    rho: float, factor: float
) -> None:
    gamma = factor * critical_gamma(rho)
    limit = limiting_cosine(gamma, rho)
    off = [abs(output_cosine(2**k, gamma, rho) - limit) for k in (40, 50, 60)]
    assert off[2] < 2e-3
    assert off[2] <= max(off[1], 4 * EPS)
    assert off[1] <= max(off[0], 4 * EPS)


def test_the_transition_without_overlap_is_at_one_half_not_at_one() -> None:
    assert output_cosine(10**12, 0.75, 0.0) < 1e-5  # the limit of 1 / (1 - rho) would make this 1
    assert output_cosine(10**12, 0.5, 0.0) == pytest.approx(0.5, abs=1e-5)


def test_what_no_long_context_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"rho must be finite and at least 0, but is -0\.1"):
        critical_gamma(-0.1)
    with pytest.raises(InputError, match="rho must be less than 1, but is 1"):
        output_cosine(10, 1.0, 1.0)
    with pytest.raises(InputError, match="gamma must be finite and at least 0"):
        limiting_cosine(-1.0, 0.5)
    with pytest.raises(InputError, match="n must be a whole number of at least 2"):
        output_cosine(1, 1.0, 0.5)
    assert output_cosine(1000, 1e4, 0.3) == pytest.approx(0.3, rel=1e-15)  # no overflow
