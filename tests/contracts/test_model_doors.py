"""One grammar for models at every door: Python, study files and the command line refuse the same nonsense, in
one sentence of fact and one of help."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import nucleate
from support.made_runs import one_run
from support.small_studies import small, toml

import nucleate as nc
import nucleate.integrate.simulate as engine
from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import InputError
from nucleate.layers import Layers
from nucleate.studies.study import Study

PLAIN = Attention(2.0)
TIME = 5.0

# what is wrong; in Python; in [model]; at the command line, where it has an option; the fact; the help
SLIPS: list[tuple[str, Callable[[], Any], dict[str, Any], str | None, str, str]] = [
    (
        "negative slope",
        lambda: nc.ALiBi(-1.0),
        {"alibi": -1.0},
        "--alibi -1",
        "must be finite and at least 0, but is -1.0",
        "Near tokens count more",
    ),
    (
        "heads of different dimensions",
        lambda: Block([Attention(1.0, V=np.eye(2)), Attention(1.0, V=np.eye(3))]),
        {"heads": [{"V": [1, 2]}, {"V": [1, 2, 3]}]},
        None,
        "dimension",
        "",
    ),
    (
        "radius zero",
        lambda: Block(PLAIN, norm="pre", radius=0.0),
        {"norm": "pre", "radius": 0.0},
        "--norm pre --radius 0",
        "radius must be ",
        "A token of length zero has no direction",
    ),
    (
        "RoPE in odd dimensions",
        lambda: Attention(1.0, position=nc.RoPE()).check(nc.uniform(2, 3, 0)),
        {"rope": 100.0},
        "--rope 100",
        "RoPE turns planes, but d is 3, which is odd",
        "Use an even dimension",
    ),
    (
        "tau without mix",
        lambda: Block(PLAIN, tau=1.0),
        {"tau": 1.0},
        "--tau 1",
        'tau belongs to norm "mix", but norm is "post"',
        "Leave tau out",
    ),
    (
        "mix without tau",
        lambda: Block(PLAIN, norm="mix"),
        {"norm": "mix"},
        "--norm mix",
        "tau is missing",
        "Give tau",
    ),
    (
        "layers that end too early",
        lambda: Layers([PLAIN] * 2).check_time(TIME),
        {"layers": {"count": 2}},
        "--layers 2",
        "2 layers of dt = 1 end at time 2, but t is 5",
        "Give more layers",
    ),
    (
        "noise under a norm with a radius",
        lambda: Block(PLAIN, norm="pre", noise=3.0),
        {"norm": "pre", "noise": 3.0},
        "--norm pre --noise 3 --dt 1",
        'noise needs norm "post"',
        "Leave one of the two out",
    ),
    (
        "a norm that there is not",
        lambda: Block(PLAIN, norm="preln"),  # type: ignore[arg-type]  # that is the slip
        {"norm": "preln"},
        "--norm preln",
        "preln",
        "",
    ),
    (
        "two positions",
        lambda: Attention(1.0, position=(nc.ALiBi(1.0), nc.RoPE())),  # type: ignore[arg-type]  # that is the slip
        {"alibi": 1.0, "rope": 10.0},
        "--alibi 1 --rope 10",
        "",
        "",
    ),
    (
        "noise in discrete layers",
        lambda: Layers([Block(PLAIN, noise=3.0)] * 9, discrete=True),
        {"noise": 3.0, "layers": {"count": 9, "discrete": True}},
        "--noise 3 --dt 1 --layers 9 --discrete",
        "Discrete layers have no noise",
        "Leave discrete or noise out",
    ),
]
EVERY = pytest.mark.parametrize("slip", SLIPS, ids=[slip[0] for slip in SLIPS])


def answered(words: str, slip: Any) -> None:
    assert slip[4] in words
    assert slip[5] in words
    assert "\n" not in words.strip()


@EVERY
def test_python_says_what_is_wrong(slip: Any) -> None:
    with pytest.raises(InputError) as caught:
        slip[1]()
    answered(str(caught.value), slip)


@EVERY
def test_a_study_file_says_what_is_wrong(slip: Any, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    table = small(
        start={"n": 2, "d": 3},
        model={"beta": 2.0, **slip[2]},
        grid={},
        times={"t": TIME, "save": 2},
        observables={"ends": {"kind": "points"}},
    )
    path.write_text(toml(table), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Study.read(path)
    answered(str(caught.value), slip)


@EVERY
@pytest.mark.parametrize("door", ["options", "file"])
def test_the_command_line_says_what_is_wrong(
    door: str, slip: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "simulate", lambda *words, **named: one_run())
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "-n", 2, "-d", 3, "-t", TIME]
    if door == "options" and slip[3] is not None:
        words += slip[3].split()
    else:
        Path("model.toml").write_text(toml({"model": {"beta": 2.0, **slip[2]}}))
        words += ["--model", "model.toml", *(["--dt", 1] if "noise" in slip[2] else [])]
    done = nucleate(*words)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("Error: ")
    answered(done.stderr, slip)


def test_noise_without_a_step_is_refused_at_the_doors_that_have_one() -> None:
    table = small(model={"noise": 3.0}, grid={"beta": [1.0]}, times={"t": 1.0})
    with pytest.raises(InputError, match=r"noise takes fixed steps, but dt is missing\. Give dt = 0\.01"):
        Study.make(table)
    done = nucleate("simulate", "-n", 2, "--noise", 3)
    assert done.exit_code == 2
    assert "--noise takes fixed steps, but --dt is missing. Add --dt 0.01, say." in done.stderr
