"""The closed form of one layer on equiangular tokens against the layer itself and against its limits."""

import numpy as np
import pytest

from nucleate.attention import Attention, attend
from nucleate.papers.long_context.equiangular_layer import critical_scale, equiangular_tokens
from nucleate.theory.long_context import layer_cosine, limiting_cosine


@pytest.mark.parametrize(
    ("n", "rho", "beta"), [(2, 0.5, 1.0), (7, 0.0, 0.0), (40, 0.3, 5.0), (64, 0.9, 30.0)]
)
def test_the_closed_form_is_the_cosine_of_any_two_outputs(n: int, rho: float, beta: float) -> None:
    x = equiangular_tokens(n, rho)
    overlaps = x @ x.T
    assert overlaps == pytest.approx(np.where(np.eye(n), 1.0, rho), abs=1e-14)  # rounding of square roots
    A = attend(Attention(beta=beta, mask="full"), x)
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    cosines = (A @ A.T)[np.triu_indices(n, 1)]
    assert cosines == pytest.approx(float(layer_cosine(n, rho, beta)), abs=1e-13)


def test_it_has_the_values_known_beforehand() -> None:
    beta = float(critical_scale(0.3)) * np.log([1e3, 1e6])
    assert layer_cosine([1e3, 1e6], 0.3, beta) == pytest.approx([0.6322185, 0.6315796], abs=1e-7)


@pytest.mark.parametrize("share", [0.5, 1.0, 2.0])
def test_it_tends_to_its_limit(share: float) -> None:
    n = np.array([1e4, 1e8, 1e16])
    off = np.abs(
        layer_cosine(n, 0.6, share * critical_scale(0.6) * np.log(n)) - limiting_cosine(share / 0.4, 0.6)
    )
    assert (np.diff(off) < 0.0).all()
    assert off[-1] < 1e-7
