"""Controls: the same model on changed texts, or changed weights on the same texts.

Every control keeps some of what the run has and destroys the rest; what survives is not due to what was
destroyed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, whole_number

if TYPE_CHECKING:
    from nucleate.models.forward import LayerWeights

__all__ = [
    "CONTROLS",
    "Control",
    "block_shuffle",
    "full_shuffle",
    "norm_matched",
    "random_weights",
    "without_repeats",
]

Ids = NDArray[np.int64]
MATRICES = ("q", "k", "v", "o", "up", "down", "gate")  # fields of LayerWeights that are drawn


@dataclass(frozen=True)
class Control:
    """One control: what it is called, what it keeps and destroys, and what is changed."""

    key: str
    keeps: str
    destroys: str
    text: Literal["as it is", "shuffled", "repeats out"] = "as it is"
    weights: Literal["trained", "one draw", "a draw per layer"] = "trained"
    without_mlp: bool = False


CONTROLS: Mapping[str, Control] = {
    one.key: one
    for one in (
        Control("text", "all", "nothing"),
        Control("shuffled", "the tokens of the text", "their order", text="shuffled"),
        Control(
            "repeats out",
            "the first occurrence of every word",
            "all later ones, which are taken out of the text",
            text="repeats out",
        ),
        Control(
            "random weights",
            "embedding, gains, biases, the Frobenius norm of every matrix",
            "what was trained; all layers have the same draw",
            weights="one draw",
        ),
        Control(
            "re-drawn weights",
            "the same",
            "the same; every layer has a draw of its own",
            weights="a draw per layer",
        ),
        Control("without MLP", "attention", "what the MLPs add", without_mlp=True),
    )
}


def block_shuffle(ids: Ids, S: int, seed: int, kept: int = 0) -> Ids:
    """ids (n,) cut into 4^S blocks of equal length, and the blocks in random order (arXiv 2501.10573); S = 0
    changes nothing, 4^S >= n permutes all tokens.

    kept   tokens at the start that stay where they are, such as a mark that begins every text
    """
    S = whole_number("S", S, least=0, help="The text is cut into 4^S blocks.")
    if S == 0:
        return ids.copy()
    rest = ids[kept:]  # (n - kept,)
    blocks = np.array_split(rest, min(4**S, len(rest)))
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(S,))).permutation(len(blocks))
    return np.concatenate([ids[:kept], *(blocks[i] for i in order)])


def full_shuffle(n: int) -> int:
    """The smallest S for which 4^S blocks are single tokens of a text of n."""
    S = 0
    while 4**S < n:
        S += 1
    return S


def without_repeats(ids: Ids, words: Ids) -> tuple[Ids, Ids]:
    """ids (n,) of which only the first token of every word is left, and its words; words (n,) are numbers
    that are equal where the words are."""
    if ids.shape != words.shape:
        raise InputError(f"ids and words must be alike, but have shapes {ids.shape} and {words.shape}.")
    first = np.sort(np.unique(words, return_index=True)[1])
    return ids[first], words[first]


def norm_matched(layer: "LayerWeights", seed: np.random.SeedSequence) -> "LayerWeights":
    """Gaussian matrices in place of trained ones, each with the Frobenius norm of the one it replaces; gains
    and biases stay."""
    streams = dict(zip(MATRICES, seed.spawn(len(MATRICES)), strict=True))
    drawn: dict[str, Any] = {}
    for field in fields(layer):
        trained = getattr(layer, field.name)
        if field.name in streams and trained is not None:
            G = np.random.default_rng(streams[field.name]).standard_normal(trained.shape)
            drawn[field.name] = (G * (np.linalg.norm(trained) / np.linalg.norm(G))).astype(trained.dtype)
    return replace(layer, **drawn)


def random_weights(control: Control, seed: int) -> "Callable[[int, LayerWeights], LayerWeights] | None":
    """What is to be done to the weights of each layer; None: nothing."""
    if control.weights == "trained":
        return None

    def change(i: int, layer: "LayerWeights") -> "LayerWeights":
        key = (0,) if control.weights == "one draw" else (1, i)
        return norm_matched(layer, np.random.SeedSequence(seed, spawn_key=key))

    return change
