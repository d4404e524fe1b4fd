"""Texts of directions over depth, made so that capture is true of them or only seems so."""

import numpy as np
from numpy.typing import NDArray

import nucleate as nc
from nucleate.checks import Array
from nucleate.sphere import retract

TEXTS, TOKENS, WORDS, D = 8, 96, 60, 6


def vocabulary(seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """A start (texts, n, d) and the words (texts, n): every word has one direction, in all texts."""
    rng = np.random.default_rng(seed)
    known = retract(rng.standard_normal((WORDS, D)))  # (words, d)
    words = rng.integers(0, WORDS, (TEXTS, TOKENS))  # (texts, n)
    return known[words], words


def captured(x0: Array) -> Array:
    """The end under causal attention of ours, at a time when there are clusters: (texts, n, d)."""
    return nc.simulate(nc.Attention(beta=12.0), x0, t=30.0, save=2, method="rk4", dt=0.5).x[:, -1]


def remembered(x0: Array, seed: int = 1) -> Array:
    """Every token wanders by itself and keeps some of its direction: nobody sees anybody."""
    rng = np.random.default_rng(seed)
    return retract(x0 + 0.25 * rng.standard_normal(x0.shape))


def repeated(x0: Array, words: NDArray[np.int64], seed: int = 2) -> Array:
    """Tokens of one word end together, somewhere that only word and text decide."""
    rng = np.random.default_rng(seed)
    places = retract(rng.standard_normal((TEXTS, WORDS, D)))  # (texts, words, d)
    return places[np.arange(TEXTS)[:, None], words]  # (texts, n, d)


def drawn_to_the_first(x0: Array, share: float = 0.8, seed: int = 3) -> Array:
    """All tokens are pulled to the first one of their text, and to nothing else."""
    rng = np.random.default_rng(seed)
    return retract((1.0 - share) * (x0 + 0.25 * rng.standard_normal(x0.shape)) + share * x0[:, :1])


def one_topic(x0: Array, seed: int = 4) -> Array:
    """Every text has a direction of its own, to which all its tokens turn."""
    rng = np.random.default_rng(seed)
    topic = retract(rng.standard_normal((TEXTS, 1, D)))
    return retract(x0 + 0.25 * rng.standard_normal(x0.shape) + topic)
