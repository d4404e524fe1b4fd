"""What a tokenizer makes of a text, bounded before it reads one.

A tokenizer's file may replace letters by longer strings, many times over, or put any number of tokens around
a text: a file of a kilobyte can ask for a terabyte.  Sizes are read from the rules first.
"""

import base64
import json
from typing import Any

from nucleate.checks import InputError, check_memory

__all__ = ["check_growth", "check_normalised"]

MAX_GROWTH = 1000  # of the bytes of a text, at most; 130 for the rules of published models
MAX_TOKENS_AROUND = 1000  # special tokens put around a text
MAX_PIECE = 4096  # letters of a token, or of what is put in front of a text
PIECE_AT_ONCE = 1000  # letters that are normalised at a time to see how long they become
BYTES_PER_BYTE = 48  # in memory, per byte of a normalised text
PARTS = ("normalizers", "pretokenizers", "decoders", "processors")


def check_growth(name: str, inner: Any) -> None:
    """Refuse a tokenizer (of the package tokenizers) whose rules let a text grow beyond all measure."""
    for what in ("normalizer", "pre_tokenizer", "decoder"):
        growth = 1.0
        for rule in _rules(getattr(inner, what)):
            growth *= _growth(rule)
            if growth > MAX_GROWTH:
                _refuse(name, f"its {what} may make a text more than {MAX_GROWTH} times as long")
    if (letters := sum(len(rule.get("prepend", "")) for rule in _rules(inner.normalizer))) > MAX_PIECE:
        _refuse(name, f"it puts {letters} letters in front of every text")
    around = 0
    for rule in _rules(inner.post_processor):
        if rule.get("type") == "TemplateProcessing":
            places = [next(iter(place.items())) for place in rule["single"]]
            special = rule["special_tokens"]
            around += sum(len(special[one["id"]]["ids"]) for kind, one in places if kind == "SpecialToken")
            if sum(kind == "Sequence" for kind, _ in places) > 1:
                _refuse(name, "it repeats every text")
    if around > MAX_TOKENS_AROUND:
        _refuse(name, f"it puts {around} tokens around every text")
    long = [
        *inner.get_vocab(with_added_tokens=True),
        *(getattr(inner.model, part, None) or "" for part in ("continuing_subword_prefix", "unk_token")),
    ]
    if (letters := max(map(len, long), default=0)) > MAX_PIECE:
        _refuse(name, f"it has a token of {letters} letters, and {MAX_PIECE} are the most")


def check_normalised(inner: Any, text: str) -> None:
    """Refuse a text that does not fit into memory after the rules of the tokenizer."""
    if inner.normalizer is None:
        return
    pieces = (text[i : i + PIECE_AT_ONCE] for i in range(0, len(text), PIECE_AT_ONCE))
    size = sum(len(inner.normalizer.normalize_str(piece).encode()) for piece in pieces)
    check_memory(BYTES_PER_BYTE * size, "This text, as the tokenizer spells it,")


def _rules(part: Any) -> list[dict[str, Any]]:
    """The rules of a part of a tokenizer, in order, out of the sequences that hold them."""
    if part is None:
        return []
    waiting, found = [json.loads(part.__getstate__())], []
    while waiting:
        rule = waiting.pop()
        inside = [one for key in PARTS for one in rule.get(key, ())]
        waiting += reversed(inside)
        if not inside:
            found.append(rule)
    return found


def _growth(rule: dict[str, Any]) -> float:
    """How many times as long a rule may make a text, in bytes."""
    kind = rule.get("type")
    if kind == "Replace":
        way, pattern = next(iter(rule["pattern"].items()))
        length = len(rule["content"].encode())
        # a regular expression may match between any two letters
        return max(1.0, length / max(1, len(pattern.encode()))) if way == "String" else 1.0 + length
    if kind == "Precompiled":
        raw = base64.b64decode(rule["precompiled_charsmap"])
        strings = raw[4 + int.from_bytes(raw[:4], "little") :]  # after a table, whose size stands in front
        return float(max(1, *map(len, strings.split(b"\0"))))
    return 2.0 if kind == "ByteLevel" else 1.0  # a byte becomes a letter of up to two bytes


def _refuse(name: str, why: str) -> None:
    raise InputError(f"The tokenizer {name} cannot be trusted: {why}. Get it again from where it came.")
