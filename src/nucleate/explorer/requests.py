"""What a page may ask for, parsed strictly: plain JSON, known keys, checked values."""

import json
from dataclasses import dataclass
from typing import Any

from nucleate.checks import InputError
from nucleate.explorer.scene import LIMITS, MOST_SEED, Scene, check_table, check_whole, parse_scene

__all__ = ["AsPython", "Cancel", "Data", "Open", "Refused", "Request", "Run", "parse_request", "strict_json"]

LONGEST_NAME = 255  # bytes of a file's name


@dataclass(frozen=True)
class Run:
    """Run this scene; an earlier run of the session is cancelled."""

    id: int
    scene: Scene


@dataclass(frozen=True)
class Open:
    """Show a stored run, or one run of an ensemble."""

    id: int
    name: str
    run: int


@dataclass(frozen=True)
class Cancel:
    """Stop the run and keep what there is."""

    id: int


@dataclass(frozen=True)
class AsPython:
    """The lines of Python that redo a scene."""

    scene: Scene


@dataclass(frozen=True)
class Data:
    """The run as a file."""

    id: int


Request = Run | Open | Cancel | AsPython | Data
KEYS = {
    "run": ["id", "scene"],
    "open": ["id", "name", "run"],
    "cancel": ["id"],
    "python": ["scene"],
    "data": ["id"],
}


class Refused(InputError):
    """A message that is not understood; carries the number of the run it is about, where there is one."""

    def __init__(self, words: str, id: int | None) -> None:
        super().__init__(words)
        self.id = id


def parse_request(text: str) -> Request:
    """The request in a message."""
    id = None
    try:
        table = check_table("A message", strict_json(text), ["do", "id", "scene", "name", "run"])
        do = table.pop("do", None)
        if not isinstance(do, str) or do not in KEYS:
            raise InputError(f'A message must say "do": one of {", ".join(KEYS)}.')
        check_table(f"A message to {do}", table, KEYS[do])
        if "id" in KEYS[do]:
            id = check_whole("id", table.get("id", 0 if do == "open" else None), 0, MOST_SEED)
        return _request(do, id or 0, table)
    except InputError as error:
        raise Refused(str(error), id) from None


def _request(do: str, id: int, table: dict[str, Any]) -> Request:
    if do == "run":
        return Run(id, parse_scene(table.get("scene")))
    if do == "python":
        return AsPython(parse_scene(table.get("scene")))
    if do == "open":
        name = table.get("name")
        if not isinstance(name, str) or not 0 < len(name.encode(errors="replace")) <= LONGEST_NAME:
            raise InputError(f"name must be the name of a stored run, of at most {LONGEST_NAME} bytes.")
        return Open(id, name, check_whole("run", table.get("run", 0), 0, MOST_SEED))
    return Cancel(id) if do == "cancel" else Data(id)


def strict_json(text: str) -> Any:
    """The value of a JSON text, with no key twice, no NaN, no infinity, and of no more than the allowed
    length."""
    if len(text) > LIMITS["message"]:
        raise InputError(f"A message must have at most {LIMITS['message']:,} bytes, but has {len(text):,}.")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of too many digits
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"A message must be JSON, but this one is broken{where}.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise InputError("A table names a key twice. Give each once.")
    return table


def _refuse(word: str) -> float:
    raise InputError(f"A message holds {word}, which is not a number.")
