"""Which tensor holds which head: found from the configuration and the names, and checked before anything is
read."""

import re
from collections import Counter
from collections.abc import Mapping as Table
from dataclasses import dataclass
from typing import Any

from nucleate.checks import InputError, finite_number, whole_number
from nucleate.models.hint import unknown_model_help
from nucleate.models.mapping import NAMES, Mapping, built_in
from nucleate.models.rope import rope_factors, rope_note, rotated
from nucleate.models.weights import Weights

__all__ = ["Plan", "architecture_and_config", "make_plan"]

MAX_LISTED_PREFIXES = 12
MAX_HEADS_OR_LAYERS = 65_536  # more is a damaged configuration
# settings of some models that change scores
SCORE_SETTINGS = ("query_pre_attn_scalar", "attention_multiplier", "clip_qkv")
NORMS_INSIDE = re.compile(r"(q|k|query|key)_(norm|layernorm)")


@dataclass(frozen=True)
class Plan:
    """An architecture, its sizes, and its layers in order."""

    mapping: Mapping
    prefix: str
    layers: tuple[tuple[int, ...], ...]
    d: int
    heads: int
    key_value_heads: int
    head_dim: int
    scale: float  # scores are multiplied by it: 1 / sqrt(head_dim), most often
    by_layer: bool  # and divided by the number of the layer, counted from 1
    rotated: int  # places of a head that RoPE turns, the first ones
    rope_factors: tuple[float, ...]  # by layer: what RoPE multiplies them by, in queries and in keys
    passed_once: frozenset[int]  # in a loop: groups that are passed through only once
    first_unnormalised: bool  # nothing is normalised in front of the first layer
    scores_normalised: (
        bool  # queries and keys are normalised in each head, so that no matrix gives the scores
    )
    std: float  # of the weights at initialisation
    output_std: float  # of W_O there
    notes: tuple[str, ...]  # what is left out or taken in a certain way

    def tensor(self, layer: tuple[int, ...], key: str) -> str:
        """The full name of a tensor of a layer; key is query, key, value, fused, output or norm."""
        return self.prefix + self.mapping.place(layer) + str(getattr(self.mapping, key))

    def gain(self, i: int) -> str | None:
        """The full name of the gain in front of the i-th layer; None where the gain is 1."""
        m, layer = self.mapping, self.layers[i]
        if not m.norm or (i == 0 and self.first_unnormalised):
            return None
        if m.front == "same":
            return self.tensor(layer, "norm")
        if m.front == "previous" or layer[0] in self.passed_once:
            return self.tensor(self.layers[i - 1], "norm") if i else self.prefix + m.first
        group = [one for one in self.layers if one[0] == layer[0]]
        return self.tensor(group[group.index(layer) - 1], "norm")

    @property
    def post_norm(self) -> bool:
        """Whether the normalisation stands behind each layer, so that its gain multiplies what is kept."""
        return self.mapping.front != "same"

    def group_of(self, head: int) -> int:
        """The key-value head that a head shares with others."""
        return head // (self.heads // self.key_value_heads)

    def centred(self, i: int) -> bool:
        """Whether the mean is taken away in front of the i-th layer."""
        return self.mapping.centred and not (i == 0 and self.first_unnormalised)


