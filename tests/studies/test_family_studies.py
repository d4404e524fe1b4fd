"""Studies of the family: every key in [model] and in [grid]; runs depend on seed and number alone."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_models import same_model
from support.small_studies import small, toml

import nucleate as nc
from nucleate.attention import Attention
from nucleate.block import Block as ModelBlock
from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.layers import Layers
from nucleate.parse.model_keys import BLOCK_KEYS, HEAD_KEYS, LAYERS_KEYS
from nucleate.studies import block as study_block
from nucleate.studies.block import Block, compute_block
from nucleate.studies.ensemble import runs_per_block
from nucleate.studies.points import noise_seed
from nucleate.studies.study import FAMILY, Study

ROOT = Path(__file__).resolve().parents[2]
PAIRS = {"close": {"kind": "close_pairs", "threshold": 0.9}}


def study(grid: dict[str, Any] | None = None, times: dict[str, Any] | None = None, **model: Any) -> Study:
    """A small study on the sphere in four dimensions with one observable and these keys of the model."""
    given = {} if "beta" in (grid or {}) else {"beta": 2.0}
    return Study.make(
        small(
            start={"n": 5, "d": 4},
            model={**given, **model},
            grid=grid or {},
            times={"t": 2.0, "save": 3, **(times or {})},
            observables=PAIRS,
        )
    )


def model_of(found: Study, point: int = 0, runs: range = range(1)) -> Any:
    return found.point(point).model(found.seed, runs)


# What is written


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("figure3", "a4921348a55ec22e"),
        ("counts", "eed2be5ace107c65"),
        ("table1", "8585601295ca96b8"),
        ("theorem41", "66197f935ed162b3"),
    ],
)
def test_a_study_with_the_old_keys_reads_as_before(name: str, digest: str) -> None:
    plain = json.dumps(Study.read(ROOT / f"studies/{name}.toml").plain())
    assert hashlib.sha256(plain.encode()).hexdigest()[:16] == digest, "stores that were begun could not go on"


def test_every_key_of_the_grammar_but_frozen_tokens_may_stand_in_a_study() -> None:
    keys = {*HEAD_KEYS, *BLOCK_KEYS, *(f"layers_{name}" for name in LAYERS_KEYS)}
    old = {"beta", "Q", "K", "V", "mask", "window"}
    assert set(FAMILY) == keys - old - {"frozen"}


GIVEN: dict[str, list[Any]] = {
    "weights": ["softmax", "exponential", "hardmax"],
    "alibi": [0.0, 0.5],
    "rope": [10.0, 100.0],
    "heads": [1, 3],
    "norm": ["post", "pre", "peri", "ngpt", "sqrt"],
    "tau": [0.5, 1.0],
    "alpha": [0.2, 1.0],
    "radius": [1.0, 2.0],
    "noise": [5.0, 50.0],
    "exclude_self": [False, True],
    "mlp": [{"name": "narrow", "hidden": 2}, {"name": "wide", "hidden": 6}],
    "layers_count": [2, 4],
    "layers_dt": [1.0, 2.0],
    "layers_discrete": [False, True],
    "layers_redraw": [False, True],
    "layers_value": ["gaussian", "orthogonal"],
    "layers_seed": ["run", 7],
}
BESIDE: dict[str, dict[str, Any]] = {
    "tau": {"norm": "mix"},
    "radius": {"norm": "pre"},
    "alpha": {"norm": "ngpt"},
    "layers_count": {"layers": {"dt": 1.0}},
    "layers_dt": {"layers": {"count": 4}},
    "layers_discrete": {"layers": {"count": 4}},
    "layers_redraw": {"layers": {"count": 4}, "Q": {"random": "gaussian"}},
    "layers_value": {"layers": {"count": 4, "redraw": "symmetric"}},
    "layers_seed": {"layers": {"count": 4, "redraw": "symmetric"}},
}


@pytest.mark.parametrize("name", [name for name in FAMILY if name != "layers_blocks"])
def test_a_grid_may_run_over_every_key_and_its_points_differ(name: str, tmp_path: Path) -> None:
    nested = (
        {"layers": {name.removeprefix("layers_"): GIVEN[name]}} if "layers" in name else {name: GIVEN[name]}
    )
    model = {"beta": 2.0, **BESIDE.get(name, {})}
    table = small(
        start={"n": 5, "d": 4},
        model=model,
        grid=nested,
        times={"t": 2.0, "save": 3, **({"dt": 0.1} if name == "noise" else {})},
        observables=PAIRS,
    )
    (tmp_path / "study.toml").write_text(toml(table))
    found = Study.read(tmp_path / "study.toml")
    assert Study.make(json.loads(json.dumps(found.plain()))).plain() == found.plain()
    assert found.shape == (len(GIVEN[name]),)
    models = [model_of(found, i) for i in range(found.points)]
    assert not any(same_model(models[i], models[j]) for i in range(len(models)) for j in range(i))
    values, labels = found.coordinate(name)
    assert len(values) == len(GIVEN[name])
    if labels is None:
        assert values.tolist() == GIVEN[name]
    else:
        names = [str(one.get("name") if isinstance(one, dict) else one) for one in GIVEN[name]]
        assert labels == ([one.lower() for one in names] if isinstance(GIVEN[name][0], bool) else names)


def test_a_key_with_one_value_stands_in_the_model_and_comes_back() -> None:
    for name, values in GIVEN.items():
        if name.startswith("layers_"):
            continue
        times = {"dt": 0.1} if name == "noise" else {}
        found = study(times=times, **{**BESIDE.get(name, {}), name: values[-1]})
        assert found.plain()["model"][name] == values[-1]
        assert Study.make(found.plain()).plain() == found.plain()


def test_heads_and_layers_may_be_written_one_by_one() -> None:
    found = study(
        heads=[{"V": [1.0, 2.0, 3.0, 4.0]}, {"beta": 1.0}], layers={"blocks": [{"norm": "pre"}] * 2}
    )
    model = model_of(found)
    assert isinstance(model, Layers)
    assert [len(block.heads) for block in model.blocks] == [2, 2]
    assert json.loads(json.dumps(found.plain())) == found.plain()


def test_tau_and_radius_are_for_the_norms_of_a_grid_that_have_them() -> None:
    found = study({"norm": ["post", "pre", "mix"]}, tau=1.0, radius=2.0)
    post, pre, mix = (model_of(found, i) for i in range(3))
    assert isinstance(post, Attention)
    assert (float(pre.radius), float(mix.radius), mix.tau) == (2.0, 1.0, 1.0)
    with pytest.raises(InputError, match="tau belongs to norm"):
        study({"norm": ["post", "pre"]}, tau=1.0)


def test_discrete_layers_save_their_ends_unless_told() -> None:
    table = small(
        start={"n": 5, "d": 4},
        model={"beta": 1.0, "layers": {"count": 6, "dt": 0.5, "discrete": True}},
        grid={},
        times={"t": 2.0},
        observables=PAIRS,
    )
    assert Study.make(table).times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert Study.make({**table, "times": {"t": 2.0, "save": [0.0, 2.0]}}).times.tolist() == [0.0, 2.0]


def test_an_observable_may_have_the_name_of_a_new_key_unless_it_is_an_axis() -> None:
    table = small(observables={"norm": {"kind": "clusters", "radius": 0.1}})
    assert Study.make(table).observables[0].name == "norm"
    with pytest.raises(InputError, match="cannot be named norm"):
        Study.make({**table, "grid": {"norm": ["post", "pre"], "beta": [1.0]}})


# The simulator that one study file stands for


def test_simuformer_is_one_study_file() -> None:
    found = Study.read(ROOT / "studies/simuformer.toml")
    assert (found.runs, found.fixed["heads"], found.fixed["t"]) == (512, 8, 50.0)
    assert found.largest == (64, 16)
    assert found.grid["norm"] == ("post", "pre", "peri", "ngpt")
    assert found.coordinate("Q")[1] == ["random", "symmetric", "orthogonal", "GPT-2"]
    model = model_of(found, found.points - 1, range(2))
    assert isinstance(model, Layers)
    assert (len(model.blocks), model.runs, len(model.blocks[0].heads)) == (50, 2, 8)
    Q = np.array([[head.Q for head in block.heads] for block in model.blocks])  # (layer, head, run, d, d)
    assert len(np.unique(Q)) == Q.size
    # 204,800 entries: the standard error of their deviation, .02, is 3e-5
    assert abs(Q.std() - 0.02) < 2e-4
    np.testing.assert_array_equal(model.blocks[0].heads[0].V, np.eye(16) / 8.0)
    # 8 runs of 201 frames and 400 pairs of matrices are about 32 MB
    assert runs_per_block(found, 2) == 8


# Randomness


class FakeEngine:
    """Takes the place of simulate: tokens stay; keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Array, dict[str, Any]]] = []

    def __call__(self, model: Any, x0: Array, t: float, *, save: Any, **named: Any) -> Run:
        self.asked.append((model, x0, named))
        x = np.repeat(x0[:, None], save, axis=1)  # (b, m, n, d)
        times, status = np.linspace(0.0, t, save), ("done",) * len(x0)
        return Run(Attention(1.0), times, x, status, np.ones(len(x0), dtype=np.int64), {})


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()
    monkeypatch.setattr(study_block, "simulate", fake)
    return fake


