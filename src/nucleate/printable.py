"""Texts out of files, as they may be shown on a terminal."""

import re

__all__ = ["printable"]

# control characters save tab and line feed, and what changes the direction of writing
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""The text with all that would steer a terminal (escapes, bells, letters that turn the direction of
    writing) spelled out, as \x1b."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
