"""Tensors by name, checked."""

from pathlib import Path

import numpy as np
import pytest
from support.made_checkpoints import Made

from nucleate.checks import InputError
from nucleate.models.checkpoint import open_source
from nucleate.models.forward.tensors import Tensors, dtype_of


@pytest.fixture
def tensors(tmp_path: Path) -> Tensors:
    T = {"a.weight": np.arange(6.0).reshape(2, 3), "a.bias": np.ones(2), "n.weight": np.full(3, 1e300)}
    return Tensors(open_source(Made({"model_type": "llama"}, T, "").write(tmp_path)).weights)


def test_whole_tensors_rows_and_biases(tensors: Tensors) -> None:
    assert np.array_equal(tensors.get("a.weight", (2, None), np.float32), [[0, 1, 2], [3, 4, 5]])
    assert np.array_equal(tensors.rows("a.weight", slice(1, 2), np.float64), [[3, 4, 5]])
    assert np.array_equal(tensors.bias("a.weight", 2, np.float32), [1, 1])  # type: ignore[arg-type]  # it has one
    assert tensors.bias("n.weight", 3, np.float32) is None
    norm = tensors.norm("n.weight", 3, True, False, 0.1, np.float64)
    assert np.array_equal(norm.gain, np.full(3, 1e300))
    tensors.forget()


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("b.weight", (2, 3), "b.weight is missing"),
        ("a.weight", (3, 2), r"must have shape \(3, 2\), but has shape \(2, 3\)"),
        ("a.weight", (None,), r"must have shape \(any\), but has shape \(2, 3\)"),
        ("n.weight", (3,), "must hold finite numbers, but holds 3"),  # too large for single precision
    ],
)
def test_what_is_missing_misshapen_or_too_large_is_named(
    name: str, shape: tuple[int | None, ...], words: str, tensors: Tensors
) -> None:
    with pytest.raises(InputError, match=words):
        tensors.get(name, shape, np.float32)


def test_precision_is_single_or_double() -> None:
    assert dtype_of("single") is np.float32
    assert dtype_of("double") is np.float64
    with pytest.raises(InputError, match="precision must be"):
        dtype_of("half")
