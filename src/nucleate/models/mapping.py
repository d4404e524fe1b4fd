"""How an architecture names its tensors: one small TOML file each, in architectures/ or the user's own."""

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nucleate.checks import InputError, regular_file

__all__ = ["EXAMPLE", "Mapping", "built_in", "find_mapping", "read_mapping"]

MAX_MAPPING_BYTES = 100_000
EXAMPLE = """\
models = ["my_model"]                    # model_type in config.json
layer = "layers.{layer}."                # what stands in front of the names of a layer, after any prefix
query = "self_attn.q_proj.weight"        # one matrix each, a row per output; or instead of the three:
key = "self_attn.k_proj.weight"          #   fused = "attn.qkv.weight", order = "blocks" (all Q, all K, all V)
value = "self_attn.v_proj.weight"        #   or "heads" (Q, K, V of each head)
output = "self_attn.o_proj.weight"
norm = "input_layernorm.weight"          # of the normalisation in front of the attention
centred = false                          # true: LayerNorm, false: RMSNorm
sizes = {heads = "num_attention_heads"}  # a number, or its name in config.json;
                                         # also key_value_heads, head_dim, layers, std
"""
CHOICES = {"gain": ("w", "1+w"), "order": ("", "blocks", "heads"), "front": ("same", "previous", "loop")}
SIZES = ("heads", "key_value_heads", "head_dim", "layers", "std")
NAMES = {
    "heads": ("num_attention_heads", "n_head"),
    "key_value_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "layers": ("num_hidden_layers", "n_layer"),
    "std": ("initializer_range",),
}  # where config.json has them


@dataclass(frozen=True)
class Mapping:
    """The names of the tensors of one architecture, and how its normalisation works."""

    name: str  # of the file
    models: tuple[str, ...]  # model_type in config.json
    layer: str  # with {layer}, and {inner} if layers are nested
    output: str
    query: str = ""
    key: str = ""
    value: str = ""
    fused: str = ""  # Q, K, V in one tensor, in this order:
    order: str = ""  # "blocks": all Q, all K, all V; "heads": Q, K, V of one head after the other
    transposed: bool = False  # a column per output
    norm: str = ""  # of the gain; none: the gain is 1
    centred: bool = False  # LayerNorm takes the mean away, RMSNorm does not
    gain: str = "w"  # or "1+w"
    # whose normalisation is in front: of the "same" layer, the "previous" one, or, in a "loop", the last of
    # the same group
    front: str = "same"
    first: str = ""  # with "previous": what is in front of the first layer
    # with "previous": a matrix that some models have behind `first`; then nothing is normalised in front of
    # the first layer
    between: str = ""
    scale: str = ""  # name in config.json of s, if scores are divided by its root instead of that of d_head
    rope: bool = False
    shrunk: bool = False  # initialised with an output smaller by 1 / sqrt(2 layers)
    prefix: str | None = None  # in front of `layer`, where there are several
    sizes: MappingProxyType[str, int | float | str] = field(default_factory=lambda: MappingProxyType({}))
    defaults: MappingProxyType[str, dict[str, Any]] = field(
        default_factory=lambda: MappingProxyType({})
    )  # by model_type: what config.json may omit
    # what the forward pass needs besides, see models/forward/architecture.py
    forward: MappingProxyType[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def anchor(self) -> str:
        """A tensor that every layer has."""
        return self.fused or self.query

    def place(self, layer: tuple[int, ...]) -> str:
        """`layer` with its numbers put in."""
        return self.layer.replace("{layer}", str(layer[0])).replace("{inner}", str(layer[-1]))

    @property
    def tensors(self) -> tuple[str, ...]:
        """All that a layer has of its own."""
        return tuple(filter(None, (self.fused, self.query, self.key, self.value, self.output, self.norm)))

    def fits(self, names: Collection[str], prefix: str, layers: list[tuple[int, ...]]) -> bool:
        """Whether some layer under this prefix has all its tensors."""
        places = (prefix + self.place(layer) for layer in layers)
        return (not self.first or prefix + self.first in names) and any(
            all(place + tensor in names for tensor in self.tensors) for place in places
        )

    def found_in(self, names: Collection[str]) -> dict[str, list[tuple[int, ...]]]:
        """The layers that there are, in order, by the prefix in front of their names."""
        text = re.escape(self.layer).replace(r"\{layer\}", r"(\d{1,6})").replace(r"\{inner\}", r"(\d{1,6})")
        pattern = re.compile(rf"(|.*\.){text}{re.escape(self.anchor)}")
        found: dict[str, set[tuple[int, ...]]] = {}
        for name in names:
            if match := pattern.fullmatch(name):
                found.setdefault(match[1], set()).add(tuple(map(int, match.groups()[1:])))
        return {prefix: sorted(layers) for prefix, layers in found.items() if self.prefix in (None, prefix)}


@cache
def built_in() -> dict[str, Mapping]:
    """The architectures that come with nucleate, by name."""
    folder = resources.files("nucleate.models").joinpath("architectures")
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )
    return {file.name[:-5]: _parsed(file.name[:-5], file.read_text(encoding="utf-8")) for file in files}


