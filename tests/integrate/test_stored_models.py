"""Models of the family on disk: they come back bit for bit, and what does not fit is refused."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_models import family, same_model
from support.made_runs import SETTINGS, many_runs, one_run, paths

import nucleate as nc
from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.integrate import storage
from nucleate.integrate.run import Run
from nucleate.integrate.storage import load
from nucleate.integrate.stored_models import fits_model, read_model, stored_model
from nucleate.layers import Layers, Model

ENDINGS = [".zarr", ".npz"]


def run_with(model: Model, runs: int | None = None, d: int = 4) -> Run:
    """A made-up run of five tokens, or as many runs, with their lengths."""
    x = paths(3, 5, d)  # (m, n, d)
    made: Any = Run(one_run().model, np.arange(3.0), x, "done", 3, SETTINGS)
    if runs is not None:
        made = replace(
            many_runs(), x=np.stack([paths(6, 5, d, seed) for seed in range(runs)])
        )  # (b, m, n, d)
    return replace(made, model=model, norms=np.exp(made.x[..., 0]))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("runs", [None, 3])
@pytest.mark.parametrize("kind", family())
def test_every_model_of_the_family_comes_back_bit_for_bit(
    kind: str, runs: int | None, ending: str, tmp_path: Path
) -> None:
    model = family(runs=runs)[kind]
    run, path = run_with(model, runs), tmp_path / f"run{ending}"
    run.save(path)
    found = load(path)
    assert same_model(found.model, model)
    assert found.norms is not None
    assert run.norms is not None
    assert np.array_equal(found.norms, run.norms)
    assert np.array_equal(found.x, run.x)
    assert not same_model(found.model, family(d=4, runs=runs)["usa" if kind != "usa" else "rope"])


def test_a_plain_head_keeps_the_layout_that_older_versions_read(tmp_path: Path) -> None:
    for model in (Attention(2.0, V=np.eye(4)), Block(Attention(2.0, V=np.eye(4)))):
        variables, texts = storage._contents(replace(run_with(model), norms=None))
        assert texts["format"] == "nucleate run 1"
        assert set(variables) == {"time", "x", "steps", "beta", "V"}
        assert list(texts) == ["format", "nucleate_version", "mask", "status", "settings", "notes"]
    assert storage._contents(run_with(Attention(2.0, weights="hardmax")))[1]["format"] == "nucleate run 2"


def test_the_heads_of_many_layers_lie_in_one_variable() -> None:
    arrays, text = stored_model(nc.RandomLayers(50, 4, heads=8))
    shapes = {name: (dims, data.shape) for name, dims, data, _ in arrays}
    assert shapes == {
        "model_beta": (("layer", "head"), (50, 8)),
        **{f"model_{name}": (("layer", "head", "row", "column"), (50, 8, 4, 4)) for name in "QKV"},
    }
    assert len(text) < 100_000


def test_layers_that_share_their_weights_store_them_once() -> None:
    arrays, _ = stored_model(Layers([Block([Attention(1.0, V=np.eye(3)), Attention(2.0)])] * 100))
    assert {name: data.shape for name, _, data, _ in arrays} == {
        "model_beta": (1, 2),
        "model_V": (1, 1, 3, 3),
    }


def test_a_run_with_runs_of_their_own_is_an_xarray_dataset() -> None:
    data = run_with(family(runs=3)["frozen head"], 3).to_xarray()
    assert data["norms"].dims == ("run", "time", "token")
    assert data["model_V"].dims == ("layer", "head", "run", "row", "column")


def test_a_function_of_ones_own_is_not_stored_and_leaves_nothing(tmp_path: Path) -> None:
    def push(x: Array, out: Array) -> None:
        out += x

    with pytest.raises(InputError, match=r"function of your own, push.*numpy\.savez"):
        run_with(Block(Attention(1.0), push)).save(tmp_path / "run.zarr")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "shape", "fits"),
    [
        ("model_Q", (50, 8, 4, 4), True),
        ("model_Q", (50, 8, 3, 4, 4), True),
        ("model_Q_1", (1, 1, 4, 4), True),
        ("model_Q", (8, 4, 4), False),
        ("model_Q", (50, 8, 2, 4, 4), False),
        ("model_Q", (50, 8, 4, 5), False),
        ("model_Q_100", (1, 1, 4, 4), False),
        ("model_X", (1, 1, 4, 4), False),
        ("model_beta", (50, 8), True),
        ("model_beta", (50, 8, 3), True),
        ("model_beta", (50,), False),
        ("model_W", (1, 1, 4, 100), True),
        ("model_W", (1, 1, 100, 4), False),
        ("model_a", (1, 1, 100, 4), True),
        ("model_radius", (1, 1, 5), True),
        ("model_radius", (1, 1, 6), False),
        ("../model_Q", (1, 1, 4, 4), False),
    ],
)
def test_shapes_that_are_no_part_of_a_model_are_refused_before_they_are_read(
    name: str, shape: tuple[int, ...], fits: bool
) -> None:
    assert fits_model(name, shape, (3, 6, 5, 4)) == fits  # three runs of five tokens in four dimensions


HEAD = {"beta": ["model_beta", 0], "mask": "causal"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([], "no table"),
        ({"heads": [{"beta": ["model_beta", 2]}]}, "refers to 'model_beta'"),
        ({"heads": [{"beta": ["model_beta", -1]}]}, "refers to 'model_beta'"),
        ({"heads": [{"beta": ["model_beta", True]}]}, "refers to 'model_beta'"),
        ({"heads": [{"beta": ["/etc/passwd", 0]}]}, "refers to '/etc/passwd'"),
        ({"beta": 1.0}, "does not use all its arrays"),
        ({**HEAD, "layers": {"count": 100_000, "redraw": "gaussian"}}, "its model says 'count'"),
        ({**HEAD, "mlp": {"hidden": 10}}, "its model says 'hidden'"),
        ({**HEAD, "Q": {"random": "gaussian"}}, "its model says 'random'"),
        ({**HEAD, "layers": {"dt": 1.0}}, "count or blocks"),
        ({"heads": [[[[[[[[[[1]]]]]]]]]]}, "nested too deeply"),
        ({**HEAD, "mask": "sideways"}, "mask must be causal"),
        ({**HEAD, "alibi": -1.0}, "alibi must be"),
        ({**HEAD, "norm": 3}, "norm is 3"),
        ({**HEAD, "V": ["model_beta", 1]}, None),
    ],
)
def test_a_table_made_to_harm_is_refused_in_words(table: Any, words: str | None) -> None:
    arrays = {"model_beta": np.array([[1.0, 2.0]])}
    if words is None:  # a number may stand for a matrix
        assert isinstance(read_model(json.dumps(table), arrays, (5, 4)), Attention)
        return
    with pytest.raises(InputError, match=words):
        read_model(json.dumps(table), arrays, (5, 4))


def test_many_references_to_one_array_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("nucleate.integrate.stored_models.check_memory", lambda size, what: seen.append(size))
    table = {"heads": [{"beta": 1.0, "V": ["model_V", 0]}] * 50}
    read_model(json.dumps(table), {"model_V": np.eye(4)[None, None]}, (5, 4))
    assert seen[-1] == 50 * 2 * 16 * 8


def test_a_model_of_other_runs_or_dimensions_is_refused() -> None:
    arrays = {"model_beta": np.ones((1, 1, 3))}
    with pytest.raises(InputError, match="x holds 2 runs, but the model's parameters 3"):
        read_model(json.dumps(HEAD), arrays, (2, 5, 4))
    with pytest.raises(InputError, match="has 3 runs"):
        read_model(json.dumps(HEAD), arrays, (5, 4))


def read_or_refused(path: Path) -> Run | None:
    """The run; None if it is refused in words that name the file."""
    words = ""
    try:
        return load(path)
    except InputError as error:
        words = str(error)
    assert path.name in words
    return None


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(ending: str, tmp_path: Path) -> None:
    run, path, rng = run_with(family()["mlp"]), tmp_path / f"run{ending}", np.random.default_rng(0)
    run.save(path)
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    refused = tried = 0
    for file in files:
        whole = file.read_bytes()
        for at in rng.choice(len(whole), min(len(whole), 6 if path.is_dir() else 150), replace=False):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
            tried += 1
            found = read_or_refused(path)
            refused += found is None
            assert found is None or same_model(found.model, run.model)
        file.write_bytes(whole)
    assert tried > 100
    assert refused > 0.9 * tried


JUNK: list[Any] = [None, True, -1, 2**70, 0.5, float("nan"), "", "x" * 200, "../x", [], [[[]]], {}]
JUNK += [["model_Q", 0]]


@pytest.mark.parametrize("kind", ["two heads", "mlp", "potential", "random layers"])
def test_a_forged_table_with_checksums_that_match_breaks_nothing(kind: str, tmp_path: Path) -> None:
    dice, path, refused = random.Random(kind), tmp_path / "run.npz", 0
    variables, texts = storage._contents(run_with(family()[kind]))
    for _ in range(200):
        tree = json.loads(texts["model"])
        node, holder, key = tree, tree, next(iter(tree))
        while isinstance(node, dict | list) and node and (node is tree or dice.random() < 0.8):
            holder, key = (
                node,
                dice.choice(list(node)) if isinstance(node, dict) else dice.randrange(len(node)),
            )
            node = holder[key]
        if dice.random() < 0.2:
            del holder[key]
        else:
            holder[key] = dice.choice(JUNK)
        storage._put_npz(path, *storage._sealed(variables, {**texts, "model": json.dumps(tree)}))
        refused += read_or_refused(path) is None
    assert refused > 100
