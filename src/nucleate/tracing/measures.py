"""What is measured of a model that reads several texts: one array per number, (texts, layers) nearly all.

Every function is one item of the report: it runs the model, keeps numbers and forgets the states.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.observe.activations import first_norm_ratio, massive_activations, sink_share
from nucleate.observe.capture import capture_scores, cover, design_capture, nearest_earlier
from nucleate.observe.clusters import count_clusters
from nucleate.observe.cosines import consensus_gap, cosine_histogram, mean_cosine
from nucleate.observe.rank import effective_rank, rank_one_residual
from nucleate.observe.score_centers import parked
from nucleate.observe.turns import turn_shares
from nucleate.tracing.controls import (
    CONTROLS,
    Control,
    block_shuffle,
    full_shuffle,
    random_weights,
    without_repeats,
)
from nucleate.tracing.frames import dominant_eigenspace, eigenspace_centers, gain_centers, head_centers
from nucleate.tracing.layer_drift import drift_agreement
from nucleate.tracing.planted import measure_planted
from nucleate.tracing.pull import choose_replacements, pulls

if TYPE_CHECKING:
    from nucleate.models.forward import HiddenStates, TransformerModel

__all__ = [
    "Texts",
    "measure_control",
    "measure_frames",
    "measure_pull",
    "measure_shuffles",
    "measure_text",
]

Indices = NDArray[np.int64]
Numbers = dict[str, NDArray[Any]]
Tick = Callable[[], object]  # called after every text that was run

SHARE = 0.25
LOOKS = 6  # layers at which capture is looked at in controls
FRAME_DELTA = np.radians(12.0)  # as in the prototype
TEXTS_AT_ONCE = 8  # in memory
HISTOGRAM_BINS = 40  # of cosines from -1 to 1


@dataclass(frozen=True, eq=False)
class Texts:
    """Tokens of several texts of one length."""

    ids: Indices  # (texts, n)
    words: Indices  # (texts, n) equal where the words are
    kept: int = 0  # tokens at the start that every text has, such as a mark that begins it

    def changed(self, control: Control, seed: int) -> "Texts":
        """As a control has them."""
        if control.text == "as it is":
            return self
        if control.text == "shuffled":
            return self.shuffled(full_shuffle(self.ids.shape[1]), seed)
        rows = [without_repeats(i, w) for i, w in zip(self.ids, self.words, strict=True)]
        n = min(len(i) for i, _ in rows)
        return replace(self, ids=np.array([i[:n] for i, _ in rows]), words=np.array([w[:n] for _, w in rows]))

    def shuffled(self, S: int, seed: int) -> "Texts":
        """In 4^S blocks, each text in an order of its own."""
        n = self.ids.shape[1]
        order = np.array(
            [block_shuffle(np.arange(n), S, seed + 1000 * t, self.kept) for t in range(len(self.ids))]
        )
        ids, words = (np.take_along_axis(a, order, 1) for a in (self.ids, self.words))
        return replace(self, ids=ids, words=words)


def measure_control(model: "TransformerModel", texts: Texts, key: str, seed: int, tick: Tick) -> Numbers:
    """One control: how the tokens gather, and capture at a few layers."""
    control = CONTROLS[key]
    some = texts.changed(control, seed)
    found: list[Numbers] = []
    x: list[Array] = []
    L = model.settings.layers
    at = np.unique(np.linspace(0, L, LOOKS).round().astype(np.int64))
    for begin in range(0, len(some.ids), TEXTS_AT_ONCE):  # weights are drawn once for all of these
        rows = some.ids[begin : begin + TEXTS_AT_ONCE]  # (b, n)
        change = random_weights(control, seed)
        for states in model.run(rows, without_mlp=control.without_mlp, change=change).states:
            found.append(gathering(states))
            x.append(_directions(states[at]))
            tick()
    return _stacked(found) | _capture(np.stack(x), some.words, at, seed)


def measure_text(model: "TransformerModel", texts: Texts, seed: int, tick: Tick) -> Numbers:
    """The texts themselves: all of that at all layers, with the first token or equal words let in, with
    centers of a later layer; turns, the paper's drift, nearest earlier tokens."""
    found: list[Numbers] = []
    x: list[Array] = []
    L = model.settings.layers
    for ids in texts.ids:
        hidden = model.run(ids)
        found.append(gathering(hidden.states) | _turns(model, hidden))
        x.append(_directions(hidden.states))
        tick()
    all_x = np.stack(x)  # (T, L + 1, n, d)
    at, late = np.arange(L + 1), max(L // 6, 1)
    numbers = _stacked(found) | _capture(all_x, texts.words, at, seed) | _nearest(all_x, texts.words)
    ends = np.array([L])
    variants: dict[str, dict[str, Any]] = {
        "first_in": {"first": True},
        "same_word_in": {"same_word": True},
        "both_in": {"first": True, "same_word": True},
        "half": {"share": 0.5},
        "eighth": {"share": 0.125},
    }
    for name, options in variants.items():
        numbers |= _named(
            name, _capture(all_x[:, [L]], texts.words, ends, seed, start=all_x[:, 0], **options)
        )
    numbers |= _named("late", _capture(all_x[:, [L]], texts.words, ends, seed, start=all_x[:, late]))
    numbers["late_layer"] = np.array(late)
    return numbers


def measure_shuffles(model: "TransformerModel", texts: Texts, seed: int, tick: Tick) -> Numbers:
    """Mean cosine with 4^S blocks, S = 1 and so on, single tokens left to the control: (S, texts, L + 1)."""
    n = texts.ids.shape[1]
    values = []
    for S in range(1, full_shuffle(n)):
        rows = []
        for ids in texts.shuffled(S, seed).ids:
            rows.append(mean_cosine(_directions(model.run(ids).states), first=False))
            tick()
        values.append(rows)
    return {"mean_cosine": np.array(values), "S": np.arange(1, full_shuffle(n))}


def measure_pull(model: "TransformerModel", texts: Texts, most: int, seed: int, tick: Tick) -> Numbers:
    """Centers replaced by other words, at most `most` in each text; and all that decides about capture, with
    a capture of several strengths planted at the end."""
    L = model.settings.layers
    at = np.unique(np.linspace(0, L, 2 * LOOKS).round().astype(np.int64))
    rows = []
    for ids in texts.ids:
        rows.append(_directions(model.run(ids).states))
        tick()
    x = np.stack(rows)  # (T, L + 1, n, d)
    design = design_capture(x[:, 0], texts.words, SHARE)
    chosen = choose_replacements(design, texts.ids, texts.words, most, seed)

    ends: list[Array] = []

    def again(ids: Indices) -> Any:
        states = model.run(ids).states
        ends.append(_directions(states[-1]))
        tick()
        return states

    follow, rest, by_text = pulls(again, texts.ids, x, chosen, at)
    planted = measure_planted(design, x[:, -1], ends, chosen, texts.ids, seed)
    return {"layers": at, "followers": follow, "others": rest, "pull": by_text} | planted


def measure_frames(model: "TransformerModel", ids: Indices, first: bool = False) -> Numbers:
    """Centers of one text in four frames: directions of the stream and of what attention reads, (L, n) at 12
    degrees; weights of every head within 1/e of the largest, (L, H, n); the dominant eigenspace of every
    head's value matrix, (L, H, n), with the share of squared length that it keeps, (L, H)."""
    hidden = model.run(ids, attention_weights=True)
    assert hidden.weights is not None
    s, x = model.settings, _directions(hidden.states)
    stream = parked(np.einsum("lkd,ljd->lkj", x, x) >= np.cos(FRAME_DELTA))  # (L + 1, n)
    gain = gain_centers(np.asarray(hidden.normed, dtype=np.float64), FRAME_DELTA)
    heads = head_centers(np.asarray(hidden.weights, dtype=np.float64), first=first)
    eigen, kept = [], []
    for i in range(s.layers):
        layer = model.layer(i)
        rows = [
            eigenspace_centers(np.asarray(x[i], dtype=np.float64), dominant_eigenspace(layer, h), FRAME_DELTA)
            for h in range(s.heads)
        ]
        eigen.append([row.renyi for row in rows])
        kept.append([row.kept for row in rows])
    sink, equal = sink_share(hidden.weights)
    return {
        "stream": stream,
        "gain": gain.renyi,
        "heads": heads.renyi,
        "heads_strong": heads.strong,
        "eigenspace": np.array(eigen),
        "eigenspace_kept": np.array(kept, dtype=np.float64),
        "sink_share": np.asarray(sink, dtype=np.float64),  # (L, H)
        "sink_equal": np.array(equal),
    }


def gathering(states: Any) -> Numbers:
    """Of the states (L + 1, n, d) of one text, (L + 1,) each."""
    h = np.asarray(states, dtype=np.float64)
    x = h / np.linalg.norm(h, axis=-1, keepdims=True)
    massive = massive_activations(h)
    return {
        "mean_cosine": mean_cosine(x, first=False),
        "mean_cosine_first_in": mean_cosine(x),
        "cosine_histogram": cosine_histogram(x, HISTOGRAM_BINS, first=False)[0],  # (L + 1, bins)
        "clusters": np.array([count_clusters(one, FRAME_DELTA) for one in x[:, 1:]]),
        "effective_rank": effective_rank(x[:, 1:]),
        "effective_rank_stream": effective_rank(h),
        "rank_one_residual": rank_one_residual(h),
        "consensus_gap": consensus_gap(x),
        "norm_ratio": first_norm_ratio(np.linalg.norm(h, axis=-1)),
        "massive": massive.largest,  # (L + 1, 3)
        "massive_token": massive.token[:, 0],
        "median_activation": massive.median,
    }


def _turns(model: "TransformerModel", hidden: "HiddenStates") -> Numbers:
    """Shares of turns, and the paper's drift, (L,) each."""
    states = np.asarray(hidden.states, dtype=np.float64)
    turns = turn_shares(states[:-1], hidden.attention, hidden.mlp, states[1:])
    attention, mlp = turns.of_layer(first=False)
    numbers: Numbers = {"attention_share": attention, "mlp_share": mlp, "turn": turns.angle[:, 1:].mean(-1)}
    for name, rotary in (("drift", False), ("drift_rotary", True)):
        found = [
            drift_agreement(model, i, hidden.states[i], hidden.attention[i], rotary, first=False)
            for i in range(len(states) - 1)
        ]
        numbers |= {
            f"{name}_cosine": np.array([np.nanmedian(one.cosine) for one in found]),
            f"{name}_slope": np.array([one.slope for one in found]),
            f"{name}_r2": np.array([one.r_squared for one in found]),
        }
    return numbers


def _capture(
    x: Array, words: Indices, at: Indices, seed: int, start: Array | None = None, **options: Any
) -> Numbers:
    """Capture at the layers `at` of directions x (T, layers, n, d), by the design of `start` (T, n, d), the
    first of these layers unless given."""
    design = design_capture(x[:, 0] if start is None else start, words, **({"share": SHARE} | options))
    scores = [capture_scores(design, x[:, i]) for i in range(x.shape[1])]
    covers = [cover(design, x[:, i], seed=seed) for i in range(x.shape[1])]
    return {
        "layers": at,
        "delta": np.array(design.delta),
        "centers": design.center,
        "matched": np.array(design.matched),
        "followers": scores[0].followers,
        "rank": np.stack([one.rank for one in scores], 1),  # (T, layers)
        "contrast": np.stack([one.contrast for one in scores], 1),
        "twin_contrast": np.stack([one.twin_contrast for one in scores], 1),
        "sight": np.stack([one.sight for one in scores], 1),
        "cover": np.stack([real - null.mean(0) for real, null in covers], 1),
        "cover_null": np.stack([null.std(0) for _, null in covers], 1),
    }


def _nearest(x: Array, words: Indices) -> Numbers:
    """Of the nearest earlier token, first left out: the share of tokens for which it has the same word, or
    is the one just before; (T, L + 1) each."""
    index = np.stack([nearest_earlier(one, first=False)[0] for one in x])  # (T, L + 1, n)
    there = index >= 0
    T, n = words.shape
    own, other = words[:, None, :], np.take_along_axis(words[:, None, :], np.maximum(index, 0), 2)
    count = there.sum(-1)
    return {
        "nearest_same_word": ((own == other) & there).sum(-1) / count,
        "nearest_just_before": ((index == np.arange(n) - 1) & there).sum(-1) / count,
    }


def _directions(states: Any) -> Array:
    """Unit vectors in the precision of the states."""
    return np.asarray(states / np.linalg.norm(states, axis=-1, keepdims=True))


def _stacked(found: list[Numbers]) -> Numbers:
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def _named(prefix: str, numbers: Numbers) -> Numbers:
    return {f"{prefix}_{name}": value for name, value in numbers.items()}
