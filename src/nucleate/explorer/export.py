"""A recorded run and the page that plays it, in one file that needs neither server nor network."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, MissingFileError
from nucleate.explorer.built_page import page_text, policy
from nucleate.explorer.measures import Measured, measure
from nucleate.explorer.prepared_run import Take, begun, perform, thinned
from nucleate.explorer.stored import open_folder
from nucleate.integrate.run import Run
from nucleate.integrate.storage import replacing

__all__ = ["export", "filled", "record"]

MOST = 5_000_000  # numbers in one file: 27 MB of text
ENDINGS = (".html", ".htm")
MARK = "nucleate-source"
PLACE = re.compile(r'(<script\b[^>]*\bid="recorded"[^>]*>)\s*(</script>)')
HEAD = re.compile(r"<head\b[^>]*>", re.I)


def export(source: Path, target: Path, which: int = 0, page: str | None = None) -> tuple[Run, int]:
    """Write the run stored at `source` (of several, number `which`) as a page; the run as shown, and the
    bytes written."""
    check_html(target)
    page = page_text() if page is None else page
    folder = open_folder(source)
    if folder.only is None:
        raise InputError(f"{source} is a folder. Pass one run, such as {source / 'run.zarr'}.")
    take = folder.take(folder.only, which)
    run = thinned(perform(take), MOST)
    text = filled(page, record(take, run))
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")
    return run, len(text.encode())


def record(take: Take, run: Run) -> dict[str, Any]:
    """What the page needs to play `run` of `take`: as it would have come over the websocket, positions as
    32-bit floats."""
    told = {**begun(take, 0), "recorded": True, "frames": len(run.t)}
    found = measure(run.x, told)
    assert found is not None  # nobody told it to stop
    return {
        "begun": told,
        "t": run.t.tolist(),
        "x": _base64(run.x, "<f4"),
        "measured": _measured(found),
        "ended": {"status": run.ending, "steps": int(np.max(run.steps))},
    }


def filled(page: str, record: dict[str, Any]) -> str:
    """The page with a record inside, and a policy that lets it reach nothing at all."""
    # no tag can end the element
    data = json.dumps(record, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    if len(PLACE.findall(page)) != 1 or not HEAD.search(page):
        raise InputError("The explorer's page has no place for a recorded run. Build it again with make web.")
    nowhere = policy(page, "'none'")
    allowed = f'<meta http-equiv="Content-Security-Policy" content="{nowhere}">'
    page = PLACE.sub(lambda found: f"{found[1]}{data}{found[2]}", page)
    return HEAD.sub(lambda found: f"{found[0]}\n{allowed}", page, count=1)


def check_html(path: Path) -> Path:
    """`path`, if a page can be written there: an ending, a folder, and nothing of value in its place."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'}, but a page ends in .html. Choose another name."
        )
    if not path.parent.is_dir():
        raise MissingFileError(
            f"{path} cannot be written: the folder {path.parent} does not exist. Make it first."
        )
    if path.exists():
        try:
            ours = path.is_file() and MARK in path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            ours = False
        if not ours:
            raise InputError(
                f"{path} exists and is not an exported page, so it is not replaced. Choose another name, or"
                " move it away."
            )
    return path


def _measured(found: Measured) -> dict[str, Any]:
    return {
        "labels": _base64(found.labels, "<i4"),
        "clusters": found.clusters.tolist(),
        "consumed_renyi": found.consumed_renyi.tolist(),
        "consumed_strong": found.consumed_strong.tolist(),
        "directions": None if found.directions is None else found.directions.tolist(),
    }


def _base64(array: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()
