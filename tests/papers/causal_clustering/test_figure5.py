"""Figure 5: eigenvalues of heads, drawn and trained, and the verdicts on them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_items import (
    changed,
    made,
)

from nucleate.checks import InputError
from nucleate.papers.causal_clustering.figure5.data import (
    VARIABLE,
    drawn_heads,
    eigenvalues,
    trained_eigenvalues,
    trained_file,
    trained_path,
)


def test_a_head_has_the_eigenvalues_of_its_large_matrix() -> None:
    d, heads, d_head = 24, 4, 6
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(2,)))
    W_V, W_O = rng.standard_normal((d_head, d)), rng.standard_normal((d, d_head))
    large = np.linalg.eigvals(0.01 * W_O @ W_V)
    large = large[np.argsort(-np.abs(large))][:d_head]  # the others are 0
    small_ones = eigenvalues(drawn_heads(d, heads, 0.1, 3))[2]
    for value in small_ones:
        assert np.abs(large - value).min() < 1e-12  # rounding at eigenvalues of size 0.1


def write_albert(file: Path, tensors: dict[str, Any], heads: int) -> None:
    """A checkpoint in the safetensors format: the length of a JSON head, the head, the numbers."""
    place, head = 0, {}
    for name, tensor in tensors.items():
        head[name] = {
            "dtype": "F64",
            "shape": list(tensor.shape),
            "data_offsets": [place, place + tensor.nbytes],
        }
        place += tensor.nbytes
    text = json.dumps(head).encode()
    file.write_bytes(
        len(text).to_bytes(8, "little")
        + text
        + b"".join(np.ascontiguousarray(tensor).tobytes() for tensor in tensors.values())
    )
    d = next(iter(tensors.values())).shape[-1]
    sizes = {
        "hidden_size": d,
        "embedding_size": 6,
        "num_attention_heads": heads,
        "num_hidden_layers": 2,
        "num_hidden_groups": 1,
        "inner_group_num": 1,
    }
    (file.parent / "config.json").write_text(
        json.dumps({"model_type": "albert", "initializer_range": 0.02, **sizes})
    )


def test_a_trained_layer_is_cut_into_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, d, heads = np.random.default_rng(0), 12, 3
    start = "encoder.albert_layer_groups.0.albert_layers.0."
    tensors = {
        f"{start}attention.{name}.weight": rng.standard_normal((d, d))
        for name in ("query", "key", "value", "dense")
    }
    tensors[f"{start}full_layer_layer_norm.weight"] = 1.0 + 0.3 * rng.standard_normal(d)
    write_albert(tmp_path / "model.safetensors", tensors, heads)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    path = trained_path()
    assert path is not None
    assert "model.safetensors" in trained_file()
    found = trained_eigenvalues(path, heads)
    value, dense, gain = (
        tensors[f"{start}{name}.weight"]
        for name in ("attention.value", "attention.dense", "full_layer_layer_norm")
    )
    for h in range(heads):
        rows_of_head = slice(4 * h, 4 * h + 4)
        # (d, d) W_O W_V diag(g) C
        whole = dense[:, rows_of_head] @ value[rows_of_head] @ np.diag(gain) @ (np.eye(d) - 1.0 / d)
        large = np.linalg.eigvals(whole)
        # rounding at eigenvalues of size 10
        assert all(np.abs(large - one).min() < 1e-10 for one in found[h])
    with pytest.raises(InputError, match="3 heads in a layer, but Figure 5 is about 16"):
        trained_eigenvalues(path, 16)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    assert trained_file() == str(tmp_path / "nowhere")
    with pytest.raises(InputError):
        trained_eigenvalues(tmp_path / "nowhere", heads)


def test_figure_5_with_negative_heads_disagrees() -> None:
    found = made("figure5")
    drawn = found.data["drawn"]
    real = drawn["real"].values.copy()
    real[2] -= 1.0
    assert found.words({"drawn": changed(drawn, real=real)})[0] == "disagrees"
    assert found.words({"drawn": changed(drawn, real=np.abs(drawn["real"].values))})[0] == "disagrees"


@pytest.mark.parametrize(
    ("heads", "word"),
    [((1, 6), "agrees"), ((0, 5), "agrees"), ((1,), "disagrees"), ((2, 3), "disagrees"), ((), "disagrees")],
)
def test_figure_5_judges_a_trained_model_by_its_negative_heads(heads: tuple[int, ...], word: str) -> None:
    found = made("figure5")
    drawn = found.data["drawn"]
    real, imaginary = drawn["real"].values.copy(), 0.0 * drawn["imaginary"].values
    real[list(heads)] -= 1.0
    trained = changed(drawn, real=real, imaginary=imaginary)
    assert found.words({"drawn": drawn, "trained": trained})[1] == word
    assert (
        found.words({"drawn": drawn, "trained": changed(trained, imaginary=imaginary + 0.1)})[1]
        == "disagrees"
    )
    assert found.words({"drawn": drawn})[1] == "not testable here"
