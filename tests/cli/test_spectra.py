"""`nucleate spectra`: what it prints and writes, and what it refuses."""

import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.command_line import nucleate
from support.made_checkpoints import Made, make

from nucleate.checks import InputError
from nucleate.models.all_heads import simulate_all_heads
from nucleate.models.spectra import Spectra, spectra


@pytest.fixture
def found(tmp_path: Path) -> Spectra:
    return spectra(make("llama").write(tmp_path / "checkpoint"), draws=2)


def test_the_command_prints_the_rows_and_every_head(found: Spectra, tmp_path: Path) -> None:
    done = nucleate("spectra", tmp_path / "checkpoint", "--draws", 2)
    assert done.exit_code == 0, done.output
    assert str(found) in done.stdout
    assert len(re.findall(r"^ +[01] +[0-3] ", done.stdout, flags=re.M)) == len(found.heads)


def test_the_command_compares_with_swapped_heads_unless_told_otherwise(
    found: Spectra, tmp_path: Path
) -> None:
    assert "W_O swapped" in str(found)
    done = nucleate("spectra", tmp_path / "checkpoint", "--draws", 2, "--partners", 0)
    assert done.exit_code == 0, done.output
    assert "W_O swapped" not in done.stdout
    assert "at random (95 %)" in done.stdout


def test_the_help_says_that_eigenvalues_are_rates_and_what_the_two_spectra_are() -> None:
    help = " ".join(re.sub(r"[│╭╮╰╯─]", " ", nucleate("spectra", "--help").stdout).split())
    assert "Eigenvalues are rates" in help
    assert "the stored state, without the gain" in help


def test_a_folder_gets_everything(found: Spectra, tmp_path: Path) -> None:
    done = nucleate(
        "spectra",
        tmp_path / "checkpoint",
        "--draws",
        2,
        "--out",
        tmp_path / "report",
        "--out",
        tmp_path / "one.csv",
        "-q",
    )
    assert (done.exit_code, done.output) == (0, "")
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == [
        "heads.csv", "heads.png", "layer-0.png", "layer-1.png", "report.html", "spectra.json",
    ]  # fmt: skip
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "report" / "heads.csv").read_text()
    assert json.loads((tmp_path / "report" / "spectra.json").read_text())["regions"] == found.regions


def test_quiet_does_not_try_how_long_it_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = make("llama").write(tmp_path / "checkpoint")
    tried: list[tuple[int, int]] = []

    def seconds(d: int, head_dim: int) -> float:
        tried.append((d, head_dim))
        return 0.0

    monkeypatch.setattr(importlib.import_module("nucleate.cli.spectra"), "_seconds_of_one", seconds)
    for words, times in (["--quiet"], 0), ([], 1), (["--quiet", "--dry-run"], 2):
        assert nucleate("spectra", path, "--draws", 1, "--partners", 0, *words).exit_code == 0
        assert len(tried) == times


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_the_map_can_be_a_file(name: str, found: Spectra, tmp_path: Path) -> None:
    assert nucleate("spectra", tmp_path / "checkpoint", "--draws", 1, "--out", tmp_path / name).exit_code == 0
    assert (tmp_path / name).stat().st_size > 2000


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nowhere"], "cannot be read"),
        (["checkpoint", "--out", "a.txt"], "must have one of"),
        (["checkpoint", "--out", "nowhere/a.json"], "there is no folder"),
        (["checkpoint", "--mapping", "lama"], "must be a .toml file or one of albert"),
        (["checkpoint", "--draws", "0"], "at least 1"),
        (["checkpoint", "--seed", "-1"], "at least 0"),
        (["checkpoint", "--partners", "-1"], "at least 0"),
    ],
)
def test_bad_input_ends_with_code_2_and_a_reason(
    words: list[str], reason: str, found: Spectra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = nucleate("spectra", *words)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert "Traceback" not in done.output
    assert not isinstance(done.exception, InputError)


def test_many_heads_are_summed_up_by_layer_unless_asked_for(tmp_path: Path) -> None:
    made, rng = make("llama"), np.random.default_rng(0)
    heads = 52
    T = dict(made.tensors)
    for i in range(2):
        T |= {
            f"model.layers.{i}.self_attn.{name}_proj.weight": rng.standard_normal((2 * heads, 12))
            for name in "qkv"
        }
        T[f"model.layers.{i}.self_attn.o_proj.weight"] = rng.standard_normal((12, 2 * heads))
    path = Made(
        {**made.config, "num_attention_heads": heads, "num_key_value_heads": heads}, T, "llama"
    ).write(tmp_path)
    short, long = (nucleate("spectra", path, "--draws", 1, *more).stdout for more in ([], ["--heads"]))
    assert len(short.splitlines()) < 30
    assert len(long.splitlines()) > 104


def test_heads_are_simulated_if_asked_for_and_written_everywhere(tmp_path: Path) -> None:
    path = make("llama").write(tmp_path / "model")
    outcomes = simulate_all_heads(path, tokens=4)
    found = replace(spectra(path, draws=2), outcomes=outcomes)
    done = nucleate(
        "spectra",
        path,
        "--draws",
        2,
        "--simulate-heads",
        "--tokens",
        4,
        "--out",
        tmp_path / "report",
        "--out",
        tmp_path / "a.png",
    )
    assert done.exit_code == 0, done.output
    assert str(outcomes) in done.stdout
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == [
        "heads.csv", "heads.png", "layer-0.png", "layer-1.png", "outcomes.png", "report.html",
        "spectra.json",
    ]  # fmt: skip
    found.save(tmp_path / "again.csv")
    assert (tmp_path / "report" / "heads.csv").read_text() == (tmp_path / "again.csv").read_text()
    page = (tmp_path / "report" / "report.html").read_text()
    assert page.count("<img ") == 3  # both maps in one picture, and two layers
    assert all(f"<td class=words>{ended}<td>{count}" in page for (_, ended), count in outcomes.counts.items())
    assert sum(f"<td class=words>{head.ended}</tr>" in page for head in outcomes.heads) == 8
    dry = nucleate("spectra", path, "--simulate-heads", "--tokens", 4, "--dry-run").stdout
    assert "and every head simulated with 4 tokens: a few seconds on this machine" in dry
    assert nucleate("spectra", path, "--tokens", 4).exit_code == 2
    assert nucleate("spectra", path, "--simulate-heads", "--tokens", 0).exit_code == 2
