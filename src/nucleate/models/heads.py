"""The matrices of one head, with the normalisation in front folded in, and what their spectrum says.

A token is a unit vector x.  The normalisation in front makes sqrt(d) diag(gamma) C x of it, with the gain
gamma and, for LayerNorm, the centring C = I - 1 1^T / d (C = I for RMSNorm).  Token x_k attends to x_j with
the score beta <x_j, A x_k>, A = K^T Q, beta A = (d / sqrt(d_head)) C diag(gamma) W_K^T W_Q diag(gamma) C; Q
and K are scaled so that |A|_2 = 1.  The value matrix is V = W_O W_V diag(gamma) C, d x d and of rank d_head:
its non-zero eigenvalues, with their Jordan blocks, are those of the small product W_V diag(gamma) C W_O
(paper, Appendix B.3).  No d x d matrix is made here.  The sqrt(d) is left out of V: it is a unit of time.

A model that normalises behind each layer (post-norm) keeps y = diag(gamma) x, and adds W_O W_V y to y itself.
Its value matrix in that state is Pi W_O W_V, without the gain; Pi = I - 1 u^T with u_i = (1 / gamma_i) / sum
of these takes away what the normalisation does not see (Pi = I for RMSNorm).  See docs/spectra.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.models.plan import Plan
from nucleate.models.weights import Weights
from nucleate.theory.atlas import atlas
from nucleate.theory.table import row_of

__all__ = [
    "Factors",
    "HeadSpectrum",
    "fold",
    "fold_stored",
    "full_row",
    "head_spectrum",
    "products",
    "read_factors",
    "read_output",
    "read_values",
]

RELATIVE_ZERO = 1e-12  # of the largest modulus: a real part this small is 0


@dataclass(frozen=True, eq=False)
class Factors:
    """One head: beta K^T Q of the system is scale K^T Q of these, its V is O V; the normalisation is folded
    in."""

    Q: Array  # (d_head, d) W_Q diag(gamma) C
    K: Array  # (d_head, d) W_K diag(gamma) C
    V: Array  # (d_head, d) W_V diag(gamma) C
    O: Array  # (d, d_head) W_O  # noqa: E741  # its letter
    scale: float  # d / sqrt(d_head), most often
    stored: Array | None = None  # (d_head, d) W_V Pi, which stands for V in the stored state; post-norm only

    def scores(self) -> tuple[float, float]:
        """The largest score of two unit tokens, |scale K^T Q|_2, which is beta; and the root mean square
        score of two that are independent and uniform on the sphere, |scale K^T Q|_F / d.

        Both are those of S R^T, with the triangular factors R and S of Q^T and K^T.
        """
        R, S = (np.asarray(np.linalg.qr(M.T, mode="r")) for M in (self.Q, self.K))  # (d_head, d_head)
        small = S @ R.T  # (d_head, d_head)
        rms = float(np.linalg.norm(small)) / self.Q.shape[1]
        return self.scale * float(np.linalg.norm(small, 2)), self.scale * rms

    def small(self) -> Array:
        """The product (d_head, d_head) that has the non-zero eigenvalues of V."""
        return self.V @ self.O

    def small_stored(self) -> Array | None:
        """The same of the value matrix in the stored state; None where that is V itself (pre-norm)."""
        return None if self.stored is None else self.stored @ self.O


@dataclass(frozen=True, eq=False)
class HeadSpectrum:
    """The spectrum of a small product, and the row of Table 1 it would have if it were V."""

    eigenvalues: NDArray[np.complex128]  # (d_head,) largest real part first
    lambda_max: float
    kind: str  # of the dominant eigenvalue: real, complex, defective, complex defective, or unclear
    multiplicity: int  # of the dominant eigenvalue
    row: int | None
    left: float  # share of eigenvalues with negative real part

    @property
    def region(self) -> str:
        """The row, or why there is none and on which side: "3", "complex +", "complex -", "zero", ..."""
        if self.row:
            return str(self.row)
        if abs(self.lambda_max) <= RELATIVE_ZERO * float(np.abs(self.eigenvalues).max()):
            return "zero"
        return f"{self.kind} {'+' if self.lambda_max > 0.0 else '-'}"


def fold(W: Array, gain: Array | None, centred: bool) -> Array:
    """W diag(gamma) C: the weights (d_head, d) as they act on a token that was not normalised yet."""
    W = W if gain is None else W * gain  # (d_head, d)
    return W - W.mean(axis=1, keepdims=True) if centred else W


def fold_stored(W: Array, gain: Array | None, centred: bool) -> Array:
    """W Pi: the weights (d_head, d) as they act on what is stored, up to what a normalisation does not see.

    Pi projects onto the stored states, diag(gamma) times what has mean 0, along 1.  For a gain of 0 it is
    the limit of small ones.
    """
    if not centred:
        return W
    gain = np.ones(W.shape[1]) if gain is None else gain
    zero = gain == 0.0  # (d,)
    with np.errstate(divide="ignore"):
        share = zero.astype(np.float64) if zero.any() else 1.0 / gain  # (d,)
    return W - np.outer(W.sum(axis=1), share / share.sum())


def read_factors(weights: Weights, plan: Plan, i: int, head: int) -> Factors:
    """Head number `head` of the i-th layer."""
    shared = plan.group_of(head)
    gain, centred = _gain(weights, plan, i), plan.centred(i)
    turned = np.where(np.arange(plan.head_dim) < plan.rotated, plan.rope_factors[i], 1.0)[:, None]
    Q, K = (
        turned * fold(_rows(weights, plan, i, key, number), gain, centred)
        for key, number in (("query", head), ("key", shared))
    )
    V, stored = read_values(weights, plan, i, shared)
    scale = plan.d * plan.scale / (i + 1 if plan.by_layer else 1)
    return Factors(Q, K, V, read_output(weights, plan, i, head), scale, stored)


def read_values(weights: Weights, plan: Plan, i: int, group: int) -> tuple[Array, Array | None]:
    """W_V diag(gamma) C of a key-value head, (d_head, d); and, if the model is post-norm, W_V Pi."""
    W = _rows(weights, plan, i, "value", group)  # (d_head, d)
    gain, centred = _gain(weights, plan, i), plan.centred(i)
    return fold(W, gain, centred), fold_stored(W, gain, centred) if plan.post_norm else None


def read_output(weights: Weights, plan: Plan, i: int, head: int) -> Array:
    """W_O of a head, (d, d_head)."""
    at = slice(head * plan.head_dim, (head + 1) * plan.head_dim)
    name = plan.tensor(plan.layers[i], "output")
    return weights.part(name, rows=at).T if plan.mapping.transposed else weights.part(name, columns=at)


def _gain(weights: Weights, plan: Plan, i: int) -> Array | None:
    """The gain in front of the i-th layer, (d,)."""
    if (name := plan.gain(i)) is None:
        return None
    return weights.part(name) + (1.0 if plan.mapping.gain == "1+w" else 0.0)


def _rows(weights: Weights, plan: Plan, i: int, key: str, number: int) -> Array:
    """W_Q of a head, or W_K or W_V of a key-value head: (d_head, d)."""
    m = plan.mapping
    if m.fused:
        group = plan.heads // plan.key_value_heads
        if m.order == "heads":  # queries of a group, then its key and its value
            first = (number // group if key == "query" else number) * (group + 2)
            number = first + {"query": number % group, "key": group, "value": group + 1}[key]
        else:
            number += {"query": 0, "key": plan.heads, "value": plan.heads + plan.key_value_heads}[key]
    at = slice(number * plan.head_dim, (number + 1) * plan.head_dim)
    name = plan.tensor(plan.layers[i], "fused" if m.fused else key)
    return weights.part(name, columns=at).T if m.transposed else weights.part(name, rows=at)


def products(factors: Factors, layer: int, head: int) -> tuple[Array, float, float]:
    """The small product, beta and the root mean square score, which must be finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # weights of 1e300 overflow, which is refused below
        small, (beta, rms_score) = factors.small(), factors.scores()
    if not (np.isfinite(beta) and np.isfinite(rms_score) and np.isfinite(small).all()):
        raise InputError(
            f"Head {head} of layer {layer} must have finite products, but they overflow. The weights are"
            " damaged; get the model again."
        )
    return small, beta, rms_score


