"""From token numbers to the stream that the first block reads, and from the stream behind the last block to
logits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError
from nucleate.models.forward.mlp import activation, linear
from nucleate.models.forward.norms import Floats, normalise
from nucleate.models.forward.settings import Parts
from nucleate.models.forward.tensors import Tensors

__all__ = ["check_embedding", "embed", "find_head", "logits"]

CHUNK_ROWS = 8192  # of the head's matrix at a time


def check_embedding(tensors: Tensors, parts: Parts) -> None:
    """What stands in front of the first block is there and fits."""
    own, prefix, d = parts.architecture, parts.plan.prefix, parts.settings.d
    _, size = tensors.check(prefix + own.embedding, (None, None))
    for name in (own.positions, own.types):
        if name:
            tensors.check(prefix + name, (None, size))
    if own.embedding_norm:
        tensors.check(prefix + own.embedding_norm, (size,))
    if own.last_norm:
        tensors.check(prefix + own.last_norm, (d,))
    if own.embedding_matrix and prefix + own.embedding_matrix in tensors:
        tensors.check(prefix + own.embedding_matrix, (d, size))
    elif size != d:
        raise InputError(
            f"The tensor {prefix + own.embedding} has rows of {size} numbers, but the blocks work on {d}."
            " Check config.json."
        )


def embed(tensors: Tensors, parts: Parts, ids: NDArray[np.int64], dtype: Any) -> Floats:
    """The stream (n, d) in front of the first block, for one text (n,)."""
    own, s, prefix = parts.architecture, parts.settings, parts.plan.prefix
    x = _picked(tensors, prefix + own.embedding, ids, dtype)  # (n, size)
    if own.root_d:
        x = x * x.dtype.type(s.embedding_scale)
    if own.positions:
        x = x + _picked(tensors, prefix + own.positions, _positions(parts, ids), dtype)
    if own.types:
        x = x + tensors.rows(prefix + own.types, slice(0, 1), dtype)
    if own.embedding_norm:
        name = prefix + own.embedding_norm
        x = normalise(tensors.norm(name, x.shape[1], False, True, s.eps, dtype), x)
    name = prefix + own.embedding_matrix
    if own.embedding_matrix and name in tensors:
        x = linear(x, tensors.get(name, (s.d, x.shape[1]), dtype), tensors.bias(name, s.d, dtype))
    return x  # (n, d)


def _positions(parts: Parts, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of the table of positions for each token: RoBERTa counts from behind that of padding, which it
    gives to every padding token."""
    first = parts.settings.first_position
    if not parts.architecture.first_position:
        return np.arange(len(ids))
    padding = ids == first - 1
    return np.where(padding, first - 1, np.cumsum(~padding) + first - 1)


def _picked(tensors: Tensors, name: str, rows: NDArray[np.int64], dtype: Any) -> Floats:
    """Rows of a table (n, size), of which each is read once."""
    different, back = np.unique(rows, return_inverse=True)
    found = [tensors.rows(name, slice(int(i), int(i) + 1), dtype) for i in different]
    return np.concatenate(found)[back]


def find_head(tensors: Tensors, parts: Parts) -> str:
    """The name of the matrix that makes logits, under the model's prefix or further out."""
    own, prefix = parts.architecture, parts.plan.prefix
    if own.head_dense and _outside(tensors, prefix, (own.head_dense,)) is None:
        raise InputError(
            f"{parts.settings.name} has no head that makes logits: {own.head_dense} is missing. Ask for"
            " hidden states only."
        )
    if (name := _outside(tensors, prefix, own.head)) is not None:
        return name
    if own.head and parts.settings.tied:
        return prefix + own.embedding
    raise InputError(
        f"{parts.settings.name} has no matrix that makes logits"
        f"{f', called {own.head[0]}' if own.head else ''}. Ask for hidden states only."
    )


def _outside(tensors: Tensors, prefix: str, names: tuple[str, ...]) -> str | None:
    """The first of these tensors that is there, under the prefix or under a part of it."""
    words = prefix.split(".")[:-1]
    places = (".".join([*words[:count], name]) for name in names for count in range(len(words), -1, -1))
    return next((place for place in places if place in tensors), None)


def logits(tensors: Tensors, parts: Parts, x: Floats) -> Floats:
    """(n, vocabulary) of the stream (n, d) behind the last block."""
    own, s, prefix, dtype = parts.architecture, parts.settings, parts.plan.prefix, x.dtype.type
    m = parts.plan.mapping
    head = find_head(tensors, parts)
    if own.last_norm:
        x = normalise(tensors.norm(prefix + own.last_norm, s.d, m.gain == "1+w", m.centred, s.eps, dtype), x)
    if own.head_dense and (dense := _outside(tensors, prefix, (own.head_dense,))):
        size, _ = tensors.check(dense, (None, s.d))
        x = linear(x, tensors.get(dense, (size, s.d), dtype), tensors.bias(dense, size, dtype))
        x = activation(own.head_activation or s.activation)(x)
        name = _outside(tensors, prefix, (own.head_norm,)) or own.head_norm
        x = normalise(tensors.norm(name, size, False, True, s.eps, dtype), x)
    count, _ = tensors.check(head, (None, x.shape[1]))
    found = np.empty((len(x), count), dtype)  # (n, vocabulary)
    for first in range(0, count, CHUNK_ROWS):
        some = slice(first, min(first + CHUNK_ROWS, count))
        found[:, some] = x @ tensors.rows(head, some, dtype).T
    if name := _outside(tensors, prefix, own.head_bias) or "":
        found += tensors.get(name, (count,), dtype)
    if s.logit_cap is not None:
        cap = x.dtype.type(s.logit_cap)
        found = cap * np.tanh(found / cap)
    return found
