"""`nucleate simulate --model`: one head of a checkpoint."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.command_line import nucleate
from support.made_checkpoints import Made, make
from support.made_heads import one_head

from nucleate.attention import Attention
from nucleate.integrate.simulate import simulate
from nucleate.integrate.storage import load
from nucleate.models.head_simulation import head_attention, head_system
from nucleate.sphere import uniform

UP = np.diag([3.0, 2.0, 1.0])


def test_simulate_takes_a_head_of_a_model_and_says_what_table_1_says(tmp_path: Path) -> None:
    path = one_head(UP).write(tmp_path / "up")
    words = ["simulate", "--model", path, "--layer", 0, "--head", 0, "--tokens", 6, "--seed", 3, "--save", 5]
    done = nucleate(*words, "--out", tmp_path / "run.npz", "--check")
    assert done.exit_code == 0, done.output
    run, model = load(tmp_path / "run.npz"), head_attention(path, 0, 0)
    assert run.x.shape == (5, 6, 12)
    for name in ("beta", "Q", "K", "V"):
        np.testing.assert_allclose(getattr(run.model, name), getattr(model, name), atol=1e-15)
    assert dict(run.notes) == {
        "start": "uniform(n, d, seed)",
        "seed": 3,
        "model": "up",
        "layer": 0,
        "head": 0,
    }
    np.testing.assert_allclose(run.x[0], uniform(6, 12, 3), atol=1e-15)
    system = head_system(path, 0, 0)
    assert run.t[-1] == system.span
    whole = simulate(model, uniform(6, 12, 3), run.t[-1], save=5, rtol=1e-10, atol=1e-12, method="explicit")
    np.testing.assert_allclose(run.x[-1], whole.x[-1], atol=1e-6)  # both rest there
    assert f"layer 0, head 0: λ_max = 3, β = {system.beta:.4g}" in done.stdout
    assert "row 3: λ_max > 0, simple: two points ±ξ" in done.stdout
    assert re.search(r"what happened  (one point|two opposite points) in L, as the table says", done.stdout)
    digits = re.search(r"(\d+) digits agree", done.stdout)
    assert digits
    assert int(digits[1]) >= 5


def test_simulate_with_a_model_draws_256_tokens_and_takes_a_start_a_mask_and_a_time(tmp_path: Path) -> None:
    path = one_head(UP).write(tmp_path / "up")
    start = tmp_path / "x.npy"
    np.save(start, uniform(3, 12, 0))
    both = [
        ["--time", "0.01", "--save", "2"],
        [
            "--time",
            "0.5",
            "--save",
            "2",
            "--start",
            str(start),
            "--mask",
            "full",
            "--method",
            "rk4",
            "--dt",
            "0.25",
        ],
    ]
    for i, more in enumerate(both):
        done = nucleate(
            "simulate",
            "--model",
            path,
            "--layer",
            0,
            "--head",
            0,
            *more,
            "--out",
            tmp_path / f"{i}.npz",
            "-q",
        )
        assert (done.exit_code, done.output) == (0, "")
    first, second = load(tmp_path / "0.npz"), load(tmp_path / "1.npz")
    assert (first.x.shape, first.model.mask, first.settings["method"]) == ((2, 256, 12), "causal", "explicit")
    assert (second.x.shape, second.model.mask, second.settings["method"], second.t[-1]) == (
        (2, 3, 12),
        "full",
        "rk4",
        0.5,
    )
    by_hand = simulate(
        replace_mask(head_attention(path, 0, 0)), uniform(3, 12, 0), 0.5, save=2, method="rk4", dt=0.25
    )
    np.testing.assert_allclose(second.x, by_hand.x, atol=1e-13)


def replace_mask(model: Attention) -> Attention:
    return Attention(model.beta, model.Q, model.K, model.V, "full")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--layer 0", "--layer is given, but no --model"),
        ("--head 0", "--head is given, but no --model"),
        ("--mapping llama", "--mapping is given, but no --model"),
        ("--model up", "Which layer? The model has 1 layer of 1 heads, counted from 0."),
        ("--model up --layer 0", "Which head? The model has 1 layer of 1 heads"),
        ("--model up --layer 1 --head 0", "layer must be 0 to 0, but is 1"),
        ("--model up --layer 0 --head 7", "head must be 0 to 0, but is 7"),
        ("--model up --layer -1 --head 0", "layer must be a whole number of at least 0"),
        ("--model up --layer 0 --head 0 --beta 3", "--beta is given, but --model already fixes the system"),
        ("--model up --layer 0 --head 0 --query identity", "--query is given, but --model"),
        ("--model up --layer 0 --head 0 --key identity", "--key is given, but --model"),
        ("--model up --layer 0 --head 0 --value identity", "--value is given, but --model"),
        ("--model up --layer 0 --head 0 --dimension 12", "--dimension is given, but --model"),
        ("--model up --layer 0 --head 0 --runs 2", "--runs is given, but --model"),
        ("--model up --layer 0 --head 0 --start x.npy", "must have shape (n, 12)"),
        ("--model up --layer 0 --head 0 --start x.npy --tokens 4", "--tokens is given, but --start"),
        ("--model nowhere --layer 0 --head 0", "cannot be read"),
        ("--model up --layer 0 --head 0 --mapping lama", "must be a .toml file or one of albert"),
        ("--model x.npy --layer 0 --head 0", "checkpoints end in .safetensors or .gguf"),
    ],
)
def test_what_cannot_be_is_told_with_exit_code_2(
    words: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one_head(UP).write(tmp_path / "up")
    np.save("x.npy", uniform(3, 5, 0))
    done = nucleate("simulate", *words.split())
    assert done.exit_code == 2, done.output
    assert reason in done.stderr
    assert "Traceback" not in done.output


def test_an_unknown_model_is_described_line_by_line_here_too(tmp_path: Path) -> None:
    made = make("llama")
    path = Made({**made.config, "model_type": "mine"}, made.tensors, "llama").write(tmp_path / "mine")
    told = nucleate("simulate", "--model", path, "--layer", 0, "--head", 0)
    assert told.exit_code == 2
    assert "\nquery = " in told.stderr
    assert (
        nucleate(
            "simulate", "--model", path, "--layer", 0, "--head", 0, "--mapping", "llama", "-n", 3, "-t", 0.1
        ).exit_code
        == 0
    )