def make_plan(weights: Weights, config: Table[str, Any], mapping: Mapping | None = None) -> Plan:
    """How to read this model: by `mapping`, or by the architecture that its configuration names."""
    mapping, config = architecture_and_config(weights, config, mapping)
    (prefix, layers), sizes = _where(weights, mapping), _sizes(mapping, config)
    d, heads, kv, head_dim = _shapes(weights, mapping, prefix + mapping.place(layers[0]), sizes)
    std = finite_number(
        "std",
        sizes.get("std", 0.02),
        above=0.0,
        help="It is the standard deviation of the weights at initialisation.",
    )
    _complete(layers, sizes, mapping)
    passed_once = _passed_once(mapping, layers, sizes)
    first_unnormalised = 0 in passed_once or bool(
        mapping.between and prefix + mapping.between in weights.shapes
    )
    plan = Plan(
        mapping,
        prefix,
        tuple(layers),
        d,
        heads,
        kv,
        head_dim,
        _scale(mapping, config, head_dim),
        config.get("scale_attn_by_inverse_layer_idx") is True,
        rotated(config, head_dim) if mapping.rope else 0,
        rope_factors(config, len(layers)) if mapping.rope else (1.0,) * len(layers),
        passed_once,
        first_unnormalised,
        bool(_norms_inside(weights, prefix + mapping.place(layers[0]))),
        std,
        std / (2.0 * len(layers)) ** 0.5 if mapping.shrunk else std,
        (
            *_notes(weights, mapping, config, prefix, layers),
            *_front_notes(mapping, layers, sizes, passed_once, first_unnormalised),
        ),
    )
    _check_shapes(weights, plan)
    return plan


def architecture_and_config(
    weights: Weights, config: Table[str, Any], mapping: Mapping | None = None
) -> tuple[Mapping, dict[str, Any]]:
    """The architecture, and the configuration of its text part: with what it may omit, without what is
    null."""
    config = _text_part(config)
    mapping = mapping or _recognised(weights, config)
    # A null in config.json, unlike an omission, says that there is no such setting.
    config = {**mapping.defaults.get(str(config.get("model_type")), {}), **config}
    return mapping, {name: value for name, value in config.items() if value is not None}


def _text_part(config: Table[str, Any]) -> Table[str, Any]:
    """Models with a vision part keep the settings of their text part in a table of its own."""
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def _recognised(weights: Weights, config: Table[str, Any]) -> Mapping:
    kind = config.get("model_type")
    for mapping in built_in().values():
        if kind in mapping.models:
            return mapping
    raise InputError(
        (
            f"The model is of the unknown type {str(kind)[:80]!r}. "
            if kind
            else "The model comes without a config.json that says its model_type. "
        )
        + unknown_model_help(weights)
    )


def _where(weights: Weights, mapping: Mapping) -> tuple[str, list[tuple[int, ...]]]:
    """The prefix of the model's layers, and the layers in order."""
    found = mapping.found_in(weights.shapes)
    if len(found) > 1:  # a vision part has layers of its own, but not all of these tensors
        found = {
            prefix: layers for prefix, layers in found.items() if mapping.fits(weights.shapes, prefix, layers)
        } or found
    if len(found) > 1:
        raise InputError(
            f"The model has layers under {len(found)} prefixes:"
            f" {', '.join(map(repr, sorted(found)[:MAX_LISTED_PREFIXES]))}."
            " Write a mapping with prefix = one of these."
        )
    if not found:
        raise InputError(
            f"The model has no tensor named {mapping.layer}{mapping.anchor}, as {mapping.name} has."
            f" {unknown_model_help(weights)}"
        )
    return next(iter(found.items()))


def _sizes(mapping: Mapping, config: Table[str, Any]) -> dict[str, Any]:
    """The sizes that the mapping gives or the configuration has."""
    found = {}
    for size, names in NAMES.items():
        given = mapping.sizes.get(size)
        if isinstance(given, str):
            if given not in config:
                raise InputError(
                    f"The mapping {mapping.name} takes {size} from {given!r}, which config.json does not"
                    " have. Give a number."
                )
            given = config[given]
        value = (
            given
            if given is not None
            else next((config[name] for name in names if config.get(name) is not None), None)
        )
        if value is not None:
            found[size] = value
    return found


