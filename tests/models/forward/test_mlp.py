"""Activations against their formulas, and the MLP against loops."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.models.forward.layer_weights import LayerWeights
from nucleate.models.forward.mlp import ACTIVATIONS, activation, linear, mlp
from nucleate.models.forward.norms import Floats

ROOT = math.sqrt(2.0 / math.pi)
EXACT: dict[str, Callable[[float], float]] = {
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2.0))) / 2,
    "gelu_new": lambda x: x * (1 + math.tanh(ROOT * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_its_formula_and_keeps_the_type(name: str) -> None:
    same = {"gelu_pytorch_tanh": "gelu_new", "gelu_fast": "gelu_new", "swish": "silu"}
    x = np.linspace(-6.0, 6.0, 25)
    exact = [EXACT[same.get(name, name)](float(one)) for one in x]
    np.testing.assert_allclose(activation(name)(x), exact, rtol=1e-12, atol=1e-14)
    single = activation(name)(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_far_below_zero_an_activation_is_zero_without_a_warning(name: str) -> None:
    assert np.abs(activation(name)(np.full(3, -1e4, np.float32))).max() == 0.0


@pytest.mark.parametrize("name", [None, "relu2", 3])
def test_an_unknown_activation_is_named(name: object) -> None:
    with pytest.raises(InputError, match="which the forward pass does not know"):
        activation(name)


@pytest.mark.parametrize("gated", [False, True])
def test_an_mlp_is_what_loops_make_of_it(gated: bool) -> None:
    rng = np.random.default_rng(0)
    x, up, down, gate = (rng.standard_normal(shape) for shape in ((4, 3), (5, 3), (3, 5), (5, 3)))
    biases = [rng.standard_normal(size) for size in (5, 3, 5)]
    empty = np.zeros((1, 1, 3))
    layer = LayerWeights(
        empty, empty, empty, empty, up, down, gate if gated else None, up_bias=biases[0], down_bias=biases[1]
    )
    act = EXACT["silu"]

    def slow(row: Floats) -> list[float]:
        inner = [sum(up[j, c] * row[c] for c in range(3)) + biases[0][j] for j in range(5)]
        if gated:
            inner = [one * act(sum(gate[j, c] * row[c] for c in range(3))) for j, one in enumerate(inner)]
        else:
            inner = [act(float(one)) for one in inner]
        return [sum(down[c, j] * inner[j] for j in range(5)) + biases[1][c] for c in range(3)]

    np.testing.assert_allclose(mlp(x, layer, activation("silu")), [slow(row) for row in x], rtol=1e-12)
    np.testing.assert_allclose(linear(x, up), [[up[j] @ row for j in range(5)] for row in x], rtol=1e-12)
