"""Energies, for Q = K = V = I: one per token under the causal mask, one for all under the full mask.

Lemma 5.3 (paper, d = 2; with the factor 1/beta that the print lacks): causal attention is a sequential
gradient flow,

    phi_k' = -(1/Z_k) dE_k/dphi_k,   E_k = -(1/beta) ( sum_{j<k} e^{beta(cos(phi_k - phi_j) - 1)} + sum_j a_j
                                     e^{beta(cos(phi_k - theta_j) - 1)} ),

theta_j and a_j the frozen tokens and their weights.  In any dimension the cosine is <x_k, x_j>, and x_k' =
-(1/Z_k) P_{x_k} grad E_k; E_k has no self term, whose gradient is normal to the sphere.  There is no single
energy: E_k falls only as long as earlier tokens stand still.

Full attention raises one energy, here normalised as (1/n^2) sum_{i,j} e^{beta(<x_i, x_j> - 1)}, which lies in
(0, 1], and is 1 when all tokens are one.  (Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv 2312.10794, have
the same sum with e^{beta <x_i, x_j>} / (2 beta).)
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.attention import Attention, Window, check_model
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.integrate.family import name_of
from nucleate.layers import Layers
from nucleate.observe.inputs import check_frames

__all__ = ["interaction_energy", "token_energies"]

WEIGHTS_AT_ONCE = 2**22  # held in memory


def token_energies(model: Attention, x: ArrayLike) -> Array:
    """The energy E_k that each token descends: x (..., n, d) -> (..., n); NaN for frames never reached.

    E_k = -(1/beta) sum over the other tokens that k sees of e^{beta(<x_k, x_j> - 1)}, frozen ones included.
    A model with a run axis of b needs tokens (b, n, d) or (b, m, n, d).
    """
    x, there = _tokens(model, x)
    if (model.beta == 0).any():
        raise InputError(
            "beta must be above 0 for token_energies, but is 0. The energy is a sum divided by beta."
        )
    energy = np.full(x.shape[:-1], np.nan)
    for at, beta, frozen, weight in _each_frame(model, there, x.shape[-1]):
        tokens = x[at]  # (n, d)
        for rows in _rows(len(tokens)):
            # (rows, n)
            w = np.where(_others(model, rows, len(tokens)), _weights(tokens[rows], tokens, beta), 0.0)
            energy[at][rows] = -(w.sum(-1) + _weights(tokens[rows], frozen, beta) @ weight) / beta
    return energy


def interaction_energy(model: Attention, x: ArrayLike) -> Array:
    """The energy that full attention never lowers: x (..., n, d) -> (...), whatever the mask.

    (1/n^2) sum over i, j of e^{beta(<x_i, x_j> - 1)}.
    """
    x, there = _tokens(model, x)
    if model.frozen is not None:
        raise InputError(
            "interaction_energy has no place for frozen tokens, but the model has some. Leave them out."
        )
    energy = np.full(x.shape[:-2], np.nan)
    for at, beta, _, _ in _each_frame(model, there, x.shape[-1]):
        tokens = x[at]  # (n, d)
        energy[at] = (
            sum(float(_weights(tokens[rows], tokens, beta).sum()) for rows in _rows(len(tokens)))
            / len(tokens) ** 2
        )
    return energy


def _weights(x: Array, y: Array, beta: float) -> Array:
    """e^{beta(<x, y> - 1)}: x (rows, d), y (m, d) -> (rows, m)."""
    with np.errstate(under="ignore"):  # a weight of e^-800 is zero
        return np.exp(beta * (x @ y.T - 1.0))


def _others(model: Attention, rows: slice, n: int) -> NDArray[np.bool_]:
    """Which other tokens those of `rows` see; (rows, n)."""
    k, j = np.arange(n)[rows, None], np.arange(n)[None, :]
    if model.mask == "full":
        return j != k
    return (j < k) & (j > k - model.mask.w) if isinstance(model.mask, Window) else j < k


def _rows(n: int) -> Iterator[slice]:
    size = max(1, WEIGHTS_AT_ONCE // n)
    return (slice(begin, begin + size) for begin in range(0, n, size))


def _each_frame(
    model: Attention, there: NDArray[np.bool_], d: int
) -> Iterator[tuple[tuple[int, ...], float, Array, Array]]:
    """Every frame that is there: its place, and beta and the frozen tokens of its run."""
    for at in map(tuple, np.argwhere(there)):
        run = int(at[0]) if model.runs is not None else 0
        beta = float(model.beta[run]) if model.beta.ndim else float(model.beta)
        if model.frozen is None:
            yield at, beta, np.empty((0, d)), np.empty(0)
        else:
            several = model.frozen.x.ndim == 3
            yield (
                at,
                beta,
                model.frozen.x[run] if several else model.frozen.x,
                model.frozen.weight[run] if several else model.frozen.weight,
            )


def _tokens(model: Attention, x: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """x checked, and which frames it holds, (...); the model must be one for which there are energies."""
    x, there = check_frames(x)
    d = x.shape[-1]
    _check_model(model)
    for name in ("Q", "K", "V"):
        M = getattr(model, name)
        if M is not None and not (M.shape[-1] == d and (np.eye(d) == M).all()):
            raise InputError(
                f"{name} must be the identity, but is not. Energies are known for Q = K = V = I: leave the"
                " matrices out."
            )
    if model.frozen is not None and model.frozen.x.shape[-1] != d:
        raise InputError(
            f"frozen.x has dimension {model.frozen.x.shape[-1]}, but x has shape {x.shape}. Both must have"
            " the same last axis."
        )
    if model.runs is not None and (x.ndim < 3 or x.shape[0] != model.runs):
        raise InputError(
            f"The model has parameters for {model.runs} runs, but x has shape {x.shape}. Give both the same"
            " leading axis."
        )
    return x, there


def _check_model(model: object) -> None:
    """Refuse models without an energy; under "softmax" and "exponential" weights it is the same."""
    if isinstance(model, Block | Layers):
        raise InputError(
            f"Energies are known for one head, but the model is {name_of(model)}. Give a head of it, such as"
            " block.heads[0], if that is what you mean."
        )
    head = check_model(model)
    if head.weights == "hardmax" or head.position is not None:
        raise InputError(
            "Energies are known for softmax and exponential weights without positions, but the model is"
            f" {name_of(head)}. Leave weights and position out."
        )
