"""The MLP of a block, token by token, in NumPy: W sigma(a x + b), and the case that climbs a potential.

    MLP        u(x) = W sigma(a x + b)                             W (d, m), a (m, d), b (m,)
    Potential  u(x) = sum_j omega_j sigma(a_j . x) a_j = grad sum_j omega_j S(a_j . x),  S' = sigma

A term of one's own is a function of (x, out) that adds to out (n, d) what moves the tokens x (n, d), written
so that Numba can compile it.  (The potential: 2601.21366.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, shortened

__all__ = ["ACTIVATIONS", "MLP", "Activation", "Potential", "activate", "antiderivative", "mlp_output"]

Activation = Literal["relu", "gelu", "silu", "tanh", "identity"]
ACTIVATIONS = ("relu", "gelu", "silu", "tanh", "identity")


def mlp_output(mlp: "MLP | Potential | Callable[[Array, Array], None]", x: Array) -> Array:
    """What the MLP adds to the attention output of every token, x (..., n, d) -> (..., n, d)."""
    if isinstance(mlp, MLP | Potential):
        return activate(mlp.activation, x @ mlp.a.T + mlp.b) @ mlp.W.T  # (..., n, m) -> (..., n, d)
    out = np.zeros(x.shape)
    for run in np.ndindex(x.shape[:-2]):
        mlp(np.ascontiguousarray(x[run]), out[run])
    return out


def activate(activation: str, z: Array) -> Array:
    """sigma(z)."""
    if activation == "relu":
        return np.maximum(z, 0.0)
    if activation == "gelu":
        return 0.5 * z * (1.0 + _erf(z / np.sqrt(2.0)))
    if activation == "silu":
        return z * 0.5 * (1.0 + np.tanh(0.5 * z))
    if activation == "tanh":
        return np.tanh(z)
    return z


def antiderivative(activation: str, z: Array) -> Array:
    """S(z), S' = sigma, S(0) = 0."""
    if activation == "relu":
        return 0.5 * np.maximum(z, 0.0) ** 2
    if activation == "gelu":
        density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
        return 0.25 * (z * z + (z * z - 1.0) * _erf(z / np.sqrt(2.0))) + 0.5 * z * density
    if activation == "tanh":
        return np.logaddexp(z, -z) - np.log(2.0)
    if activation == "identity":
        return 0.5 * z * z
    raise InputError(
        f'The potential of "{activation}" has no closed form here. Use "relu", "gelu" or "tanh".'
    )


@dataclass(frozen=True, eq=False)
class MLP:
    """W sigma(a x + b), the same for every token."""

    W: Array  # (d, m)
    a: Array  # (m, d)
    b: Array  # (m,)
    activation: Activation

    def __init__(
        self, W: ArrayLike, a: ArrayLike, activation: Activation = "relu", b: ArrayLike | None = None
    ) -> None:
        W, a = finite_array("MLP W", W), finite_array("MLP a", a)
        if W.ndim != 2 or a.ndim != 2 or W.shape != a.shape[::-1] or W.size == 0:
            raise InputError(
                f"An MLP needs W of shape (d, m) and a of shape (m, d), but they have {W.shape} and"
                f" {a.shape}. Transpose one of them."
            )
        b = np.zeros(len(a)) if b is None else finite_array("MLP b", b)
        if b.shape != (len(a),):
            raise InputError(
                f"MLP b must have shape ({len(a)},), one number per row of a, but has {b.shape}."
            )
        _set(self, W=W, a=a, b=b, activation=_activation(activation))

    @property
    def d(self) -> int:
        """The dimension it acts on."""
        return int(self.a.shape[1])


@dataclass(frozen=True, eq=False)
class Potential:
    """sum_j omega_j sigma(a_j . x) a_j: alone, it moves every token up its potential."""

    omega: Array  # (m,)
    a: Array  # (m, d)
    activation: Activation

    def __init__(self, omega: ArrayLike, a: ArrayLike, activation: Activation = "relu") -> None:
        omega, a = finite_array("Potential omega", omega), finite_array("Potential a", a)
        if a.ndim != 2 or omega.shape != a.shape[:1] or a.size == 0:
            raise InputError(
                "A Potential needs omega of shape (m,) and a of shape (m, d), but they have"
                f" {omega.shape} and {a.shape}."
            )
        _set(self, omega=omega, a=a, activation=_activation(activation))

    @property
    def W(self) -> Array:
        """(d, m), so that the term reads W sigma(a x + b)."""
        return self.a.T * self.omega

    @property
    def b(self) -> Array:
        """(m,) zeros."""
        return np.zeros(len(self.a))

    @property
    def d(self) -> int:
        """The dimension it acts on."""
        return int(self.a.shape[1])

    def value(self, x: Array) -> Array:
        """The height sum_j omega_j S(a_j . x) of every token, x (..., n, d) -> (..., n)."""
        return antiderivative(self.activation, x @ self.a.T) @ self.omega


def _erf(z: Array) -> Array:
    from scipy.special import erf  # slow to import, and needed by few

    return np.asarray(erf(z))


def _activation(name: object) -> str:
    if not (isinstance(name, str) and name in ACTIVATIONS):
        raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}, but is {shortened(name)}.")
    return name


def _set(record: object, **values: object) -> None:
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        object.__setattr__(record, name, value)
