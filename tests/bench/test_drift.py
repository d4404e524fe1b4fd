"""What velocities are compared with: the equation, at all tokens or at some."""

import numpy as np
import pytest

from nucleate import attention
from nucleate.attention import Attention
from nucleate.bench import drift
from nucleate.sphere import distance, uniform


@pytest.mark.parametrize("model", [Attention(9.0), drift.general_model(seed=2)], ids=["plain", "general"])
def test_single_rows_of_the_equation_are_the_rows_of_the_equation(model: Attention) -> None:
    x = uniform(40, 2, seed=5)
    rows = np.array([0, 1, 7, 39])
    np.testing.assert_allclose(
        drift.exact_rows(model, x, rows), attention.drift(model, x)[rows], rtol=0, atol=1e-14
    )


def test_the_compared_tokens_of_a_large_system_include_the_first_and_the_last() -> None:
    x = uniform(drift.MAX_FULLY_COMPARED_TOKENS + 1000, 2)
    rows, exact = drift._exact_sample(Attention(4.0), x)
    assert isinstance(rows, np.ndarray)
    assert rows[0] == 0
    assert rows[-1] == len(x) - 1
    assert exact.shape == (len(rows), 2)


def test_clustered_tokens_are_mostly_in_clusters_and_on_the_circle() -> None:
    x = drift.clustered(2000, seed=0)
    near = (distance(x[:, None], x[None]) < 0.01).sum(1)  # (n,) neighbours
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=0, atol=1e-15)
    assert 0.95 < (near > 50).mean() < 1.0
