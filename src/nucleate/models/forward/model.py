"""A transformer that can be run: opened from a checkpoint, one layer in memory at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, check_memory, function_or_none, shortened, true_or_false, whole_number
from nucleate.models.checkpoint import Source, open_source
from nucleate.models.forward.block import block
from nucleate.models.forward.embedding import check_embedding, embed, find_head, logits
from nucleate.models.forward.layer_weights import LayerWeights
from nucleate.models.forward.norms import Floats
from nucleate.models.forward.reader import check_layers, read_layer
from nucleate.models.forward.rotary import Rotary, angles
from nucleate.models.forward.settings import Parts, Settings, read_settings
from nucleate.models.forward.tensors import Tensors, dtype_of

__all__ = ["HiddenStates", "TransformerModel", "open_model"]

Change = Callable[[int, LayerWeights], LayerWeights]


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """What a model makes of a text of n tokens; of b texts, every array has a leading axis (b,)."""

    states: Floats  # (L + 1, n, d) the stream that the first block reads, and that behind every block
    normed: Floats  # (L, n, d) what the attention of a block reads: after the norm in front, if there is one
    attention: Floats  # (L, n, d) what attention adds to the stream, normalised where the model does that
    mlp: Floats  # (L, n, d) what the MLP adds
    weights: Floats | None = None  # (L, H, n, n) attention weights
    logits: Floats | None = None  # (n, vocabulary)


@dataclass(frozen=True, eq=False)
class TransformerModel:
    """A checkpoint whose forward pass is known."""

    settings: Settings
    notes: tuple[str, ...]  # what was taken in a certain way
    _parts: Parts
    _tensors: Tensors

    def layer(self, i: int, precision: str = "single") -> LayerWeights:
        """The weights of layer i, 0 to L - 1."""
        i = whole_number("layer", i, least=0, help="Layers are counted from 0.")
        if i >= self.settings.layers:
            raise InputError(f"layer must be at most {self.settings.layers - 1}, but is {i}.")
        return read_layer(self._tensors, self._parts, i, dtype_of(precision))

    def embedding(self, precision: str = "single") -> Floats:
        """The table of embeddings, (vocabulary, d) most often."""
        name = self._parts.plan.prefix + self._parts.architecture.embedding
        return self._tensors.get(name, (None, None), dtype_of(precision))

    def start(self, ids: Any, precision: str = "single") -> Floats:
        """The stream that the first block reads, (n, d) or (b, n, d): the first of the states of `run`."""
        dtype = dtype_of(precision)
        texts = _texts(ids)
        self._check_texts(texts, False, False, dtype)
        found = np.stack([embed(self._tensors, self._parts, row, dtype) for row in texts])  # (b, n, d)
        return found[0] if np.ndim(ids) == 1 else found

    def run(
        self,
        ids: Any,
        *,
        attention_weights: bool = False,
        logits: bool = False,
        precision: str = "single",
        without_mlp: bool = False,
        change: Change | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> HiddenStates:
        """The hidden states of a text, ids (n,), or of several of one length, ids (b, n).

        precision    "single" (float32) or "double" (float64) of weights and states
        without_mlp  leave the MLPs out; their normalisations stay
        change       (i, weights) -> weights, applied to every layer before it runs
        progress     called as progress(done, layers of all texts); returning False stops as Ctrl-C does, with
                     a KeyboardInterrupt

        The result for one text is the same bits alone and in a batch.
        """
        dtype = dtype_of(precision)
        with_weights = true_or_false("attention_weights", attention_weights)
        with_logits, bare = true_or_false("logits", logits), true_or_false("without_mlp", without_mlp)
        function_or_none("change", change, "the number and the weights of a layer")
        function_or_none("progress", progress, "the numbers of layers done and of all")
        texts, single = _texts(ids), np.ndim(ids) == 1
        self._check_texts(texts, with_weights, with_logits, dtype)
        b, n = texts.shape
        L, H, d = self.settings.layers, self.settings.heads, self.settings.d
        states = np.empty((b, L + 1, n, d), dtype)
        normed, attention, mlp = (np.empty((b, L, n, d), dtype) for _ in range(3))
        weights = np.zeros((b, L, H, n, n), dtype) if with_weights else None
        for text, row in zip(states, texts, strict=True):
            text[0] = embed(self._tensors, self._parts, row, dtype)
        turned: dict[Rotary, tuple[Floats, Floats]] = {}  # most layers turn alike
        for i in range(L):
            layer = read_layer(self._tensors, self._parts, i, dtype)
            layer = layer if change is None else _changed(change, i, layer)
            rope = self.settings.rotary[i]
            if rope is not None and rope not in turned:
                turned[rope] = angles(rope, n, dtype)
            for t in range(b):
                own = None if weights is None else weights[t, i]
                table = None if rope is None else turned[rope]
                with np.errstate(over="ignore", invalid="ignore"):  # refused in the next line
                    made = block(states[t, i], layer, self.settings, i, table, bare, own)
                _check_finite(made.state, i, precision)
                states[t, i + 1] = made.state
                normed[t, i], attention[t, i], mlp[t, i] = made.normed, made.attention, made.mlp
                if progress is not None and progress(i * b + t + 1, L * b) is False:
                    raise KeyboardInterrupt
            self._tensors.forget()
        scores = np.stack([self._logits(text[-1]) for text in states]) if with_logits else None
        found = HiddenStates(states, normed, attention, mlp, weights, scores)
        return _first(found) if single else found

    def _logits(self, x: Floats) -> Floats:
        """(n, vocabulary) of the stream (n, d) behind the last block."""
        return logits(self._tensors, self._parts, x)

    def _check_texts(
        self, texts: NDArray[np.int64], with_weights: bool, with_logits: bool, dtype: Any
    ) -> None:
        """The tokens are in the vocabulary, their number fits the model, and the states fit into memory."""
        s, (b, n) = self.settings, texts.shape
        wrong = texts[(texts < 0) | (texts >= s.vocabulary)]
        if len(wrong):
            raise InputError(
                f"ids must be from 0 to {s.vocabulary - 1}, the vocabulary of {s.name}, but one is"
                f" {wrong[0]}. Use the tokenizer that belongs to the model."
            )
        if s.positions == "learned" and s.longest is not None and n > s.longest:
            raise InputError(
                f"ids has {n} tokens, but {s.name} has learned {s.longest} positions. Give at most"
                f" {s.longest} tokens."
            )
        if with_logits:
            find_head(self._tensors, self._parts)
        numbers = (4 * s.layers + 1) * n * s.d + n * (3 * s.d_mlp + 8 * s.d)
        numbers += s.layers * s.heads * n * n if with_weights else 0
        numbers += 2 * n * s.vocabulary if with_logits else 0
        check_memory(float(b * numbers * np.dtype(dtype).itemsize), f"The forward pass of {b} x {n} tokens")


def open_model(given: Any) -> TransformerModel:
    """A model from the folder or file of a checkpoint (.safetensors, .gguf), from what `open_source` opened,
    or a loaded model of the transformers library."""
    source = given if isinstance(given, Source) else open_source(given)
    parts = read_settings(source)
    tensors = Tensors(source.weights)
    check_embedding(tensors, parts)
    check_layers(tensors, parts)
    return TransformerModel(parts.settings, source.notes, parts, tensors)


def _texts(ids: Any) -> NDArray[np.int64]:
    """(b, n) whole numbers."""
    try:
        found = np.asarray(ids)
        if found.ndim not in (1, 2) or (found.size and found.dtype.kind not in "iu"):
            raise TypeError
    except Exception:  # objects may raise anything when asked to be an array
        raise InputError(
            f"ids must be whole numbers of shape (n,) or (b, n), but is {shortened(ids)}. Pass the token"
            " numbers of a text, or of several texts of one length."
        ) from None
    if found.size == 0:
        raise InputError(f"ids must hold at least one token, but has shape {found.shape}. Give a text.")
    if found.dtype.kind == "u" and found.max() > np.iinfo(np.int64).max:
        raise InputError(f"ids must be numbers of tokens, but one is {found.max()}.")
    return np.atleast_2d(found).astype(np.int64)


def _first(found: HiddenStates) -> HiddenStates:
    """The states of the only text."""
    return HiddenStates(
        found.states[0],
        found.normed[0],
        found.attention[0],
        found.mlp[0],
        None if found.weights is None else found.weights[0],
        None if found.logits is None else found.logits[0],
    )


def _changed(change: Change, i: int, layer: LayerWeights) -> LayerWeights:
    changed = change(i, layer)
    if not isinstance(changed, LayerWeights):
        raise InputError(f"change must return LayerWeights, but returned {shortened(changed)} in layer {i}.")
    return changed


def _check_finite(x: Floats, i: int, precision: str) -> None:
    if not np.isfinite(x).all():
        raise InputError(
            f"The hidden states behind layer {i} must be finite, but overflow in {precision} precision."
            + (' Try precision="double".' if precision == "single" else " Check the weights.")
        )
