"""Compiled steps of tokens and tangent vectors: their velocities are those of the equation."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.attention import drift
from nucleate.integrate.tangent_steps import rates
from nucleate.integrate.variational import diagonal_blocks

GO = np.zeros(1, dtype=np.uint8)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("window", [1, 3, 6])
def test_velocities_are_those_of_the_equation(d: int, window: int) -> None:
    n, beta, rng = 6, 3.0, np.random.default_rng(d)
    Q, K, V = rng.standard_normal((3, d, d))
    model, x = nc.Attention(beta, Q, K, V, mask=nc.Window(window)), nc.uniform(n, d, 0)
    u = rng.standard_normal((n, 2, d))  # two vectors for each token
    y = np.concatenate([x[:, None], u], axis=1)  # (n, 3, d)
    rate = np.empty_like(y)
    rates(y, beta * K.T @ Q, V, window, rate, np.empty(n), np.empty((d, d)), np.empty((4, d)), GO)
    assert rate[:, 0] == pytest.approx(drift(model, x), abs=1e-13)
    expected = np.einsum("kab,kvb->kva", diagonal_blocks(model, x), u)
    assert rate[:, 1:] == pytest.approx(expected, abs=1e-11)  # J is up to about 100
