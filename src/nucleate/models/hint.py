"""What to say of a model that is not recognised: what is there, which architectures name their tensors so,
and how to write a mapping."""

import re
from typing import Any

from nucleate.models.mapping import EXAMPLE, Mapping, built_in
from nucleate.models.weights import Weights

__all__ = ["unknown_model_help"]

MAX_LISTED_NAMES = 12
TRAITS: dict[str, tuple[Any, str]] = {
    "gain": ("w", "gain {}"),
    "scale": ("", "scores divided by the root of {}"),
    "rope": (False, "{} RoPE"),
    "shrunk": (False, "{} smaller W_O at first"),
}  # what may tell mappings of the same names apart, as it is in the plainest one, and in words
WORDS = {"": "d_head", True: "with", False: "without"}


def unknown_model_help(weights: Weights) -> str:
    """For the error: the names that were found, mappings that fit them, and an example of a new one."""
    kinds = list(dict.fromkeys(re.sub(r"\d+", "#", name) for name in weights.shapes))
    shown = ", ".join(kind[:100] for kind in kinds[:MAX_LISTED_NAMES]) + (
        f" and {len(kinds) - MAX_LISTED_NAMES} more" if len(kinds) > MAX_LISTED_NAMES else ""
    )
    return (
        f"Found {len(weights.shapes)} tensors: {shown or 'none'}.\n{_like(weights)}Known are"
        f" {', '.join(built_in())}. Any other is described in ten lines, in a file given with --mapping"
        f" model.toml:\n{EXAMPLE}"
    )


def _like(weights: Weights) -> str:
    """The mappings that fit, the plainest first, each with its normalisation, which names do not tell, and
    with what others have otherwise."""
    alike = [mapping for mapping in built_in().values() if _could_be(mapping, weights)]
    if not alike:
        return ""
    alike.sort(
        key=lambda mapping: sum(getattr(mapping, trait) != plain for trait, (plain, _) in TRAITS.items())
    )
    telling = [trait for trait in TRAITS if len({getattr(mapping, trait) for mapping in alike}) > 1]
    ways = " or ".join(
        f"--mapping {mapping.name} ({', '.join(_words(mapping, trait) for trait in ('centred', *telling))})"
        for mapping in alike
    )
    return (
        f"The names are those of {' and '.join(mapping.name for mapping in alike)}: if the model works like"
        f" that, add {ways}.\n"
    )


def _could_be(mapping: Mapping, weights: Weights) -> bool:
    """Whether all tensors are there, and no bias where the mapping has an RMSNorm, which has none."""
    names = weights.shapes
    for prefix, layers in mapping.found_in(names).items():
        bias = prefix + mapping.place(layers[0]) + mapping.norm.removesuffix("weight") + "bias"
        if mapping.fits(names, prefix, layers) and (mapping.centred or bias not in names):
            return True
    return False


def _words(mapping: Mapping, trait: str) -> str:
    if trait == "centred":
        return "LayerNorm" if mapping.centred else "RMSNorm"
    value = getattr(mapping, trait)
    return TRAITS[trait][1].format(WORDS.get(value, value))
