"""A scene as Python: the run that the copied lines make is the run of the page."""

from typing import Any

import numpy as np
import pytest
from support.explorer_scenes import SCENES, simulated

from nucleate.explorer.presets import presets
from nucleate.explorer.python_code import python_code
from nucleate.explorer.scene import parse_scene


@pytest.mark.parametrize("name", SCENES)
def test_copied_python_redoes_the_run_to_the_last_bit(name: str) -> None:
    scene = parse_scene(SCENES[name])
    run = simulated(SCENES[name])
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(python_code(scene), "copied", "exec"), space)
    assert np.array_equal(space["run"].t, run.t)
    assert np.array_equal(space["run"].x, run.x)
    assert space["run"].steps == run.steps


def test_copied_python_has_about_ten_lines() -> None:
    lines = [[line for line in python_code(preset.scene).splitlines() if line] for preset in presets()]
    assert all(6 <= len(one) <= 12 for one in lines)
