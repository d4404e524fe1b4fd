"""The MLP of a block: an activation between two matrices, or multiplied by a third (a gate)."""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from nucleate.checks import InputError, shortened
from nucleate.models.forward.layer_weights import LayerWeights
from nucleate.models.forward.norms import Floats

__all__ = ["ACTIVATIONS", "activation", "linear", "mlp"]


def silu(x: Floats) -> Floats:
    """x / (1 + e^-x)"""
    with np.errstate(over="ignore"):  # of e^-x, where the result is -0
        return x / (1 + np.exp(-x))


def gelu(x: Floats) -> Floats:
    """x Phi(x), with the normal distribution's Phi."""
    from scipy.special import erf

    return x * (x.dtype.type(0.5) * (1 + erf(x * x.dtype.type(0.5**0.5))))


def gelu_tanh(x: Floats) -> Floats:
    """The approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 of it."""
    number = x.dtype.type
    inner = np.tanh(number((2.0 / np.pi) ** 0.5) * (x + number(0.044715) * x * x * x))
    return number(0.5) * x * (1 + inner)


def relu(x: Floats) -> Floats:
    """max(x, 0)"""
    return np.maximum(x, x.dtype.type(0.0))


ACTIVATIONS: MappingProxyType[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "gelu": gelu,
        "gelu_new": gelu_tanh,
        "gelu_pytorch_tanh": gelu_tanh,
        "gelu_fast": gelu_tanh,
        "silu": silu,
        "swish": silu,
        "relu": relu,
    }
)  # by their names in config.json


def activation(name: object) -> Callable[[Floats], Floats]:
    """The function that config.json calls so."""
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise InputError(
            f"The model has the activation {shortened(name)}, which the forward pass does not know. Known are"
            f" {', '.join(ACTIVATIONS)}."
        )
    return ACTIVATIONS[name]


def linear(x: Floats, W: Floats, bias: Floats | None = None) -> Floats:
    """W x + bias of every row: x (n, in), W (out, in), bias (out,)."""
    y = x @ W.T  # (n, out)
    if bias is not None:
        y += bias
    return y


def mlp(x: Floats, layer: LayerWeights, act: Callable[[Floats], Floats]) -> Floats:
    """down act(up x), or down (act(gate x) up x), biases left out here: x (n, d)."""
    y = linear(x, layer.up, layer.up_bias)  # (n, d_mlp)
    y = act(y) if layer.gate is None else y * act(linear(x, layer.gate, layer.gate_bias))
    return linear(y, layer.down, layer.down_bias)  # (n, d)
