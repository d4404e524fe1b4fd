"""Small pictures of the presets for the page's gallery: a few tokens of the real run, at a few of its times.

They are kept in thumbnails.json beside this file, each under the key of the scene it was made from: a preset
that has changed has no picture until `python -m nucleate.explorer.thumbnails` has made it anew.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.explorer.measurements import measure
from nucleate.explorer.prepared_run import begun_message, compute, prepare_scene
from nucleate.explorer.scene import Scene
from nucleate.explorer.trace_view import base64_text

__all__ = ["make_thumbnail", "scene_key", "thumbnail_of", "write_thumbnails"]

FILE = "thumbnails.json"
MAX_TOKENS, MAX_FRAMES = 40, 20  # of a picture
AZIMUTH, HEIGHT = 0.6, 0.35  # radians: from where the page looks at a sphere at first
NOTED_SHARE, NOTED_TOKENS = (
    0.03,
    3,
)  # share and number of tokens of a cluster of note, as in web/src/mergers.ts;
FEW_TOKENS = 5  # of so few tokens each one is
COLOURS = 8


def scene_key(scene: Scene) -> str:
    """Names a scene: another one has another key."""
    text = json.dumps(scene.plain(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def thumbnail_of(name: str, scene: Scene) -> dict[str, Any] | None:
    """The picture of a preset; None if there is none of just this scene."""
    found = _stored().get(name)
    return None if found is None or found["key"] != scene_key(scene) else dict(found)


@cache
def _stored() -> Mapping[str, Mapping[str, Any]]:
    path = files("nucleate.explorer").joinpath(FILE)
    try:
        found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def make_thumbnail(scene: Scene) -> dict[str, Any]:
    """Runs the scene.  On a circle a place is one byte, the angle; else three, as the page shows them: to the
    right, up, towards the eye.  A token has the colour of the first cluster of note that it belongs to."""
    prepared = prepare_scene(scene)
    begun, run = begun_message(prepared, 0), compute(prepared)
    measured = measure(run.x, begun)
    assert measured is not None  # it was never told to stop
    tokens = np.unique(np.linspace(0, scene.n - 1, min(scene.n, MAX_TOKENS)).round().astype(np.int64))
    frames = np.unique(np.linspace(0, len(run.t) - 1, min(len(run.t), MAX_FRAMES)).round().astype(np.int64))
    x = run.x[frames][:, tokens]  # (m, k, d)
    if scene.d == 2:
        turn = np.arctan2(x[..., 1], x[..., 0]) / (2.0 * np.pi)  # (m, k)
        places = base64_text(np.round(turn * 256.0).astype(np.int64) % 256, "u1")
    else:
        seen = x if measured.directions is None else x @ measured.directions  # (m, k, 3)
        places = base64_text(np.clip(np.round(seen @ _camera().T * 127.0), -127, 127), "i1")
    return {
        "key": scene_key(scene),
        "flat": scene.d == 2,
        "tokens": len(tokens),
        "frames": len(frames),
        "places": places,
        "colours": base64_text(first_colours(measured.labels)[tokens], "i1"),
    }


def _camera() -> Array:
    """Rows: to the right, up, towards the eye, (3, 3)."""
    (sin_a, cos_a), (sin_h, cos_h) = ((np.sin(one), np.cos(one)) for one in (AZIMUTH, HEIGHT))
    return np.array(
        [
            [-sin_a, cos_a, 0.0],
            [-sin_h * cos_a, -sin_h * sin_a, cos_h],
            [cos_h * cos_a, cos_h * sin_a, sin_h],
        ]
    )


def noted_size(n: int) -> float:
    """How many of n tokens make a cluster of note."""
    return 1.0 if n <= FEW_TOKENS else max(NOTED_TOKENS, NOTED_SHARE * n)


def first_colours(labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """The colour of every token, (n,), from the clusters of all frames (m, n): that of the first leader it
    has who holds a fair share of the tokens; leaders who hold many for long choose first; -1: none."""
    m, n = labels.shape
    leader, size = np.empty((m, n), np.int64), np.zeros((m, n), np.int64)
    for i, row in enumerate(labels):
        _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
        leader[i] = first[inverse]
        size[i] = np.bincount(leader[i], minlength=n)
    last = size[-1] > 0
    few = last.sum() <= 6 * COLOURS
    worthy = (size.max(0) >= noted_size(n)) | (last & few)
    held = np.where(worthy, size.sum(0), -1)  # (n,)
    rank = np.empty(n, np.int64)
    rank[np.lexsort((np.arange(n), -held))] = np.arange(n) % COLOURS
    rank[~worthy] = -1
    coloured = rank[leader]  # (m, n)
    when = np.argmax(coloured >= 0, axis=0)  # (n,) the first frame with a colour
    return np.asarray(coloured[when, np.arange(n)])


def write_thumbnails(path: Path) -> list[str]:
    """Make those that are missing or of another scene, drop those of no preset; the names that were made."""
    from nucleate.explorer.presets import presets

    scenes = {"start": Scene(), **{preset.name: preset.scene for preset in presets()}}
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    made = []
    for name, scene in scenes.items():
        if kept.get(name, {}).get("key") != scene_key(scene):
            print(f"{name} ...", flush=True)
            kept[name] = make_thumbnail(scene)
            made.append(name)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(kept[name])}" for name in scenes)
    path.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    return made


if __name__ == "__main__":
    print(f"made anew: {', '.join(write_thumbnails(Path(__file__).with_name(FILE))) or 'none'}")
