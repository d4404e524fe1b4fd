"""What a page may ask for, parsed strictly: plain JSON, known keys, checked values."""

import json
from dataclasses import dataclass
from typing import Any

from nucleate.checks import InputError, shortened
from nucleate.explorer import limits
from nucleate.explorer.matrices import matrix_choice
from nucleate.explorer.scene import Scene, check_table, check_whole, check_word, parse_scene

__all__ = [
    "BadMessage",
    "CancelRun",
    "OpenStored",
    "ReadMatrix",
    "Request",
    "RunScene",
    "SendData",
    "SendPage",
    "WritePython",
    "parse_request",
    "strict_json",
]

MAX_STORED_NAME_BYTES = 255  # of a stored run


@dataclass(frozen=True)
class RunScene:
    """Run this scene; an earlier run of the session is cancelled.  One `aside` is not the run that is shown,
    whose data stay at hand."""

    id: int
    scene: Scene
    aside: bool = False


@dataclass(frozen=True)
class OpenStored:
    """Show a stored run, or one run of an ensemble."""

    id: int
    name: str
    run: int


@dataclass(frozen=True)
class CancelRun:
    """Stop the run and keep what there is."""

    id: int


@dataclass(frozen=True)
class WritePython:
    """The lines of Python that redo a scene."""

    scene: Scene


@dataclass(frozen=True)
class SendData:
    """The run as a file."""

    id: int


@dataclass(frozen=True)
class SendPage:
    """The run and the page that plays it, as one file."""

    id: int


@dataclass(frozen=True)
class ReadMatrix:
    """What a matrix that was typed stands for, in the form in which a scene of dimension d holds it."""

    name: str  # Q, K or V
    d: int
    choice: dict[str, Any]


Request = RunScene | OpenStored | CancelRun | WritePython | SendData | SendPage | ReadMatrix
KEYS = {
    "run": ["id", "scene", "aside"],
    "open": ["id", "name", "run"],
    "cancel": ["id"],
    "python": ["scene"],
    "data": ["id"],
    "page": ["id"],
    "matrix": ["name", "d", "text"],
}


class BadMessage(InputError):
    """A message that is not understood, with the number of the run it is about where there is one."""

    def __init__(self, text: str, id: int | None) -> None:
        super().__init__(text)
        self.id = id


def parse_request(text: str) -> Request:
    """The request in a message."""
    id = None
    try:
        table = check_table(
            "A message", strict_json(text), ["do", "id", "scene", "aside", "name", "run", "d", "text"]
        )
        do = table.pop("do", None)
        if not isinstance(do, str) or do not in KEYS:
            raise InputError(f'A message must say "do": one of {", ".join(KEYS)}.')
        check_table(f"A message to {do}", table, KEYS[do])
        if "id" in KEYS[do]:
            id = check_whole("id", table.get("id", 0 if do == "open" else None), 0, limits.MAX_INTEGER)
        return _request(do, id or 0, table)
    except InputError as error:
        raise BadMessage(str(error), id) from None


def _request(do: str, id: int, table: dict[str, Any]) -> Request:
    if do == "run":
        aside = table.get("aside", False)
        if not isinstance(aside, bool):
            raise InputError(f"aside must be true or false, but is {shortened(aside)}.")
        return RunScene(id, parse_scene(table.get("scene")), aside)
    if do == "python":
        return WritePython(parse_scene(table.get("scene")))
    if do == "open":
        name = table.get("name")
        if not isinstance(name, str) or not 0 < len(name.encode(errors="replace")) <= MAX_STORED_NAME_BYTES:
            raise InputError(
                f"name must be the name of a stored run, of at most {MAX_STORED_NAME_BYTES} bytes."
            )
        return OpenStored(id, name, check_whole("run", table.get("run", 0), 0, limits.MAX_INTEGER))
    if do == "matrix":
        return _matrix(table)
    if do == "cancel":
        return CancelRun(id)
    return SendPage(id) if do == "page" else SendData(id)


def _matrix(table: dict[str, Any]) -> ReadMatrix:
    name = check_word("name", table.get("name"), ("V", "Q", "K"))
    d = check_whole("d", table.get("d"), 2, limits.MAX_DIMENSION)
    text = table.get("text")
    if not isinstance(text, str):
        raise InputError(f"text must be a matrix as it was typed, but is {shortened(text)}.")
    return ReadMatrix(name, d, matrix_choice(name, text, d))


def strict_json(text: str) -> Any:
    """The value of a JSON text, with no key twice, no NaN, no infinity, and of no more than the allowed
    length."""
    if len(text) > limits.MAX_MESSAGE_BYTES:
        raise InputError(
            f"A message must have at most {limits.MAX_MESSAGE_BYTES:,} bytes, but has {len(text):,}."
        )
    try:
        return json.loads(text, object_pairs_hook=_table_without_duplicates, parse_constant=_refuse_constant)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of too many digits
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"A message must be JSON, but this one is broken{where}.") from None


def _table_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise InputError("A table names a key twice. Give each once.")
    return table


def _refuse_constant(word: str) -> float:
    raise InputError(f"A message holds {word}, which is not a number.")
