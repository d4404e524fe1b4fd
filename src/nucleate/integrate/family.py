"""Which model is which: one softmax head without positions has solvers and instruments that others lack."""

from typing import Any

from numpy.typing import ArrayLike

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.integrate.checkpoint import Checkpoint
from nucleate.layers import Layers, Model
from nucleate.positions import ALiBi

__all__ = ["as_blocks", "is_ordinary", "name_of", "one_run", "softmax_head"]


def is_ordinary(model: Model) -> bool:
    """Whether a model is one softmax head without positions: (CSA), or its like under another mask."""
    return isinstance(model, Attention) and model.weights == "softmax" and not _has_position(model)


def as_blocks(model: Model) -> Block | Layers:
    """A head as the block of nothing but that head."""
    if isinstance(model, Checkpoint):
        raise InputError(
            f"A model of ours is needed, but the run holds hidden states of {model.name}, which has no one"
            " beta. Give a radius where one is asked for."
        )
    return Block(model) if isinstance(model, Attention) else model


def softmax_head(model: Any, what: str, help: str) -> Attention:
    """`model`, which must be ordinary, for `what` knows no other; or the head that a block consists of."""
    if isinstance(model, Block):
        model = model.alone or model
    if isinstance(model, Attention) and is_ordinary(model):
        return model
    if isinstance(model, Checkpoint):
        raise InputError(
            f"{what} for one softmax head of ours, but the run holds hidden states of {model.name}. {help}"
        )
    if not isinstance(model, Attention | Block | Layers):
        raise InputError(f"model must be an Attention, but is {type(model).__name__}. {help}")
    raise InputError(
        f"{what} for one softmax head without positions, but the model is {name_of(model)}. {help}"
    )


def one_run(model: Attention, x: ArrayLike, who: str) -> Array:
    """The tokens x (n, d), checked, of a model of one run: `who` takes no others."""
    tokens = model.check(x)
    if tokens.ndim == 3 or model.runs is not None:
        given = len(tokens) if tokens.ndim == 3 else model.runs
        raise InputError(f"{who} takes one run, but was given {given}. Call it once for each.")
    return tokens


def name_of(model: Model) -> str:
    """What a model is, in an error: "a Block", "an Attention with exponential weights"."""
    if not isinstance(model, Attention):
        return "a Block" if isinstance(model, Block) else "Layers"
    kinds = [f"{model.weights} weights"] if model.weights != "softmax" else []
    kinds += [type(model.position).__name__] if _has_position(model) else []
    return " with ".join(["an Attention", " and ".join(kinds)]) if kinds else "an Attention"


def _has_position(model: Attention) -> bool:
    return model.position is not None and model.position != ALiBi(0.0)
