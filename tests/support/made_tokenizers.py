"""Small tokenizers of every kind, as files."""

import json
from pathlib import Path
from typing import Any

import gguf

PLACE = "tokenizer.ggml."
WORDS = ["the", "cat", "sat", "on", "mat"]


def byte_letters() -> list[str]:
    """The 256 letters that stand for bytes in byte-level BPE, in the order of the bytes."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printed else chr(next(others)) for byte in range(256)]


def byte_level_pieces() -> tuple[list[str], list[str]]:
    """Tokens and merges: all bytes, and a few words with and without the space in front."""
    tokens, merges = ["<|end|>", *byte_letters()], []
    for word in (*(f"Ġ{word}" for word in WORDS), *WORDS, "12", "123"):
        for cut in range(2, len(word) + 1):
            if word[:cut] not in tokens:
                tokens.append(word[:cut])
                merges.append(f"{word[: cut - 1]} {word[cut - 1]}")
    return tokens, merges


def scored_pieces() -> tuple[list[str], list[float], list[int]]:
    """Tokens, scores and kinds in the way of SentencePiece, with all bytes and rows of spaces."""
    tokens, kinds = ["<unk>", "<s>", "</s>", "  ", "   "], [2, 3, 3, 4, 4]
    tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    kinds += [6] * 256
    scores = [0.0] * len(tokens)
    for word in (
        *"▁theonmasc.",
        *(f"▁{word}" for word in WORDS),
        "th",
        "▁th",
        "▁t",
        "at",
        "▁c",
        "▁m",
        "▁s",
        "▁o",
    ):
        if word not in tokens:
            tokens.append(word)
            kinds.append(1)
            scores.append(-float(len(tokens)))
    return tokens, scores, kinds


def write_gguf(path: Path, settings: dict[str, Any]) -> Path:
    """A GGUF file with these settings of a tokenizer, and no tensors."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in settings.items():
        if isinstance(value, list):
            writer.add_array(PLACE + name, value)
        elif isinstance(value, bool):
            writer.add_bool(PLACE + name, value)
        elif isinstance(value, int):
            writer.add_uint32(PLACE + name, value)
        else:
            writer.add_string(PLACE + name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def byte_level_settings(rule: str = "gpt-2") -> dict[str, Any]:
    tokens, merges = byte_level_pieces()
    types = [3] + [1] * (len(tokens) - 1)
    return {"model": "gpt2", "pre": rule, "tokens": tokens, "merges": merges, "token_type": types} | {
        "bos_token_id": 0
    }


def scored_settings(space: bool = False) -> dict[str, Any]:
    tokens, scores, kinds = scored_pieces()
    made = {"model": "llama", "tokens": tokens, "scores": scores, "token_type": kinds, "bos_token_id": 1}
    return made | {"unknown_token_id": 0, "eos_token_id": 2, "add_space_prefix": space}


def word_piece_words() -> list[str]:
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s", "##ting", ".", "é"]


def word_piece_settings() -> dict[str, Any]:
    tokens = [
        word if word.startswith("[") else word[2:] if word.startswith("##") else f"▁{word}"
        for word in word_piece_words()
    ]
    ends = {"cls_token_id": 2, "bos_token_id": 2, "seperator_token_id": 3, "unknown_token_id": 1}
    return {"model": "bert", "tokens": tokens, "token_type": [3] * 5 + [1] * (len(tokens) - 5)} | ends


def tokenizer_json(folder: Path, **changes: Any) -> Path:
    """A tokenizer.json of single words, which adds <s> in front and cuts and fills up to 4 tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["<unk>", "<s>", *WORDS]
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    plain = {
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {
            "strategy": {"Fixed": 4},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "<unk>",
        },
        "added_tokens": [{"id": 1, "content": "<s>", **special}],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": "<unk>",
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(plain | changes))
    return folder
