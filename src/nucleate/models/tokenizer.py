"""From a text to the numbers that a model reads, by the tokenizer that comes with its checkpoint.

It is read from tokenizer.json, from vocab.json and merges.txt, or from vocab.txt, or rebuilt from what a GGUF
file holds (`gguf_tokenizer`). The package `tokenizers` does the work; no code of a checkpoint is run.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import (
    InputError,
    MissingPackageError,
    as_path,
    check_memory,
    read_file,
    regular_file,
    shortened,
)
from nucleate.models.gguf_tokenizer import rebuilt_from_gguf
from nucleate.models.header import parse_json
from nucleate.models.tokenizer_growth import check_growth, check_normalised

__all__ = ["Tokenizer", "open_tokenizer"]

MAX_FILE_BYTES = 2**26  # of tokenizer.json: those of the largest vocabularies have 35 MB
MAX_CONFIG_BYTES = 2**24
JSON_GROWTH = 24  # bytes in memory per byte of JSON, at most
MAX_CHARACTERS = 2**24  # of a text
SPARE_ROWS = 0.05, 256  # of embeddings without a token: published models have up to 2 % or 200
# models that read a text between [CLS] and [SEP], or <s> and </s>
ENCODERS = ("albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta")
SPECIAL_WORDS = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK)\]|<(s|/s|pad|unk|mask)>|<\|endoftext\|>")
FIT_HELP = "Pass the tokenizer that belongs to this model: tokenizer=PATH, or --tokenizer PATH."


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """What turns a text into tokens."""

    name: str  # where it came from
    inner: Any  # of the package tokenizers, without truncation and padding
    vocabulary: int  # one more than the largest number of a token
    before: tuple[int, ...] = ()  # put in front of every text, beyond what `inner` puts there
    after: tuple[int, ...] = ()  # the same at the end
    notes: tuple[str, ...] = ()  # what was taken in a certain way
    _ends: tuple[int, int] = field(default=(0, 0), repr=False)  # special tokens in front of a text and after

    @property
    def first_token(self) -> int | None:
        """The number of the token that is put in front of every text; None if there is none."""
        if self.before:
            return self.before[0]
        return int(_guarded(self.name, lambda: self.inner.encode("a").ids)[0]) if self._ends[0] else None

    def encode(self, text: str, length: int | None = None) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """The numbers (n,) of the tokens of a text, and the tokens as strings.

        length   at most so many tokens: a longer text is cut, and keeps the special tokens at its end
        """
        text = _checked(text)
        _guarded(self.name, lambda: check_normalised(self.inner, text))
        found = _guarded(self.name, lambda: self.inner.encode(text))
        ids = np.array([*self.before, *found.ids, *self.after], dtype=np.int64)
        if length is not None and len(ids) > length:
            ending = min(self._ends[1], length - 1)
            ids = np.concatenate([ids[: length - ending], ids[len(ids) - ending :]])
        return ids, tuple(self.string(number) for number in ids.tolist())

    def decode(self, ids: Sequence[int] | NDArray[np.int64]) -> str:
        """The text of tokens, special ones included."""
        numbers = [int(number) for number in ids]
        return str(_guarded(self.name, lambda: self.inner.decode(numbers, skip_special_tokens=False)))

    def string(self, number: int) -> str:
        """A token as it is shown: with the space in front that belongs to it; bytes that are no letter as
        <0xE2>. Different tokens have different strings, save a few that read alike."""
        return self._strings(number)

    @cached_property
    def _strings(self) -> Callable[[int], str]:
        return _shown(self.inner)

    def check_fits(self, rows: int, model: str) -> None:
        """Refuse a tokenizer that is not that of a model whose embeddings have so many rows."""
        share, least = SPARE_ROWS
        if self.vocabulary > rows:
            raise InputError(
                f"The tokenizer {self.name} counts {self.vocabulary} tokens, but {model} has embeddings for"
                f" {rows}. {FIT_HELP}"
            )
        if rows - self.vocabulary > max(least, share * rows):
            raise InputError(
                f"The tokenizer {self.name} counts only {self.vocabulary} tokens, but {model} has embeddings"
                f" for {rows}. {FIT_HELP}"
            )


def open_tokenizer(given: Any, causal: bool | None = None) -> Tokenizer:
    """The tokenizer of a checkpoint: its folder or file, a file of a tokenizer alone, or one that is loaded
    (of the package tokenizers, or a fast one of transformers).

    causal   whether the model is; a vocabulary alone does not say whether [CLS] and [SEP] belong around a
             text, and for models that see all tokens they do; None: as config.json beside it says
    """
    package = _package()
    inner = getattr(given, "backend_tokenizer", given)
    if isinstance(inner, package.Tokenizer):
        copy = _guarded("that was given", lambda: package.Tokenizer.from_str(inner.to_str()))
        return _ready("that was given", copy)
    if not isinstance(given, str | Path):
        raise InputError(
            f"A path or a tokenizer is needed, but {shortened(given)} was given. Pass the folder of the"
            " checkpoint."
        )
    path = as_path("tokenizer", given)
    if path.suffix.lower() == ".gguf":
        return _of_gguf(path)
    if path.is_dir():
        return _of_folder(path, causal)
    if path.name == "vocab.txt":
        return _from_vocab_txt(path, causal)
    if path.suffix.lower() == ".json" and path.name != "vocab.json" and not path.name.endswith("index.json"):
        return _from_json(path)
    regular_file(path)
    return _of_folder(path.parent, causal)


def _of_folder(folder: Path, causal: bool | None) -> Tokenizer:
    """The first of the files that a tokenizer may be in."""
    if (folder / "tokenizer.json").exists():
        return _from_json(folder / "tokenizer.json")
    if (folder / "vocab.json").exists() and (folder / "merges.txt").exists():
        return _from_merges(folder, causal)
    if (folder / "vocab.txt").exists():
        return _from_vocab_txt(folder / "vocab.txt", causal)
    ggufs = sorted(folder.glob("*.gguf"))
    if len(ggufs) == 1:
        return _of_gguf(ggufs[0])
    raise InputError(
        f"{folder} holds no tokenizer: no tokenizer.json, no vocab.json with merges.txt, no vocab.txt. Put"
        " the model's tokenizer.json beside its weights, or pass its path: tokenizer=PATH, or --tokenizer"
        " PATH."
    )


def _of_gguf(path: Path) -> Tokenizer:
    _package()
    made = _guarded(str(path), lambda: rebuilt_from_gguf(path))
    return _ready(path.name, made.inner, made.before, made.after, made.notes)


def _from_json(path: Path) -> Tokenizer:
    raw = read_file(path, MAX_FILE_BYTES)
    check_memory(JSON_GROWTH * len(raw), f"What {path} holds")
    parse_json(path, raw, "the tokenizer")  # UTF-8, JSON, and no name twice
    inner = _guarded(str(path), lambda: _package().Tokenizer.from_str(raw.decode("utf-8")))
    return _ready(str(path), inner)


def _from_merges(folder: Path, causal: bool | None) -> Tokenizer:
    """Byte-level BPE as GPT-2 and RoBERTa keep it."""
    from nucleate.models.gguf_tokenizer import byte_level

    table = parse_json(
        folder / "vocab.json", read_file(folder / "vocab.json", MAX_FILE_BYTES), "the vocabulary"
    )
    if not all(type(number) is int and 0 <= number < 2**31 for number in table.values()):
        raise InputError(f"{folder / 'vocab.json'} must give every token a number. Get it again.")
    lines = _lines(folder / "merges.txt")
    merges = [pair for line in lines if not line.startswith("#version") and (pair := line.split(" "))]
    if not all(len(pair) == 2 for pair in merges if pair != [""]):
        raise InputError(
            f"{folder / 'merges.txt'} must have two pieces in every line, but has not. Get it again."
        )
    pairs = [(one, two) for one, two in (pair for pair in merges if pair != [""])]
    inner = _guarded(str(folder), lambda: byte_level(table, pairs, "gpt-2"))
    _add_special(inner, [word for word in table if SPECIAL_WORDS.fullmatch(word)])
    wrapped = _sees_all(folder, causal) and {"<s>", "</s>"} <= table.keys()
    before, after = ((table["<s>"],), (table["</s>"],)) if wrapped else ((), ())
    return _ready(str(folder / "vocab.json"), inner, before, after)


def _from_vocab_txt(path: Path, causal: bool | None) -> Tokenizer:
    """One token in every line: pieces of words (WordPiece, if some begin with ##), or letters and words in
    brackets, as for molecules and proteins."""
    from nucleate.models.gguf_tokenizer import word_pieces

    words = _lines(path)
    table = {word: number for number, word in enumerate(words) if word}
    if len(table) < 2 or len(table) != sum(bool(word) for word in words):
        raise InputError(
            f"{path} must hold one token in every line and none twice, but does not. Get it again from where"
            " it came."
        )
    if "[UNK]" not in table:
        raise InputError(
            f"{path} has no token [UNK], which stands for what is not in it. Pass the model's tokenizer.json"
            " instead."
        )
    notes: tuple[str, ...] = ()
    if any(word.startswith("##") for word in words):
        lower = _settings(path.parent / "tokenizer_config.json").get("do_lower_case")
        if not isinstance(lower, bool):
            lower = not any(word != word.lower() for word in words if not SPECIAL_WORDS.fullmatch(word))
        inner = _guarded(str(path), lambda: word_pieces(table, bool(lower)))
    else:
        inner = _guarded(str(path), lambda: _symbols(table))
        notes = (f"{path.name} holds no pieces of words: texts are read symbol by symbol.",)
    _add_special(inner, [word for word in table if SPECIAL_WORDS.fullmatch(word)])
    wrapped = _sees_all(path.parent, causal) and {"[CLS]", "[SEP]"} <= table.keys()
    before, after = ((table["[CLS]"],), (table["[SEP]"],)) if wrapped else ((), ())
    return _ready(str(path), inner, before, after, notes)


def _symbols(table: dict[str, int]) -> Any:
    """Words in brackets, else the longest entry of the table that fits; spaces only part."""
    tokenizers = _package()
    plain = sorted((word for word in table if not word.startswith("[")), key=len, reverse=True)
    pattern = "|".join([r"\[[^\]\s]+\]", *(_escaped(word) for word in plain), r"\S"])
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(table, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.WhitespaceSplit(),
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
        ]
    )
    return inner


def _escaped(word: str) -> str:
    return "".join(letter if letter.isalnum() else f"\\x{{{ord(letter):x}}}" for letter in word)


def _add_special(inner: Any, words: list[str]) -> None:
    inner.add_special_tokens(words)


def _ready(
    name: str,
    inner: Any,
    before: tuple[int, ...] = (),
    after: tuple[int, ...] = (),
    notes: tuple[str, ...] = (),
) -> Tokenizer:
    """The record, after what would cut, fill up or vary the tokens was switched off."""

    def prepared() -> tuple[int, tuple[int, int]]:
        inner.no_truncation()
        inner.no_padding()
        if getattr(inner.model, "dropout", None) is not None:
            inner.model.dropout = None  # it leaves merges out at random
        check_growth(name, inner)
        numbers = inner.get_vocab(with_added_tokens=True).values()
        special = list(inner.encode("a").special_tokens_mask)  # 1 where a token was put there
        front = next((i for i, mark in enumerate(special) if not mark), len(special))
        back = next((i for i, mark in enumerate(reversed(special)) if not mark), 0)
        return max(numbers, default=-1) + 1, (front + len(before), back + len(after))

    vocabulary, ends = _guarded(name, prepared)
    if not vocabulary:
        raise InputError(f"The tokenizer {name} has no tokens. Get it again from where it came.")
    return Tokenizer(name, inner, vocabulary, before, after, notes, ends)


def _guarded(name: str, work: Callable[[], Any]) -> Any:
    """The result of work that the package does on what a file says: it has errors of many kinds, and its
    panics are no Exceptions."""
    try:
        return work()
    except (InputError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # Ctrl-C
        raise InputError(
            f"The tokenizer {name} cannot be used: {shortened(' '.join(str(error).split()), 120)}. Get it"
            " again from where it came."
        ) from None


def _shown(inner: Any) -> Callable[[int], str]:
    """How tokens are shown, by the way in which the tokenizer keeps spaces."""
    state = b"" if inner.decoder is None else bytes(inner.decoder.__getstate__())
    by_bytes, by_line = b"ByteLevel" in state, "▁".encode() in state or b"Metaspace" in state
    letters = _letters_of_bytes() if by_bytes else {}

    @cache
    def string(number: int) -> str:
        piece = inner.id_to_token(number)
        if piece is None:
            return f"<{number}>"
        if by_bytes and all(letter in letters for letter in piece):
            raw = bytes(letters[letter] for letter in piece)
            try:
                return raw.decode("utf-8")
            except UnicodeDecodeError:
                return "".join(f"<0x{byte:02X}>" for byte in raw)
        return str(piece).replace("▁", " ") if by_line else str(piece)

    return string


@cache
def _letters_of_bytes() -> dict[str, int]:
    """Byte-level BPE writes every byte as a letter: those that can be printed as themselves, the others as
    the letters from 256 on, in order."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + i): byte for i, byte in enumerate(others)}


def _checked(text: Any) -> str:
    """A text of letters that UTF-8 can hold: halves of pairs (lone surrogates) become U+FFFD."""
    if not isinstance(text, str):
        raise InputError(
            f"A text must be a str, but is {shortened(text)}. Read a file with open(path).read()."
        )
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"A text has {len(text)} characters, and {MAX_CHARACTERS} are the most that is read. Cut it."
        )
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _lines(path: Path) -> list[str]:
    try:
        text = read_file(path, MAX_FILE_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8. Get it again from where it came.") from None
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _settings(path: Path) -> dict[str, Any]:
    return parse_json(path, read_file(path, MAX_CONFIG_BYTES), "the configuration") if path.exists() else {}


def _sees_all(folder: Path, causal: bool | None) -> bool:
    """Whether the model of a folder lets every token see all others."""
    return (
        not causal if causal is not None else _settings(folder / "config.json").get("model_type") in ENCODERS
    )


def _package() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise MissingPackageError(
            f"To read texts, the package tokenizers is needed ({error}). Install it: python -m pip install"
            ' "nucleate[models]"'
        ) from None
    return tokenizers
