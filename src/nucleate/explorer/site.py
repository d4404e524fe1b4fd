"""A static site: the page with the greeting of a server inside.  It computes runs by itself, in a worker of
the browser, and plays what is beyond that engine as nucleate recorded it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.checks import FileError, InputError, MissingFileError, as_path, file_error
from nucleate.explorer.built_page import page_text
from nucleate.explorer.export import check_html, page_with_recording, write_page
from nucleate.explorer.page_engine import computed_in_page, page_greeting
from nucleate.explorer.prepared_run import begun_message, compute, prepare_scene, thinned
from nucleate.explorer.presets import ScenePreset, presets
from nucleate.explorer.python_code import python_code
from nucleate.explorer.trace_view import base64_text
from nucleate.integrate.storage import followed

__all__ = ["Site", "recorded_preset", "site_page", "write_site"]

# Of a recorded preset: as many frames as fit into so many numbers, and at least so many frames.
RECORDED_NUMBERS, MIN_RECORDED_FRAMES, MAX_RECORDED_NUMBERS = 60_000, 40, 200_000
RECORDED_WORD = " This page plays it as nucleate has computed it."
TOO_LARGE_WORD = " It is too large for this page: open it exactly in nucleate."
NOT_RECORDED_WORD = " This page cannot compute it: open it exactly in nucleate."


@dataclass(frozen=True)
class Site:
    """What was written."""

    page: Path
    size: int  # bytes
    computed: tuple[str, ...]  # presets that the page computes
    recorded: tuple[str, ...]  # presets that it plays
    left_out: tuple[str, ...]  # presets that it names and cannot show


def write_site(
    folder: Path,
    recordings: bool = True,
    progress: Callable[[int, int], object] = lambda done, total: None,
    page: str | None = None,
) -> Site:
    """Write index.html into `folder`, which is made if it is not there; progress(done, total) counts the
    presets that are computed for it."""
    target = _target(folder)
    text, *kinds = site_page(page_text() if page is None else page, recordings, progress)
    try:
        target.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise file_error(
            f"{target.parent} cannot be made: {error.strerror}. Choose another folder.", error
        ) from None
    return Site(target, write_page(target, text), *kinds)


def site_page(
    page: str, recordings: bool, progress: Callable[[int, int], object] = lambda done, total: None
) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The page of a site; and the presets that it computes, that it plays, and that it leaves to nucleate."""
    beyond = [preset for preset in presets() if not computed_in_page(preset.scene)]
    recorded: dict[str, dict[str, Any]] = {}
    for done, preset in enumerate(beyond if recordings else ()):
        progress(done, len(beyond))
        if (made := recorded_preset(preset)) is not None:
            recorded[preset.name] = made
    left_out = TOO_LARGE_WORD if recordings else NOT_RECORDED_WORD
    table = page_greeting()
    for preset in table["presets"]:
        if preset["name"] in {one.name for one in beyond}:
            preset["explain"] += RECORDED_WORD if preset["name"] in recorded else left_out
    text = page_with_recording(page, {"site": table, "recordings": list(recorded.values())})
    computed = tuple(preset.title for preset in presets() if preset not in beyond)
    played = tuple(preset.title for preset in beyond if preset.name in recorded)
    return text, computed, played, tuple(one.title for one in beyond if one.name not in recorded)


def recorded_preset(preset: ScenePreset) -> dict[str, Any] | None:
    """The run of a preset, as web/src/engine/session.ts plays it; None if it is too large."""
    scene = preset.scene
    if scene.n * scene.d * MIN_RECORDED_FRAMES > MAX_RECORDED_NUMBERS:
        return None
    prepared = prepare_scene(scene)
    room = max(RECORDED_NUMBERS, MIN_RECORDED_FRAMES * scene.n * scene.d)
    run = thinned(compute(prepared), room)
    return {
        "scene": scene.plain(),
        "begun": {**begun_message(prepared, 0), "recorded": True, "frames": len(run.t)},
        "t": run.t.tolist(),
        "x": base64_text(run.x, "<f4"),
        "norms": None if run.norms is None else base64_text(run.norms, "<f4"),
        "status": run.ending,
        "steps": int(np.max(run.steps)),
        "python": python_code(scene),
    }


def _target(folder: Path) -> Path:
    """Where the page goes, if it can: nothing but a page of ours is replaced."""
    folder = as_path("--site", folder)
    followed(folder)  # a link that leads nowhere is refused before any work
    if folder.is_dir():
        return check_html(folder / "index.html")
    if folder.exists():
        raise InputError(f"--site must be a folder, but {folder} is a file. Choose another name.")
    if not folder.parent.is_dir():
        raise MissingFileError(
            f"{folder} cannot be made: the folder {folder.parent} does not exist. Make it first."
        )
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise FileError(f"{folder} cannot be made: {folder.parent} is read-only. Choose another.")
    return folder / "index.html"
