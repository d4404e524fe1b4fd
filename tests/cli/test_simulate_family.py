"""`nucleate simulate` for the family: every option reaches the model, and a slip gets one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import nucleate
from support.made_models import same_model
from support.made_runs import one_run

import nucleate as nc
import nucleate.integrate.simulate as engine
from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.cli.simulation_setup import KEYS
from nucleate.integrate.run import Run
from nucleate.layers import Layers, Model
from nucleate.parse.model import parse_model
from nucleate.parse.random_matrices import drawn
from nucleate.studies.points import stream

PLAIN = Attention(2.0)


class Asked:
    """What simulate was asked for."""

    def __init__(self) -> None:
        self.model: Any = None
        self.x0: Any = None
        self.t = 0.0
        self.named: dict[str, Any] = {}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    """simulate answers with a made-up run."""
    seen = Asked()

    def simulate(model: Any, x0: Any, t: float, **named: Any) -> Run:
        seen.model, seen.x0, seen.t, seen.named = model, x0, t, named
        return one_run()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "simulate", simulate)
    return seen


OPTIONS: dict[str, tuple[str, Model]] = {
    "--weights": ("--weights exponential --mask full", Attention(2.0, mask="full", weights="exponential")),
    "--alibi": ("--alibi 0.25", Attention(2.0, position=nc.ALiBi(0.25))),
    "--rope": ("--rope 100", Attention(2.0, position=nc.RoPE(100.0))),
    "--heads": ("--heads 3", Block([PLAIN] * 3)),
    "--norm": ("--norm peri", Block(PLAIN, norm="peri")),
    "--tau": ("--norm mix --tau 1.5", Block(PLAIN, norm="mix", tau=1.5)),
    "--alpha": ("--norm ngpt --alpha 0.2", Block(PLAIN, norm="ngpt", alpha=0.2)),
    "--radius": ("--norm pre --radius 2", Block(PLAIN, norm="pre", radius=2.0)),
    "--noise": ("--noise 20 --dt 0.1", Block(PLAIN, noise=20.0)),
    "--exclude-self": ("--exclude-self", Block(PLAIN, exclude_self=True)),
    "--layers": ("--layers 3", Layers([PLAIN] * 3)),
    "--layer-dt": ("--layers 3 --layer-dt 0.5", Layers([PLAIN] * 3, 0.5)),
    "--discrete": ("--layers 3 --discrete", Layers([PLAIN] * 3, discrete=True)),
    "--redraw": ("--layers 2 --redraw gaussian", PLAIN),  # below
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_says_what_the_constructor_says(option: str, asked: Asked) -> None:
    words, model = OPTIONS[option]
    done = nucleate("simulate", "-n", 5, "-d", 4, "--beta", 2, *words.split())
    assert done.exit_code == 0, done.stderr
    assert same_model(asked.model, model) == (option != "--redraw")
    assert ("seed" in asked.named) == (option == "--noise")


def test_every_option_of_the_table_is_among_these() -> None:
    old = {"--beta", "--query", "--key", "--value", "--mask"}
    assert set(OPTIONS) == set(KEYS) - old


def test_redrawn_matrices_are_those_of_a_study_with_this_seed(asked: Asked) -> None:
    words = ["--layers", "2", "--heads", "2", "--redraw", "symmetric", "--seed", "3"]
    for runs in ([], ["--runs", "3"]):
        assert nucleate("simulate", "-n", 5, "-d", 4, *words, *runs).exit_code == 0
        spec = {"random": "symmetric", "scale": 1.0}
        streams = [stream(3, run, 3, 1, 0) for run in range(3 if runs else 1)]
        V = drawn(spec, 4, streams)
        assert V is not None
        assert np.array_equal(asked.model.blocks[1].heads[0].V, V if runs else V[0])
        assert asked.x0.shape == ((3, 5, 4) if runs else (5, 4))
    words = ["--layers", "2", "--redraw", "matrices", "--query", "{random = 'gaussian'}"]
    assert nucleate("simulate", "-n", 5, "-d", 4, *words).exit_code == 0
    first, second = (block.heads[0] for block in asked.model.blocks)
    assert not np.array_equal(first.Q, second.Q)
    assert first.V is None


def test_layers_run_to_their_end_and_discrete_ones_keep_each(asked: Asked) -> None:
    assert nucleate("simulate", "-n", 5, "--layers", 4, "--layer-dt", 0.5).exit_code == 0
    assert (asked.t, asked.named["save"]) == (2.0, 512)
    assert nucleate("simulate", "-n", 5, "--layers", 4, "--layer-dt", 0.5, "--discrete").exit_code == 0
    assert asked.named["save"] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert nucleate("simulate", "-n", 5, "--layers", 4, "--discrete", "--save", "3", "-t", 2).exit_code == 0
    assert (asked.t, asked.named["save"]) == (2.0, 3)


def test_noise_takes_the_seed_of_the_command_also_with_a_start_of_ones_own(asked: Asked) -> None:
    assert nucleate("simulate", "-n", 5, "--noise", 9, "--dt", 0.1, "--seed", 4).exit_code == 0
    assert (asked.named["seed"], asked.named["dt"]) == (4, 0.1)
    np.save("x.npy", nc.uniform(3, 2, 0))
    assert nucleate("simulate", "--start", "x.npy", "--noise", 9, "--dt", 0.1, "--seed", 4).exit_code == 0
    assert asked.named["seed"] == 4


def test_values_tied_to_queries_and_keys(asked: Asked) -> None:
    words = ["--query", "diag(1,2)", "--value", "{tied = -0.5}"]
    assert nucleate("simulate", "-n", 5, *words).exit_code == 0
    np.testing.assert_array_equal(asked.model.V, np.diag([-0.5, -1.0]))


# --model FILE.toml

FILE = """
[model]
beta = 2.0
heads = [{V = [1, 2, 3]}, {V = "M.npy", mask = "full"}]
norm = "pre"
mlp = {hidden = 4, activation = "gelu"}
"""


def test_a_model_may_stand_in_a_file_and_its_dimension_is_that_of_its_matrices(asked: Asked) -> None:
    Path("model.toml").write_text(FILE)
    np.save("M.npy", np.eye(3)[::-1])
    done = nucleate("simulate", "--model", "model.toml", "-n", 5, "--radius", 2, "--layers", 3)
    assert done.exit_code == 0, done.stderr
    head = {"mask": "full", "V": np.eye(3)[::-1]}
    table = {
        "beta": 2.0,
        "heads": [{"V": [1, 2, 3]}, head],
        "norm": "pre",
        "mlp": {"hidden": 4, "activation": "gelu"},
        "radius": 2.0,
        "layers": {"count": 3},
    }
    assert same_model(asked.model, parse_model(table, 3))
    assert asked.x0.shape == (5, 3)


def test_the_model_of_a_study_is_such_a_file(asked: Asked) -> None:
    study = Path(__file__).resolve().parents[2] / "studies/simuformer.toml"
    words = ["--beta", 3, "--norm", "ngpt", "--query", "{random = 'symmetric', scale = 4.0}"]
    done = nucleate("simulate", "--model", study, *words, "-d", 16, "-n", 8)
    assert done.exit_code == 0, done.stderr
    assert (asked.t, len(asked.model.blocks), len(asked.model.blocks[0].heads)) == (50.0, 50, 8)
    assert asked.model.blocks[0].alpha == 0.2


# Slips


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--alibi -1", "--alibi must be finite and at least 0, but is -1.0. Near tokens count more"),
        ("--rope 0", "--rope must be finite and greater than 0, but is 0.0. 10000 is usual."),
        ("--rope 10 -d 3", "RoPE turns planes, but d is 3, which is odd. Use an even dimension, or ALiBi."),
        ("--rope 10 --alibi 1", "alibi and rope are both given"),
        ("--weights softmin", "--weights is softmin. Did you mean softmax?"),
        ("--heads -1", "--heads must be a whole number of at least 0"),
        ("--norm preln", "--norm is preln. Did you mean pre?"),
        ("--tau 1", 'tau belongs to norm "mix", but norm is "post". Leave tau out.'),
        ("--norm mix", "tau is missing"),
        ("--norm pre --radius 0", "--radius must be finite and greater than 0"),
        ("--radius 2", "radius is given"),
        ("--noise 3", "--noise takes fixed steps, but --dt is missing. Add --dt 0.01, say."),
        ("--noise 0 --dt 1", "--noise must be finite and greater than 0"),
        ("--noise 3 --dt 1 --norm pre", 'noise needs norm "post"'),
        ("--layers 0", "--layers must be a whole number of at least 1"),
        ("--layers 2 --time 3", "2 layers of dt = 1 end at time 2, but t is 3. Give more"),
        ("--discrete", "--discrete is given, but no --layers. Add --layers 12, say."),
        ("--redraw gaussian", "--redraw is given, but no --layers. Add --layers 12, say."),
        ("--layers 2 --redraw gausian", "--redraw is gausian. Did you mean gaussian?"),
        ("--layers 2 --redraw gaussian --value 2", "V is given, but layers.redraw"),
        ("--model none.toml", "none.toml cannot be read"),
        ("--model bad.toml", "--model bad.toml is not TOML. Give a study, or a file with [model]."),
        ("--model empty.toml", "--model empty.toml has no table [model]"),
        ("--model slip.toml", "--model slip.toml: headz is not a key of [model]. Did you mean heads?"),
        ("--model good.toml --beta 3", "--beta is given, but good.toml has beta. Leave out one of them."),
        ("--model good.toml --layer 0", "--layer is given, but no --model"),
        ("--model good.toml -d 3 --query 2 --key [1,2]", "K acts on dimension 2, but d is 3"),
    ],
)
def test_a_slip_gets_one_line_and_exit_code_2(words: str, reason: str, asked: Asked) -> None:
    Path("bad.toml").write_text("model = ")
    Path("empty.toml").write_text("runs = 3")
    Path("slip.toml").write_text("[model]\nbeta = 1\nheadz = 2")
    Path("good.toml").write_text("[model]\nbeta = 1")
    done = nucleate("simulate", "-n", 5, *words.split())
    assert done.exit_code == 2, done.output
    assert reason in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert asked.model is None, "nothing was computed"


def test_a_head_of_a_checkpoint_takes_no_options_of_the_family(asked: Asked) -> None:
    done = nucleate("simulate", "--model", "folder", "--layer", 0, "--head", 0, "--norm", "pre")
    assert done.exit_code == 2
    assert "--norm is given, but --model already fixes the system" in done.stderr


# With the solver


def test_a_run_of_the_family_is_written_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "--beta 2 --heads 2 --norm pre --radius 2 --alibi 0.5 --layers 2 --redraw gaussian --save 4"
    done = nucleate("simulate", "-n", 6, "-d", 4, *words.split(), "--out", "run.npz", "--out", "run.zarr")
    assert done.exit_code == 0, done.output
    one, two = (nc.load(f"run.{kind}") for kind in ("npz", "zarr"))
    assert isinstance(one.model, Layers)
    assert same_model(one.model, two.model)
    assert one.norms.shape == (4, 6)
    again = nc.simulate(one.model, one.x[0], 2.0, save=4)
    np.testing.assert_array_equal(again.x, one.x)


def test_a_run_with_noise_is_the_same_for_the_same_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "-n", 6, "--noise", 9, "--dt", 0.1, "-t", 1, "--save", 3]
    for name, seed in (("a.npz", 1), ("b.npz", 1), ("c.npz", 2)):
        done = nucleate(*words, "--seed", seed, "--out", name)
        assert done.exit_code == 0, done.output
    a, b, c = (nc.load(name).x for name in ("a.npz", "b.npz", "c.npz"))
    assert np.array_equal(a, b)
    assert not np.array_equal(a[-1], c[-1])
