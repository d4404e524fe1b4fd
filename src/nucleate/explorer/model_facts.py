"""What the page is told of a model: its heads, the spectrum of V, and why a view cannot serve it."""

from typing import Any

import numpy as np

from nucleate.attention import Attention, Window
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.explorer.predicted_end import dominant_space
from nucleate.integrate.family import as_blocks, is_ordinary
from nucleate.integrate.run import described
from nucleate.layers import Layers, Model
from nucleate.positions import ALiBi, RoPE
from nucleate.theory.atlas import atlas
from nucleate.theory.table import OTHER_MODEL, other_model

__all__ = ["first_head", "largest_beta", "model_facts"]

MAX_TOLD_NUMBERS = 200_000  # of matrices of heads
CONJECTURE_1_ROW = 3  # of Table 1
DOUBT = (
    "It is false for some Q, K and V, where tokens come to rest elsewhere, and proved only for symmetric V"
    " with KᵀQ = cI, c ≥ 0, which these are not"
)
NO_HEAD = Attention(0.0, mask="full")  # stands for none: every token weighs the same


def model_facts(model: Model, n: int, d: int) -> dict[str, Any]:
    """The first head written out, all heads where there is more than one softmax head, the spectrum of V with
    what Table 1 says of n tokens under it, and by view why it is not shown."""
    head = first_head(model)
    _, Q, K, V = head.parameters(d)
    ordinary = is_ordinary(model)
    missing = {} if ordinary else _missing(model, d)
    spectrum = None
    if "spectrum" not in missing:
        try:
            spectrum = _spectrum(Q, K, V) | _outside_table(model, n)
        except InputError:  # of a trained head, say
            missing["spectrum"] = "Rounding mixes the dominant eigenvalue of V with others."
    return {
        "beta": float(head.beta.reshape(-1)[0]),
        "Q": Q.tolist(),
        "K": K.tolist(),
        "V": V.tolist(),
        "mask": _mask(head),
        "frozen": (
            None
            if head.frozen is None
            else {"x": head.frozen.x.tolist(), "weight": head.frozen.weight.tolist()}
        ),
        "model": _words(model),
        "lengths": _all_blocks(model)[0].has_radius,
        "layer_dt": model.dt if isinstance(model, Layers) else None,
        "blocks": None if ordinary or "attention" in missing else _blocks(model),
        "spectrum": spectrum,
        "missing": missing,
    }


def first_head(model: Model) -> Attention:
    """The head whose beta, matrices and mask stand for those of the model."""
    heads = _all_blocks(model)[0].heads
    return heads[0] if heads else NO_HEAD


def largest_beta(model: Model) -> float:
    """The sharpest of all heads."""
    return max((float(head.beta) for block in _all_blocks(model) for head in block.heads), default=0.0)


def _words(model: Model) -> str:
    return described(model).replace("beta", "β")


def _all_blocks(model: Model) -> tuple[Block, ...]:
    blocks = as_blocks(model)
    return blocks.blocks if isinstance(blocks, Layers) else (blocks,)


def _missing(model: Model, d: int) -> dict[str, str]:
    """By view, why it cannot serve a model that is more than one softmax head."""
    blocks = _all_blocks(model)
    heads = [head for block in blocks for head in block.heads]
    missing = {
        "consumption": f"The theory of centers is about one softmax head; this run has {_words(model)}."
    }
    if not heads:
        return missing | dict.fromkeys(("attention", "spectrum"), "This model has no head, only an MLP.")
    if any(not _same(head.V, heads[0].V) for head in heads):
        whose = "layer" if len(blocks) > 1 else "head"
        missing["spectrum"] = f"Each {whose} has a V of its own, so that there is no one spectrum."
    if _told(blocks, d) > MAX_TOLD_NUMBERS:
        missing["attention"] = (
            f"The {len(heads):,} heads of {len(blocks):,} layers have too many numbers for the page."
        )
    return missing


def _same(A: Array | None, B: Array | None) -> bool:
    return A is B or (A is not None and B is not None and np.array_equal(A, B))


def _told(blocks: tuple[Block, ...], d: int) -> int:
    each = {id(block): len(block.heads) for block in blocks}  # layers may share one
    return sum(each.values()) * 2 * d * d


def _blocks(model: Model) -> list[list[dict[str, Any]]]:
    """The heads of every layer; of a layer that is there many times, once."""
    blocks = _all_blocks(model)
    shared = all(block is blocks[0] for block in blocks)
    return [[_head(head) for head in block.heads] for block in (blocks[:1] if shared else blocks)]


def _head(head: Attention) -> dict[str, Any]:
    return {
        "beta": float(head.beta),
        "Q": None if head.Q is None else head.Q.tolist(),
        "K": None if head.K is None else head.K.tolist(),
        "mask": _mask(head),
        "weights": head.weights,
        "alibi": head.position.slope if isinstance(head.position, ALiBi) else None,
        "rope": head.position.base if isinstance(head.position, RoPE) else None,
    }


def _mask(head: Attention) -> Any:
    return {"window": head.mask.w} if isinstance(head.mask, Window) else head.mask


def _spectrum(Q: Array, K: Array, V: Array) -> dict[str, Any]:
    known = atlas(V)
    return {
        "eigenvalues": [[float(z.real), float(z.imag)] for z in known.eigenvalues],
        "lambda_max": [known.lambda_max, float(known.dominant[0].imag)],
        "row": known.row,
        "name": f"row {known.row} of Table 1" if known.row else "outside Table 1",
        "verdict": known.final,
        "status": known.status,
        "why": known.why,
        "rate": known.rate,
        "kind": known.kind,
        "doubt": DOUBT if known.row == CONJECTURE_1_ROW and not _proved(Q, K, V) else None,
        "L": dominant_space(known),
        "within_conjecture": known.within_conjecture,
    }


def _proved(Q: Array, K: Array, V: Array) -> bool:
    """Whether row 3 of Table 1, Conjecture 1, holds for these: it is proved for symmetric V and KᵀQ = cI,
    c >= 0, and false in general (docs/conjectures.md)."""
    A = K.T @ Q  # (d, d)
    c, small = float(A[0, 0]), 1e-9 * max(float(np.abs(V).max()), float(np.abs(A).max()))
    plain = c >= 0.0 and np.allclose(A, c * np.eye(len(A)), rtol=0.0, atol=small)
    return plain and np.allclose(V, V.T, rtol=0.0, atol=small)


def _outside_table(model: Model, n: int) -> dict[str, Any]:
    """What replaces the verdict of V where Table 1 is not about the model."""
    why = other_model(model, n) if isinstance(model, Attention) else f"here the model has {_words(model)}"
    if why is None:
        return {}
    return {
        "row": None,
        "name": "outside Table 1",
        "verdict": OTHER_MODEL,
        "status": "outside the table",
        "why": why,
        "rate": "",
        "doubt": None,
    }
