"""A tokenizer rebuilt from what a GGUF file holds: its vocabulary, its merges or scores, and the name of the
rule that cuts a text into words.

Three kinds are known: byte-level BPE ("gpt2"), BPE with scores in the way of SentencePiece ("llama"), and
WordPiece ("bert").
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nucleate.checks import InputError, read_file, regular_file
from nucleate.models.gguf_header import read_gguf

__all__ = ["Rebuilt", "byte_level", "rebuilt_from_gguf", "word_pieces"]

PLACE = "tokenizer.ggml."
LISTS = tuple(PLACE + name for name in ("tokens", "scores", "token_type", "merges"))
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6  # kinds of tokens, in GGUF's numbers
MAX_SPLIT_LETTERS = 2 * 10**8  # read to find the merges of a vocabulary: that of Gemma 3 takes 2e7
# How words are cut, by the names that GGUF files give: as GPT-2 does, digit by digit before that, or by a
# pattern of its own with up to so many digits in a word.
AS_GPT2 = ("gpt-2", "gpt2", "phi-2", "olmo", "mpt", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de")
DIGIT_BY_DIGIT = ("smollm", "starcoder", "refact", "command-r", "codeshell")
DIGITS_IN_A_WORD = {"llama-bpe": 3, "llama3": 3, "llama-v3": 3, "dbrx": 3, "smaug-bpe": 3, "falcon3": 3}
DIGITS_IN_A_WORD |= {"qwen2": 1, "deepseek-r1-qwen": 1, "stablelm2": 1}
WHOLE_WORDS_FIRST = ("llama-bpe", "llama3", "llama-v3", "falcon3")  # a word in the vocabulary is one token
COMPOSED = ("qwen2", "deepseek-r1-qwen")  # letters and their accents are composed first (NFC)
WORD_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
INSTEAD = "Pass the model's tokenizer.json: tokenizer=PATH, or --tokenizer PATH."


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """A tokenizer of the package tokenizers, and the tokens that belong around every text."""

    inner: Any
    before: tuple[int, ...]
    after: tuple[int, ...]
    notes: tuple[str, ...]


def rebuilt_from_gguf(path: Path) -> Rebuilt:
    """The tokenizer in a GGUF file."""
    settings = _settings(path)
    tokens, kind = settings.get(PLACE + "tokens"), settings.get(PLACE + "model")
    if kind is None and tokens is None:
        raise InputError(f"{path} holds no tokenizer. {INSTEAD}")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(one, str) for one in tokens):
        _refuse(path, "its vocabulary is no list of texts")
    types = settings.get(PLACE + "token_type")
    if types is None:
        types = [NORMAL] * len(tokens)
    if not isinstance(types, list) or len(types) != len(tokens):
        _refuse(path, "its vocabulary and the kinds of its tokens are not equally long")
    if kind == "gpt2":
        inner, notes = _of_merges(path, settings, tokens)
    elif kind == "llama":
        inner, notes = _of_scores(path, settings, tokens, types), ()
    elif kind == "bert":
        inner, notes = _of_word_pieces(path, tokens), ("Letters are taken as small ones.",)
    else:
        raise InputError(
            f"{path} has a tokenizer of the kind {str(kind)[:40]!r}, and gpt2, llama and bert are known."
            f" {INSTEAD}"
        )
    _mark(inner, tokens, types)
    first, last = _ends(path, settings, kind, len(tokens))
    return Rebuilt(inner, first, last, notes)


def _settings(path: Path) -> dict[str, Any]:
    import mmap

    if not regular_file(path):
        return read_gguf(path, read_file(path, 0), LISTS)[0]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return read_gguf(path, data, LISTS)[0]


def _of_merges(path: Path, settings: dict[str, Any], tokens: list[str]) -> tuple[Any, tuple[str, ...]]:
    merges, rule = settings.get(PLACE + "merges"), settings.get(PLACE + "pre")
    if not isinstance(merges, list) or not all(isinstance(one, str) for one in merges):
        _refuse(path, "its merges are no list of texts")
    # A piece may be a space of another kind, but never the one between the two; it may begin with one.
    pairs = [(one[: one.index(" ", 1)], one[one.index(" ", 1) + 1 :]) for one in merges if " " in one[1:]]
    if len(pairs) != len(merges):
        _refuse(path, "a merge in it has no two pieces")
    notes = () if rule else ("The file does not say how words are cut: it is taken to be as for GPT-2.",)
    return byte_level(_numbered(path, tokens), pairs, "gpt-2" if rule is None else str(rule)), notes


def byte_level(table: dict[str, int], merges: list[tuple[str, str]], rule: str) -> Any:
    """Byte-level BPE; `rule` says how a text is cut into words."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    as_gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    cut: Any
    if rule in AS_GPT2:
        cut = as_gpt2
    elif rule in DIGIT_BY_DIGIT:
        cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), as_gpt2])
    elif rule in DIGITS_IN_A_WORD:
        pattern = WORD_PATTERN.replace("DIGITS", str(DIGITS_IN_A_WORD[rule]))
        cut = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), as_bytes])
    else:
        raise InputError(
            f"The rule {rule[:40]!r}, by which texts are cut into words, is not known. {INSTEAD}"
        )
    model = models.BPE(table, merges, ignore_merges=rule in WHOLE_WORDS_FIRST)
    inner = Tokenizer(model)
    inner.pre_tokenizer, inner.decoder = cut, decoders.ByteLevel()
    if rule in COMPOSED:
        inner.normalizer = normalizers.NFC()
    return inner


