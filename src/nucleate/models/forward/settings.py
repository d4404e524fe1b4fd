"""The settings of a model: what its files say, checked and in our names."""

from collections.abc import Callable
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from nucleate.checks import InputError, finite_number, whole_number
from nucleate.models.checkpoint import Source
from nucleate.models.forward.architecture import Architecture, architecture
from nucleate.models.forward.gguf_config import gguf_config
from nucleate.models.forward.mlp import activation
from nucleate.models.forward.norms import Floats
from nucleate.models.forward.rotary import Rotary, layer_rotary
from nucleate.models.plan import Plan, architecture_and_config, make_plan
from nucleate.models.weights import GgufWeights

__all__ = ["Parts", "Settings", "read_settings"]

CHECK = "Check config.json."
SLIDING, FULL = "sliding_attention", "full_attention"  # kinds of layers, in config.json
REFUSED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "num_local_experts": (lambda value: value not in (0, 1), "a mixture of experts"),
    "num_experts": (lambda value: value not in (0, 1), "a mixture of experts"),
    "is_encoder_decoder": (bool, "an encoder and a decoder"),
    "add_cross_attention": (bool, "attention to another text"),
    "use_bidirectional_attention": (bool, "windows that look both ways"),
    "position_embedding_type": (lambda value: value != "absolute", "positions of another kind"),
}  # settings that the forward pass does not know, when, and what they mean


@dataclass(frozen=True)
class Settings:
    """What a model is, in numbers."""

    name: str
    architecture: str
    layers: int  # L, every pass counted
    heads: int  # H
    kv_heads: int
    d: int
    d_head: int
    d_mlp: int
    vocabulary: int
    causal: bool
    norm_place: str  # "pre", "post", or "both" (Gemma 2 and 3)
    positions: str  # "rope" or "learned"
    longest: int | None  # tokens that the model is made for
    parallel: bool  # attention and MLP read the same stream (GPT-NeoX)
    activation: str
    eps: float
    score_scale: tuple[float, ...]  # by layer: scores are multiplied by it
    score_cap: float | None
    logit_cap: float | None
    embedding_scale: float
    first_position: int  # of learned positions
    windows: tuple[int | None, ...]  # by layer
    rotary: tuple[Rotary | None, ...]  # by layer
    tied: bool  # the head may be the embedding's matrix


@dataclass(frozen=True)
class Parts:
    """Where the tensors are: the settings, the architecture, and the plan of the attention."""

    settings: Settings
    architecture: Architecture
    plan: Plan
    order: tuple[int, ...]  # which stored layer each pass goes through


def read_settings(source: Source) -> Parts:
    """All of it from a model that was opened; unknown architectures and features are refused in words."""
    weights, given = source.weights, source.config
    if isinstance(weights, GgufWeights):
        given = gguf_config(weights.settings, given)
    mapping, config = architecture_and_config(weights, given)
    model_type = str(config.get("model_type"))
    own = architecture(mapping, model_type)
    for name, (refused, words) in REFUSED.items():
        if name in config and refused(config[name]):
            raise InputError(
                f"The model has {name} = {str(config[name])[:40]}, {words}, which the forward pass does not"
                " know. Use a model without."
            )
    count = config.get("num_hidden_layers", config.get("n_layer"))
    config = _by_layer(config, own, whole_number("num_hidden_layers", count, least=1, help=CHECK))
    bare = replace(mapping, defaults=MappingProxyType({}))  # they are filled in, and nulls are gone
    plan = make_plan(weights, config, bare)
    order = _order(plan, config)
    causal = own.mask == "causal" or config.get("is_decoder") is True
    first = (
        1 + whole_number(own.first_position, config.get(own.first_position), least=0, help=CHECK)
        if own.first_position
        else 0
    )
    table = weights.shapes.get(plan.prefix + own.positions, (0,)) if own.positions else None
    whole = config.get("max_position_embeddings")
    longest = max(table[0] - first, 0) if table else whole if isinstance(whole, int) else None
    stored = weights.shapes.get(plan.prefix + own.embedding, ())
    up = weights.shapes.get(plan.tensor(plan.layers[0], "output").removesuffix(mapping.output) + own.up, ())
    settings = Settings(
        name=source.name,
        architecture=mapping.name,
        layers=len(order),
        heads=plan.heads,
        kv_heads=plan.key_value_heads,
        d=plan.d,
        d_head=plan.head_dim,
        d_mlp=(up[-1] if mapping.transposed else up[0]) if len(up) == 2 else 0,
        vocabulary=stored[0] if len(stored) == 2 else 0,
        causal=causal,
        norm_place="post" if plan.post_norm else "both" if own.of_attention else "pre",
        positions="learned" if own.positions else "rope",
        longest=longest,
        parallel=bool(own.parallel) and config.get(own.parallel) is True,
        activation=_activation(config, own),
        eps=finite_number(own.eps, config.get(own.eps), above=0.0, help=CHECK),
        score_scale=tuple(plan.scale / (i + 1 if plan.by_layer else 1) for i in range(len(order))),
        score_cap=_cap("attn_logit_softcapping", config),
        logit_cap=_cap("final_logit_softcapping", config),
        embedding_scale=plan.d**0.5 if own.root_d else 1.0,
        first_position=first,
        windows=_windows(config, own, len(order)),
        rotary=_rotary(source, config, own, plan, len(order)),
        tied=config.get("tie_word_embeddings") is True,
    )
    return Parts(settings, own, plan, order)


