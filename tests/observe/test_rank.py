"""Effective rank and rank-one residual where they are known."""

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.observe.rank import effective_rank, rank_one_residual


def test_the_effective_rank_is_that_of_equal_singular_values_and_between_for_unequal_ones() -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    assert effective_rank(3.0 * Q[:, :5]) == pytest.approx(5.0, rel=1e-6)
    assert effective_rank(3.0 * Q[:, :5].T) == pytest.approx(5.0, rel=1e-6)
    wide = np.outer(Q[0], np.ones(20))  # rank 1: the other eleven are rounding
    assert effective_rank(wide) == pytest.approx(1.0, abs=1e-4)
    s = np.array([2.0, 1.0, 1.0])
    p = s / s.sum()
    assert effective_rank(Q[:, :3] * s) == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    assert effective_rank(np.stack([Q, np.zeros((12, 12))]))[0] == pytest.approx(12.0)
    assert np.isnan(effective_rank(np.zeros((3, 4))))


def test_the_residual_is_zero_for_equal_tokens_and_the_composite_norm_by_hand() -> None:
    h = np.array([[1.0, 2.0], [3.0, -2.0]])
    # h - mean = [[-1, 2], [1, -2]]: columns 2, 4, rows 3, 3; h: columns 4, 4, rows 3, 5
    assert rank_one_residual(h) == pytest.approx(np.sqrt(4.0 * 3.0) / np.sqrt(4.0 * 5.0))
    assert rank_one_residual(np.ones((2, 5, 3))) == pytest.approx([0.0, 0.0])
    with pytest.raises(InputError, match=r"shape \(\.\.\., n, d\)"):
        rank_one_residual(np.ones(3))
