"""A recorded run, or a text over depth, and the page that plays it, in one file that needs neither server nor
network."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.checks import Array, FileError, InputError, MissingFileError, as_path, read_file
from nucleate.explorer.built_page import content_security_policy, page_text
from nucleate.explorer.measurements import Measurements, measure
from nucleate.explorer.page_engine import live_part
from nucleate.explorer.prepared_run import PreparedRun, begun_message, compute, thinned
from nucleate.explorer.prepared_trace import PreparedTrace, prepare_trace_view, trace_message
from nucleate.explorer.stored_runs import open_folder
from nucleate.explorer.trace_view import base64_text
from nucleate.integrate.run import Run
from nucleate.integrate.storage import followed, replacing

__all__ = [
    "check_html",
    "export",
    "page_with_recording",
    "recorded_page",
    "recording",
    "write_page",
    "write_trace",
]

MAX_EXPORTED_NUMBERS = 5_000_000  # 27 MB of text
MAX_PAGE_BYTES = 2**28  # more than any page has
PAGE_ENDINGS = (".html", ".htm")
PAGE_MARK = "nucleate-source"  # a page of ours has it in its head
RECORDING_PLACE = re.compile(r'(<script\b[^>]*\bid="recorded"[^>]*>)\s*(</script>)')
HEAD_TAG = re.compile(r"<head\b[^>]*>", re.I)


def export(source: Path, target: Path, which: int = 0, page: str | None = None) -> tuple[Run, int]:
    """Write the run stored at `source` (of several, number `which`) as a page; the run as shown, and the
    bytes written."""
    check_html(target)
    page = page_text() if page is None else page
    folder = open_folder(source)
    if folder.only is None:
        raise InputError(f"{source} is a folder. Pass one run, such as {source / 'run.zarr'}.")
    prepared = folder.prepare(folder.only, which)
    if isinstance(prepared, PreparedTrace):
        return prepared.run, write_page(target, recorded_page(prepared, prepared.run, page))
    run = thinned(compute(prepared), MAX_EXPORTED_NUMBERS)
    return run, write_page(target, recorded_page(prepared, run, page))


def recorded_page(prepared: PreparedRun | PreparedTrace, run: Run, page: str | None = None) -> str:
    """The page that plays `run`, which is what `prepared` led to; thinned to five million numbers.  It can
    compute where its engine can."""
    page = page_text() if page is None else page
    if isinstance(prepared, PreparedTrace):
        return page_with_recording(page, {"begun": trace_message(prepared, 0)})
    shown = thinned(run, MAX_EXPORTED_NUMBERS)
    live = live_part(prepared, shown)
    return page_with_recording(page, recording(prepared, shown) | ({} if live is None else {"live": live}))


def write_trace(run: Run, target: Path, title: str) -> int:
    """Write the first text of a run over depth as a page; the bytes written."""
    message = trace_message(prepare_trace_view(run, 0, title), 0)
    return write_page(check_html(target), page_with_recording(page_text(), {"begun": message}))


def write_page(target: Path, text: str) -> int:
    """Write a page, or leave what was there; the bytes written."""
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")
    return len(text.encode())


def recording(prepared: PreparedRun, run: Run) -> dict[str, Any]:
    """What the page needs to play `run`: as it would have come over the websocket, positions as 32-bit
    floats."""
    begun = {**begun_message(prepared, 0), "recorded": True, "frames": len(run.t)}
    measured = measure(run.x, begun)
    assert measured is not None  # it was never told to stop
    return {
        "begun": begun,
        "t": run.t.tolist(),
        "x": base64_text(run.x, "<f4"),
        "measured": {
            **_plain_measurements(measured),
            "norms": None if run.norms is None else base64_text(run.norms, "<f8"),
        },
        "ended": {"status": run.ending, "steps": int(np.max(run.steps))},
    }


def page_with_recording(page: str, recording: dict[str, Any]) -> str:
    """The page with a recording inside, and a policy that lets it reach nothing at all; its engine is a
    worker made from its own text."""
    # without "<" no tag inside can end the element
    data = json.dumps(recording, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    if len(RECORDING_PLACE.findall(page)) != 1 or not HEAD_TAG.search(page):
        raise InputError("The explorer's page has no place for a recorded run. Build it again with make web.")
    policy = content_security_policy(page, "'none'")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = RECORDING_PLACE.sub(lambda found: f"{found[1]}{data}{found[2]}", page)
    return HEAD_TAG.sub(lambda found: f"{found[0]}\n{meta}", page, count=1)


def check_html(path: Path) -> Path:
    """`path`, if a page can be written there: an ending, a folder, and nothing of value in its place."""
    path = as_path("--out", path)
    if path.suffix.lower() not in PAGE_ENDINGS:
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'}, but a page ends in .html. Choose another name."
        )
    folder = followed(path).parent
    if not folder.is_dir():
        raise MissingFileError(
            f"{path} cannot be written: the folder {folder} does not exist. Make it first."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"{path} cannot be written: the folder {folder} is read-only. Choose another.")
    if path.exists():
        try:
            ours = PAGE_MARK.encode() in read_file(path, MAX_PAGE_BYTES)
        except InputError:
            ours = False
        if not ours:
            raise InputError(
                f"{path} exists and is not an exported page, so it is not replaced. Choose another name, or"
                " move it away."
            )
    return path


def _plain_measurements(measured: Measurements) -> dict[str, Any]:
    return {
        "labels": base64_text(measured.labels, "<i4"),
        "clusters": measured.clusters.tolist(),
        "consumed_renyi": _listed(measured.consumed_renyi),
        "consumed_strong": _listed(measured.consumed_strong),
        "directions": _listed(measured.directions),
    }


def _listed(array: Array | None) -> list[Any] | None:
    return None if array is None else array.tolist()
