"""Runs over depth on disk: they come back bit for bit, and what does not fit is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_depth_runs import LAYERS, TOKENS, D, depth_run
from support.made_runs import one_run

import nucleate as nc
from nucleate.checks import InputError
from nucleate.integrate import storage
from nucleate.integrate.run import Run
from nucleate.integrate.stored_hidden_states import check_depth_shapes, depth_arrays


@pytest.mark.parametrize("ending", [".zarr", ".npz"])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_a_run_over_depth_comes_back_bit_for_bit(lead: tuple[int, ...], ending: str, tmp_path: Path) -> None:
    run = depth_run(lead)
    run.save(tmp_path / f"run{ending}")
    found = nc.load(tmp_path / f"run{ending}")
    assert isinstance(found, Run)
    assert found.model == run.model
    assert (found.tokens, found.status, found.notes, found.settings) == (
        run.tokens,
        run.status,
        run.notes,
        run.settings,
    )
    assert found.summary == run.summary
    assert np.array_equal(found.steps, run.steps)
    for one, other in ((found.t, run.t), (found.x, run.x), (found.norms, run.norms)):
        assert np.array_equal(one, other)  # type: ignore[arg-type]  # norms are there
    assert {name: part.dtype for name, part in found.parts.items()} == {
        name: part.dtype for name, part in run.parts.items()
    }
    assert all(np.array_equal(found.parts[name], run.parts[name]) for name in run.parts)


def test_as_an_xarray_its_axes_are_layer_token_and_coordinate() -> None:
    data = depth_run().to_xarray()
    assert data["x"].dims == ("layer", "token", "coordinate")
    assert data["part_weights"].dims == ("block", "head", "token", "seen")
    assert data["word"].values.tolist() == ["The", " ä", "<0xE2>", "\n", "The"]
    assert depth_run((2,)).to_xarray()["x"].dims == ("run", "layer", "token", "coordinate")
    assert depth_run((2,)).to_xarray()["word"].dims == ("run", "token")


SHAPES = {name: data.shape for name, _, data, _ in depth_arrays(depth_run())}
WRONG: list[dict[str, Any]] = [
    {"layer": (LAYERS,)},
    {"x": (TOKENS, D)},
    {"x": (LAYERS + 1, 0, D)},
    {"steps": (1,)},
    {"norms": (LAYERS + 1, D)},
    {"part_mlp": (LAYERS + 1, TOKENS, D)},
    {"part_weights": (LAYERS, 2, TOKENS, 2**40)},
    {"part_ids": (2, TOKENS)},
    {"part_keys": (LAYERS, TOKENS, D)},
    {"time": (LAYERS + 1,)},
    {"beta": ()},
]


@pytest.mark.parametrize("change", WRONG)
def test_arrays_that_are_no_parts_of_it_are_refused_before_they_are_read(change: dict[str, Any]) -> None:
    check_depth_shapes(SHAPES)
    with pytest.raises(InputError, match="is no part of a run"):
        check_depth_shapes(SHAPES | change)
    for name in ("x", "steps", "norms"):
        with pytest.raises(InputError, match="damaged"):
            check_depth_shapes({key: shape for key, shape in SHAPES.items() if key != name})


def forged(path: Path, arrays: dict[str, Any], texts: dict[str, str]) -> None:
    """A file whose checksums match, with other contents."""
    variables, words = storage._contents(depth_run())
    for name, data in arrays.items():
        variables[name] = variables[name]._replace(data=data)
    storage._put_npz(path, *storage._sealed(variables, words | texts))


def with_one(array: Any, value: float) -> Any:
    """The same array, its last number another."""
    changed = np.array(array)
    changed.flat[-1] = value
    return changed


MODEL = json.loads(storage._contents(depth_run())[1]["model"])
FORGED: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "a model of another depth": ({}, {"model": json.dumps(MODEL | {"layers": 9})}, "9 layers"),
    "a model with more": ({}, {"model": json.dumps(MODEL | {"path": "/etc/passwd"})}, "no table of names"),
    "a model that is a list": ({}, {"model": "[]"}, "no table of names"),
    "a size that is a text": ({}, {"model": json.dumps(MODEL | {"heads": "many"})}, "heads must be"),
    "too few strings": ({}, {"tokens": '["a"]'}, "must be 5 strings"),
    "strings that are numbers": ({}, {"tokens": "[1, 2, 3, 4, 5]"}, "must be strings"),
    "tokens kept as floats": ({"x": depth_run().x.astype(np.float32)}, {}, "not kept as doubles"),
    "a token that is NaN": ({"x": with_one(depth_run().x, np.nan)}, {}, r"x\[3, 4, 3\] is nan"),
    "a length that is infinite": ({"norms": with_one(depth_run().norms, np.inf)}, {}, "norms.* is inf"),
    "a layer that is NaN": ({"layer": with_one(depth_run().t, np.nan)}, {}, r"layer\[3\] is nan"),
    "a token far off the sphere": ({"x": with_one(depth_run().x, 1e300)}, {}, "not directions"),
    "a length of zero": ({"norms": with_one(depth_run().norms, 0.0)}, {}, "not directions with lengths"),
    "ids that are floats": ({"part_ids": np.zeros(TOKENS)}, {}, "ids must hold whole numbers"),
    "a status that is a list": ({}, {"status": '["done"]'}, "do not fit together"),
    "the format of a simulation": ({}, {"format": "nucleate run 1"}, "not those of its format"),
    "an unknown format": ({}, {"format": "nucleate run 9"}, 'reads "nucleate run 1"'),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_file_with_right_checksums_and_wrong_contents_is_refused(case: str, tmp_path: Path) -> None:
    arrays, texts, words = FORGED[case]
    forged(tmp_path / "run.npz", {}, {})
    assert nc.load(tmp_path / "run.npz").summary == depth_run().summary
    forged(tmp_path / "run.npz", arrays, texts)
    with pytest.raises(InputError, match=words) as refused:
        nc.load(tmp_path / "run.npz")
    assert str(refused.value).startswith(str(tmp_path / "run.npz"))


def test_a_simulation_is_not_taken_for_hidden_states(tmp_path: Path) -> None:
    variables, texts = storage._contents(one_run())
    storage._put_npz(
        tmp_path / "run.npz", *storage._sealed(variables, texts | {"format": storage.DEPTH_FORMAT})
    )
    with pytest.raises(InputError, match="not those of its format"):
        nc.load(tmp_path / "run.npz")
    assert storage._contents(replace(depth_run(), parts={}))[1]["format"] == "nucleate run 3"