def _shapes(
    weights: Weights, mapping: Mapping, place: str, sizes: dict[str, Any]
) -> tuple[int, int, int, int]:
    """d, heads, key-value heads and d_head."""
    if "heads" not in sizes:
        raise InputError(
            "The number of heads is nowhere to be found. Put config.json beside the weights, or a mapping"
            " with sizes = {heads = 12}."
        )
    heads = _size("heads", sizes["heads"])
    kv = _size("key_value_heads", sizes.get("key_value_heads", heads))
    if heads % kv:
        raise InputError(
            f"key_value_heads must divide heads, but {heads} heads share {kv}. Check config.json."
        )
    shape = weights.shapes[place + mapping.anchor]
    if len(shape) != 2:
        raise InputError(
            f"{place + mapping.anchor} must be a matrix, but has shape {shape}. Check the mapping."
        )
    outputs, d = shape[::-1] if mapping.transposed else shape
    rows = heads + 2 * kv if mapping.fused else heads
    head_dim = _size("head_dim", sizes["head_dim"]) if "head_dim" in sizes else outputs // rows
    if head_dim < 2 or head_dim * rows != outputs:
        raise InputError(
            f"{place + mapping.anchor} has {outputs} outputs, which do not make {rows} times a head dimension"
            f" of {head_dim}. Check the number of heads."
        )
    return d, heads, kv, head_dim


def _size(name: str, value: Any) -> int:
    if (number := whole_number(name, value, least=1, help="Check config.json.")) > MAX_HEADS_OR_LAYERS:
        raise InputError(f"{name} must be at most {MAX_HEADS_OR_LAYERS}, but is {number}. Check config.json.")
    return number


def _complete(layers: list[tuple[int, ...]], sizes: dict[str, Any], mapping: Mapping) -> None:
    """No layer is missing: a shard that was left out would otherwise go unnoticed."""
    outer = sorted({layer[0] for layer in layers})
    if outer != list(range(len(outer))):
        raise InputError(
            f"Layer {next(i for i in range(len(outer)) if i not in outer)} of {outer[-1] + 1} is missing. Are"
            " all files of the model there?"
        )
    if mapping.front != "loop" and "layers" in sizes and _size("layers", sizes["layers"]) != len(layers):
        raise InputError(
            f"config.json has {sizes['layers']} layers, but the files hold {len(layers)}. Are all files of"
            " the model there?"
        )


def _passed_once(mapping: Mapping, layers: list[tuple[int, ...]], sizes: dict[str, Any]) -> frozenset[int]:
    """In a loop: the groups that are passed through only once, so that what is in front is never their own
    normalisation."""
    if mapping.front != "loop" or "layers" not in sizes:
        return frozenset()
    passes, groups = _size("layers", sizes["layers"]), layers[-1][0] + 1
    turns = Counter(int(i / (passes / groups)) for i in range(passes))  # as ALBERT shares its passes out
    return frozenset(group for group in range(groups) if turns[group] <= 1)


def _scale(mapping: Mapping, config: Table[str, Any], head_dim: int) -> float:
    under = config.get(mapping.scale) if mapping.scale else None
    number = (
        finite_number(mapping.scale, under, above=0.0, help="Check config.json.")
        if under is not None
        else float(head_dim)
    )
    return 1.0 if config.get("scale_attn_weights") is False else number**-0.5


def _check_shapes(weights: Weights, plan: Plan) -> None:
    """Every tensor that will be read is there and fits."""
    d, h, kv, m = plan.d, plan.heads * plan.head_dim, plan.key_value_heads * plan.head_dim, plan.mapping
    asked = {"output": (d, h)} | (
        {"fused": (h + 2 * kv, d)} if m.fused else {"query": (h, d), "key": (kv, d), "value": (kv, d)}
    )
    wanted: dict[str, tuple[int, ...]] = {}
    for i, layer in enumerate(plan.layers):
        wanted |= {
            plan.tensor(layer, key): shape[::-1] if m.transposed else shape for key, shape in asked.items()
        }
        if name := plan.gain(i):
            wanted[name] = (d,)
    for name, shape in wanted.items():
        if name not in weights.shapes:
            raise InputError(
                f"The tensor {name} is missing. Are all files of the model there, and does the mapping"
                f" {m.name} fit?"
            )
        if weights.shapes[name] != shape:
            raise InputError(
                f"The tensor {name} must have shape {shape}, but has shape {weights.shapes[name]}. Check the"
                " sizes in config.json."
            )


