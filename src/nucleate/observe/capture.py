"""Capture: do tokens end near the earlier center that is nearest to them at the start, and is that more than
chance, more than memory, more than the text they share?

Several texts t of n tokens, unit directions x[t, k] at an early layer and at later ones.

    centers      Renyi centers at the early layer; delta is chosen so that a given share of tokens are
    candidates   of token k: earlier centers of its text, of another word; without the first token, a sink
    its center   c(k), the candidate nearest to it at the early layer; tokens that are no centers follow

Measured at a later layer, each averaged over the tokens of a text:

    rank       the share of the other candidates that are farther from k than c(k) is.  Chance: 1/2.
    contrast   cos(k, c(k)) - mean over other candidates j of cos(k, j).  Chance: 0.
    sight      the contrast less that of unseen twins: c(k) and every j have a twin, a center of ANOTHER text,
               at about the same place, whose cosine with k at the early layer is the same within a caliper,
               and which k never saw.  A token whose direction merely lasts (residual stream), or that drifts
               with all others, keeps the same contrast with twins: sight 0.  So that neither a topic nor a
               sink counts, all cosines of sight are those across the mean directions of both texts.
    cover      mean over k of the largest cos(k, j), j in its candidates: against the same number of other
               tokens of about the same places as centers (labels permuted within blocks of places).

Nothing of a later layer enters the design, which is made from the early one alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, finite_number, true_or_false, whole_number
from nucleate.observe.score_centers import parked

__all__ = [
    "CaptureDesign",
    "CaptureScores",
    "capture_scores",
    "cover",
    "design_capture",
    "nearest_earlier",
    "word_numbers",
]

Indices = NDArray[np.int64]

FEWEST_CANDIDATES = 4  # a token with fewer has no rank worth the name
BLOCK = 16  # places within which labels of centers are permuted
HALVINGS = 30  # of the interval in which delta is sought


@dataclass(frozen=True, eq=False)
class CaptureDesign:
    """Who is to be compared with whom, of the early layer alone.  F followers; their candidates stand in
    rows, the own center first, filled up with -1."""

    delta: float  # angle
    center: NDArray[np.bool_]  # (texts, n)
    text: Indices  # (F,)
    token: Indices  # (F,)
    candidates: Indices  # (F, m) tokens of the same text
    twin_text: Indices  # (F, m) the texts and
    twin_token: Indices  # (F, m) tokens of their twins, -1 where there is none
    eligible: NDArray[np.bool_]  # (F, n) which tokens could be candidates, centers or not

    @property
    def matched(self) -> float:
        """The share of followers whose own center has a twin."""
        return float((self.twin_token[:, 0] >= 0).mean()) if len(self.token) else 0.0


@dataclass(frozen=True, eq=False)
class CaptureScores:
    """Means over the followers of each text, (texts,) each; NaN where a text has none."""

    rank: Array
    contrast: Array
    twin_contrast: Array
    sight: Array
    followers: Indices  # how many
    matched: Indices  # how many with twins


def design_capture(
    x: ArrayLike,
    words: ArrayLike,
    share: float = 0.25,
    *,
    first: bool = False,
    same_word: bool = False,
    caliper: float = 0.02,
    places: int | None = None,
) -> CaptureDesign:
    """The design from directions x (texts, n, d) at the early layer and words (texts, n), numbers that are
    equal where the words are.

    share      of tokens that are to be centers, on average; delta follows
    first      whether the first token may be a candidate
    same_word  whether a token of the same word may be
    caliper    how much the cosines of twins may differ at the early layer
    places     how far the places of twins may differ; n / 4 unless given
    """
    unit, kind = _texts(x), np.asarray(words)
    T, n, d = unit.shape
    if kind.shape != (T, n):
        raise InputError(
            f"words must have shape {(T, n)}, one number per token, but have shape {kind.shape}."
        )
    share = finite_number("share", share, above=0.0, help="It is the share of tokens that become centers.")
    caliper = finite_number("caliper", caliper, above=0.0, help="It is a difference of cosines.")
    places = n // 4 if places is None else whole_number("places", places, least=1)
    first, same_word = true_or_false("first", first), true_or_false("same_word", same_word)
    own = np.einsum("tkd,tjd->tkj", unit, unit)  # (T, n, n)
    delta, center = _centers(own, share)
    may = np.tri(n, k=-1, dtype=bool)[None] & (same_word | (kind[:, :, None] != kind[:, None, :]))
    if not first:
        may = may & (np.arange(n) > 0)  # (T, n, n)
    able = may & center[:, None, :]  # (T, n, n)
    follows = ~center & (able.sum(-1) >= FEWEST_CANDIDATES)  # (T, n)
    text, token = np.nonzero(follows)  # (F,)
    most = int(able[text, token].sum(-1).max(initial=1))
    candidates = np.full((len(text), most), -1, dtype=np.int64)
    twin_text, twin_token = candidates.copy(), candidates.copy()
    for f, (t, k) in enumerate(zip(text.tolist(), token.tolist(), strict=True)):
        row = np.flatnonzero(able[t, k])
        row = row[np.argsort(-own[t, k, row], kind="stable")]  # its own center first
        candidates[f, : len(row)] = row
        pool = center[:, :k] & (same_word | (kind[:, :k] != kind[t, k]))  # (T, k)
        pool[t] = False
        if not first:
            pool[:, 0] = False
        s, j = np.nonzero(pool)  # (P,)
        if len(s) == 0:
            continue
        apart = np.abs(own[t, k, row][:, None] - (unit[s, j] @ unit[t, k])[None])  # (c, P)
        apart[np.abs(row[:, None] - j[None]) > places] = np.inf
        best = apart.argmin(1)  # (c,)
        good = apart[np.arange(len(row)), best] <= caliper
        twin_text[f, : len(row)] = np.where(good, s[best], -1)
        twin_token[f, : len(row)] = np.where(good, j[best], -1)
    return CaptureDesign(delta, center, text, token, candidates, twin_text, twin_token, may[text, token])


def capture_scores(design: CaptureDesign, x: ArrayLike) -> CaptureScores:
    """Rank, contrast and sight at one layer, directions x (texts, n, d)."""
    unit = _texts(x)
    T, n, d = unit.shape
    texts = len(design.center)
    if (T, n) != design.center.shape:
        raise InputError(
            f"x must have {design.center.shape} texts and tokens, as the design has, but has {(T, n)}."
        )
    followers = unit[design.text, design.token]  # (F, d)
    there = design.candidates >= 0  # (F, m)
    flat = unit.reshape(T * n, d)
    cos = _cosines(flat, followers, design.text[:, None] * n + design.candidates, there)  # (F, m)
    others = there.copy()
    others[:, 0] = False
    contrast = cos[:, 0] - _mean(cos, others)  # (F,)
    above = (cos[:, :1] > cos) + 0.5 * (cos[:, :1] == cos)  # (F, m)
    rank = _mean(above, others)  # (F,)
    twins = design.twin_token >= 0  # (F, m)
    both = others & twins
    usable = twins[:, 0] & (both.sum(-1) >= FEWEST_CANDIDATES - 1)  # (F,)
    own, twin = _without_means(design, unit)  # (F, m) each
    twin_contrast = np.where(usable, twin[:, 0] - _mean(twin, both), np.nan)  # (F,)
    sight = np.where(usable, own[:, 0] - _mean(own, both) - twin_contrast, np.nan)  # (F,)
    return CaptureScores(
        _by_text(rank, design.text, texts),
        _by_text(contrast, design.text, texts),
        _by_text(twin_contrast, design.text, texts),
        _by_text(sight, design.text, texts),
        np.bincount(design.text, minlength=texts),
        np.bincount(design.text[usable], minlength=texts),
    )


def cover(design: CaptureDesign, x: ArrayLike, draws: int = 20, seed: int = 0) -> tuple[Array, Array]:
    """The mean over followers of the cosine with the nearest candidate, per text (texts,), and the same with
    labels of centers permuted within blocks of 16 places, (draws, texts)."""
    unit = _texts(x)
    T, n, _ = unit.shape
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    own = np.einsum("tkd,tjd->tkj", unit, unit)[design.text, design.token]  # (F, n)

    def covered(center: NDArray[np.bool_]) -> Array:
        able = design.eligible & center[design.text]  # (F, n)
        best = np.where(able, own, -np.inf).max(-1)  # (F,)
        return _by_text(np.where(np.isfinite(best), best, np.nan), design.text, T)

    null = []
    for _ in range(whole_number("draws", draws, least=1)):
        order = np.concatenate([b + rng.permutation(min(BLOCK, n - b)) for b in range(0, n, BLOCK)])  # (n,)
        null.append(covered(design.center[:, order]))
    return covered(design.center), np.array(null)


def nearest_earlier(x: ArrayLike, first: bool = True) -> tuple[Indices, Array]:
    """For every token the earlier token nearest to it, and their cosine: x (..., n, d) -> (..., n) each; -1
    and NaN where there is none."""
    unit = np.asarray(x)
    if unit.ndim < 2:
        raise InputError(f"x must have shape (..., n, d), but has shape {unit.shape}. One row is one token.")
    n = unit.shape[-2]
    earlier = np.tri(n, k=-1, dtype=bool)  # (n, n)
    if not true_or_false("first", first):
        earlier[:, 0] = False
    index, cosine = np.empty(unit.shape[:-1], dtype=np.int64), np.empty(unit.shape[:-1])
    for at in np.ndindex(unit.shape[:-2]):  # one layer at a time: no (layers, n, n)
        table = np.where(earlier, unit[at] @ unit[at].T, -np.inf)  # (n, n)
        index[at] = table.argmax(-1)
        cosine[at] = table.max(-1)
    alone = ~earlier.any(-1)  # (n,)
    index[..., alone], cosine[..., alone] = -1, np.nan
    return index, cosine


def _centers(cosines: Array, share: float) -> tuple[float, NDArray[np.bool_]]:
    """delta and the centers (T, n) of tables (T, n, n): the share of centers falls as delta grows, so the
    interval is halved."""
    low, high = 0.0, float(np.pi)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if parked(cosines >= np.cos(middle)).mean() > share:
            low = middle
        else:
            high = middle
    return high, parked(cosines >= np.cos(high))


def _cosines(flat: Array, followers: Array, at: Indices, there: NDArray[np.bool_]) -> Array:
    """Of follower f with the tokens at[f], (F, m); NaN where there is none.  One follower at a time: no table
    (F, m, d)."""
    cos = np.full(at.shape, np.nan)
    for f in range(len(at)):
        cos[f, there[f]] = flat[at[f, there[f]]] @ followers[f]
    return cos


def _without_means(design: CaptureDesign, x: Array) -> tuple[Array, Array]:
    """Cosines of each follower with its candidates and with their twins, (F, m) each, NaN where there is no
    twin; of what is left of all three once the mean directions of both texts are taken out.

    With a, b these two unit vectors, g = <a, b> and P the projection across both,
        <P u, P v> = <u, v> - (u_a v_a + u_b v_b - g (u_a v_b + u_b v_a)) / (1 - g^2),   u_a = <u, a>.
    """
    T, n, d = x.shape
    means = x[:, 1:].mean(1)  # (T, d)
    means = means / np.linalg.norm(means, axis=-1, keepdims=True)
    flat = x.reshape(T * n, d)
    along = flat @ means.T  # (T n, T)
    between = means @ means.T  # (T, T)
    F, m = design.candidates.shape
    own, twin = np.full((F, m), np.nan), np.full((F, m), np.nan)
    for f, (t, k) in enumerate(zip(design.text.tolist(), design.token.tolist(), strict=True)):
        there = np.flatnonzero(design.twin_token[f] >= 0)  # (c,)
        s = design.twin_text[f, there]  # (c,)
        g = between[t, s]  # (c,)
        at = t * n + k
        for out, other in (
            (own, t * n + design.candidates[f, there]),
            (twin, s * n + design.twin_token[f, there]),
        ):
            u = along[at, t], along[at, s]  # (), (c,)
            v = along[other, t], along[other, s]  # (c,), (c,)
            out[f, there] = _across(flat[other] @ flat[at], u, v, g) / np.sqrt(
                _across(1.0, u, u, g) * _across(1.0, v, v, g)
            )
    return own, twin


def _across(product: Any, u: tuple[Any, Any], v: tuple[Any, Any], g: Any) -> Any:
    """<P u, P v>, see above; 1 - g^2 stays away from 0 for two texts that are not one."""
    rest = np.maximum(1.0 - g * g, 1e-9)
    return product - (u[0] * v[0] + u[1] * v[1] - g * (u[0] * v[1] + u[1] * v[0])) / rest


def _mean(values: Array, where: NDArray[np.bool_]) -> Array:
    """Over the second axis, NaN where there is nothing: (F, m) -> (F,)."""
    count = where.sum(-1)
    total = np.where(where, values, 0.0).sum(-1)
    return np.asarray(np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0))


def _by_text(values: Array, text: Indices, texts: int) -> Array:
    """Means of the finite values of each text, (F,) -> (texts,)."""
    good = np.isfinite(values)
    count = np.bincount(text[good], minlength=texts)
    total = np.bincount(text[good], weights=values[good], minlength=texts)
    return np.asarray(np.divide(total, count, out=np.full(texts, np.nan), where=count > 0))


def _texts(x: Any) -> Array:
    """Directions (texts, n, d), made unit; single precision stays."""
    unit = np.asarray(x)
    if unit.dtype.kind != "f" or unit.ndim != 3 or unit.shape[0] < 1 or unit.shape[1] < 2:
        raise InputError(
            f"x must be directions (texts, n, d) of two tokens or more, but has shape {unit.shape}."
        )
    length = np.linalg.norm(unit, axis=-1, keepdims=True)
    if not (np.isfinite(length).all() and (length > 0.0).all()):
        raise InputError("x must have finite directions, but a token has length 0 or NaN. Leave it out.")
    return np.asarray(unit / length)


def word_numbers(words: Sequence[Sequence[str]]) -> Indices:
    """Numbers (texts, n) that are equal where two words are, with case and the space or mark in front of a
    token left out."""
    known: dict[str, int] = {}
    return np.array([[known.setdefault(_plain(word), len(known)) for word in text] for text in words])


def _plain(word: str) -> str:
    short = word.strip(" \t\n▁Ġ").removeprefix("##").casefold()
    return short or word
