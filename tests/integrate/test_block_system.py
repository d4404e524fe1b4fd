"""Blocks as systems: the velocity of a state is the equation's."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.attention import Attention
from nucleate.block import Block, block_output, block_rates
from nucleate.integrate.block_system import block_system, block_velocity
from nucleate.mlp import MLP
from nucleate.norms import Norm

STOP = np.zeros(1, dtype=np.uint8)


def block_of(norm: Norm, d: int) -> Block:
    rng = np.random.default_rng(d)
    heads = [Attention(2.0, V=rng.standard_normal((d, d))), Attention(1.0, mask="full")]
    mlp = MLP(rng.standard_normal((d, 5)), rng.standard_normal((5, d)), "tanh")
    return Block(heads, mlp, norm, alpha=1.0 if norm != "ngpt" else 0.7)


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("norm", ["post", "ngpt", "pre", "peri"])
def test_the_velocity_is_the_equations(norm: Norm, d: int) -> None:
    n, block = 7, block_of(norm, d)
    x, r = nc.uniform(n, d, seed=1), np.random.default_rng(0).uniform(0.5, 3.0, n)
    free = norm in ("pre", "peri")
    y, velocity = np.zeros((2, n * d + 8))
    y[: n * d] = (x * r[:, None] if free else x).reshape(-1)
    block_velocity(block_system(block, n, d, 0, norm, 1e-12), 1, 1)(y, velocity, STOP)
    turning, growth = block_rates(block, x, r)
    expected = r[:, None] * turning + growth[:, None] * x if free else turning  # (n, d) of y' or theta'
    # sums of a few terms of size 10
    assert np.abs(velocity[: n * d].reshape(n, d) - expected).max() <= 1e-12


@pytest.mark.parametrize("n", [7, 200])
@pytest.mark.parametrize("norm", ["post", "ngpt"])
def test_on_the_circle_the_velocity_may_be_that_of_the_angles(norm: Norm, n: int) -> None:
    # 7 tokens over pairs, 200 over modes, with an MLP and without
    x, whole = nc.uniform(n, 2, seed=1), block_of(norm, 2)
    for block in (whole, Block(whole.heads, norm=norm, alpha=whole.alpha)):
        y, velocity = np.zeros((2, n + 8))
        y[:n] = np.arctan2(x[:, 1], x[:, 0])
        block_velocity(block_system(block, n, 2, 0, norm, 1e-11, angle=True), 1, 1)(y, velocity, STOP)
        turning, _ = block_rates(block, x, np.ones(n))
        expected = turning[:, 1] * x[:, 0] - turning[:, 0] * x[:, 1]  # (n,)
        assert np.abs(velocity[:n] - expected).max() <= 1e-10  # modes: 1e-11 |V| for each head, |V| up to 4


def test_a_step_of_a_layer_gets_the_output_itself() -> None:
    block, x = block_of("post", 3), nc.uniform(7, 3, seed=1)
    y, velocity = np.zeros((2, 29))
    y[:21] = x.reshape(-1)
    block_velocity(block_system(block, 7, 3, 0, "pre", 1e-12), 1, 1)(y, velocity, STOP)
    assert np.abs(velocity[:21].reshape(7, 3) - block_output(block, x)).max() <= 1e-12


def test_each_run_has_its_own_parameters() -> None:
    block, x = Block([Attention([1.0, 3.0]), Attention(1.0)]), nc.uniform(4, 3, seed=0)
    velocity = np.zeros((2, 20))
    for run in range(2):
        y = np.append(x.reshape(-1), np.zeros(8))
        block_velocity(block_system(block, 4, 3, run, "post", 1e-12), 1, 1)(y, velocity[run], STOP)
        alone = Block([Attention([1.0, 3.0][run]), Attention(1.0)])
        assert np.abs(velocity[run, :12].reshape(4, 3) - block_rates(alone, x, np.ones(4))[0]).max() <= 1e-13
