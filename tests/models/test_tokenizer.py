"""Tokenizers of checkpoints, from every file they may be in; files that are damaged or made to harm."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.made_tokenizers import (
    WORDS,
    byte_level_pieces,
    byte_level_settings,
    tokenizer_json,
    word_piece_words,
    write_gguf,
)

from nucleate.checks import InputError, MissingFileError
from nucleate.models.tokenizer import open_tokenizer
from nucleate.models.tokenizer_growth import check_growth

TEXT = "The cat sat on the mat"


def test_a_tokenizer_json_is_read_without_its_cutting_and_filling_up(tmp_path: Path) -> None:
    found = open_tokenizer(tokenizer_json(tmp_path))
    ids, strings = found.encode(TEXT)
    assert strings == ("<s>", "the", "cat", "sat", "on", "the", "mat")
    assert ids.tolist() == [1, 2, 3, 4, 5, 2, 6]
    assert (found.vocabulary, found.first_token) == (7, 1)
    assert found.encode("")[1] == ("<s>",)
    assert open_tokenizer(tmp_path / "tokenizer.json").encode(TEXT)[1] == strings
    assert open_tokenizer(str(tmp_path)).encode("dog cat")[1] == ("<s>", "<unk>", "cat")


def test_a_text_that_is_cut_keeps_the_special_tokens_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(word_piece_words()))
    found = open_tokenizer(tmp_path, causal=False)
    assert found.encode(TEXT, 4)[1] == ("[CLS]", "the", "cat", "[SEP]")
    assert found.encode(TEXT, 99)[1] == ("[CLS]", *TEXT.lower().split(), "[SEP]")
    assert found.encode(TEXT, 1)[1] == ("[CLS]",)


def test_special_tokens_stand_around_a_text_where_the_model_sees_all(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(word_piece_words()) + "\n")
    assert open_tokenizer(tmp_path, causal=True).encode("cats")[1] == ("cat", "##s")
    assert open_tokenizer(tmp_path / "vocab.txt", causal=False).first_token == 2
    for kind, first in (("bert", 2), ("gpt2", None)):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        assert open_tokenizer(tmp_path).first_token == first


def test_capital_letters_are_kept_where_the_vocabulary_has_some(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*word_piece_words(), "Cat"]))
    assert open_tokenizer(tmp_path).encode("Cat cat")[1] == ("Cat", "cat")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert open_tokenizer(tmp_path).encode("Cat cat")[1] == ("cat", "cat")


def test_molecules_are_read_symbol_by_symbol(tmp_path: Path) -> None:
    symbols = ["[UNK]", "[CLS]", "[SEP]", "C", "Cl", "O", "(", ")", "=", "[nH]", "%10", "1", "0", "\\", ">>"]
    (tmp_path / "vocab.txt").write_text("\n".join(symbols))
    strings = open_tokenizer(tmp_path, causal=True).encode("ClC(=O)[nH][Xe]%10\\C>>O z")[1]
    assert " ".join(strings) == "Cl C ( = O ) [nH] [UNK] %10 \\ C >> O [UNK]"


def test_vocab_json_and_merges_are_byte_level_bpe(tmp_path: Path) -> None:
    tokens, merges = byte_level_pieces()
    tokens += ["<s>", "</s>"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    found = open_tokenizer(tmp_path)
    assert found.encode("the cat")[1] == ("the", " cat")
    assert open_tokenizer(tmp_path, causal=False).encode("the")[1] == ("<s>", "the", "</s>")
    (tmp_path / "merges.txt").write_text("a b c\n")
    with pytest.raises(InputError, match="two pieces in every line"):
        open_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "a", "日本 é 😀\n\n  x\t12345", "\0\x01 \u202e", "the \ud800 cat", "\ud83d\ude00"]
)
def test_any_letters_are_read_and_come_back(text: str, tmp_path: Path) -> None:
    found = open_tokenizer(write_gguf(tmp_path / "m.gguf", byte_level_settings()))
    ids, strings = found.encode(text)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert found.decode(ids) == whole
    assert len(strings) == len(ids)
    assert ("\ufffd" in whole) == ("\ud800" in text)  # halves of pairs, and nothing else, are replaced


def test_a_hundred_thousand_tokens_are_read_and_cut(tmp_path: Path) -> None:
    found = open_tokenizer(tokenizer_json(tmp_path))
    assert len(found.encode("cat " * 100_000)[0]) == 100_001
    assert len(found.encode("cat " * 100_000, 512)[0]) == 512


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    found = open_tokenizer(tokenizer_json(tmp_path))
    with pytest.raises(InputError, match="must be a str"):
        found.encode(b"cat")  # type: ignore[arg-type]  # that is the slip
    with pytest.raises(InputError, match="16777217 characters"):
        found.encode("x" * (2**24 + 1))


def test_strings_tell_tokens_apart(tmp_path: Path) -> None:
    found = open_tokenizer(write_gguf(tmp_path / "m.gguf", byte_level_settings()))
    strings = [found.string(number) for number in range(found.vocabulary)]
    assert len(set(strings)) == len(strings)
    assert found.string(10**6) == "<1000000>"


@pytest.mark.parametrize("rows", [7, 200, 50_000])
def test_a_tokenizer_that_does_not_fit_the_weights_is_refused(rows: int, tmp_path: Path) -> None:
    found = open_tokenizer(tokenizer_json(tmp_path))  # of 7 tokens
    if rows < 256:
        found.check_fits(rows, "SmolLM2")
    with pytest.raises(InputError, match=r"counts 7 tokens, but SmolLM2 has embeddings for 6\. Pass the tok"):
        found.check_fits(6, "SmolLM2")
    if rows > 256:
        with pytest.raises(InputError, match="counts only 7 tokens, but SmolLM2 has embeddings for 50000"):
            found.check_fits(rows, "SmolLM2")


def test_a_loaded_tokenizer_is_copied_not_changed(tmp_path: Path) -> None:
    import tokenizers

    loaded = tokenizers.Tokenizer.from_file(str(tokenizer_json(tmp_path) / "tokenizer.json"))
    assert len(open_tokenizer(loaded).encode(TEXT)[0]) == 7
    assert loaded.truncation is not None

    class Fast:  # as in transformers
        backend_tokenizer = loaded

    assert open_tokenizer(Fast()).encode("cat")[1] == ("<s>", "cat")


def test_where_there_is_no_tokenizer_the_help_says_how_to_pass_one(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    for given in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(InputError, match=r"no tokenizer.*tokenizer=PATH, or --tokenizer PATH"):
            open_tokenizer(given)
    with pytest.raises(MissingFileError, match="cannot be read"):
        open_tokenizer(tmp_path / "nothing.safetensors")
    with pytest.raises(InputError, match="A path or a tokenizer is needed"):
        open_tokenizer(3)


BAD_REGEX = {"type": "Split", "pattern": {"Regex": "((("}, "behavior": "Isolated", "invert": False}
SLOW_REGEX = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
BROKEN: dict[str, Any] = {
    "a model of no kind": {"model": {"type": "Oracle"}},
    "a merge of what is not there": {
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"], "unk_token": None}
    },
    "a pattern that is none": {"pre_tokenizer": BAD_REGEX},
    "a normalizer that makes the package panic": {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    },
    "no vocabulary": {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "x"}, "added_tokens": []},
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_tokenizer_json_is_refused_in_words(case: str, tmp_path: Path) -> None:
    tokenizer_json(tmp_path, **BROKEN[case])
    with pytest.raises(InputError, match=r"The tokenizer .* (cannot be used|has no tokens).* Get it again"):
        open_tokenizer(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff\xfe", b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_what_is_no_json_is_refused(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(raw)
    with pytest.raises(InputError, match="get it again"):
        open_tokenizer(tmp_path)


def _replaces(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _around(ids: int, places: int, texts: int = 1) -> dict[str, Any]:
    """A template with `places` special tokens of `ids` numbers each, and a text `texts` times."""
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "X", "type_id": 0}}] * places + [text] * texts,
        "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"X": {"id": "X", "ids": [1] * ids, "tokens": ["<s>"] * ids}},
    }


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
CHARSMAP = base64.b64encode((4).to_bytes(4, "little") + bytes(4) + b"a" * 5000 + b"\0").decode()
BOMBS: dict[str, Any] = {
    "a letter becomes ten, nine times": {
        "normalizer": {"type": "Sequence", "normalizers": [_replaces("a", "a" * 10)] * 9}
    },
    "sequences in sequences": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Sequence", "normalizers": [_replaces("a", "a" * 10)] * 3}] * 3,
        }
    },
    "a match between any two letters": {
        "normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "a" * 2000}
    },
    "bytes as letters, forty times": {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_LEVEL] * 40}
    },
    "the same in the normalizer": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 40}
    },
    "ten million letters in front": {"normalizer": {"type": "Prepend", "prepend": "a" * 10_000_000}},
    "in front, piece by piece": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "a" * 999}] * 9}
    },
    "ninety million tokens around": {"post_processor": _around(30_000, 3000)},
    "templates in a sequence": {"post_processor": {"type": "Sequence", "processors": [_around(100, 9)] * 9}},
    "every text ten times": {"post_processor": _around(1, 1, texts=10)},
    "a token of five million letters": {
        "model": {"type": "WordLevel", "vocab": {"a": 0, "U" * 5_000_000: 1}, "unk_token": "U" * 5_000_000}
    },
    "on the way back": {"decoder": {"type": "Sequence", "decoders": [_replaces("a", "a" * 10)] * 9}},
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_tokenizer_that_lets_a_text_grow_beyond_measure_is_refused(case: str, tmp_path: Path) -> None:
    tokenizer_json(tmp_path, **BOMBS[case])
    with pytest.raises(InputError, match=r"The tokenizer .* cannot be trusted: .*\. Get it again"):
        open_tokenizer(tmp_path)


def test_a_table_of_letters_that_become_thousands_is_refused() -> None:
    rule = {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}  # the package refuses this small table
    with pytest.raises(InputError, match="more than 1000 times as long"):
        check_growth("x", _Rules(rule))


class _Rules:
    """A tokenizer as check_growth sees it, of one normalizer."""

    pre_tokenizer = decoder = post_processor = model = None

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule

    @property
    def normalizer(self) -> "_Rules":
        return self

    def __getstate__(self) -> bytes:
        return json.dumps(self.rule).encode()

    def get_vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return {}


def test_a_text_that_grows_beyond_the_memory_is_refused_before_it_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = open_tokenizer(tokenizer_json(tmp_path, normalizer=_replaces("a", "a" * 500)))
    monkeypatch.setattr("nucleate.checks.memory", lambda: 2**27)
    assert found.encode("b" * 10_000)[1] == ("<s>", "<unk>")
    with pytest.raises(InputError, match="as the tokenizer spells it"):
        found.encode("a" * 10_000)


def test_rules_of_published_kinds_are_within_measure(tmp_path: Path) -> None:
    rules = [_replaces("``", '"'), _replaces(" ", "▁"), {"type": "NFKC"}, {"type": "Prepend", "prepend": "▁"}]
    rules += [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]
    found = open_tokenizer(tokenizer_json(tmp_path, normalizer={"type": "Sequence", "normalizers": rules}))
    assert found.encode("cat")[1] == ("<s>", "<unk>", "cat")


def test_a_pattern_that_never_ends_is_given_up(tmp_path: Path) -> None:
    found = open_tokenizer(tokenizer_json(tmp_path, pre_tokenizer=SLOW_REGEX))
    with pytest.raises(InputError, match="cannot be used"):
        found.encode("a" * 3000 + "!")


@pytest.mark.parametrize("lines", ["", "a\nb\n", "[UNK]\na\na\n", "[UNK]\n"])
def test_a_list_of_words_that_is_none_is_refused(lines: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text(lines)
    with pytest.raises(InputError, match=r"vocab\.txt"):
        open_tokenizer(tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "tokenizer.json").open("wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(InputError, match="are the most that is read"):
        open_tokenizer(tmp_path)


def test_without_the_package_the_help_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['tokenizers'] = None\n"
        "from nucleate.models.tokenizer import open_tokenizer\n"
        "from nucleate.checks import MissingPackageError\n"
        "try: open_tokenizer('.')\n"
        "except MissingPackageError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert 'pip install "nucleate[models]"' in done.stdout


def test_dropout_which_cuts_at_random_is_switched_off(tmp_path: Path) -> None:
    tokens, merges = byte_level_pieces()
    model = {"type": "BPE", "dropout": 0.9, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "merges": merges}
    model |= {"vocab": {token: i for i, token in enumerate(tokens)}}
    found = open_tokenizer(
        tokenizer_json(tmp_path, model=model, post_processor=None, added_tokens=[], normalizer=None)
    )
    assert all(found.encode(" ".join(WORDS))[1] == tuple(WORDS) for _ in range(20))
