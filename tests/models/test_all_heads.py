"""All heads of a model, each simulated alone; and what the command line says of one and of all."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_checkpoints import Made, make
from support.made_heads import UP, one_head
from typer.testing import CliRunner

from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.cli import main as cli
from nucleate.integrate.simulate import simulate
from nucleate.integrate.storage import load
from nucleate.models.all_heads import HeadOutcomes, simulate_all_heads
from nucleate.models.head_simulation import (
    HeadOutcome,
    head_attention,
    head_system,
    simulate_head,
)
from nucleate.models.spectra import spectra
from nucleate.models.table import COLUMNS, OUTCOME_COLUMNS, head_table
from nucleate.sphere import uniform


def nucleate(*words: object) -> Any:
    return CliRunner().invoke(cli.app, [str(word) for word in words])


# --- all heads


def test_all_heads_of_a_model_are_simulated_as_each_alone(tmp_path: Path) -> None:
    path, seen = make("llama").write(tmp_path), []
    found = simulate_all_heads(
        path, tokens=3, t=0.01, seed=5, progress=lambda done, total: seen.append((done, total))
    )
    assert [(one.layer, one.head) for one in found.heads] == [(i, h) for i in range(2) for h in range(4)]
    assert [one.region for one in found.heads] == [head.region for head in spectra(path, draws=1).heads]
    assert seen == [(i + 1, 8) for i in range(8)]
    assert found.heads[6] == simulate_head(path, 1, 2, tokens=3, t=0.01, seed=5, save=2).outcome
    for layer, head in ((2, 0), (0, 4), (-1, 0), (0, 1.5)):
        with pytest.raises(InputError, match=r"layer|head"):
            simulate_head(path, layer, head, tokens=3)  # type: ignore[arg-type]  # 1.5 is no head


def test_an_answer_of_false_stops_as_ctrl_c_does(tmp_path: Path) -> None:
    seen: list[int] = []

    def progress(done: int, total: int) -> bool:
        seen.append(done)
        return done < 3

    with pytest.raises(KeyboardInterrupt):
        simulate_all_heads(make("llama").write(tmp_path), tokens=3, t=0.01, progress=progress)
    assert seen == [1, 2, 3]


def test_the_table_counts_every_head_once() -> None:
    one = HeadOutcome(0, 0, 1.0, 1.0, "3", 1.0, 3, 8, 1.0, 1.0, 1, False, 0.0, True, "done")
    off, way, other = (
        replace(one, near=0.0),
        replace(one, near=0.0, resting=False),
        replace(one, region="complex +"),
    )
    found = HeadOutcomes(8, 0, (one, one, off, way, other))
    assert found.counts == {
        ("3", "one point"): 2,
        ("3", "one point in L"): 2,
        ("complex +", "one point in L"): 1,
    }
    assert found.as_said == {True: 2, False: 1, None: 1}
    assert (
        "of 4 heads in rows 1 to 3, which say where tokens gather: 2 did as the table says, 1 did not, 1 are"
        " still on their way" in str(found)
    )
    assert "no head is in rows 1 to 3" in str(HeadOutcomes(8, 0, (other,)))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small model, read and simulated for a moment."""
    path = make("llama").write(tmp_path_factory.mktemp("model"))
    return path, replace(spectra(path, draws=2), outcomes=simulate_all_heads(path, tokens=4))


def test_json_and_csv_hold_what_happened(simulated: tuple[Path, Any], tmp_path: Path) -> None:
    found = simulated[1]
    found.save(tmp_path / "a.json")
    found.save(tmp_path / "a.csv")
    plain = json.loads((tmp_path / "a.json").read_text())["live"]
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert (plain["tokens"], plain["seed"], len(plain["heads"]), len(rows)) == (4, 0, 8, 8)
    for head, one, row in zip(found.outcomes.heads, plain["heads"], rows, strict=True):
        assert tuple(row) == (*COLUMNS, *OUTCOME_COLUMNS)
        for name in OUTCOME_COLUMNS:
            value = getattr(head, name)
            assert one[name] == value
            assert row[name] == ("" if value is None else str(value))
        assert (one["layer"], one["head"]) == (int(row["layer"]), int(row["head"])) == (head.layer, head.head)
    assert all(
        one.ended in line
        for one, line in zip(
            found.outcomes.heads, head_table(found.heads, found.outcomes).splitlines()[1:], strict=True
        )
    )


def test_the_command_simulates_every_head_and_writes_it_everywhere(
    simulated: tuple[Path, Any], tmp_path: Path
) -> None:
    path, found = simulated
    done = nucleate(
        "spectra",
        path,
        "--draws",
        2,
        "--live",
        "--tokens",
        4,
        "--out",
        tmp_path / "report",
        "--out",
        tmp_path / "a.png",
    )
    assert done.exit_code == 0, done.output
    assert str(found.outcomes) in done.stdout
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == [
        "heads.csv", "heads.png", "layer-0.png", "layer-1.png", "lives.png", "report.html", "spectra.json",
    ]  # fmt: skip
    found.save(tmp_path / "again.csv")
    assert (tmp_path / "report" / "heads.csv").read_text() == (tmp_path / "again.csv").read_text()
    page = (tmp_path / "report" / "report.html").read_text()
    assert page.count("<img ") == 3  # both maps in one picture, and two layers
    assert all(
        f"<td class=words>{ended}<td>{count}" in page for (_, ended), count in found.outcomes.counts.items()
    )
    assert sum(f"<td class=words>{head.ended}</tr>" in page for head in found.outcomes.heads) == 8
    assert nucleate("spectra", path, "--tokens", 4).exit_code == 2
    assert nucleate("spectra", path, "--live", "--tokens", 0).exit_code == 2


# --- nucleate simulate --model


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
