"""What the help shows as the value of an option: one place for all commands."""

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["name_values"]

# by the type that Typer would show; a list is an option that may be repeated, and shows what it is a list of
VALUES = {"bool": "", "str": "<text>", "float": "<number>", "Path": "<path>"}


def name_values(parameters: Iterable[Any], ctx: Any) -> None:
    """Give switches no value in the help, and the others one in the words of a user."""
    for one in parameters:
        shown = getattr(one, "display_type_rich", None)  # older Typers have words of their own
        if one.metavar is None and shown is not None and one.param_type_name == "option":
            kind = re.sub(r"list\[(\w+)\]", r"\1", str(shown(ctx)).strip("<>").removesuffix(" range"))
            one.metavar = VALUES.get(kind, f"<{kind}>")
