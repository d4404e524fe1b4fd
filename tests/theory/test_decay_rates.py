"""Rates at consensus against differences of the equation, and tokens that really come there so."""

import numpy as np
import pytest
from support.reference_flow import ENGINES, flow

from nucleate.attention import Attention, Weights
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError
from nucleate.positions import ALiBi
from nucleate.sphere import retract, uniform
from nucleate.theory.consensus import consensus_spectrum
from nucleate.theory.decay_rates import decay_rates

STEP = 1e-6


def rates_by_differences(block: Block, n: int, d: int) -> Array:
    """The eigenvalues of the velocity at consensus, (n (d - 1),), rising."""
    x1 = np.zeros(d)
    x1[0] = 1.0
    x = np.tile(x1, (n, 1))  # (n, d)
    jacobian = np.empty((n, d - 1, n, d - 1))
    for k in range(n):
        for c in range(1, d):
            u = np.zeros((n, d))
            u[k, c] = STEP
            # odd in u, so that what is left out is of third order
            change = block_drift(block, retract(x + u)) - block_drift(block, retract(x - u))
            jacobian[:, :, k, c - 1] = change[:, 1:] / (2.0 * STEP)
    return np.sort(np.linalg.eigvals(jacobian.reshape(n * (d - 1), -1)).real)


def head(c: float, d: int, beta: float = 2.0, slope: float = 0.0, weights: Weights = "softmax") -> Attention:
    Q, K = np.random.default_rng(7).standard_normal((2, d, d))
    return Attention(beta, Q, K, c * np.eye(d), weights=weights, position=ALiBi(slope) if slope else None)


@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("c", [[1.0], [0.5, 2.0], [1.0, -3.0, 0.7]])
def test_heads_with_scalar_values_have_the_sum_of_their_rates(c: list[float], d: int) -> None:
    n = 6
    found = rates_by_differences(Block([head(one, d) for one in c]), n, d)
    k = np.arange(1, n + 1)
    assert decay_rates(n, c) == pytest.approx(-sum(c) * (k - 1) / k, abs=1e-14)
    # differences: STEP^2 times a third derivative, and rounding over STEP
    assert found == pytest.approx(np.sort(np.repeat(decay_rates(n, c), d - 1)), abs=1e-8)


@pytest.mark.parametrize("m", [0.1, 1.0, 5.0])
def test_alibi_has_the_rate_of_its_formula(m: float) -> None:
    n, d, k = 6, 3, np.arange(1, 7)
    assert decay_rates(n, slopes=m) == pytest.approx(
        -(1.0 - (1.0 - np.exp(-m)) / (1.0 - np.exp(-m * k))), abs=1e-14
    )
    found = rates_by_differences(Block(head(1.0, d, slope=m)), n, d)
    assert found == pytest.approx(np.sort(np.repeat(decay_rates(n, slopes=m), d - 1)), abs=1e-8)


def test_heads_with_slopes_of_their_own_and_exponential_weights() -> None:
    n, d, x1 = 5, 3, np.array([1.0, 0.0, 0.0])
    heads = [head(0.5, d, 0.3, 0.2, "exponential"), head(1.5, d, 0.8), head(-0.2, d, 1.0, 1.0)]
    gain = float(np.exp(0.3 * (heads[0].parameters(d)[1] @ x1) @ (heads[0].parameters(d)[2] @ x1)))
    rates = decay_rates(n, [0.5, 1.5, -0.2], [0.2, 0.0, 1.0], [gain, 1.0, 1.0])
    found = rates_by_differences(Block(heads), n, d)
    assert found == pytest.approx(np.sort(np.repeat(rates, d - 1)), abs=1e-8)


def test_one_head_without_slope_is_the_spectrum_of_consensus() -> None:
    assert decay_rates(9) == pytest.approx(consensus_spectrum(9, 2)[:, 0], abs=1e-15)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_heads_and_alibi_bring_all_tokens_to_the_first_at_the_slowest_rate(engine: str) -> None:
    block = Block([head(0.5, 3, 0.5, 0.3), head(0.75, 3, 0.5)])
    slowest = decay_rates(5, [0.5, 0.75], [0.3, 0.0])[1]
    x0 = uniform(5, 3, seed=3)
    found = flow(engine, block, x0, [0.0, 14.0, 16.0], rtol=1e-11)
    off = np.linalg.norm(found.x - x0[0], axis=-1)[1:, 1]  # (2,) of the second token
    # what the linear equation leaves out changes the rate by the distance itself, some 1e-4
    assert np.log(off[1] / off[0]) / 2.0 == pytest.approx(slowest, abs=off[0])
    assert np.linalg.norm(found.x[-1] - x0[0], axis=-1).max() < 1e-3


def test_rates_of_impossible_heads_are_refused() -> None:
    with pytest.raises(InputError, match="slopes must not be negative, but are as low as -1"):
        decay_rates(3, slopes=-1.0)
    with pytest.raises(
        InputError, match=r"one number per head, but have shapes values \(2,\), slopes \(3,\)"
    ):
        decay_rates(3, [1.0, 1.0], [0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="gains must be positive"):
        decay_rates(3, gains=0.0)
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        decay_rates(0)