def _notes(
    weights: Weights, mapping: Mapping, config: Table[str, Any], prefix: str, layers: list[tuple[int, ...]]
) -> tuple[str, ...]:
    """What the linear picture leaves out."""
    place = prefix + mapping.place(layers[0])
    used = [mapping.fused or (mapping.query, mapping.key, mapping.value), mapping.output, mapping.norm]
    flat = [name for one in used for name in ((one,) if isinstance(one, str) else one) if name]
    biases = [
        name.removesuffix("weight") + "bias"
        for name in flat
        if place + name.removesuffix("weight") + "bias" in weights.shapes
    ]
    inside = _norms_inside(weights, place)
    two = any(
        "pre_feedforward" in name or "post_ffw" in name for name in weights.shapes
    )  # else post_attention_layernorm is in front of the MLP, as in Llama
    behind = [
        name.removeprefix(place)
        for name in weights.shapes
        if two and name.startswith(place + "post_attention")
    ]
    unused = [name for name in SCORE_SETTINGS if name in config and name != mapping.scale]
    notes = [
        f"Biases are left out: {', '.join(biases)}." if biases else "",
        (
            f"Queries and keys are normalised in each head ({', '.join(inside)}), which no matrix can"
            " express: β leaves it out, and no root mean square score is given."
            if inside
            else ""
        ),
        f"A normalisation behind the attention ({', '.join(behind)}) is left out." if behind else "",
        rope_note(config, len(layers)) if mapping.rope else "",
        "Scores are capped softly; β and the root mean square score leave it out."
        if config.get("attn_logit_softcapping")
        else "",
        (
            "Relative positions add to the scores; β and the root mean square score leave it out."
            if "relative" in str(config.get("position_embedding_type"))
            else ""
        ),
        (
            f"config.json has {', '.join(unused)}, which {mapping.name} does not use: β and the root mean"
            " square score leave it out."
            if unused
            else ""
        ),
        (
            ""
            if any(name in config for name in NAMES["std"]) or "std" in mapping.sizes
            else "The spread of the weights at initialisation is not told; 0.02 is taken."
        ),
    ]
    return tuple(note for note in notes if note)


def _norms_inside(weights: Weights, place: str) -> list[str]:
    """Normalisations of queries and keys inside a head, by name."""
    found = (name.removeprefix(place) for name in weights.shapes if name.startswith(place))
    return sorted(name for name in found if NORMS_INSIDE.search(name))


def _front_notes(
    mapping: Mapping,
    layers: list[tuple[int, ...]],
    sizes: dict[str, Any],
    passed_once: frozenset[int],
    first_unnormalised: bool,
) -> tuple[str, ...]:
    """Where what is in front is not the same in every pass, or is no normalisation."""
    looped = (
        f"The stored layers are passed through {sizes.get('layers', 'several')} times in all; the gain is"
        " that of their own normalisation, in front from the second pass on"
        + (
            f"; of the layer before in group {', '.join(map(str, sorted(passed_once)))}, passed once."
            if passed_once
            else "."
        )
        if mapping.front == "loop" and len(passed_once) <= layers[-1][0]
        else ""
    )
    alone = (
        "A matrix, and no normalisation, is in front of the first layer: its gain is taken as 1, and no mean"
        " is taken away."
        if first_unnormalised
        else ""
    )
    behind = (
        "The normalisation is behind each layer (post-norm), so that its gain also multiplies what a layer is"
        " added to: the spectrum in the stored state, without the gain, is given beside that with it."
        if mapping.front != "same"
        else ""
    )
    return tuple(note for note in (looped, alone, behind) if note)
