"""RoPE: the angles by which queries and keys are turned, with the ways to stretch them to longer texts.

A pair of places of a head is turned by the position times its frequency, base^(-2i / dim) for pair i; every
scaling changes the frequencies, and YaRN and LongRoPE also multiply what is turned (models/rope.py).
"""

import math
from collections.abc import Mapping as Table
from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.checks import Array, InputError, finite_number, true_or_false
from nucleate.models.forward.norms import Floats
from nucleate.models.rope import CHECK_CONFIG, rope_kind, rope_settings

__all__ = ["Rotary", "angles", "layer_rotary", "rotate"]

BASE_NAMES = ("rope_theta", "rotary_emb_base")
DEFAULT_BASE = 10_000.0
KINDS = ("default", "linear", "dynamic", "yarn", "longrope", "llama3")
LEVELS = ("low", "high")  # of llama3
FIRST = "original_max_position_embeddings"


@dataclass(frozen=True)
class Rotary:
    """How the queries and keys of a layer are turned."""

    kind: str  # default, linear, dynamic, yarn, longrope or llama3
    base: float
    dim: int  # places of a head that are turned, the first ones
    grown: float  # what is turned is multiplied by this
    factor: float = 1.0
    before: float = 0.0  # positions that the model was trained for before it was stretched; dynamic: all
    fast: float = 32.0  # yarn: pairs that turn more often than this in `before` positions are left alone
    slow: float = 1.0  # yarn: those that turn less often are slowed down by `factor`
    whole: bool = True  # yarn: the ends of the ramp between the two are whole numbers
    low: float = 1.0  # llama3: the same two bounds
    high: float = 4.0
    short_divisors: tuple[float, ...] = ()  # longrope: of the frequencies, up to `before` positions
    long_divisors: tuple[float, ...] = ()  # and beyond
    divisors: tuple[float, ...] = ()  # stored with the model


def layer_rotary(
    config: Table[str, Any], layer: int, dim: int, grown: float, divisors: tuple[float, ...] = ()
) -> Rotary | None:
    """The settings of RoPE of one layer; None for a layer that is said to have none."""
    turned = config.get("no_rope_layers")  # in spite of its name: 1 with RoPE, 0 without
    if isinstance(turned, list) and layer < len(turned) and not turned[layer]:
        return None
    own = rope_settings(config, layer)
    kind = rope_kind(own)
    if kind not in KINDS:
        raise InputError(
            f"The model stretches RoPE by {str(kind)[:80]!r}, which the forward pass does not know. Known are"
            f" {', '.join(KINDS)}."
        )
    base = next((at[name] for at in (own, config) for name in BASE_NAMES if name in at), DEFAULT_BASE)
    whole = config.get("max_position_embeddings")
    before = whole if kind == "dynamic" else config.get(FIRST) or own.get(FIRST) or whole
    if dim % 2 or dim < (4 if kind == "dynamic" else 2):
        raise InputError(f"RoPE turns pairs, but {dim} places of a head are to be turned. {CHECK_CONFIG}")
    given: dict[str, Any] = {}
    if kind != "default":
        given["factor"] = _factor(kind, own, whole, before)
    if kind in ("dynamic", "yarn", "longrope", "llama3"):
        given["before"] = _positive(FIRST, before)
    if kind == "yarn":
        given |= {
            "fast": _positive("beta_fast", own.get("beta_fast") or 32.0),
            "slow": _positive("beta_slow", own.get("beta_slow") or 1.0),
            "whole": true_or_false("truncate", own.get("truncate", True)),
        }
    if kind == "llama3":
        given |= {name: _positive(f"{name}_freq_factor", own.get(f"{name}_freq_factor")) for name in LEVELS}
    if kind == "longrope":
        given |= {
            f"{name}_divisors": _divisors(f"{name}_factor", own.get(f"{name}_factor"), dim)
            for name in ("short", "long")
        }
    base = finite_number("rope_theta", base, above=1.0, help=CHECK_CONFIG)
    return Rotary(kind, base, dim, grown, **given, divisors=_divisors("", divisors, dim))


def _factor(kind: str, own: dict[str, Any], whole: Any, before: Any) -> float:
    if own.get("factor") is None and kind in ("yarn", "longrope"):
        return _positive("max_position_embeddings", whole) / _positive(FIRST, before)
    return _positive("factor", own.get("factor"))


def _positive(name: str, value: Any) -> float:
    return finite_number(name, value, above=0.0, help=CHECK_CONFIG)


def _divisors(name: str, value: Any, dim: int) -> tuple[float, ...]:
    if name == "" and not len(value):
        return ()
    if not isinstance(value, list | tuple) or len(value) != dim // 2:
        raise InputError(
            f"{name or 'The tensor of divisors'} must have a number for each of {dim // 2} pairs."
            f" {CHECK_CONFIG}"
        )
    return tuple(_positive(name or "divisor", one) for one in value)


def frequencies(rope: Rotary, n: int) -> Array:
    """By how much each pair turns from one position to the next, in a text of n tokens: (dim / 2,)."""
    place = np.arange(0, rope.dim, 2) / rope.dim  # (dim / 2,)
    base = rope.base
    if rope.kind == "dynamic":
        stretch = rope.factor * max(n, rope.before) / rope.before - (rope.factor - 1.0)
        base *= stretch ** (rope.dim / (rope.dim - 2))
    plain = base**-place
    if rope.divisors:
        return np.asarray(plain / np.array(rope.divisors))
    if rope.kind == "linear":
        return np.asarray(plain / rope.factor)
    if rope.kind == "longrope":
        return np.asarray(plain / np.array(rope.long_divisors if n > rope.before else rope.short_divisors))
    if rope.kind == "yarn":
        slowed = _yarn_ramp(rope)  # (dim / 2,)
        return np.asarray(plain * (1.0 - slowed) + plain / rope.factor * slowed)
    if rope.kind == "llama3":
        turns = rope.before * plain / (2.0 * np.pi)  # in all positions it was trained for
        alone = np.clip((turns - rope.low) / (rope.high - rope.low), 0.0, 1.0)
        return np.asarray(plain * alone + plain / rope.factor * (1.0 - alone))
    return np.asarray(plain)


def _yarn_ramp(rope: Rotary) -> Array:
    """How much each pair is slowed down, from 0 to 1: (dim / 2,)."""
    first, last = (
        rope.dim * math.log(rope.before / (turns * 2.0 * math.pi)) / (2.0 * math.log(rope.base))
        for turns in (rope.fast, rope.slow)
    )  # the pairs, not whole numbers yet, that turn so often
    if rope.whole:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, rope.dim - 1)
    return np.clip((np.arange(rope.dim // 2) - first) / (last - first or 0.001), 0.0, 1.0)


def angles(rope: Rotary, n: int, dtype: Any) -> tuple[Floats, Floats]:
    """Cosines and sines (n, dim / 2) at positions 0 to n - 1, times what is turned grows by."""
    turn = np.outer(np.arange(n), frequencies(rope, n))  # (n, dim / 2)
    return (rope.grown * np.cos(turn)).astype(dtype), (rope.grown * np.sin(turn)).astype(dtype)


def rotate(x: Floats, cosines: Floats, sines: Floats) -> Floats:
    """The first dim places of x (H, n, d_head) turned: place i together with place i + dim / 2."""
    half = cosines.shape[-1]
    a, b = x[..., :half], x[..., half : 2 * half]  # (H, n, dim / 2)
    y = x.copy()
    y[..., :half] = a * cosines - b * sines
    y[..., half : 2 * half] = b * cosines + a * sines
    return y
