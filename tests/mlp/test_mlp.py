"""MLPs: what they add, and that a potential's term is its gradient."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import Array, InputError
from nucleate.mlp import ACTIVATIONS, activate, antiderivative, mlp_output

Z = np.linspace(-4.0, 4.0, 81)


def test_activations_are_what_their_names_say() -> None:
    by_hand: dict[str, Callable[[float], float]] = {
        "relu": lambda z: max(z, 0.0),
        "gelu": lambda z: z * 0.5 * (1.0 + math.erf(z / math.sqrt(2.0))),
        "silu": lambda z: z / (1.0 + math.exp(-z)),
        "tanh": math.tanh,
        "identity": lambda z: z,
    }
    assert set(by_hand) == set(ACTIVATIONS)
    for name, function in by_hand.items():
        assert np.allclose(activate(name, Z), [function(z) for z in Z], rtol=1e-13, atol=1e-15), name


@pytest.mark.parametrize("name", ["relu", "gelu", "tanh", "identity"])
def test_the_antiderivative_has_the_activation_as_slope(name: str) -> None:
    h = 1e-5
    slope = (antiderivative(name, Z + h) - antiderivative(name, Z - h)) / (2.0 * h)
    assert np.allclose(slope, activate(name, Z), atol=1e-5 if name == "relu" else 1e-8)
    assert antiderivative(name, np.zeros(1))[0] == pytest.approx(0.0, abs=1e-15)


def test_a_potential_moves_tokens_along_its_gradient() -> None:
    x = nc.uniform(5, 3, seed=0)
    potential = nc.Potential([1.0, -2.0], np.random.default_rng(0).standard_normal((2, 3)), "gelu")
    h = 1e-6
    gradient = np.stack(
        [(potential.value(x + h * e) - potential.value(x - h * e)) / (2.0 * h) for e in np.eye(3)], axis=-1
    )
    assert np.allclose(mlp_output(potential, x), gradient, atol=1e-8)


def test_an_mlp_acts_on_every_token_alone() -> None:
    W, a, b = np.ones((3, 2)), np.arange(6.0).reshape(2, 3), np.array([0.5, -1.0])
    x = nc.uniform(4, 3, seed=1, runs=2)
    out = mlp_output(nc.MLP(W, a, "tanh", b), x)
    for run in range(2):
        for k in range(4):
            assert np.allclose(out[run, k], W @ np.tanh(a @ x[run, k] + b))


def test_a_function_of_ones_own_adds_to_out() -> None:
    def twice(x: Array, out: Array) -> None:
        out += 2.0 * x

    x = nc.uniform(4, 3, seed=1, runs=2)
    assert np.array_equal(mlp_output(twice, x), 2.0 * x)


def test_shapes_and_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"W of shape \(d, m\) and a of shape \(m, d\)"):
        nc.MLP(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(InputError, match=r"MLP b must have shape \(2,\)"):
        nc.MLP(np.ones((3, 2)), np.ones((2, 3)), b=[1.0])
    with pytest.raises(InputError, match="activation must be one of relu, gelu"):
        nc.MLP(np.ones((3, 2)), np.ones((2, 3)), "swish")  # type: ignore[arg-type]  # that is the slip
    with pytest.raises(InputError, match=r"omega of shape \(m,\)"):
        nc.Potential([1.0], np.ones((2, 3)))
    with pytest.raises(InputError, match="no closed form"):
        nc.Potential([1.0], np.ones((1, 3)), "silu").value(np.ones((1, 3)))
