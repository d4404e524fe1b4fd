"""Masks, whom a token sees: causal, full, window:W or {window = W}."""

import re
from collections.abc import Mapping
from typing import Literal

from nucleate.attention import Window
from nucleate.checks import InputError, shortened

__all__ = ["Mask", "mask_text", "parse_mask"]

Mask = Literal["causal", "full"] | Window

WINDOW = re.compile(r"window:([0-9]{1,19})")


def parse_mask(where: str, value: object) -> Mask:
    """The mask that `value` stands for; `where` names it in errors."""
    if isinstance(value, str) and value in ("causal", "full"):
        return value  # type: ignore[return-value]  # mypy does not see which texts are left
    if isinstance(value, str) and (found := WINDOW.fullmatch(value)):
        return Window(int(found[1]))
    if isinstance(value, Mapping) and list(value) == ["window"]:
        return Window(value["window"])
    raise InputError(
        f"{where} must be causal, full or window:W, such as window:8, but is {shortened(value)}."
    )


def mask_text(mask: Mask) -> str:
    """The mask as `parse_mask` takes it back."""
    return f"window:{mask.w}" if isinstance(mask, Window) else mask