def test_noise_has_a_seed_for_every_run_whatever_its_block(engine: FakeEngine) -> None:
    found = study(noise=10.0, times={"dt": 0.01})
    together = compute_block(found, Block(0, 0, 4))
    whole = [(named["seed"], x0) for _, x0, named in engine.asked]
    engine.asked.clear()
    compute_block(found, Block(0, 2, 3))
    ((alone, x0),) = [(named["seed"], x0) for _, x0, named in engine.asked]
    assert alone == whole[2][0] == noise_seed(found.seed, 2)
    assert np.array_equal(x0, whole[2][1])
    assert len({seed for seed, _ in whole}) == 4
    assert all(0 <= seed < 2**62 for seed, _ in whole)
    assert together["close"].shape == (4, 3)


def test_runs_of_a_block_have_their_own_redrawn_matrices(engine: FakeEngine) -> None:
    found = study(Q={"random": "gaussian"}, heads=2, layers={"count": 3, "redraw": True})
    compute_block(found, Block(0, 0, 3))
    compute_block(found, Block(0, 2, 3))
    whole, alone = (model for model, _, _ in engine.asked)
    for one, two in zip(whole.blocks, alone.blocks, strict=True):
        for a, b in zip(one.heads, two.heads, strict=True):
            assert np.array_equal(a.Q[2], b.Q[0])


