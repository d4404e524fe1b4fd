"""Tokenizers rebuilt from GGUF files, against slow twins of their rules."""

import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.made_tokenizers import (
    byte_letters,
    byte_level_pieces,
    byte_level_settings,
    scored_pieces,
    scored_settings,
    word_piece_settings,
    write_gguf,
)

from nucleate.checks import InputError
from nucleate.models.tokenizer import Tokenizer, open_tokenizer

TEXTS = ["the cat sat on the mat.", "  the  mat\n\n cat's 12345 ä日😀", "", " ", "themat", "a<|end|>b"]


def opened(folder: Path, settings: dict[str, Any]) -> Tokenizer:
    return open_tokenizer(write_gguf(folder / "model.gguf", settings))


def slow_merges(pieces: list[str], merges: list[str]) -> list[str]:
    """Join the pair of the first merge that fits, leftmost first, until none fits."""
    for merge in [tuple(one.split(" ")) for one in merges]:
        i = 0
        while i < len(pieces) - 1:
            if (pieces[i], pieces[i + 1]) == merge:
                pieces[i : i + 2] = ["".join(merge)]
            i += 1
    return pieces


def slow_scores(pieces: list[str], tokens: list[str], scores: list[float]) -> list[str]:
    """Join the neighbours whose token has the best score, leftmost first, until no two make one."""
    table = dict(zip(tokens, scores, strict=True))
    while True:
        joined = [(-table[a + b], i) for i, (a, b) in enumerate(pairwise(pieces)) if a + b in table]
        if not joined:
            return pieces
        i = min(joined)[1]
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]


