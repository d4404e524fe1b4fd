"""The matrices of one head, with the normalisation in front folded in, and what their spectrum says.

A token is a unit vector x.  The normalisation in front makes sqrt(d) diag(g) C x of it, with the gain g and,
for LayerNorm, the centring C = I - 1 1^T / d (C = I for RMSNorm).  Scores are x^T A y with A = d s C diag(g)
W_Q^T W_K diag(g) C, s = 1 / sqrt(d_head); beta = |A|_2. The value matrix is V = W_O W_V diag(g) C, d x d and
of rank d_head: its non-zero eigenvalues, with their Jordan blocks, are those of the small product W_V diag(g)
C W_O (paper, Appendix B.3).  No d x d matrix is made here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.models.plan import Plan
from nucleate.models.weights import Weights
from nucleate.theory.atlas import atlas
from nucleate.theory.table import row_of

__all__ = ["Factors", "HeadSpectrum", "fold", "full_row", "head_spectrum", "products", "read_factors"]

RELATIVE_ZERO = 1e-12  # of the largest modulus: a real part this small is 0


@dataclass(frozen=True, eq=False)
class Factors:
    """One head: A = scale Q^T K, V = O V, with the normalisation folded in."""

    Q: Array  # (d_head, d) W_Q diag(g) C
    K: Array  # (d_head, d) W_K diag(g) C
    V: Array  # (d_head, d) W_V diag(g) C
    O: Array  # (d, d_head) W_O  # noqa: E741
    scale: float  # d s

    def beta(self) -> float:
        """|A|_2, from the triangular factors of Q^T and K^T."""
        R, S = (np.asarray(np.linalg.qr(M.T, mode="r")) for M in (self.Q, self.K))  # (d_head, d_head)
        return self.scale * float(np.linalg.norm(R @ S.T, 2))

    def small(self) -> Array:
        """The product (d_head, d_head) that has the non-zero eigenvalues of V."""
        return self.V @ self.O


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
    """W diag(g) C: the weights (d_head, d) as they act on a token that was not normalised yet."""
    W = W if gain is None else W * gain  # (d_head, d)
    return W - W.mean(axis=1, keepdims=True) if centred else W


def read_factors(weights: Weights, plan: Plan, i: int, head: int) -> Factors:
    """Head number `head` of the i-th layer."""
    layer, m, width = plan.layers[i], plan.mapping, plan.head_dim
    # the key-value head that this one shares with others
    shared = head // (plan.heads // plan.key_value_heads)
    # (d,)
    gain = None if (name := plan.gain(i)) is None else weights.part(name) + (1.0 if m.gain == "1+w" else 0.0)

    def rows(key: str, number: int) -> Array:
        at = slice(number * width, (number + 1) * width)
        name = plan.tensor(layer, key)
        # (d_head, d)
        return weights.part(name, columns=at).T if m.transposed else weights.part(name, rows=at)

    if m.order == "heads":
        group = plan.heads // plan.key_value_heads
        first = shared * (group + 2)  # queries of a group, then its key and its value
        places = (first + head % group, first + group, first + group + 1)
    else:
        places = (head, plan.heads + shared, plan.heads + plan.key_value_heads + shared)
    Q, K, V = (
        (rows("fused", at) for at in places)
        if m.fused
        else (rows("query", head), rows("key", shared), rows("value", shared))
    )
    at = slice(head * width, (head + 1) * width)
    out = plan.tensor(layer, "output")
    O = weights.part(out, rows=at).T if m.transposed else weights.part(out, columns=at)  # noqa: E741  # (d, d_head)
    scale, centred = plan.d * plan.scale / (i + 1 if plan.by_layer else 1), plan.centred(i)
    turned = np.where(np.arange(width) < plan.rotated, plan.rope_factors[i], 1.0)[:, None]  # (d_head, 1)
    return Factors(
        turned * fold(Q, gain, centred), turned * fold(K, gain, centred), fold(V, gain, centred), O, scale
    )


def products(factors: Factors, layer: int, head: int) -> tuple[Array, float]:
    """The small product and beta, which must be finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # weights of 1e300 overflow, which is refused below
        small, beta = factors.small(), factors.beta()
    if not (np.isfinite(beta) and np.isfinite(small).all()):
        raise InputError(
            f"Head {head} of layer {layer} must have finite products, but they overflow. The weights are"
            " damaged; get the model again."
        )
    return small, beta


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
