"""Random matrices of every kind have the law they are said to have, and depend on their stream alone."""

import numpy as np
import pytest

from nucleate.layers import random_matrix
from nucleate.parse.random_matrices import RANDOM, drawn, matrix
from nucleate.studies.points import stream

STREAMS = [stream(1, run, 1) for run in range(500)]


@pytest.mark.parametrize("kind", [kind for kind in RANDOM if kind != "real"])
def test_entries_have_mean_zero_and_variance_scale_squared_over_d(kind: str) -> None:
    M = drawn(matrix("Q", {"random": kind, "scale": 2.0}), 8, STREAMS)
    assert M is not None
    M = M[:, ~np.eye(8, dtype=bool)]  # (500, 56): on the diagonal a symmetric one has twice the variance
    # 28,000 entries of variance 1/2, half as many independent ones if symmetric: the standard error of the
    # mean is .006, of the variance .006
    assert abs(M.mean()) < 0.03
    assert abs(M.var() - 0.5) < 0.03


def test_symmetric_matrices_are_symmetric_and_uniform_ones_bounded() -> None:
    S, U = (drawn(matrix("Q", {"random": kind}), 5, STREAMS[:20]) for kind in ("symmetric", "uniform"))
    assert S is not None
    assert U is not None
    assert np.array_equal(S, S.mT)
    assert np.abs(U).max() <= np.sqrt(3.0 / 5.0)
    assert np.abs(U).max() > 0.9 * np.sqrt(3.0 / 5.0)


@pytest.mark.parametrize("kind", ["gaussian", "symmetric", "orthogonal", "uniform"])
def test_a_kind_is_that_of_random_layers_to_the_last_bit(kind: str) -> None:
    found = drawn(matrix("Q", {"random": kind}), 6, STREAMS[:3])
    assert found is not None
    assert np.array_equal(found, [random_matrix(kind, 6, one) for one in STREAMS[:3]])  # type: ignore[arg-type]  # one of its names


def test_a_product_is_that_of_two_gaussian_matrices() -> None:
    found = drawn(matrix("Q", {"random": "product", "scale": 3.0}), 4, STREAMS[:1])
    G, H = np.random.default_rng(STREAMS[0]).standard_normal((2, 4, 4))
    assert found is not None
    np.testing.assert_allclose(found[0], 3.0 * G @ H / 4.0, rtol=1e-14)
