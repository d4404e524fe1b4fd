"""Thumbnails: each preset has one, made from just its scene, and it shows where the tokens are."""

import base64
import re
from pathlib import Path

import numpy as np
import pytest
from support.explorer_scenes import SMALL, simulated

from nucleate.explorer import thumbnails
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import Scene, parse_scene
from nucleate.explorer.thumbnails import _camera, first_colours, make_thumbnail, thumbnail_of

ANEW = "Make it anew: python -m nucleate.explorer.thumbnails"


def test_every_preset_has_a_picture_of_its_own_scene() -> None:
    stale = [preset.name for preset in presets() if thumbnail_of(preset.name, preset.scene) is None]
    assert stale == [], ANEW
    assert thumbnail_of("start", Scene()) is not None, ANEW
    assert all(preset.plain()["thumbnail"] for preset in presets())


def test_a_scene_that_has_changed_has_no_picture_rather_than_a_wrong_one() -> None:
    preset = presets()[0]
    assert thumbnail_of(preset.name, parse_scene({**preset.scene.plain(), "seed": 12_345})) is None


@pytest.mark.parametrize("d", [2, 3])
def test_a_picture_holds_the_places_of_the_run_to_the_width_of_its_bytes(d: int) -> None:
    scene = {**SMALL, "d": d}
    made, run = make_thumbnail(parse_scene(scene)), simulated(scene)
    kind = np.uint8 if d == 2 else np.int8
    places = np.frombuffer(base64.b64decode(made["places"]), kind).astype(float)
    assert (made["tokens"], made["frames"], made["flat"]) == (7, 5, d == 2)
    if d == 2:
        angle = places.reshape(5, 7) * 2.0 * np.pi / 256.0  # (m, n)
        shown = np.stack([np.cos(angle), np.sin(angle)], -1)
        assert np.abs(shown - run.x).max() < np.pi / 256.0 + 1e-12  # half a byte's width of angle
    else:
        shown = places.reshape(5, 7, 3) / 127.0 @ _camera()
        assert (
            np.abs(shown - run.x).max() < np.sqrt(3.0) * 0.5 / 127.0 + 1e-12
        )  # half a step in each coordinate


def test_a_token_has_the_colour_of_the_first_cluster_of_note_it_joins() -> None:
    labels = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]], np.int32)
    colours = first_colours(labels)
    assert colours[:3].tolist() == [0, 0, 0], "the cluster of the first token holds most"
    assert colours[3:].tolist() == [1, 1, 1], "the second cluster keeps its own colour after it is lost"


def test_a_cluster_of_note_is_the_same_here_and_on_the_page() -> None:
    source = (Path(__file__).parents[2] / "web" / "src" / "mergers.ts").read_text(encoding="utf-8")
    for name in ("NOTED_SHARE", "NOTED_TOKENS", "FEW_TOKENS"):
        (there,) = re.findall(rf"^const {name} = ([0-9.]+);", source, flags=re.M)
        assert float(there) == getattr(thumbnails, name)
    assert [thumbnails.noted_size(n) for n in (1, 5, 6, 100, 200)] == [1.0, 1.0, 3.0, 3.0, 6.0]
