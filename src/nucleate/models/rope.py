"""What RoPE does to queries and keys at offset 0, where nothing is turned: YaRN and LongRoPE multiply what
they turn by a number."""

import math
from collections.abc import Mapping as Table
from typing import Any

from nucleate.checks import finite_number

__all__ = ["SCALING_KINDS", "rope_factors", "rope_kind", "rope_note", "rope_settings", "rotated"]

PLAIN_KINDS = ("default", "linear", "dynamic", "llama3", "proportional")  # kinds that multiply by 1
SCALING_KINDS = ("yarn", "longrope")
SHARE_NAMES = ("partial_rotary_factor", "rotary_pct")  # names of the share of a head that is turned
CHECK_CONFIG = "Check the settings of RoPE in config.json."


def rope_factors(config: Table[str, Any], layers: int) -> tuple[float, ...]:
    """For each layer the number that the turned part of queries and of keys is multiplied by, as the
    transformers library has it."""
    turned = config.get("no_rope_layers")  # in spite of its name: 1 with RoPE, 0 without
    found = []
    for i in range(layers):
        skipped = isinstance(turned, list) and i < len(turned) and not turned[i]
        found.append(1.0 if skipped else _factor(rope_settings(config, i), config))
    return tuple(found)


def rotated(config: Table[str, Any], head_dim: int) -> int:
    """How many of the places of a head are turned; they are the first ones."""
    share = next(
        (
            given[name]
            for given in (rope_settings(config), config)
            for name in SHARE_NAMES
            if given.get(name) is not None
        ),
        1.0,
    )
    return min(
        int(head_dim * finite_number("partial_rotary_factor", share, above=0.0, help=CHECK_CONFIG)), head_dim
    )


def rope_note(config: Table[str, Any], layers: int) -> str:
    """In words; a kind that is not known is named, as it may multiply, too."""
    kinds = {str(rope_kind(rope_settings(config, i)))[:80] for i in range(layers)}
    odd = sorted(kinds - {*PLAIN_KINDS, *SCALING_KINDS})
    return (
        "Positions are rotated into queries and keys (RoPE); β and the root mean square score are those at"
        " offset 0"
        + (
            f", with what {' and '.join(sorted(kinds & {*SCALING_KINDS}))} multiplies them by"
            if any(one != 1.0 for one in rope_factors(config, layers))
            else ""
        )
        + (f", without what {', '.join(map(repr, odd))} may multiply them by" if odd else "")
        + "."
    )


def rope_settings(config: Table[str, Any], layer: int | None = None) -> dict[str, Any]:
    """The settings of RoPE; where each kind of layer has its own, those of this layer."""
    found, kinds = config.get("rope_parameters") or config.get("rope_scaling"), config.get("layer_types")
    found = found if isinstance(found, dict) else {}
    if layer is None or not any(isinstance(value, dict) for value in found.values()):
        return found
    kind = kinds[layer] if isinstance(kinds, list) and layer < len(kinds) else None
    own = found.get(kind) if isinstance(kind, str) else None
    # told in the note, as a kind that is not known
    return own if isinstance(own, dict) else {"rope_type": "settings of no layer"}


def rope_kind(settings: dict[str, Any]) -> Any:
    """Its name: default, linear, yarn, ..."""
    return settings.get("rope_type") or settings.get("type") or "default"


def _factor(own: dict[str, Any], config: Table[str, Any]) -> float:
    kind = rope_kind(own)
    if kind not in SCALING_KINDS:
        return 1.0
    if own.get("attention_factor") is not None:
        return _number("attention_factor", own["attention_factor"])
    whole, first = config.get("max_position_embeddings"), "original_max_position_embeddings"
    before = config.get(first) or own.get(first) or whole  # places that the model was trained for before
    factor = (
        _number("factor", own["factor"])
        if own.get("factor") is not None
        else _number("max_position_embeddings", whole) / _number(first, before)
    )
    if factor <= 1.0:
        return 1.0
    if kind == "longrope":
        return math.sqrt(
            1.0 + math.log(factor) / math.log(finite_number(first, before, above=1.0, help=CHECK_CONFIG))
        )
    if own.get("mscale") and own.get("mscale_all_dim"):
        return _grown(factor, _number("mscale", own["mscale"])) / _grown(
            factor, _number("mscale_all_dim", own["mscale_all_dim"])
        )
    return _grown(factor, 1.0)


def _grown(factor: float, weight: float) -> float:
    """YaRN's 0.1 ln(factor) + 1, with the weight that later models give it."""
    return 0.1 * weight * math.log(factor) + 1.0


def _number(name: str, value: Any) -> float:
    return finite_number(name, value, above=0.0, help=CHECK_CONFIG)
