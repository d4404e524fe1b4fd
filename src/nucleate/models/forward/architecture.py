"""What the forward pass needs to know of an architecture besides its Q, K, V: the [forward] table of its
file in models/architectures.

A table [forward.MODEL_TYPE] holds what one of its models has otherwise, or names another one to be like.
"""

from dataclasses import dataclass, fields
from typing import Any

from nucleate.checks import InputError
from nucleate.models.mapping import Mapping

__all__ = ["Architecture", "architecture"]

CHOICES = {"window": ("", "all", "above", "pattern", "types"), "mask": ("causal", "full")}


@dataclass(frozen=True)
class Architecture:
    """Names of tensors, and how the parts are put together; a name that is empty: there is no such part.

    Names of a layer's tensors come after the name of the layer, others after the model's prefix; those of
    the head that makes logits may stand further out.
    """

    embedding: str
    up: str
    down: str
    eps: str  # its name in config.json
    activation: str  # its name in config.json
    gelu: str = "gelu"  # what is meant where config.json says gelu
    gate: str = ""
    positions: str = ""  # a learned table; else RoPE
    first_position: str = ""  # name in config.json of the number after which positions are counted
    types: str = ""  # a table whose first row is added to all tokens
    embedding_norm: str = ""
    embedding_matrix: str = ""  # from small embeddings to d, if it is there
    root_d: bool = False  # embeddings are multiplied by the root of d
    query_norm: str = ""
    key_norm: str = ""
    of_attention: str = ""
    after_attention: str = ""
    before_mlp: str = ""
    of_mlp: str = ""
    parallel: str = ""  # name in config.json: attention and MLP read the same stream
    last_norm: str = ""
    head: tuple[str, ...] = ()  # the first of these that is there
    head_bias: tuple[str, ...] = ()
    head_dense: str = ""  # masked models have a further layer in front of the head
    head_norm: str = ""
    head_activation: str = ""  # of that layer; else that of the MLPs
    mask: str = "causal"
    # which layers have a window, unless config.json has layer_types: all, those above max_window_layers,
    # or all but every sliding_window_pattern-th
    window: str = ""
    local_rope: bool = False  # layers with a window have their own base
    interleaved: bool = False  # rows of Q and K are stored so that RoPE turns neighbours
    rope_divisors: str = ""  # of the frequencies of RoPE, if it is there


def architecture(mapping: Mapping, model_type: str) -> Architecture:
    """Of a model of this type."""
    if not mapping.forward:
        raise InputError(
            f"The mapping {mapping.name} has no [forward] table, so that its forward pass is not known. Add"
            " one, as the files in nucleate/models/architectures have."
        )
    own = mapping.forward.get(model_type, {})
    own = mapping.forward.get(own["like"], {}) if "like" in own else own
    table = {name: value for name, value in mapping.forward.items() if not isinstance(value, dict)} | own
    known = {one.name: one.type for one in fields(Architecture)}
    for name, value in table.items():
        if name not in known or not _fits(value, known[name]):
            raise InputError(
                f"The [forward] table of {mapping.name} has {name} = {value!r}. Known are {', '.join(known)},"
                " each a text, true or false, or for head and head_bias a list of texts."
            )
        if name in CHOICES and value not in CHOICES[name]:
            raise InputError(
                f"The [forward] table of {mapping.name} has {name} = {value!r}, but it must be one of"
                f" {', '.join(filter(None, CHOICES[name]))}."
            )
    if missing := [name for name in ("embedding", "up", "down", "eps", "activation") if name not in table]:
        raise InputError(f"The [forward] table of {mapping.name} lacks {', '.join(missing)}. Add it.")
    made: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
    }
    return Architecture(**made)


def _fits(value: object, kind: object) -> bool:
    """Whether a value of TOML is of the type of its field."""
    if kind in (bool, str):
        return isinstance(value, bool if kind is bool else str)
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
