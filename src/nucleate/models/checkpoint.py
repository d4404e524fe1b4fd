"""From a path to tensors and a configuration; nothing that a checkpoint says is trusted, and no pickle is
ever opened."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nucleate.checks import InputError, as_path, file_error, read_file, regular_file
from nucleate.models.header import parse_json, refuse_pickle
from nucleate.models.rope import SCALING_KINDS
from nucleate.models.weights import GgufWeights, LoadedWeights, SafetensorsWeights, Weights

__all__ = ["Source", "open_source"]

PICKLE_ENDINGS = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
MAX_CONFIG_BYTES, MAX_INDEX_BYTES = 2**24, 2**26
INDEX_FILE = "model.safetensors.index.json"
LAYERS_OF_27B = {"gemma2": 46, "gemma3": 62}  # the one size of each that divides scores by something else
SHARD_NAME = re.compile(r".*-(\d{5,6})-of-(\d{5,6})\.safetensors")


@dataclass(frozen=True, eq=False)
class Source:
    """A model that can be read: its tensors, its configuration, and where they came from."""

    name: str
    weights: Weights
    config: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def open_source(given: Any) -> Source:
    """A folder, a file, or a loaded model of the transformers library."""
    if hasattr(given, "state_dict") and hasattr(given, "config"):
        config = given.config.to_dict()
        return Source(str(config.get("_name_or_path") or type(given).__name__), LoadedWeights(given), config)
    if not isinstance(given, str | Path):
        raise InputError(
            f"A path or a loaded transformers model is needed, but {type(given).__name__} was given. Pass the"
            " folder of a checkpoint."
        )
    path = as_path("model", given)
    if path.is_dir():
        return _folder(path)
    return _file(path)


def _file(path: Path) -> Source:
    regular_file(path)
    ending = path.suffix.lower()
    if ending in PICKLE_ENDINGS:
        refuse_pickle(path)
    if path.name.endswith(".index.json"):
        return _safetensors(path.parent, path.parent.resolve().name, _indexed(path))
    if ending == ".safetensors":
        return _safetensors(path.parent, path.name, [path])
    if ending == ".gguf":
        return _gguf(path)
    raise InputError(
        f"{path} has the ending {ending or '(none)'}, but checkpoints end in .safetensors or .gguf. Pass such"
        " a file, or its folder."
    )


def _folder(path: Path) -> Source:
    """The weights of a folder: safetensors with an index, in one file or in numbered parts, else one GGUF
    file."""
    try:
        files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    except OSError as error:
        raise file_error(
            f"{path} cannot be read: {error.strerror}. Check that you may read it.", error
        ) from None
    name = path.resolve().name
    if (path / INDEX_FILE).exists():
        return _safetensors(path, name, _indexed(path / INDEX_FILE))
    tensors = [file for file in files if file.suffix == ".safetensors"]
    if (path / "model.safetensors") in tensors:
        return _safetensors(path, name, [path / "model.safetensors"])
    if len(tensors) == 1 or (tensors and _all_parts(tensors)):
        return _safetensors(path, name, tensors)
    ggufs = [file for file in files if file.suffix == ".gguf"]
    if len(tensors) > 1 or len(ggufs) > 1:
        some = ", ".join(file.name for file in (tensors or ggufs)[:8])
        raise InputError(f"{path} holds several models: {some}. Pass one of these files.")
    if ggufs:
        return _gguf(ggufs[0])
    pickles = [file for file in files if file.suffix in PICKLE_ENDINGS and "training_args" not in file.name]
    if pickles:
        refuse_pickle(pickles[0])
    raise InputError(
        f"{path} holds no .safetensors and no .gguf file. Pass the folder of a checkpoint, or one of its"
        " files."
    )


def _all_parts(files: list[Path]) -> bool:
    """Whether these are parts 1 to n of n."""
    found = [match for file in files if (match := SHARD_NAME.fullmatch(file.name))]
    return (
        len(found) == len(files)
        and [int(m[1]) for m in found] == list(range(1, len(files) + 1))
        and {int(m[2]) for m in found} == {len(files)}
    )


def _indexed(path: Path) -> list[Path]:
    """The files that an index names; each must be a plain name in the index's own folder."""
    table = parse_json(path, read_file(path, MAX_INDEX_BYTES), "the index").get("weight_map")
    if not isinstance(table, dict) or not table or not all(isinstance(file, str) for file in table.values()):
        raise InputError(f"{path} has no weight_map of names to files. Get it again from where it came.")
    files = sorted(set(table.values()))
    for file in files:
        if not re.fullmatch(r"[\w][\w.-]{0,200}\.safetensors", file, re.ASCII):
            raise InputError(
                f"{path} points at {file[:80]!r}, but may only name .safetensors files in its own folder. It"
                " is not followed."
            )
    weights = SafetensorsWeights([path.parent / file for file in files])
    for tensor, file in table.items():
        if weights.holder(tensor) != file:
            raise InputError(
                f"{path} says that {file} holds {tensor[:80]!r}, but it does not. The index belongs to"
                " another model, or a file is damaged."
            )
    return [path.parent / file for file in files]


def _safetensors(folder: Path, name: str, files: list[Path]) -> Source:
    config = folder / "config.json"
    table = (
        parse_json(config, read_file(config, MAX_CONFIG_BYTES), "the configuration")
        if config.exists()
        else {}
    )
    return Source(name, SafetensorsWeights(files), table)


def _gguf(path: Path) -> Source:
    weights = GgufWeights(path)
    kinds = sorted(set(weights.kinds.values()) - {"F32", "F16", "BF16", "F64"})
    notes: tuple[str, ...] = (
        (
            (
                f"The weights are quantised ({', '.join(kinds)}) and were dequantised: all numbers are those"
                " of the rounded weights."
            ),
        )
        if kinds
        else ()
    )
    settings = weights.settings
    kind = settings.get("general.architecture")
    names = {
        "num_attention_heads": "attention.head_count",
        "num_key_value_heads": "attention.head_count_kv",
        "head_dim": "attention.key_length",
    }
    names |= {"num_hidden_layers": "block_count", "attn_logit_softcapping": "attn_logit_softcapping"}
    config = {
        ours: settings[f"{kind}.{theirs}"]
        for ours, theirs in names.items()
        if settings.get(f"{kind}.{theirs}") is not None
    }
    if kind in LAYERS_OF_27B:
        notes += (
            (
                "The file does not say by what scores are divided: it is taken to be the root of d_head, and"
                " of d / heads where the model is a 27B one."
            ),
        )
        if config.get("num_hidden_layers") == LAYERS_OF_27B[kind]:
            config |= _scale_of_27b(
                settings.get(f"{kind}.embedding_length"), config.get("num_attention_heads")
            )
    if settings.get(f"{kind}.rope.scaling.type") in SCALING_KINDS:
        notes += ("What the scaling of RoPE multiplies queries and keys by is left out of beta.",)
    return Source(path.name, weights, {"model_type": f"gguf:{kind}", **config}, notes)


def _scale_of_27b(d: Any, heads: Any) -> dict[str, float]:
    return (
        {"query_pre_attn_scalar": d / heads}
        if isinstance(d, int) and isinstance(heads, int) and heads > 0
        else {}
    )
