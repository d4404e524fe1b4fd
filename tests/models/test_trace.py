"""nucleate.trace: the forward pass as a run whose time is depth."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_tokenizers import tokenizer_json
from support.made_transformers import TINY, tiny_gpt2, tiny_llama

import nucleate as nc
from nucleate.checks import InputError
from nucleate.models import trace as module
from nucleate.models.forward import open_model
from nucleate.models.trace import prepare_trace

TEXT = "the cat sat on the mat"  # 7 tokens with <s>


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tokenizer_json(tiny_llama(tmp_path / "llama"))


def test_a_trace_is_the_forward_pass_of_the_tokens(path: Path) -> None:
    run = nc.trace(path, TEXT, precision="double", attention_weights=True, logits=True)
    ids = np.array([1, 2, 3, 4, 5, 2, 6])
    found = open_model(path).run(ids, precision="double", attention_weights=True, logits=True)
    assert run.norms is not None
    assert run.x.shape == (TINY.layers + 1, 7, TINY.d)
    assert np.allclose(run.x * run.norms[..., None], found.states, rtol=1e-15, atol=0.0)  # one division
    assert run.tokens == ("<s>", "the", "cat", "sat", "on", "the", "mat")
    for name in ("normed", "attention", "mlp", "weights", "logits"):
        assert np.array_equal(run.parts[name], getattr(found, name))
    assert np.array_equal(run.parts["ids"], ids)
    assert run.model == nc.Checkpoint(
        "llama",
        "llama",
        TINY.layers,
        TINY.d,
        TINY.heads,
        2,
        TINY.d // TINY.heads,
        24,
        TINY.words,
        True,
        "pre",
        "rope",
    )
    assert run.settings == {"method": "forward pass", "precision": "double"}
    assert run.notes == {"tokenizer": "tokenizer.json", "notes": []}
    assert run.done


def test_states_are_what_the_blocks_add_up_to(path: Path) -> None:
    run = nc.trace(path, TEXT, precision="double")
    assert run.norms is not None
    states = run.x * run.norms[..., None]  # (L+1, n, d)
    added = run.parts["attention"] + run.parts["mlp"]  # (L, n, d)
    assert np.allclose(states[1:] - states[:-1], added, rtol=0.0, atol=1e-13)  # rounding of a few sums


def test_several_texts_are_a_batch_cut_to_the_shortest(path: Path) -> None:
    run = nc.trace(path, [TEXT, "on the mat the cat", "mat cat on"])
    assert run.x.shape == (3, TINY.layers + 1, 4, TINY.d)
    assert run.status == ("done",) * 3
    assert run.notes["notes"] == ["Texts of 4 to 7 tokens were cut to 4."]
    alone = nc.trace(path, "on the mat the cat", length=4)
    assert np.array_equal(run.x[1], alone.x)
    assert run.tokens is not None
    assert run.tokens[1] == alone.tokens
    assert nc.trace(path, [TEXT]).x.shape == (1, TINY.layers + 1, 7, TINY.d)


def test_a_text_is_cut_to_length_and_a_causal_model_does_not_notice(path: Path) -> None:
    whole, cut = nc.trace(path, TEXT), nc.trace(path, TEXT, length=3)
    assert np.allclose(whole.x[:, :3], cut.x, rtol=0.0, atol=1e-5)  # float32, other shapes of products
    assert cut.notes["notes"] == ["Texts of 7 tokens were cut to 3."]
    assert nc.trace(path, TEXT, length=100).x.shape[1] == 7


def test_a_text_of_one_token_is_traced_and_one_without_is_refused(path: Path) -> None:
    assert nc.trace(path, "").tokens == ("<s>",)
    bare = tokenizer_json(path, post_processor=None)
    assert nc.trace(bare, "cat").x.shape == (TINY.layers + 1, 1, TINY.d)
    with pytest.raises(InputError, match=r"^The text has no tokens\. Give a text"):
        nc.trace(bare, "")
    with pytest.raises(InputError, match=r"^Text 1 has no tokens"):
        nc.trace(bare, ["cat", " "])


def test_a_hundred_thousand_tokens_are_refused_before_anything_is_computed(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("nucleate.checks.memory", lambda: 2**26)
    with pytest.raises(InputError, match=r"The trace of 1 x 100001 tokens needs .* GiB"):
        nc.trace(path, "cat " * 100_000)
    gpt2 = tokenizer_json(tiny_gpt2(tmp_path / "gpt2"))
    with pytest.raises(InputError, match=r"has 100001 tokens, but gpt2 has positions for 64.*--length 64"):
        nc.trace(gpt2, "cat " * 100_000)
    assert nc.trace(gpt2, "cat " * 100_000, length=64).x.shape[1] == 64


def test_more_tokens_than_a_model_was_made_for_are_said(path: Path) -> None:
    run = nc.trace(path, "cat " * 70)
    assert run.notes["notes"] == ["The model was made for 64 tokens, and reads 71."]


def test_a_tokenizer_of_another_model_is_refused(path: Path, tmp_path: Path) -> None:
    words = {f"w{i}": i for i in range(TINY.words + 1)}
    other = tokenizer_json(tmp_path / "other", model={"type": "WordLevel", "vocab": words, "unk_token": "w0"})
    with pytest.raises(InputError, match="counts 42 tokens, but llama has embeddings for 40"):
        nc.trace(path, "w1", tokenizer=other)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no text": ({"texts": None}, "must be a text or a list of texts"),
    "no texts": ({"texts": []}, "must be a text or a list of texts"),
    "bytes": ({"texts": [b"cat"]}, "must be a text or a list of texts"),
    "too many": ({"texts": ["cat"] * 10_001}, "There are 10001 texts"),
    "no length": ({"length": 0}, "length must be a whole number of at least 1"),
    "another precision": ({"precision": "half"}, 'must be "single" or "double"'),
    "weights that are not true or false": ({"attention_weights": 1}, "must be True or False"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(case: str, path: Path) -> None:
    given, words = BAD[case]
    with pytest.raises(InputError, match=words):
        nc.trace(path, **({"texts": TEXT} | given))


def test_a_loaded_model_needs_a_tokenizer(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    class Loaded:
        state_dict = None

    model = open_model(path)
    monkeypatch.setattr(module, "open_model", lambda given: model)
    with pytest.raises(InputError, match="comes without a tokenizer"):
        nc.trace(Loaded(), TEXT)
    assert nc.trace(Loaded(), TEXT, tokenizer=path).x.shape[1] == 7


def test_progress_counts_layers_and_false_stops(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    nc.trace(path, [TEXT, TEXT], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2 * TINY.layers, 2 * TINY.layers)
    with pytest.raises(KeyboardInterrupt):
        nc.trace(path, TEXT, progress=lambda done, total: False)


def test_the_estimate_grows_with_the_text(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_products_per_second", lambda: 1e9)
    short, long = prepare_trace(path, TEXT), prepare_trace(path, [TEXT] * 4)
    read = TINY.layers * TINY.d * (2 * 4 * 6 + 3 * 24) / module.NUMBERS_READ_PER_SECOND
    assert long.seconds - read == pytest.approx(4 * (short.seconds - read))
    assert module._products_per_second() > 0