def _by_layer(config: dict[str, Any], own: Architecture, layers: int) -> dict[str, Any]:
    """`config` with layer_types, and RoPE's settings by them, where it has the older names for these."""
    config = dict(config)
    step = config.get("no_rope_layer_interval")
    if isinstance(step, int) and step > 0 and "no_rope_layers" not in config:
        config["no_rope_layers"] = [int((i + 1) % step != 0) for i in range(layers)]
    if own.window == "pattern" and "layer_types" not in config:
        step = whole_number("sliding_window_pattern", config.get("sliding_window_pattern"), least=1)
        config["layer_types"] = [SLIDING if (i + 1) % step else FULL for i in range(layers)]
    given = config.get("rope_parameters")
    if own.local_rope and not (isinstance(given, dict) and isinstance(given.get(FULL), dict)):
        stretched = given or config.get("rope_scaling") or {}
        config["rope_parameters"] = {
            SLIDING: {"rope_type": "default", "rope_theta": config.get("rope_local_base_freq")},
            FULL: {
                "rope_theta": config.get("rope_theta"),
                **(stretched if isinstance(stretched, dict) else {}),
            },
        }
    return config


def _order(plan: Plan, config: dict[str, Any]) -> tuple[int, ...]:
    """The stored layer of each pass; ALBERT goes through its groups several times."""
    stored = tuple(range(len(plan.layers)))
    if plan.mapping.front != "loop":
        return stored
    passes = whole_number("num_hidden_layers", config.get("num_hidden_layers"), least=1, help=CHECK)
    groups = plan.layers[-1][0] + 1
    return tuple(
        i for number in range(passes) for i in stored if plan.layers[i][0] == int(number / (passes / groups))
    )


def _activation(config: dict[str, Any], own: Architecture) -> str:
    name = config.get(own.activation)
    name = own.gelu if name == "gelu" else name
    activation(name)
    return str(name)


def _cap(name: str, config: dict[str, Any]) -> float | None:
    return finite_number(name, config[name], above=0.0, help=CHECK) if name in config else None


def _windows(config: dict[str, Any], own: Architecture, layers: int) -> tuple[int | None, ...]:
    """How far back each layer sees; None: to the first token."""
    width = config.get("sliding_window")
    if not own.window or width is None or (own.window == "above" and not config.get("use_sliding_window")):
        return (None,) * layers
    width = whole_number("sliding_window", width, least=1, help=CHECK)
    kinds = config.get("layer_types")
    if kinds is None:
        lowest = config.get("max_window_layers", 0) if own.window == "above" else 0
        lowest = layers if own.window == "types" else whole_number("max_window_layers", lowest, least=0)
        return tuple(width if i >= lowest else None for i in range(layers))
    if not isinstance(kinds, list) or len(kinds) != layers or not {*map(str, kinds)} <= {SLIDING, FULL}:
        raise InputError(
            f"layer_types must name {layers} layers, each {SLIDING} or {FULL}, but is {str(kinds)[:80]}."
            f" {CHECK}"
        )
    return tuple(width if kind == SLIDING else None for kind in kinds)


def _rotary(
    source: Source, config: Table[str, Any], own: Architecture, plan: Plan, layers: int
) -> tuple[Rotary | None, ...]:
    if not plan.mapping.rope:
        return (None,) * layers
    stored = plan.prefix + own.rope_divisors
    divisors: Floats | tuple[float, ...] = ()
    if own.rope_divisors and stored in source.weights.shapes:
        divisors = source.weights.part(stored)
    numbers = tuple(map(float, divisors))
    return tuple(layer_rotary(config, i, plan.rotated, plan.rope_factors[i], numbers) for i in range(layers))