def _of_scores(path: Path, settings: dict[str, Any], tokens: list[str], types: list[int]) -> Any:
    """SentencePiece's BPE: of all neighbours that make a token together, those with the best score become
    it first; what has no token is written in bytes."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    scores = settings.get(PLACE + "scores")
    if not isinstance(scores, list) or len(scores) != len(tokens):
        _refuse(path, "its vocabulary and its scores are not equally long")
    table = _numbered(path, tokens)
    normal = [i for i, kind in enumerate(types) if kind == NORMAL]
    if sum(len(tokens[i]) ** 2 for i in normal) > MAX_SPLIT_LETTERS:
        _refuse(path, "its tokens are too long")
    found = []
    for i in normal:
        piece = tokens[i]
        for cut in range(1, len(piece)):
            left, right = table.get(piece[:cut]), table.get(piece[cut:])
            if left is not None and right is not None:
                found.append((-scores[i], left, right))
    found.sort()
    merges = [(tokens[left], tokens[right]) for _, left, right in found]
    unknown = settings.get(PLACE + "unknown_token_id")
    spare = tokens[unknown] if isinstance(unknown, int) and 0 <= unknown < len(tokens) else None
    has_bytes = sum(kind == BYTE for kind in types) == 256
    inner = Tokenizer(
        models.BPE(
            table,
            merges,
            unk_token=spare,
            fuse_unk=True,
            byte_fallback=has_bytes,
        )
    )
    begin = settings.get(PLACE + "add_space_prefix", True) is True
    line = normalizers.Replace(" ", "▁")
    inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), line]) if begin else line
    inner.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        + ([decoders.Strip(" ", 1, 0)] if begin else [])
    )
    return inner


def _of_word_pieces(path: Path, tokens: list[str]) -> Any:
    """GGUF writes the beginning of a word with ▁ and its other pieces bare; WordPiece these with ##."""
    pieces = [
        token
        if token.startswith("[") and token.endswith("]")
        else token[1:]
        if token.startswith("▁")
        else f"##{token}"
        for token in tokens
    ]
    return word_pieces(_numbered(path, pieces), lower=True)


def word_pieces(table: dict[str, int], lower: bool) -> Any:
    """WordPiece as BERT has it."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    inner = Tokenizer(models.WordPiece(table, unk_token="[UNK]", max_input_chars_per_word=100))
    inner.normalizer = normalizers.BertNormalizer(lowercase=lower)
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    return inner


def _numbered(path: Path, tokens: list[str]) -> dict[str, int]:
    table = {token: number for number, token in enumerate(tokens)}
    if len(table) != len(tokens):
        twice = next(token for number, token in enumerate(tokens) if table[token] != number)
        _refuse(path, f"it has the token {twice[:40]!r} twice")
    return table


def _mark(inner: Any, tokens: list[str], types: list[int]) -> None:
    """Tokens that are found in a text before anything else: special ones, and those that the authors put
    into the vocabulary by hand, such as rows of spaces."""
    from tokenizers import AddedToken

    def added(kind: int, special: bool) -> list[Any]:
        words = [token for token, one in zip(tokens, types, strict=True) if one == kind and token]
        return [AddedToken(word, normalized=False, special=special) for word in words]

    inner.add_special_tokens(added(CONTROL, True))
    inner.add_tokens(added(USER_DEFINED, False))


def _ends(
    path: Path, settings: dict[str, Any], kind: str, count: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens in front of every text and after it, as the file says, else as is usual for its kind."""
    usual = kind in ("llama", "bert") or settings.get(PLACE + "pre") in WHOLE_WORDS_FIRST
    first = settings.get(PLACE + "add_bos_token", usual) is True
    last = settings.get(PLACE + "add_eos_token", kind == "bert") is True
    if kind == "bert" and settings.get(PLACE + "add_sep_token", True) is True:
        last = True

    def number(*names: str) -> tuple[int, ...]:
        for name in names:
            found = settings.get(f"{PLACE}{name}_token_id")
            if found is not None:
                if not isinstance(found, int) or not 0 <= found < count:
                    _refuse(path, f"its token {name} has the number {found!r}")
                return (found,)
        return ()

    begin = number("cls", "bos") if kind == "bert" else number("bos")
    end = number("seperator", "separator", "eos") if kind == "bert" else number("eos")
    return (begin if first else ()), (end if last else ())


def _refuse(path: Path, reason: str) -> NoReturn:
    raise InputError(
        f"{path} cannot be used: {reason}. The file is damaged or was made to harm; get it again from where"
        " it came."
    )
