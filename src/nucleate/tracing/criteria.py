"""What is asked of the tokens of a real model, and by which criterion each answer is given.

All of this was written before any trained model was run with it; a prototype (SmolLM2, four texts: mean
cosine .09 to .63, shuffled .86, random weights .20; at layer 0 a Renyi center is the first occurrence of a
word) was known.  A number that decides is one per text; the interval is that of its mean over texts, by
bootstrap.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import InputError, whole_number

__all__ = [
    "HYPOTHESES",
    "SETTINGS",
    "Answer",
    "Hypothesis",
    "Interval",
    "Judged",
    "answer",
    "interval",
    "judge",
]

Word = Literal["observed", "not observed", "the opposite observed", "not testable here"]

FEWEST_TEXTS = 8
BOOTSTRAP_DRAWS = 4000
MIDDLE = (0.025, 0.975)
GOOD_FIT = 0.5  # of R^2

SETTINGS: Mapping[str, object] = {
    "early layer": 0,  # after the embedding, before the first block
    "end": "after the last block, before the final normalisation",
    "share of centers": 0.25,
    "candidates": "earlier centers, of another word than the token, the first token left out",
    "directions": "h / |h| of the residual stream",
    "caliper": 0.02,
    "places of twins": "within n / 4",
    "interval": "95 %, bootstrap over texts, widened as Student's for few texts",
}


@dataclass(frozen=True)
class Interval:
    """A mean over texts, and where it may lie."""

    mean: float
    low: float
    high: float
    texts: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]".replace("-", "−")


def interval(values: ArrayLike, draws: int = BOOTSTRAP_DRAWS, seed: int = 0) -> Interval:
    """The mean of values (texts,), NaN left out, with its 95 % interval by bootstrap over texts.

    The texts are drawn with replacement; the quantiles' distances from the mean are widened by
    (T / (T - 1))^(1/2) and by the ratio of Student's quantile to that of the normal law, without which a
    bootstrap of few texts is too sure of itself.
    """
    v = np.asarray(values, dtype=np.float64).reshape(-1)
    v = v[np.isfinite(v)]  # (T,)
    draws = whole_number("draws", draws, least=1)
    if len(v) == 0:
        return Interval(np.nan, np.nan, np.nan, 0)
    mean = float(v.mean())
    if len(v) == 1:
        return Interval(mean, -np.inf, np.inf, 1)
    from scipy.stats import norm
    from scipy.stats import t as student

    rng = np.random.default_rng(np.random.SeedSequence(seed))
    means = v[rng.integers(0, len(v), (draws, len(v)))].mean(1)  # (draws,)
    wide = (len(v) / (len(v) - 1)) ** 0.5 * float(student.ppf(MIDDLE[1], len(v) - 1) / norm.ppf(MIDDLE[1]))
    low, high = (mean + wide * (float(q) - mean) for q in np.quantile(means, MIDDLE))
    return Interval(mean, low, high, len(v))


@dataclass(frozen=True)
class Hypothesis:
    """One statement about the tokens, the number that decides it, and what the number must exceed."""

    key: str
    statement: str
    number: str  # one per text
    above: float

    @property
    def criterion(self) -> str:
        """In words."""
        return (
            f"{self.number}. Observed if the whole interval lies above {self.above:g}, the opposite if it"
            f" lies below; else not observed. Fewer than {FEWEST_TEXTS} texts: not testable."
        )


HYPOTHESES: Mapping[str, Hypothesis] = {
    one.key: one
    for one in (
        Hypothesis(
            "gather",
            "The directions of the tokens gather with depth.",
            "Mean cosine after the last block less that after the embedding, first token left out",
            0.0,
        ),
        Hypothesis(
            "training",
            "They gather more than under random weights of the same norms.",
            "Mean cosine after the last block, less that of the same texts with weights drawn anew in every"
            " layer, first token left out",
            0.0,
        ),
        Hypothesis(
            "shuffle",
            "Shuffled text gathers more (published: Llama-3-8B .25 to .83, Pythia-6.9B .30 to .79).",
            "Mean cosine after the last block of the fully shuffled text less that of the text, first token"
            " left out",
            0.0,
        ),
        Hypothesis(
            "nearness",
            "Tokens end nearer to the earlier center that was nearest to them at the start than to other"
            " earlier centers.",
            "Rank of the own center among the candidates after the last block",
            0.5,
        ),
        Hypothesis(
            "cover",
            "Tokens end nearer to earlier centers than to as many other earlier tokens.",
            "Cosine with the nearest candidate after the last block, less its mean with labels of centers"
            " permuted within blocks of 16 places",
            0.0,
        ),
        Hypothesis(
            "sight",
            "That is more than memory: the own center counts more than an equally near center of another"
            " text, which the token never saw.",
            "Sight after the last block: contrast less that of unseen twins",
            0.0,
        ),
        Hypothesis(
            "pull",
            "Taking a center out of the text takes its followers farther from it than it takes other tokens.",
            "Pull after the last block: the fall of cos(k, c) when c is replaced by another word, mean over"
            " followers of c less the mean over other later tokens",
            0.0,
        ),
        Hypothesis(
            "attention",
            "Attention turns tokens more than the MLP does.",
            "Share of attention in the turns less that of the MLP, mean over layers, first token left out",
            0.0,
        ),
        Hypothesis(
            "drift",
            "The paper's drift with the layer's own Q, K, V, without positions and biases, predicts what"
            " attention adds across the token's direction.",
            f"Share of layers with R² of at least {GOOD_FIT:g}, first token left out",
            0.5,
        ),
    )
}


@dataclass(frozen=True)
class Judged:
    """A hypothesis with its verdict."""

    hypothesis: Hypothesis
    word: Word
    found: Interval

    def __str__(self) -> str:
        return f"{self.hypothesis.statement} {self.word.capitalize()}: {self.found}."


def judge(key: str, values: ArrayLike) -> Judged:
    """The verdict on HYPOTHESES[key], of one value per text."""
    if key not in HYPOTHESES:
        raise InputError(f"There is no hypothesis {key!r}. There are {', '.join(HYPOTHESES)}.")
    one, found = HYPOTHESES[key], interval(values)
    if found.texts < FEWEST_TEXTS:
        word: Word = "not testable here"
    elif found.low > one.above:
        word = "observed"
    elif found.high < one.above:
        word = "the opposite observed"
    else:
        word = "not observed"
    return Judged(one, word, found)


@dataclass(frozen=True)
class Answer:
    """The one question: do tokens end near earlier centers more than chance, after repeats and the sink?"""

    word: Literal["capture", "nearness without capture", "no", "not testable here"]
    why: str


def answer(judged: Mapping[str, Judged]) -> Answer:
    """From the verdicts on nearness, sight and pull.

    capture                    all three observed
    nearness without capture   nearness observed, sight or pull not: tokens remember where they started, or
                               share a text, but being seen makes no difference that can be told from none
    no                         nearness not observed
    """
    near, sight, pull = (judged[key] for key in ("nearness", "sight", "pull"))
    told = "; ".join(
        f"{one.hypothesis.key} {one.found} ({one.word})" for one in (near, judged["cover"], sight, pull)
    )
    words = {one.word for one in (near, sight, pull)}
    if "not testable here" in words:
        return Answer("not testable here", told)
    if near.word != "observed":
        return Answer("no", told)
    return Answer("capture" if words == {"observed"} else "nearness without capture", told)