def find_mapping(given: str | Path) -> Mapping:
    """A mapping by the name of a built-in architecture, or from the user's file."""
    known = built_in()
    if str(given) in known:
        return known[str(given)]
    if Path(given).suffix != ".toml":
        raise InputError(f"mapping is {str(given)!r}, but must be a .toml file or one of {', '.join(known)}.")
    return read_mapping(Path(given))


def read_mapping(path: Path) -> Mapping:
    """A mapping from a TOML file."""
    if (size := regular_file(path)) > MAX_MAPPING_BYTES:
        raise InputError(
            f"{path} has {size} bytes, but a mapping has at most {MAX_MAPPING_BYTES}. It is ten"
            f" lines:\n{EXAMPLE}"
        )
    try:
        return _parsed(path.name, path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not TOML: {str(error)[:200]}. A mapping looks like this:\n{EXAMPLE}"
        ) from None


def _parsed(name: str, text: str) -> Mapping:
    table = tomllib.loads(text)
    known = {one.name: one for one in fields(Mapping) if one.name != "name"}
    for key, value in table.items():
        if key not in known:
            close = get_close_matches(key, known, 1)
            raise InputError(
                f"The mapping {name} has the unknown key {key!r}. "
                + (f"Is it {close[0]!r}?" if close else f"Known are {', '.join(known)}.")
            )
        _check_value(name, key, value)
    if missing := [key for key in ("models", "layer", "output") if key not in table]:
        raise InputError(
            f"The mapping {name} lacks {' and '.join(missing)}. A mapping looks like this:\n{EXAMPLE}"
        )
    if "{layer}" not in table["layer"]:
        raise InputError(
            f"The mapping {name} has layer = {table['layer']!r}, which must hold {{layer}}, such as"
            ' "layers.{layer}."'
        )
    if "fused" in table and not table.get("order"):
        raise InputError(
            f'The mapping {name} has fused, but no order. Add order = "blocks" or order = "heads".'
        )
    if "fused" not in table and not all(table.get(key) for key in ("query", "key", "value")):
        raise InputError(
            f"The mapping {name} must have query, key and value, or fused. It looks like this:\n{EXAMPLE}"
        )
    tables = {key: MappingProxyType(table.get(key, {})) for key in ("sizes", "defaults", "forward")}
    return Mapping(name, **{**table, "models": tuple(table["models"]), **tables})


def _check_value(name: str, key: str, value: Any) -> None:
    """The type of one key, and one of its choices where it has them."""
    asked: dict[str, tuple[Any, str]] = {
        "models": (list, "a list of texts"),
        "sizes": (dict, "a table"),
        "defaults": (dict, "a table of tables"),
        "forward": (dict, "a table"),
    }
    asked |= dict.fromkeys(("transposed", "centred", "rope", "shrunk"), (bool, "true or false"))
    kind, words = asked.get(key, (str, "a text"))
    inner = {"models": str, "defaults": dict}.get(key)
    if not isinstance(value, kind) or (
        inner and not all(isinstance(one, inner) for one in (value.values() if inner is dict else value))
    ):
        raise InputError(f"The mapping {name} has {key} = {value!r}, but it must be {words}.")
    if key in CHOICES and value not in CHOICES[key]:
        raise InputError(
            f"The mapping {name} has {key} = {value!r}, but it must be one of"
            f" {', '.join(filter(None, CHOICES[key]))}."
        )
    if key == "sizes":
        for size, number in value.items():
            if size not in SIZES or isinstance(number, bool) or not isinstance(number, int | float | str):
                raise InputError(
                    f"The mapping {name} has sizes.{size} = {number!r}. Known are {', '.join(SIZES)}, each a"
                    " number or its name in config.json."
                )
