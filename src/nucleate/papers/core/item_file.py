"""items/KEY.json: what is said of a finished item, with checksums of itself, of its data and of its pictures.

An item is used again only if all of them match and it would be made the same way now.  Whatever was edited or
damaged since is noticed, and the item made anew from its data, whose own checksums `cache` compares.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from nucleate.checks import InputError, read_file, regular_file
from nucleate.papers import ITEMS
from nucleate.papers.core.cache import fingerprint, made_by
from nucleate.papers.core.item import Item, Parameters

__all__ = [
    "FIGURE_FILES",
    "FIRST_LOOK",
    "FoundItem",
    "files_of",
    "find_finished",
    "is_quick",
    "item_file_text",
]

FIGURE_FILES = {"light": "{}.png", "dark": "{}-dark.png", "print": "{}.pdf"}  # by style
MAX_ITEM_BYTES = 2**26  # of an item's file
FIRST_LOOK = "quick"  # the folder, in that of a full reproduction, of the quick versions that come first
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)  # JSON of another shape


class FoundItem(NamedTuple):
    """What there is of an item in a folder."""

    summary: dict[str, Any] | None  # None: it is to be made
    damage: str = ""  # what is not as it was written, in words; empty if nothing is there, or made otherwise


def item_file_text(out: Path, item: Item, p: Parameters, quick: bool, summary: dict[str, Any]) -> str:
    """The file of an item whose data and pictures are all in `out`."""
    record = {
        "fingerprint": _fingerprint(item, p, quick),
        "data": _folder_checksum(out / "data" / item.key),
        "figures": {path.name: _file_checksum(path) for path in _pictures(out, item)},
        "summary": summary,
    }
    record = json.loads(json.dumps(record))  # as it will be read: lists for tuples, texts for keys
    return json.dumps({**record, "sha256": fingerprint(record)}, indent=2, ensure_ascii=False) + "\n"


def find_finished(out: Path, item: Item, quick: bool) -> FoundItem:
    """The item as it was written, if it, its data and its pictures still are, and would be so now."""
    path = out / "items" / f"{item.key}.json"
    if not path.exists():
        return FoundItem(None)
    record = _read(path)
    if record is None:
        return FoundItem(None, f"{path} does not match its checksum: it was damaged or edited")
    if record["fingerprint"] != _fingerprint(item, item.parameters_of(quick), quick):
        return FoundItem(None)
    for picture in _pictures(out, item):
        if _file_checksum(picture) != record["figures"].get(picture.name):
            return FoundItem(None, f"{picture} is gone, damaged or edited")
    data = out / "data" / item.key
    if _folder_checksum(data) != record["data"]:
        return FoundItem(None, f"{data} is gone, damaged or edited")
    return FoundItem(record["summary"])


def is_quick(path: Path) -> bool | None:
    """Whether an item's file, edited or not, was made by a quick run; None if it cannot be read."""
    try:
        return bool(json.loads(read_file(path, MAX_ITEM_BYTES))["summary"]["command"].endswith("--quick"))
    except UNREADABLE:
        return None


def _read(path: Path) -> dict[str, Any] | None:
    """What an item's file holds; None if it is not as it was written."""
    try:
        record = json.loads(read_file(path, MAX_ITEM_BYTES))
        said = record.pop("sha256")
        same = said == fingerprint(record)
    except UNREADABLE:
        return None
    return record if same else None


def _fingerprint(item: Item, p: Parameters, quick: bool) -> str:
    code = made_by(f"{ITEMS[item.key]}.item", "nucleate.plot")
    return fingerprint([item.key, dict(p), quick, item.user_file(), code])


def files_of(out: Path, item: Item) -> list[Path]:
    """What is written of an item, but its data."""
    return [out / "items" / f"{item.key}.json", *_pictures(out, item)]


def _pictures(out: Path, item: Item) -> list[Path]:
    return [out / "figures" / file.format(name) for name in item.captions for file in FIGURE_FILES.values()]


def _file_checksum(path: Path) -> str:
    """Of what is in a file; empty if it cannot be read, or is a pipe or a device, which may have no end."""
    try:
        regular_file(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (InputError, OSError):
        return ""


def _folder_checksum(folder: Path) -> str:
    """Of every file in a folder: its name and what is in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return fingerprint([[path.relative_to(folder).as_posix(), _file_checksum(path)] for path in files])
