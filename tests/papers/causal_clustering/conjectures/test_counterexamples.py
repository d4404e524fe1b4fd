"""Stored counterexamples: each holds, files keep every bit, and they are made anew as they are."""

from pathlib import Path

import numpy as np
import pytest

from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.papers.causal_clustering.conjectures import make_counterexamples
from nucleate.papers.causal_clustering.conjectures.counterexamples import (
    FOLDER,
    Counterexample,
    load_counterexample,
    main,
    stored_counterexamples,
    verify,
    write_counterexample,
)
from nucleate.theory.atlas import atlas


@pytest.mark.parametrize("example", stored_counterexamples(), ids=lambda example: example.name)
def test_every_counterexample_holds_and_is_within_conjecture_1(example: Counterexample) -> None:
    found = verify(example)
    assert found.holds, found
    assert found.box.holds == (example.kind == "equilibrium"), found.box.failure
    assert example.model.V is not None
    assert atlas(example.model.V).within_conjecture


def test_what_is_no_counterexample_does_not_hold() -> None:
    kept = {example.name: example for example in stored_counterexamples()}["non_normal"]
    tame = Counterexample("tame", "", "equilibrium", Attention(0.1, V=np.diag([1.0, 0.5])), kept.x0, 2000.0)
    assert not verify(tame).holds
    assert not verify(tame).box.holds
    hurried = Counterexample(
        "hurried", "", "equilibrium", kept.model, kept.x0, 25.0
    )  # near its equilibrium, but not there
    assert not verify(hurried).holds
    with pytest.raises(InputError, match="must come round"):
        verify(Counterexample("resting", "", "periodic orbit", kept.model, kept.x0, 2000.0))


def test_files_keep_every_bit_and_bad_ones_are_refused(tmp_path: Path) -> None:
    for example in stored_counterexamples():
        again = load_counterexample(write_counterexample(example, tmp_path))
        assert np.array_equal(again.x0, example.x0)
        assert all(
            np.array_equal(getattr(again.model, name), getattr(example.model, name))
            for name in "QKV"
            if getattr(example.model, name) is not None
        )
        assert (again.t, again.kind, again.words, float(again.model.beta)) == (
            example.t,
            example.kind,
            example.words,
            float(example.model.beta),
        )
        assert (tmp_path / f"{example.name}.toml").read_bytes() == (
            FOLDER / f"{example.name}.toml"
        ).read_bytes()
    (tmp_path / "bad.toml").write_text('words = "no start"\nkind = "equilibrium"\nbeta = 1.0\n')
    with pytest.raises(InputError, match="not a counterexample"):
        load_counterexample(tmp_path / "bad.toml")
    with pytest.raises(InputError, match="cannot be read"):
        load_counterexample(tmp_path / "missing.toml")


def test_what_is_stored_can_be_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_counterexamples, "SEEDS_TRIED", 12)
    kept = {example.name: example for example in stored_counterexamples()}
    V, K = np.diag([1.0, 0.1]), np.diag([-1.0, 1.0])
    assert np.array_equal(
        make_counterexamples._first_equilibrium("first_found", "", 10.0, V, K).x0, kept["first_found"].x0
    )
    made_round = make_counterexamples._periodic_orbit("periodic_orbit", "", 9, 712, 8)
    assert np.array_equal(made_round.x0, kept["periodic_orbit"].x0)
    assert made_round.model.V is not None
    # its products of matrices may round elsewhere
    assert made_round.model.V == pytest.approx(kept["periodic_orbit"].model.V, abs=1e-14)


def test_one_command_verifies_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["first_found"]) == 0
    told = capsys.readouterr().out
    assert "holds: a token is 1.0287" in told
    assert "proved: an equilibrium off ±xi attracts all starts within" in told
    assert main(["nonsense"]) == 2
    assert "Stored are: exact_sink" in capsys.readouterr().err
