"""Pull: a center is replaced by another word, and the text is run again.

Everything in front of it stays as it was, to the bit; tokens behind it see another word in its place.  With x
the directions of the text, y those of the changed one, both at one layer,

    pull(k) = <x_k, x_c> - <y_k, x_c>,    k behind c:

how much farther k is from where c was once c is gone.  The followers of c, whose nearest center it was, are
held against all other later tokens that are no centers themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.capture import CaptureDesign

__all__ = ["Replacement", "choose_replacements", "pulls"]

Indices = NDArray[np.int64]
FEWEST_FOLLOWERS = 2


@dataclass(frozen=True)
class Replacement:
    """In which text which center is replaced by which token, and who follows it."""

    text: int
    center: int
    by: int  # a number of the vocabulary
    followers: tuple[int, ...]
    others: tuple[int, ...]


def choose_replacements(
    design: CaptureDesign, ids: Indices, words: Indices, most: int, seed: int
) -> list[Replacement]:
    """At most `most` centers of every text that have two followers or more, drawn at random, each to be
    replaced by a token of another text with a word that its text does not have."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    found = []
    for t in range(len(ids)):
        of_text = design.text == t
        token, own = design.token[of_text], design.candidates[of_text, 0]
        good = [c for c in np.unique(own).tolist() if (own == c).sum() >= FEWEST_FOLLOWERS]
        for c in sorted(rng.permutation(good)[:most].tolist()) if good else []:
            elsewhere = ~np.isin(words, words[t])  # (texts, n)
            elsewhere[t] = False
            if not elsewhere.any():  # few words in all: any other word will do
                elsewhere = words != words[t, c]
            by = int(rng.choice(ids[elsewhere]))
            follow = token[own == c]
            rest = token[(own != c) & (token > c) & (words[t, token] != words[t, c])]
            if len(rest):
                found.append(Replacement(t, c, by, tuple(follow.tolist()), tuple(rest.tolist())))
    return found


def pulls(
    run: Callable[[Indices], Any], ids: Indices, x: Array, chosen: list[Replacement], layers: Indices
) -> tuple[Array, Array, Array]:
    """The mean pull over followers and over the others of every replacement, (replacements, layers) each, and
    their texts' means of the difference, (texts, layers).

    run     ids (n,) -> the states (L + 1, n, d)
    x       (texts, L + 1, n, d) directions of the texts as they are
    layers  numbers of frames to look at, 0 to L
    """
    follow, rest = np.full((2, len(chosen), len(layers)), np.nan)
    for i, one in enumerate(chosen):
        changed = ids[one.text].copy()
        changed[one.center] = one.by
        states = np.asarray(run(changed))[layers]  # (layers, n, d)
        y = states / np.linalg.norm(states, axis=-1, keepdims=True)
        before = x[one.text][layers]  # (layers, n, d)
        c = before[:, one.center]  # (layers, d)
        pull = ((before - y) * c[:, None]).sum(-1)  # (layers, n)
        follow[i], rest[i] = pull[:, list(one.followers)].mean(-1), pull[:, list(one.others)].mean(-1)
    text = np.array([one.text for one in chosen], dtype=np.int64)
    by_text = np.full((len(ids), len(layers)), np.nan)
    for t in np.unique(text).tolist():
        by_text[t] = (follow - rest)[text == t].mean(0)
    return follow, rest, by_text