# Slips


@pytest.mark.parametrize(
    ("model", "times", "words"),
    [
        (
            {"alibi": -1.0},
            {},
            "model.alibi must be finite and at least 0, but is -1.0. Near tokens count more",
        ),
        ({"norm": "pre", "radius": 0.0}, {}, "model.radius must be finite and greater than 0"),
        ({"tau": 1.0}, {}, 'tau belongs to norm "mix", but norm is "post". Leave tau out.'),
        ({"noise": 3.0}, {}, "noise takes fixed steps, but dt is missing. Give dt = 0.01 in [times], say."),
        ({"layers": {"count": 1}}, {}, "1 layers of dt = 1 end at time 1, but t is 2. Give more layers"),
        ({"layers": {"count": 9, "dtt": 1}}, {}, "dtt is not a key of [model.layers]. Did you mean dt?"),
        ({"heads": [{"V": [1.0, 2.0]}]}, {}, "V acts on dimension 2, but d is 4"),
        ({"norm": "pre"}, {"method": "causal"}, 'method "causal" needs one softmax head'),
        ({"norm": "pre"}, {"device": "gpu"}, 'device "gpu" moves one softmax head'),
        ({"radius": [1.0, 2.0], "norm": "pre"}, {}, "radius has 2 numbers, but x has 5 tokens"),
        ({"layers": 3}, {}, "model.layers must be a table"),
        ({"headz": 3}, {}, "headz is not a key of [model]. Did you mean heads?"),
    ],
)
def test_a_slip_is_one_sentence_that_names_it(
    model: dict[str, Any], times: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        study(times=times, **model)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_an_observable_cannot_serve_is_refused_when_the_study_is_made() -> None:
    table = small(grid={"beta": [1.0]}, observables={"top": {"kind": "from_top"}})
    Study.make(table)
    with pytest.raises(InputError, match=r"observables\.top: from_top looks at V of one softmax head.*heads"):
        Study.make({**table, "model": {"heads": 2}})
    table = {**table, "observables": {"r": {"kind": "lengths"}}}
    with pytest.raises(InputError, match=r'observables\.r: tokens have lengths .* norm is "post"'):
        Study.make(table)
    Study.make({**table, "model": {"norm": "pre"}})
    with pytest.raises(InputError, match=r"grid\.heads\[0\] must be a number of heads"):
        Study.make({**table, "model": {"norm": "pre"}, "grid": {"beta": [1.0], "heads": [[{"beta": 1.0}]]}})


# With the solver


@pytest.mark.parametrize("norm", ["pre", "ngpt"])
def test_a_block_of_the_family_holds_what_simulate_gives(norm: str) -> None:
    found = Study.make(
        small(
            start={"n": 5, "d": 4},
            model={
                "beta": 2.0,
                "Q": {"random": "gaussian"},
                "heads": 2,
                "norm": norm,
                "layers": {"count": 3, "redraw": True},
            },
            grid={},
            times={"t": 2.0, "save": 3, "rtol": 1e-6, "atol": 1e-9},
            observables={"ends": {"kind": "points"}, **({"r": {"kind": "lengths"}} if norm == "pre" else {})},
        )
    )
    arrays = compute_block(found, Block(0, 0, 3))
    for run in range(3):
        one = range(run, run + 1)
        model, x0 = model_of(found, 0, one), found.point(0).starts(found.seed, one)
        alone = nc.simulate(model, x0, 2.0, save=3, rtol=1e-6, atol=1e-9)
        # another batch may take other steps: the same to the tolerance
        np.testing.assert_allclose(arrays["ends"][run], alone.x[0, -1], rtol=0, atol=1e-4)
        if norm == "pre":
            assert alone.norms is not None
            np.testing.assert_allclose(arrays["r"][run], alone.norms[0], rtol=1e-4)


def test_a_study_with_noise_does_not_depend_on_its_blocks(tmp_path: Path) -> None:
    table = study(noise=10.0, times={"dt": 0.05}).plain() | {"runs": 5}
    one, two = (
        nc.ensemble(table, tmp_path / f"{block}.zarr", block=block, threads=1).data["close"].values
        for block in (5, 2)
    )
    assert np.array_equal(one, two)
    assert isinstance(model_of(Study.make(table)), ModelBlock)