@pytest.mark.parametrize("rule", ["gpt-2", "smollm", "llama-bpe", "qwen2"])
def test_byte_level_bpe_joins_as_the_slow_twin_does(rule: str, tmp_path: Path) -> None:
    tokens, merges = byte_level_pieces()
    found, letters = opened(tmp_path, byte_level_settings(rule) | {"add_bos_token": False}), byte_letters()
    # Python's re has no \p{L}: for texts of these letters its own classes are the same
    word = {
        "gpt-2": r"'s| ?[a-zä日]+| ?[0-9]+| ?[^\s\w]+|\s+(?!\S)|\s+",
        "smollm": r"'s| ?[a-zä日]+|[0-9]| ?[^\s\w]+|\s+(?!\S)(?=\s*[^\s0-9])|\s+(?=[0-9])|\s+(?!\S)|\s+",
        "llama-bpe": r"'s|[^\r\na-zä日0-9]?[a-zä日]+|[0-9]{1,3}| ?[^\s\w]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "qwen2": r"'s|[^\r\na-zä日0-9]?[a-zä日]+|[0-9]| ?[^\s\w]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    }[rule]
    for text in (one for one in TEXTS if "<|end|>" not in one):
        wanted = []
        for piece in re.findall(word, text):
            whole = [letters[byte] for byte in piece.encode()]
            if rule == "llama-bpe" and "".join(whole) in tokens:
                wanted.append("".join(whole))
            else:
                wanted += slow_merges(whole, merges)
        ids, _ = found.encode(text)
        assert [tokens[number] for number in ids] == wanted, text
        assert found.decode(ids) == text


def test_a_word_of_the_vocabulary_is_one_token_for_llama_3_and_accents_are_composed_for_qwen_2(
    tmp_path: Path,
) -> None:
    settings = byte_level_settings() | {"add_bos_token": False}
    settings["tokens"] = [*settings["tokens"], "zzz"]  # which no merge makes
    settings["token_type"] = [*settings["token_type"], 1]
    found = {rule: opened(tmp_path, settings | {"pre": rule}) for rule in ("gpt-2", "llama-bpe", "qwen2")}
    assert found["llama-bpe"].encode("zzz")[1] == ("zzz",)
    assert found["gpt-2"].encode("zzz")[1] == ("z", "z", "z")
    for rule, one in found.items():
        same = one.encode("e\u0301")[0].tolist() == one.encode("é")[0].tolist()
        assert same == (rule == "qwen2")


def test_scores_decide_which_neighbours_are_joined(tmp_path: Path) -> None:
    tokens, scores, kinds = scored_pieces()
    found, dice = opened(tmp_path, scored_settings() | {"add_bos_token": False}), random.Random(0)
    normal = [token for token, kind in zip(tokens, kinds, strict=True) if kind == 1]
    points = [score for score, kind in zip(scores, kinds, strict=True) if kind == 1]
    for _ in range(200):
        text = "".join(dice.choice("theonmasc ") for _ in range(dice.randrange(1, 12))).replace("  ", " ")
        ids, strings = found.encode(text)
        assert [tokens[number] for number in ids] == slow_scores(list(text.replace(" ", "▁")), normal, points)
        assert "".join(strings) == text
        assert found.decode(ids) == text


def test_letters_without_a_token_are_written_in_bytes_and_rows_of_spaces_are_whole(tmp_path: Path) -> None:
    found = opened(tmp_path, scored_settings())
    assert found.encode("é   the")[1] == ("<s>", "<0xC3>", "<0xA9>", "   ", "th", "e")
    assert found.decode(found.encode("é   the")[0]) == "<s>é   the"
    assert found.first_token == 1


def test_a_space_is_put_in_front_where_the_file_says_so(tmp_path: Path) -> None:
    assert opened(tmp_path, scored_settings(space=True)).encode("the")[1] == ("<s>", " the")
    assert opened(tmp_path, scored_settings(space=False)).encode("the")[1] == ("<s>", "th", "e")


def test_word_pieces_get_their_marks_back(tmp_path: Path) -> None:
    found = opened(tmp_path, word_piece_settings())
    assert found.encode("The CATS matting é")[1] == (
        "[CLS]",
        "the",
        "cat",
        "##s",
        "mat",
        "##ting",
        "[UNK]",
        "[SEP]",
    )
    assert found.first_token == 2


def test_special_tokens_are_found_in_a_text_and_the_file_says_which_stand_around_it(tmp_path: Path) -> None:
    settings = byte_level_settings()
    assert opened(tmp_path, settings).encode("a<|end|>b")[1] == ("a", "<|end|>", "b")
    assert opened(tmp_path, settings).first_token is None
    assert opened(tmp_path, settings | {"add_bos_token": True}).encode("a")[1] == ("<|end|>", "a")
    both = settings | {"add_eos_token": True, "eos_token_id": 0}
    assert opened(tmp_path, both).encode("a b c d", 3)[1] == ("a", " ", "<|end|>")


def test_a_rule_that_the_file_does_not_name_is_that_of_gpt2_and_said(tmp_path: Path) -> None:
    settings = byte_level_settings()
    del settings["pre"]
    found = opened(tmp_path, settings)
    assert found.encode("the cat")[1] == ("the", " cat")
    assert "as for GPT-2" in found.notes[0]


BYTES, SCORES = byte_level_settings(), scored_settings()
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no tokenizer": ({}, r"holds no tokenizer\. Pass the model's tokenizer\.json"),
    "an unknown kind": (BYTES | {"model": "rwkv"}, "of the kind 'rwkv'"),
    "an unknown rule": (BYTES | {"pre": "tekken"}, "'tekken', by which texts are cut"),
    "no vocabulary": ({"model": "gpt2"}, "no list of texts"),
    "numbers for tokens": (BYTES | {"tokens": [1, 2]}, "no list of texts"),
    "too few kinds": (BYTES | {"token_type": [1]}, "not equally long"),
    "no merges": (BYTES | {"merges": "x"}, "merges are no list"),
    "a merge of one piece": (BYTES | {"merges": ["ab"]}, "no two pieces"),
    "a merge of what is not there": (BYTES | {"merges": ["zz y"]}, "cannot be used"),
    "a token twice": (BYTES | {"tokens": ["a", "a"], "token_type": [1, 1]}, "'a' twice"),
    "too few scores": (SCORES | {"scores": [1.0]}, "not equally long"),
    "tokens without end": (
        SCORES
        | {"tokens": ["a" * 9000 + str(i) for i in range(20)], "scores": [0.0] * 20, "token_type": [1] * 20},
        "too long",
    ),
    "a first token that is not there": (SCORES | {"bos_token_id": 10**6}, "number 1000000"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_rebuilt_is_refused_in_words(case: str, tmp_path: Path) -> None:
    settings, words = BAD[case]
    with pytest.raises(InputError, match=words):
        opened(tmp_path, settings)


def test_a_damaged_file_is_refused_or_read(tmp_path: Path) -> None:
    data = write_gguf(tmp_path / "whole.gguf", SCORES).read_bytes()
    dice, path, refused = random.Random(0), tmp_path / "model.gguf", 0
    for _ in range(100):
        at = dice.randrange(len(data))
        path.write_bytes(
            dice.choice([data[:at], data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]])
        )
        try:
            open_tokenizer(path).encode("the cat ä")
        except InputError:
            refused += 1
    assert refused > 20
