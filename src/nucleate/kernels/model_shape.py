"""The shape of a model: what a kernel or a solver may make use of, decided here once for every run.

Weights are Gaussian where K^T Q = I: on the sphere exp(beta <x_k, x_j>) is then exp(-beta |x_j - x_k|^2 / 2)
up to a factor that all weights of a token share.  V is scalar where V = c I.  A model with both is plain.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nucleate.attention import Attention, Window
from nucleate.checks import Array

__all__ = ["CAUSAL", "FULL", "WINDOW", "ModelShape", "mean_seen", "model_shape"]

CAUSAL, FULL, WINDOW = range(3)  # the masks, for compiled code


@dataclass(frozen=True, eq=False)
class ModelShape:
    """One run of a model, with n tokens in dimension d."""

    n: int
    d: int
    beta: float
    A: Array  # (d, d) K^T Q
    V: Array  # (d, d)
    frozen: Array  # (m, d) the frozen tokens
    frozen_weight: Array  # (m,)
    mask: int  # CAUSAL, FULL or WINDOW
    w: int  # the window, at most n; n without one
    gaussian: bool  # K^T Q = I
    scalar: bool  # V = c I
    scale: float  # that c

    @property
    def plain(self) -> bool:
        """K^T Q = I and V = c I: all that moves a token is differences of positions."""
        return self.gaussian and self.scalar

    @cached_property
    def z(self) -> float:
        """beta |K^T Q|, the largest score."""
        return self.beta * (1.0 if self.gaussian else float(np.linalg.norm(self.A, 2)))


def model_shape(model: Attention, n: int, d: int, run: int = 0) -> ModelShape:
    """The shape of one run of `model`."""
    identity = np.eye(d)
    Q, K, V = (identity if M is None else M if M.ndim == 2 else M[run] for M in (model.Q, model.K, model.V))
    A = identity if model.Q is None and model.K is None else K.T @ Q  # (d, d)
    frozen, weight = np.empty((0, d)), np.empty(0)
    if model.frozen is not None:
        frozen, weight = model.frozen.x, model.frozen.weight
        if frozen.ndim == 3:
            frozen, weight = frozen[run], weight[run]
    return ModelShape(
        n=n,
        d=d,
        beta=float(model.beta if model.beta.ndim == 0 else model.beta[run]),
        A=A,
        V=V,
        frozen=frozen,
        frozen_weight=weight,
        mask=WINDOW if isinstance(model.mask, Window) else FULL if model.mask == "full" else CAUSAL,
        w=min(model.mask.w, n) if isinstance(model.mask, Window) else n,
        gaussian=A is identity or bool((A == identity).all()),
        scalar=V is identity or bool((V == V[0, 0] * identity).all()),
        scale=float(V[0, 0]),
    )


def mean_seen(mask: int, n: int, w: int) -> float:
    """The number of tokens that a token sees, on average, frozen ones apart."""
    return float(w if mask == WINDOW else n if mask == FULL else n / 2)
