"""The shape of a model: what a kernel or a solver may make use of, decided here once for every run.

Weights are Gaussian where K^T Q = I: on the sphere exp(beta <x_k, x_j>) is then exp(-beta |x_j - x_k|^2 / 2)
up to a factor that all weights of a token share.  V is scalar where V = c I.  A model with both is plain.
A model is ordinary where its weights are softmax and places count only through the mask.  All kernels but
those of a block (`heads.py`, `head_tiles.py`) and all solvers but the explicit one are for such models.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from nucleate.attention import WEIGHTS, Attention, Window
from nucleate.checks import Array, InputError, check_memory
from nucleate.positions import ALiBi, RoPE

__all__ = [
    "ACCURACIES",
    "CAUSAL",
    "EXPONENTIAL",
    "FULL",
    "HARDMAX",
    "SOFTMAX",
    "WINDOW",
    "Accuracy",
    "ModelShape",
    "check_ordinary",
    "mean_seen",
    "model_shape",
    "ordinary_shape",
]

# How exact runs in the lanes of a vector are: as loose tolerances allow, or to rounding.  The cheaper first.
Accuracy = Literal["brief", "whole"]
ACCURACIES: tuple[Accuracy, ...] = ("brief", "whole")
CAUSAL, FULL, WINDOW = range(3)  # the masks, for compiled code
SOFTMAX, EXPONENTIAL, HARDMAX = range(3)  # the weights, in the order of WEIGHTS
MATRICES = 4  # d x d, that a system holds at least


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
    weights: int  # SOFTMAX, EXPONENTIAL or HARDMAX
    slope: float  # of ALiBi, 0 without
    rope_base: float  # of RoPE, 0 without
    Q: Array  # (d, d)
    K: Array  # (d, d)

    @property
    def ordinary(self) -> bool:
        """Softmax weights, and places that count only through the mask."""
        return self.weights == SOFTMAX and self.slope == 0.0 and self.rope_base == 0.0

    @property
    def plain(self) -> bool:
        """K^T Q = I and V = c I: all that moves a token is differences of positions."""
        return self.gaussian and self.scalar

    @cached_property
    def z(self) -> float:
        """beta |K^T Q|, the largest score."""
        return self.beta * (1.0 if self.gaussian else float(np.linalg.norm(self.A, 2)))

    def scores_up_to(self, bound: float) -> bool:
        """Whether z is at most `bound`; Frobenius' norm is never below the spectral one, and sooner taken."""
        if self.gaussian:
            return self.z <= bound
        # not by np.linalg.norm, which calls BLAS: see _score_matrix
        return self.beta * float(np.sqrt(np.square(self.A).sum())) <= bound or self.z <= bound


def model_shape(model: Attention, n: int, d: int, run: int = 0) -> ModelShape:
    """The shape of one run of `model`."""
    check_memory(8.0 * MATRICES * d * d, f"a model in dimension {d}")
    identity = np.eye(d)
    Q, K, V = (identity if M is None else M if M.ndim == 2 else M[run] for M in (model.Q, model.K, model.V))
    A = identity if model.Q is None and model.K is None else _score_matrix(model, K, Q)  # (d, d)
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
        weights=WEIGHTS.index(model.weights),
        slope=model.position.slope if isinstance(model.position, ALiBi) else 0.0,
        rope_base=model.position.base if isinstance(model.position, RoPE) else 0.0,
        Q=Q,
        K=K,
    )


_score_matrices: WeakKeyDictionary[Attention, Array] = WeakKeyDictionary()  # models are frozen


def _score_matrix(model: Attention, K: Array, Q: Array) -> Array:
    """K^T Q (d, d), made once for a model with one Q and one K: after a product BLAS's own threads spin for
    tens of milliseconds, on the cores that are to sum over tokens."""
    if any(M is not None and M.ndim == 3 for M in (model.Q, model.K)):
        return K.T @ Q
    found = _score_matrices.get(model)
    if found is None:
        found = _score_matrices[model] = K.T @ Q
        found.flags.writeable = False
    return found


def check_ordinary(model: object, what: str) -> Attention:
    """`model`, which must be an Attention with softmax weights and without positions, as `what` needs it."""
    if not isinstance(model, Attention):
        fault = f"the model is a {type(model).__name__}"
    elif model.weights != "softmax":
        fault = f'weights is "{model.weights}"'
    elif model.position is not None and model.position != ALiBi(0.0):
        fault = f"position is {model.position}"
    else:
        return model
    raise InputError(
        f"{what} needs one Attention with softmax weights and without positions, but {fault}. Use"
        ' method="explicit" on the CPU.'
    )


def ordinary_shape(shape: ModelShape) -> ModelShape:
    """`shape`, which must be ordinary: what every kernel for such models asks first."""
    if not shape.ordinary:
        raise InputError(
            f"This kernel is for softmax weights without positions, but weights is"
            f' "{WEIGHTS[shape.weights]}", the slope {shape.slope:g} and the base {shape.rope_base:g}. Use'
            " block_shape(Block(model))."
        )
    return shape


def mean_seen(mask: int, n: int, w: int) -> float:
    """The number of tokens that a token sees, on average, frozen ones apart."""
    return float(w if mask == WINDOW else n if mask == FULL else n / 2)
