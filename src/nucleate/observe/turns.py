"""Who turns a token: how much of the change of its direction in one layer is attention's, and how much the
MLP's; and how well one field of vectors predicts another.

From a state h to h', both of the residual stream, the direction x = h/|h| turns towards

    t = P_x h',   P_x y = y - <x, y> x;

of that, <a, t>/<t, t> is the share of attention's part a, <m, t>/<t, t> that of the MLP's part m.

Where h' = h + a + m (a pre-norm model) they add up to 1; elsewhere the rest is what normalisation does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array
from nucleate.sphere import tangent

__all__ = ["FieldAgreement", "TurnShares", "field_agreement", "turn_shares"]


@dataclass(frozen=True, eq=False)
class TurnShares:
    """Of every token's turn in every layer; a token that does not turn has NaN shares."""

    angle: Array  # (..., n) between the directions before and after
    attention: Array  # (..., n) share of the turn
    mlp: Array  # (..., n)

    @property
    def rest(self) -> Array:
        """What neither did, (..., n)."""
        return np.asarray(1.0 - self.attention - self.mlp)

    def of_layer(self, first: bool = True) -> tuple[Array, Array]:
        """The shares of attention and of the MLP in the turns of all tokens together, weighted by their
        angles: (...) each."""
        keep = slice(None if first else 1, None)
        angle = self.angle[..., keep]  # (..., n)
        total = angle.sum(-1)
        return (
            np.asarray(np.nansum(angle * self.attention[..., keep], -1) / total),
            np.asarray(np.nansum(angle * self.mlp[..., keep], -1) / total),
        )


def turn_shares(before: ArrayLike, attention: ArrayLike, mlp: ArrayLike, after: ArrayLike) -> TurnShares:
    """From the states before and after a layer and the two parts, (..., n, d) each, such as states[:-1],
    attention, mlp and states[1:] of (L, n, d)."""
    h, a, m, after = _alike(before=before, attention=attention, mlp=mlp, after=after)
    x = h / np.linalg.norm(h, axis=-1, keepdims=True)  # (..., n, d)
    t = tangent(x, after)  # (..., n, d)
    square = (t * t).sum(-1)  # (..., n)
    length = np.linalg.norm(after, axis=-1)  # (..., n)
    angle = np.arctan2(np.sqrt(square), (x * after).sum(-1))  # (..., n)
    turns = square > (1e-12 * length) ** 2
    shares = [
        np.divide((part * t).sum(-1), square, out=np.full_like(square, np.nan), where=turns)  # (..., n)
        for part in (a, m)
    ]
    return TurnShares(np.asarray(angle), shares[0], shares[1])


@dataclass(frozen=True, eq=False)
class FieldAgreement:
    """How well predicted vectors p give measured ones m, tokens (..., n) together."""

    cosine: Array  # (..., n) of each token's two vectors
    slope: Array  # (...) s that makes sum |m - s p|^2 least
    r_squared: Array  # (...) 1 - sum |m - s p|^2 / sum |m|^2: 1 is perfect, 0 is of no use


def field_agreement(predicted: ArrayLike, measured: ArrayLike) -> FieldAgreement:
    """Of vectors (..., n, d) each; tokens with a vector of length 0 have the cosine NaN."""
    p, m = _alike(predicted=predicted, measured=measured)
    pp, mm, pm = (p * p).sum(-1), (m * m).sum(-1), (p * m).sum(-1)  # (..., n)
    size = np.sqrt(pp) * np.sqrt(mm)
    cosine = np.divide(pm, size, out=np.full_like(pm, np.nan), where=size > 0.0)
    P, M, PM = pp.sum(-1), mm.sum(-1), pm.sum(-1)  # (...)
    nan = np.full_like(PM, np.nan)
    slope = np.divide(PM, P, out=nan.copy(), where=P > 0.0)
    r_squared = np.divide(PM * PM, P * M, out=nan.copy(), where=(P > 0.0) & (M > 0.0))
    return FieldAgreement(cosine, slope, r_squared)


def _alike(**given: ArrayLike) -> list[Array]:
    arrays = {name: finite_array(name, value) for name, value in given.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or min(map(len, shapes)) < 2:
        told = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"{told}: all must have one shape (..., n, d). Pass the same layers and tokens.")
    return list(arrays.values())
