"""Centers of a text in three frames: what attention reads, a head's own scores, and the dominant eigenspace
of a head's value matrix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.score_centers import parked, score_centers

if TYPE_CHECKING:
    from nucleate.models.forward import LayerWeights

__all__ = [
    "FrameCenters",
    "center_words",
    "dominant_eigenspace",
    "eigenspace_centers",
    "gain_centers",
    "head_centers",
]

SCORE_REACH = 1.0  # a weight at least 1/e of the largest is near


@dataclass(frozen=True, eq=False)
class FrameCenters:
    """Renyi and strong centers of n tokens in one frame."""

    renyi: NDArray[np.bool_]  # (..., n)
    strong: NDArray[np.bool_]  # (..., n)
    kept: Array  # (...) share of the tokens' squared length that the frame keeps

    def words(self, words: Sequence[str]) -> list[str]:
        """The words of the Renyi centers of one text, (n,)."""
        return center_words(self.renyi, words)


def center_words(mask: NDArray[np.bool_], words: Sequence[str]) -> list[str]:
    """The words that a mask (n,) marks, in their order."""
    return [word for word, marked in zip(words, mask.tolist(), strict=True) if marked]


def gain_centers(normed: Array, delta: float) -> FrameCenters:
    """In the directions of what attention reads, normed (..., n, d): normalised, gain included."""
    y = normed / np.linalg.norm(normed, axis=-1, keepdims=True)
    return _angular(y, delta, np.ones(normed.shape[:-2]))


def head_centers(weights: Array, reach: float = SCORE_REACH, first: bool = True) -> FrameCenters:
    """In the scores of heads, of their attention weights (..., n, n), whose logarithms are the scores up to a
    shift of each row; first=False as in `score_distance`."""
    with np.errstate(divide="ignore"):  # what is not seen has the score -inf
        scores = np.log(weights)
    return FrameCenters(
        score_centers(scores, reach, False, first),
        score_centers(scores, reach, True, first),
        np.ones(weights.shape[:-2]),
    )


def dominant_eigenspace(layer: "LayerWeights", head: int) -> Array:
    """An orthonormal basis (d, 1) or (d, 2) of the real eigenspace of V = O_h V_h diag(gamma) C for its
    eigenvalue of largest real part: a line if that is real, a plane if it is one of a pair."""
    from nucleate.models.heads import fold

    norm, out = layer.before_attention, np.asarray(layer.o[head], dtype=np.float64)  # (d, d_head)
    shared = len(layer.o) // len(layer.v)
    W = np.asarray(layer.v[head // shared], dtype=np.float64)  # (d_head, d)
    W = W if norm is None else fold(W, np.asarray(norm.gain, dtype=np.float64), norm.centred)
    values, vectors = np.linalg.eig(W @ out)  # of the small product: those of V are O times these
    top = int(values.real.argmax())
    u = out @ vectors[:, top]  # (d,)
    pair = abs(values[top].imag) > 1e-12 * np.abs(values).max()
    columns = np.stack([u.real, u.imag], 1) if pair else u.real[:, None]
    return np.asarray(np.linalg.qr(columns)[0])


def eigenspace_centers(x: Array, basis: Array, delta: float) -> FrameCenters:
    """In the directions of the projections of x (..., n, d) onto the columns of basis (d, 1 or 2); a line has
    two directions, so that it has two centers at most."""
    y = x @ basis  # (..., n, 1 or 2)
    length = np.linalg.norm(y, axis=-1, keepdims=True)
    kept = (length[..., 0] ** 2).mean(-1) / (np.linalg.norm(x, axis=-1) ** 2).mean(-1)
    return _angular(y / np.maximum(length, 1e-300), delta, kept)


def _angular(y: Array, delta: float, kept: Array) -> FrameCenters:
    """Of unit vectors y (..., n, r), one layer or text at a time."""
    flat = y.reshape(-1, *y.shape[-2:])  # (b, n, r)
    near = [one @ one.T >= np.cos(delta) for one in flat]
    renyi, strong = (np.array([parked(one, kind) for one in near]) for kind in (False, True))
    return FrameCenters(renyi.reshape(y.shape[:-1]), strong.reshape(y.shape[:-1]), np.asarray(kept))
