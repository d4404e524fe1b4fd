"""Tables of a study or a model: which keys they may have, and what a wrong one is answered."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from nucleate.checks import InputError, finite_number, shortened

__all__ = [
    "a_list",
    "a_name",
    "a_table",
    "a_text",
    "a_truth",
    "known_keys",
    "length",
    "number",
    "one_of",
    "refuse",
    "shown",
]

LENGTH = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*/\s*sqrt\(\s*beta\s*\)\s*")
MAX_SHOWN_CHARACTERS = 80  # of a value in a message, and of a name


def known_keys(table: Mapping[Any, Any], allowed: Iterable[str], where: str) -> None:
    """Refuse a key that is not allowed, and say which one may have been meant."""
    allowed = list(allowed)
    for key in table:
        if key not in allowed:
            near = get_close_matches(str(key), allowed, n=1, cutoff=0.5)
            help = f"Did you mean {near[0]}?" if near else f"There is {', '.join(allowed)}."
            raise InputError(f"{shown(key)} is not a key of {where}. {help}")


def one_of(where: str, value: Any, names: Iterable[str]) -> str:
    """`value`, which must be one of the names."""
    names = list(names)
    if not (isinstance(value, str) and value in names):
        near = get_close_matches(value, names, n=1, cutoff=0.5) if isinstance(value, str) else []
        help = f"Did you mean {near[0]}?" if near else f"There is {', '.join(names)}."
        raise InputError(f"{where} is {shown(value)}. {help}")
    return value


def a_table(where: str, value: Any) -> Mapping[str, Any]:
    """`value`, which must be a table."""
    if not isinstance(value, Mapping):
        refuse(where, "a table of keys and values", value)
    return value


def a_list(where: str, value: Any) -> list[Any]:
    """`value` as a list that is not empty."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not value:
        refuse(where, "a list with at least one value", value)
    return list(value)


def a_text(where: str, value: Any) -> str:
    """`value`, which must be a line of text."""
    if not isinstance(value, str) or not value.isprintable():
        refuse(where, "a line of text", value)
    return value


def a_name(where: str, value: Any) -> str:
    """`value` as the name of a variable of the store: letters, digits and underscores."""
    if not (
        isinstance(value, str)
        and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value)
        and len(value) <= MAX_SHOWN_CHARACTERS
    ):
        refuse(where, "a name of letters, digits and underscores", value)
    return value


def a_truth(where: str, value: Any) -> bool:
    """`value`, which must be true or false."""
    if not isinstance(value, bool):
        refuse(where, "true or false", value)
    return value


def number(where: str, value: Any, least: float = -np.inf, above: float = -np.inf, help: str = "") -> float:
    """`value` as a finite number; unlike the doors for people at a keyboard, this one takes no "64" for
    64."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        refuse(where, "a number", value)
    return finite_number(where, value, least=least, above=above, help=help)


def length(where: str, value: Any) -> float | str:
    """A geodesic distance: radians, or a text such as "4/sqrt(beta)", in units of the width of a cluster."""
    if isinstance(value, str) and (found := LENGTH.fullmatch(value)):
        try:
            factor = float(found[1])
        except ValueError:
            factor = 0.0
        if 0.0 < factor < np.inf:
            return f"{factor!r}/sqrt(beta)"
    elif isinstance(value, float | int) and not isinstance(value, bool) and 0.0 < value <= np.pi:
        return float(value)
    refuse(
        where,
        "a distance above 0 and up to pi, in radians, or in units of the cluster width, such as"
        ' "4/sqrt(beta)"',
        value,
    )


def refuse(where: str, wanted: str, value: Any) -> NoReturn:
    """The error for a value of the wrong kind."""
    raise InputError(f"{where} must be {wanted}, but is {shown(value)}.")


def shown(value: Any) -> str:
    """A value in an error message: on one line, and not too long."""
    if isinstance(value, str) and value.isidentifier() and len(value) <= MAX_SHOWN_CHARACTERS:
        return value
    return " ".join(shortened(value, MAX_SHOWN_CHARACTERS).split())
