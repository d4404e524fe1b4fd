"""The stream in front of the first block, and logits behind the last."""

from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import WORDS, D, make_transformer

from nucleate.checks import InputError
from nucleate.models.forward import embedding, open_model


def test_roberta_counts_positions_from_behind_padding_and_gives_padding_its_own(tmp_path: Path) -> None:
    made = make_transformer("roberta")
    model = open_model(made.write(tmp_path))
    T = {name: W.astype(np.float64) for name, W in made.tensors.items()}
    ids = np.array([5, 1, 1, 7])  # 1 is padding
    x = T["embeddings.word_embeddings.weight"][ids]
    x += (
        T["embeddings.position_embeddings.weight"][[2, 1, 1, 3]]
        + T["embeddings.token_type_embeddings.weight"][0]
    )
    x -= x.mean(axis=1, keepdims=True)
    x /= np.sqrt(np.mean(x**2, axis=1, keepdims=True) + 1e-12)
    x = x * T["embeddings.LayerNorm.weight"] + T["embeddings.LayerNorm.bias"]
    np.testing.assert_allclose(model.run(ids, precision="double").states[0], x, rtol=1e-10, atol=1e-12)


def test_gemma_multiplies_embeddings_by_the_root_of_d_and_caps_its_logits(tmp_path: Path) -> None:
    made = make_transformer("gemma2", final_logit_softcapping=0.5)
    found = open_model(made.write(tmp_path)).run([3, 4], logits=True, precision="double")
    np.testing.assert_allclose(found.states[0], made.tensors["model.embed_tokens.weight"][[3, 4]] * D**0.5)
    assert found.logits is not None
    assert 0.3 < np.abs(found.logits).max() < 0.5


def test_logits_by_chunks_of_the_vocabulary_are_those_of_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(make_transformer("llama").write(tmp_path))
    whole = model.run([3, 4, 5], logits=True, precision="double").logits
    monkeypatch.setattr(embedding, "CHUNK_ROWS", 4)
    chunked = model.run([3, 4, 5], logits=True, precision="double").logits
    assert whole is not None
    assert chunked is not None
    assert whole.shape == (3, WORDS)
    np.testing.assert_allclose(whole, chunked, rtol=1e-12)


def test_a_model_without_a_head_says_so_unless_its_embedding_serves(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no head that makes logits: cls\.predictions"):
        open_model(make_transformer("bert").write(tmp_path / "a")).run([1], logits=True)
    made = make_transformer("llama")
    made.tensors.pop("lm_head.weight")
    with pytest.raises(InputError, match=r"no matrix that makes logits, called lm_head\.weight"):
        open_model(made.write(tmp_path / "b")).run([1], logits=True)
    tied = make_transformer("llama", tie_word_embeddings=True)
    tied.tensors.pop("lm_head.weight")
    assert open_model(tied.write(tmp_path / "c")).run([1], logits=True).logits is not None
