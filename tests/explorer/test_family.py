"""The family of a scene: the grammar of studies, within limits, and back from a model."""

import json
from typing import Any

import numpy as np
import pytest
from support.explorer_scenes import FAMILIES, SMALL

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.family import family_of, family_times, noise_step
from nucleate.explorer.model_facts import model_facts
from nucleate.explorer.scene import Scene, parse_scene
from nucleate.layers import as_model
from nucleate.parse.model import model_table, parse_model


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_the_grammar_of_studies_and_survives_a_link(name: str) -> None:
    scene = parse_scene({**SMALL, "mask": "full", "family": FAMILIES[name]})
    study = parse_model({"beta": 5.0, "mask": "full", **FAMILIES[name]}, 2)
    assert model_table(scene.model) == model_table(as_model(study))
    assert parse_scene(json.loads(json.dumps(scene.plain()))) == scene


@pytest.mark.parametrize("name", FAMILIES)
def test_a_scene_like_a_model_has_that_model(name: str) -> None:
    """As the page begins from a stored run."""
    scene = parse_scene({**SMALL, "family": FAMILIES[name], "mask": "full"})
    facts = model_facts(scene.model, scene.n, scene.d)
    known = {key: facts[key] for key in ("beta", "mask", "Q", "K", "V")}
    again = parse_scene({**SMALL, **known, "family": family_of(scene.model, scene.n, scene.d)})
    assert model_table(again.model) == model_table(scene.model)


def test_old_scenes_have_no_family_and_the_model_they_had() -> None:
    old = {key: value for key, value in Scene().plain().items() if key not in ("family", "dt")}
    assert parse_scene(old) == Scene()
    given = {"weights": "softmax", "heads": 1, "norm": "post", "exclude_self": False}
    assert parse_scene({"family": given}) == Scene()
    assert isinstance(Scene().model, nc.Attention)


BAD: list[tuple[Any, str]] = [
    ([], "family must be a table"),
    ({"wieghts": "softmax"}, "Did you mean weights"),
    ({"V": 2.0}, "V is not a key of family"),  # it is the scene's own
    ({"frozen": {"x": [[1, 0]]}}, "frozen is not a key"),
    ({"heads": [{"frozen": {"x": [[1.0, 0.0]]}}]}, "no frozen tokens"),
    ({"weights": "hard"}, "Did you mean hardmax"),
    ({"alibi": -1}, "family.alibi must"),
    ({"alibi": 1, "rope": 1}, "one of them"),
    ({"norm": "mix"}, "tau is missing"),
    ({"norm": "pre", "noise": 1}, 'needs norm "post"'),
    ({"norm": "pre", "radius": 0}, "length zero"),
    ({"heads": 0}, "needs a head or an MLP"),
    ({"heads": [{"beta": [1.0, 2.0]}]}, "one run"),
    ({"heads": [{"V": {"random": "gaussian"}}]}, "such as .gaussian"),
    ({"heads": [{"V": [[1.0]]}]}, "dimension"),
    ({"radius": [1.0, 2.0], "norm": "pre"}, "radius has 2 numbers"),
    ({"layers": {"count": 2}}, "end at time 2, but t is 3"),
    ({"layers": {"count": 9, "dt": 0.7, "discrete": True}}, "multiples of dt"),
    ({"layers": {"count": 9, "redraw": "gaussian"}}, "layers.seed is missing"),
    ({"layers": {"count": 9, "redraw": "gaussian", "seed": "run"}}, "layers.seed is missing"),
    ({"heads": 65}, "at most 64 heads"),
    ({"layers": {"count": 1001}}, "at most 1,000 layers"),
    ({"layers": {"count": 600, "redraw": "uniform", "seed": 1}, "heads": 2}, "1,000 heads in all layers"),
    ({"mlp": {"hidden": 1025}}, "at most 1,024 hidden units"),
]


@pytest.mark.parametrize(("family", "words"), BAD, ids=str)
def test_what_does_not_go_together_is_refused_in_words(family: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        parse_scene({**SMALL, "family": family})
    assert len(str(error.value)) < 400


def test_limits_count_what_a_velocity_and_a_run_cost() -> None:
    random = {"count": 100, "redraw": "gaussian", "seed": 0}
    with pytest.raises(InputError, match="2,000,000 numbers in all matrices"):
        parse_scene({**SMALL, "d": 64, "t": 3.0, "family": {"heads": 8, "layers": random}})
    with pytest.raises(InputError, match="products for one velocity"):
        parse_scene({"n": 10_000, "d": 32, "frames": 20, "family": {"heads": 3}})
    parse_scene({"n": 10_000, "d": 64, "frames": 20, "family": {"weights": "exponential"}, "beta": 1.0})
    with pytest.raises(InputError, match="1,000,000 steps, but t / dt is 15,000,000"):
        parse_scene({"family": {"noise": 1.0}, "dt": 1e-5})
    with pytest.raises(InputError, match="1,000,000 steps"):  # also where only its layers say that
        parse_scene({**SMALL, "dt": 1e-6, "family": {"layers": {"dt": 3.0, "blocks": [{"noise": 1.0}]}}})


def test_frames_stand_at_steps_of_noise_and_at_ends_of_discrete_layers() -> None:
    assert noise_step(2.0, 0.01) == 0.01
    assert noise_step(1.0, 0.3) == 0.25
    assert noise_step(0.001, 0.3) == 0.001
    times = np.array([0.0, 0.011, 0.012, 0.5, 1.0])
    assert np.array_equal(family_times({"noise": 1.0}, times, 1.0, 0.01), [0.0, 0.01, 0.5, 1.0])
    layers = {"count": 4, "dt": 0.25, "discrete": True}
    assert np.array_equal(family_times({"layers": layers}, times, 1.0, 0.01), [0.0, 0.5, 1.0])
    assert family_times({"layers": {"count": 4}}, times, 1.0, 0.01) is times


def test_a_model_too_large_for_a_link_gives_no_family() -> None:
    assert family_of(nc.RandomLayers(9, 32, seed=0), 4, 32) is None  # 27,648 numbers
    assert family_of(nc.Layers([nc.Attention(1.0)] * 1001), 4, 2) is None
