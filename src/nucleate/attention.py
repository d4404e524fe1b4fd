"""THE EQUATION: causal self-attention as particles on a sphere, in NumPy and in the paper's letters.

    dx_k/dt = P_{x_k}( (1/Z_k) sum_{j<=k} exp(beta <Q x_k, K x_j>) V x_j ),
    Z_k     =                 sum_{j<=k} exp(beta <Q x_k, K x_j>),      P_x y = y - <x, y> x.

Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking", NeurIPS 2024, equation (CSA).
Everything faster in this package is tested against `drift` below.  Its relatives change who is seen (the
mask), what the weights are, and whether positions count (`positions.py`); `block.py` adds heads, MLPs, norms.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, check_tokens, finite_array, shortened, whole_number
from nucleate.positions import ALiBi, RoPE
from nucleate.sphere import tangent

__all__ = ["WEIGHTS", "Attention", "Frozen", "Weights", "Window", "attend", "check_model", "drift"]

Weights = Literal["softmax", "exponential", "hardmax"]
WEIGHTS = ("softmax", "exponential", "hardmax")
LARGEST_EXPONENT = 700.0  # whose exp is a double


def drift(model: "Attention", x: Array) -> Array:
    """The velocity of every token: x (..., n, d) on the sphere -> (..., n, d), tangent at x."""
    return tangent(x, attend(model, x))  # (..., n, d)


def attend(model: "Attention", x: Array) -> Array:
    """The output A_k of one head for every token: (1/Z_k) sum_j w_kj V x_j, x (..., n, d) -> (..., n, d)."""
    n, d = x.shape[-2:]
    beta, Q, K, V = model.parameters(d)  # (..., 1, 1), (..., d, d) three times
    y, a, sees = model.context(x)  # (..., m+n, d) frozen tokens first, (..., 1, m+n), (n, m+n)
    q, k = x @ Q.mT, y @ K.mT  # (..., n, d), (..., m+n, d)
    if isinstance(model.position, RoPE):
        q, k = model.position.rotate(q), model.position.rotate(k)
    s = beta * q @ k.mT  # (..., n, m+n)
    p = np.where(sees, 0.0, -np.inf)  # (n, m+n)
    if isinstance(model.position, ALiBi):
        p = p + model.position.bias(n)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):  # a weight of e^-800 is zero
        if model.weights == "hardmax":
            w = _hardmax(s + p)  # (..., n, n)
        elif model.weights == "exponential":
            p = a * np.exp(p)  # (..., n, m+n)
            w = np.where(p > 0.0, p * np.exp(s), 0.0) / p.sum(-1, keepdims=True)  # (..., n, m+n)
        else:
            s = s + p
            w = a * np.exp(s - s.max(-1, keepdims=True))  # (..., n, m+n)
            w = w / w.sum(-1, keepdims=True)  # w_kj / Z_k
        return (w @ y) @ V.mT  # (..., n, d)


def _hardmax(s: Array) -> Array:
    """Weights of the highest of the scores s (..., n, n), the token itself left out; equal ones share, and a
    token that sees no other has none."""
    s = np.where(np.eye(s.shape[-1], dtype=bool), -np.inf, s)
    best = s.max(-1, keepdims=True)
    w = np.where(s > -np.inf, s == best, False).astype(float)
    return w / np.maximum(w.sum(-1, keepdims=True), 1.0)


@dataclass(frozen=True)
class Window:
    """A sliding window: token k sees tokens k-w+1 .. k, itself counted."""

    w: int

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "w", whole_number("Window w", self.w, least=1, help="It counts the token itself.")
        )


@dataclass(frozen=True, eq=False)
class Frozen:
    """Tokens that never move and are seen by all, with weights a_j in every sum (Theorem 5.2)."""

    x: Array  # (m, d) or (b, m, d)
    weight: Array  # (m,) or (b, m)

    def __init__(self, x: ArrayLike, weight: ArrayLike = 1.0) -> None:
        x = _fixed(check_tokens("Frozen x", x))
        if x.ndim > 3:
            raise InputError(f"Frozen x must have shape (m, d) or (b, m, d), but has shape {x.shape}.")
        weight = finite_array("Frozen weight", weight)
        if not (weight > 0).all():
            raise InputError(
                f"Frozen weight must be positive, but is as low as {weight.min():g}. Leave a token out"
                " instead of giving it no weight."
            )
        try:
            weight = np.broadcast_to(weight, x.shape[:-1])
        except ValueError:
            raise InputError(
                f"Frozen weight must give one number per frozen token {x.shape[:-1]}, but has shape"
                f" {weight.shape}."
            ) from None
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "weight", _fixed(weight.copy()))


@dataclass(frozen=True, eq=False)
class Attention:
    """One head: inverse temperature, Query, Key and Value matrices, who sees whom, frozen tokens.

    beta and each matrix may carry a leading run axis, (b,) and (b, d, d): one value per run.
    A matrix left out is the identity.

    weights   "softmax": exp(score) / Z_k.  "exponential" (USA): exp(score) divided by the number of tokens
              that are seen, n under the full mask, k under the causal one; with ALiBi by the sum of its
              decays.  "hardmax": all to the highest score among the other tokens, equal ones share
    position  ALiBi(slope): the score falls by the slope per place between two tokens.  RoPE(base): queries
              and keys are rotated by their place.  None: places count only through the mask
    """

    beta: Array  # () or (b,)
    Q: Array | None  # (d, d) or (b, d, d)
    K: Array | None
    V: Array | None
    mask: Literal["causal", "full"] | Window
    frozen: Frozen | None
    weights: Weights
    position: ALiBi | RoPE | None

    def __init__(
        self,
        beta: ArrayLike,
        Q: ArrayLike | None = None,
        K: ArrayLike | None = None,
        V: ArrayLike | None = None,
        mask: Literal["causal", "full"] | Window = "causal",
        frozen: Frozen | None = None,
        weights: Weights = "softmax",
        position: ALiBi | RoPE | None = None,
    ) -> None:
        beta = finite_array("beta", beta)
        if beta.ndim > 1 or beta.size == 0:
            raise InputError(f"beta must be a number or one number per run, but has shape {beta.shape}.")
        if (beta < 0).any():
            raise InputError(
                f"beta must be finite and non-negative, but is {beta.min()}. For repulsion use V = -I."
            )
        if not (isinstance(mask, Window) or (isinstance(mask, str) and mask in ("causal", "full"))):
            raise InputError(f'mask must be "causal", "full" or Window(w), but is {shortened(mask)}.')
        if not (frozen is None or isinstance(frozen, Frozen)):
            raise InputError(f"frozen must be a Frozen(x, weight), but is {type(frozen).__name__}.")
        _check_weights(weights, position, frozen)
        matrices = {
            name: None if M is None else _matrix(name, M) for name, M in (("Q", Q), ("K", K), ("V", V))
        }
        rest = {"mask": mask, "frozen": frozen, "weights": weights, "position": position}
        for name, value in {"beta": _fixed(beta), **matrices, **rest}.items():
            object.__setattr__(self, name, value)
        self._agree()
        _, Q_full, K_full, _ = self.parameters(next(iter(self._dimensions().values()), 2))
        with np.errstate(all="ignore"):
            scores = self.beta[..., None, None] * (K_full.mT @ Q_full)  # (..., d, d)
            total = np.abs(scores).sum((-1, -2))
        if not np.isfinite(total).all():
            raise InputError(
                "beta K^T Q must be finite, but overflows. Scale Q, K or beta down: exp(beta <Qx, Ky>) has no"
                " meaning there."
            )
        largest = np.linalg.norm(scores, 2, (-2, -1)).max() if weights == "exponential" else 0.0
        if largest > LARGEST_EXPONENT:
            raise InputError(
                f'weights="exponential" needs beta |K^T Q| up to {LARGEST_EXPONENT:g}, but it is'
                f" {largest:g}: exp of it overflows. Use softmax, or a smaller beta."
            )

    @property
    def runs(self) -> int | None:
        """The length of the leading run axis, or None where no parameter carries one."""
        sizes = {name: size for name, size in self._run_axes().items() if size is not None}
        return next(iter(sizes.values()), None)

    def parameters(self, d: int) -> tuple[Array, Array, Array, Array]:
        """beta (..., 1, 1) and Q, K, V (..., d, d), identities written out."""
        Q, K, V = (np.eye(d) if M is None else M for M in (self.Q, self.K, self.V))
        return self.beta[..., None, None], Q, K, V

    def context(self, x: Array) -> tuple[Array, Array, Array]:
        """All tokens a token may see, frozen ones first; their weights; and who sees whom."""
        n = x.shape[-2]
        k, j = np.arange(n)[:, None], np.arange(n)[None, :]
        if self.mask == "full":
            sees = np.ones((n, n), dtype=bool)
        elif isinstance(self.mask, Window):
            sees = (j <= k) & (j > k - self.mask.w)
        else:
            sees = j <= k
        if self.frozen is None:
            return x, np.ones((1, n)), sees
        m = self.frozen.x.shape[-2]
        lead = np.broadcast_shapes(x.shape[:-2], self.frozen.x.shape[:-2])
        y = np.concatenate(
            [
                np.broadcast_to(self.frozen.x, (*lead, m, x.shape[-1])),
                np.broadcast_to(x, (*lead, *x.shape[-2:])),
            ],
            axis=-2,
        )
        a = np.concatenate([np.broadcast_to(self.frozen.weight, (*lead, m)), np.ones((*lead, n))], axis=-1)
        return y, a[..., None, :], np.concatenate([np.ones((n, m), dtype=bool), sees], axis=1)

    def check(self, x: ArrayLike, lengths: bool = True) -> Array:
        """x as tokens this model can move: (n, d) or (b, n, d), of the model's dimension and run count;
        lengths=False as in `check_tokens`."""
        x = check_tokens("x", x, lengths)
        if x.ndim > 3:
            raise InputError(f"x must have shape (n, d) or (b, n, d), but has shape {x.shape}.")
        for name, d in self._dimensions().items():
            if d != x.shape[-1]:
                raise InputError(
                    f"{name} acts on dimension {d}, but x has shape {x.shape}. Both must have the same last"
                    " axis."
                )
        if isinstance(self.position, RoPE):
            self.position.check_dimension(x.shape[-1])
        if x.ndim == 3 and self.runs not in (None, x.shape[0]):
            raise InputError(
                f"x holds {x.shape[0]} runs, but the model's parameters {self.runs}. Give both the same"
                " leading axis."
            )
        return x

    def _dimensions(self) -> dict[str, int]:
        sizes = {name: M.shape[-1] for name in ("Q", "K", "V") if (M := getattr(self, name)) is not None}
        return sizes if self.frozen is None else {**sizes, "frozen.x": self.frozen.x.shape[-1]}

    def _run_axes(self) -> dict[str, int | None]:
        axes = {"beta": self.beta.shape[0] if self.beta.ndim else None}
        axes |= {
            name: M.shape[0]
            for name in ("Q", "K", "V")
            if (M := getattr(self, name)) is not None and M.ndim == 3
        }
        return (
            axes
            if self.frozen is None
            else {**axes, "frozen": self.frozen.x.shape[0] if self.frozen.x.ndim == 3 else None}
        )

    def _agree(self) -> None:
        for what, sizes in (("dimension", self._dimensions()), ("number of runs", self._run_axes())):
            told = {name: size for name, size in sizes.items() if size is not None}
            if len(set(told.values())) > 1:
                raise InputError(
                    f"All parts of Attention must have the same {what}, but"
                    f" {', '.join(f'{k} has {v}' for k, v in told.items())}."
                )


def check_model(model: object) -> Attention:
    """`model`, which must be an Attention."""
    if not isinstance(model, Attention):
        raise InputError(
            f"model must be an Attention, but is {type(model).__name__}. Make one:"
            " nucleate.Attention(beta=9.0)."
        )
    return model


def _check_weights(weights: object, position: object, frozen: Frozen | None) -> None:
    if not (isinstance(weights, str) and weights in WEIGHTS):
        raise InputError(
            f'weights must be "softmax", "exponential" or "hardmax", but is {shortened(weights)}.'
        )
    if not (position is None or isinstance(position, ALiBi | RoPE)):
        raise InputError(
            "position must be nucleate.ALiBi(slope), nucleate.RoPE(base) or None, but is"
            f" {shortened(position)}."
        )
    if frozen is not None and position is not None:
        raise InputError("Frozen tokens have no position, but position is given. Leave one of the two out.")
    if frozen is not None and weights == "hardmax":
        raise InputError("Frozen tokens count by their weight, which hardmax does not use. Use softmax.")


def _matrix(name: str, value: ArrayLike) -> Array:
    M = finite_array(name, value)
    if M.ndim not in (2, 3) or M.shape[-1] != M.shape[-2] or M.size == 0:
        raise InputError(
            f"{name} must be a square matrix (d, d) or one per run (b, d, d), but has shape {M.shape}. For a"
            " multiple of the identity use c * np.eye(d)."
        )
    return _fixed(M)


def _fixed(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array
