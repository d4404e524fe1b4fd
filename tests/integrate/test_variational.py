"""The variational equation: the derivative of the drift, and block lower triangular."""

import numpy as np
import pytest
from support.kernel_models import Mask

import nucleate as nc
from nucleate.attention import drift
from nucleate.integrate.variational import diagonal_blocks, variation

N, D, STEP = 7, 4, 1e-6


@pytest.mark.parametrize("mask", ["causal", nc.Window(3), "full"])
def test_it_is_the_derivative_of_the_drift_and_its_diagonal_blocks_are_what_a_token_does_to_itself(
    mask: Mask,
) -> None:
    rng, x = np.random.default_rng(0), nc.uniform(N, D, 1)
    Q, K, V = rng.standard_normal((3, D, D))
    model = nc.Attention(2.0, Q, K, V, mask=mask)
    u = nc.tangent(x, rng.standard_normal((N, D)))
    ahead, behind = (drift(model, nc.retract(x + sign * STEP * u)) for sign in (1.0, -1.0))
    # central differences are off by STEP^2 and by rounding / STEP
    assert np.abs((ahead - behind) / (2.0 * STEP) - variation(model, x, u)).max() < 1e-8
    J = diagonal_blocks(model, x)
    for k in range(N):
        alone = np.where(np.arange(N)[:, None] == k, u, 0.0)
        found = variation(model, x, alone)
        assert found[k] == pytest.approx(J[k] @ u[k], abs=1e-13)
        if mask != "full":
            assert not found[:k].any()  # earlier tokens notice nothing
