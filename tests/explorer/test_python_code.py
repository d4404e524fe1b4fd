"""A scene as Python: the run that the copied lines make is the run of the page."""

from typing import Any

import numpy as np
import pytest
from support.explorer_scenes import FAMILIES, SCENES, SMALL, simulated

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.presets import presets
from nucleate.explorer.python_code import python_code
from nucleate.explorer.scene import parse_scene
from nucleate.layers import as_model
from nucleate.parse.model import model_table


@pytest.mark.parametrize("name", SCENES)
def test_copied_python_redoes_the_run_to_the_last_bit(name: str) -> None:
    scene = parse_scene(SCENES[name])
    run = simulated(SCENES[name])
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(python_code(scene), "copied", "exec"), space)
    assert np.array_equal(space["run"].t, run.t)
    assert np.array_equal(space["run"].x, run.x)
    assert space["run"].steps == run.steps


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("V", ["identity", "row3"])
def test_copied_python_asks_for_the_same_run_of_a_family(
    monkeypatch: pytest.MonkeyPatch, name: str, V: str
) -> None:
    """The same model, start, times and settings, and so the same bits: nothing is compiled here."""
    given = {**SMALL, "mask": "full", "family": FAMILIES[name], "V": {"preset": V}}
    if V != "identity" and name == "random layers":
        with pytest.raises(InputError, match="V is given"):
            parse_scene(given)
        return
    scene = parse_scene(given)
    asked: dict[str, Any] = {}

    def simulate(model: Any, x0: Any, **rest: Any) -> None:
        asked.update(rest, model=as_model(model), x0=x0)

    monkeypatch.setattr(nc, "simulate", simulate)
    exec(compile(python_code(scene), "copied", "exec"), {"print": lambda *_: None})
    assert model_table(asked.pop("model")) == model_table(scene.model)
    assert np.array_equal(asked.pop("x0"), scene.x0)
    assert np.array_equal(asked.pop("save"), scene.times)
    assert asked == {key: scene.settings[key] for key in asked}
    assert {"t", "dt", "seed"} & set(scene.settings) <= set(asked)


@pytest.mark.parametrize("name", ["sharper heads", "noisy layers", "discrete layers"])
def test_copied_python_redoes_the_run_of_a_family_to_the_last_bit(name: str) -> None:
    scene = {**SMALL, "mask": "full", "family": FAMILIES[name]}
    run, space = simulated(scene), {"print": lambda *_: None}
    exec(compile(python_code(parse_scene(scene)), "copied", "exec"), space)
    again: Any = space["run"]
    assert np.array_equal(again.t, run.t)
    assert np.array_equal(again.x, run.x)
    assert (run.norms is None) or np.array_equal(again.norms, run.norms)


def test_copied_python_has_about_ten_lines() -> None:
    lines = [[line for line in python_code(preset.scene).splitlines() if line] for preset in presets()]
    assert all(6 <= len(one) <= 12 for one in lines)
