"""What velocities are compared with: the equation, at all tokens or at some."""

import numpy as np
import pytest

from nucleate import attention
from nucleate.attention import Attention
from nucleate.bench import drift, timing
from nucleate.bench.machine import multiply_add
from nucleate.positions import ALiBi
from nucleate.sphere import distance, uniform


@pytest.mark.parametrize(
    "model",
    [Attention(9.0), drift.general_model(seed=2), Attention(9.0, position=ALiBi(0.1))],
    ids=["plain", "general", "ALiBi"],
)
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


@pytest.mark.usefixtures("no_extras")
def test_in_high_dimension_general_matrices_single_precision_and_the_limit_have_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "MIN_TURN_SECONDS", 0.0)
    monkeypatch.setattr(drift, "multiply_add", lambda: multiply_add(100))
    section = drift.pairwise_section(drift.DriftCase(16, 70, beta=4.0), 1, lambda _: None)
    rows = {row.peer: row for row in section.rows}
    for name in (drift.OUR_PAIRWISE, drift.OUR_GENERAL, "NumPy broadcast"):
        error = rows[name].error
        assert error is not None
        assert error < 1e-12  # each against its own equation
    single = rows[drift.OUR_SINGLE].error
    assert single is not None
    assert 1e-10 < single < 1.2e-6
    assert rows["torch attention"].note == "not installed: pip install torch"
    limit, ours = rows[drift.LIMIT].seconds, rows[drift.OUR_PAIRWISE].seconds
    assert limit is not None
    assert ours is not None
    assert section.numbers is not None
    # 4 d operations for each of the 70 71 / 2 pairs
    assert limit == pytest.approx(4 * 16 * 70 * 71 / 2 / (1e9 * section.numbers["gigaflops"]))
    assert section.numbers["over_limit"] == pytest.approx(ours / limit)


@pytest.mark.usefixtures("no_extras")
def test_the_sum_alone_of_one_small_system_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "MIN_TURN_SECONDS", 0.0)
    for case, expected in ((drift.DriftCase(2, 20), True), (drift.DriftCase(2, 20, 3), False)):
        section = drift.pairwise_section(case, 1, lambda _: None)
        rows = {row.peer: row for row in section.rows}
        assert (drift.SUM_ALONE in rows) == expected
        assert drift.OUR_AUTO in rows
    x = uniform(20, 2, seed=0)
    velocity = drift._sum_alone(drift.DriftCase(2, 20), x)()[:40].reshape(20, 2)
    np.testing.assert_allclose(velocity, attention.drift(Attention(drift.BETA), x), rtol=0, atol=1e-12)
