"""Attention in blocks of rows against a loop over pairs."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from nucleate.models.forward import attention
from nucleate.models.forward.attention import attend
from nucleate.models.forward.norms import Floats

H, KV, N, WIDTH = 4, 2, 11, 3
CASES: dict[str, dict[str, Any]] = {
    "causal": {"causal": True},
    "full": {"causal": False},
    "window": {"causal": True, "window": 4},
    "window of one": {"causal": True, "window": 1},
    "window longer than the text": {"causal": True, "window": 100},
    "cap": {"causal": True, "cap": 0.7},
    "full, capped": {"causal": False, "cap": 2.0},
}


def slow(q: Floats, k: Floats, v: Floats, causal: bool, window: int = 10**9, cap: float = 0.0) -> Any:
    y, weights = np.zeros(q.shape), np.zeros((H, N, N))
    for h in range(H):
        for i in range(N):
            seen = [j for j in range(N) if not causal or i - window < j <= i]
            scores = [float(q[h, i] @ k[h // 2, j]) for j in seen]
            scores = [cap * math.tanh(one / cap) for one in scores] if cap else scores
            total = sum(math.exp(one) for one in scores)
            for j, one in zip(seen, scores, strict=True):
                weights[h, i, j] = math.exp(one) / total
                y[h, i] += weights[h, i, j] * v[h // 2, j]
    return y, weights


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_attention_is_what_a_loop_over_pairs_makes(
    case: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "BLOCK_ROWS", rows)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((heads, N, WIDTH)) for heads in (H, KV, KV))
    exact, exact_weights = slow(q, k, v, **CASES[case])
    weights = np.zeros((H, N, N))
    np.testing.assert_allclose(attend(q, k, v, **CASES[case], weights=weights), exact, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(weights, exact_weights, rtol=1e-12, atol=1e-15)


def test_large_scores_neither_overflow_nor_warn() -> None:
    q = np.full((1, 3, 2), 1e18, np.float32)
    assert np.array_equal(attend(q, q, np.ones_like(q), causal=True), np.ones_like(q))


def test_memory_grows_with_the_rows_of_a_block_and_not_with_all_pairs() -> None:
    n = 4000
    q = np.ones((2, n, 2), np.float32)
    tracemalloc.start()
    try:
        attend(q, q, q, causal=True)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 3 * attention.BLOCK_ROWS * n * 4  # scores, their mask, and little else
    assert most < n * n * 4 / 4