def head_spectrum(small: Array) -> HeadSpectrum:
    """The spectrum of a small product, by its atlas."""
    if not np.isfinite(small).all():
        raise InputError(
            "The product W_V W_O must be finite, but overflows. The weights are damaged; get the model again."
        )
    try:
        found = atlas(small)
    except InputError:  # rounding mixes the dominant eigenvalue with others; all are still worth having
        values = np.linalg.eigvals(small).astype(np.complex128)
        values = values[np.lexsort((-values.imag, -values.real))]
        return HeadSpectrum(
            values, float(values[0].real), "unclear", 0, None, float((values.real < 0.0).mean())
        )
    left = float((found.eigenvalues.real < 0.0).mean())
    return HeadSpectrum(found.eigenvalues, found.lambda_max, found.kind, found.algebraic, found.row, left)


def full_row(spectrum: HeadSpectrum, d: int) -> tuple[float, int | None]:
    """lambda_max and the row of Table 1 of V itself (d x d), which has the eigenvalue 0 as well unless d_head
    = d."""
    if len(spectrum.eigenvalues) == d:
        return spectrum.lambda_max, spectrum.row
    if spectrum.lambda_max <= 0.0:
        return 0.0, None
    return spectrum.lambda_max, row_of(d, spectrum.kind, 1, spectrum.multiplicity)[0]
