"""Thousands of studies with slips in them, through `nucleate ensemble --dry-run`: one line and exit code 2,
or a valid study; never a traceback."""

import random
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import typer
from support.soak import SOAK
from typer.testing import CliRunner

from nucleate.cli import app as cli
from nucleate.cli import ensemble as command
from nucleate.studies import estimate

PARTS = 20 if SOAK else 2  # that pytest may run at once
MUTANTS_PER_PART = 2_500
TIMED_PER_PART = 10  # are tried out as well

BASE = """\
title = "fuzzed"
runs = 5
seed = 0

[model]
mask = "causal"
Q = {random = "gaussian", scale = 1.0}
K = "identity"

[start]
n = 6
d = 3
kind = "uniform"

[times]
t = 2.0
save = [0.0, 1.0, 2.0]
rtol = 1e-6
atol = 1e-9
method = "auto"
max_steps = 1000

[grid]
beta = [1.0, 4]
V = ["-identity", 0.5, [1.0, 1.0, -2.0],
     {random = "real", top = 1.0, multiplicity = 2, oblique = true, name = "two"}]

[observables.eaten]
kind = "consumed"
centers = "strong"
delta = "4/sqrt(beta)"
radius = 0.25

[observables.groups]
kind = "clusters"
radius = "0.5/sqrt(beta)"
at = "end"

[observables.ends]
kind = "points"

[observables.own]
kind = "function"
function = "support.small_studies:spread"
"""
FAMILY = """\
runs = 5

[model]
beta = 2.0
Q = {random = "symmetric", scale = 2.0}
V = {tied = -0.5}
weights = "softmax"
alibi = 0.5
heads = [{beta = 1.0}, {mask = "full", rope = 10.0}]
tau = 1.0
radius = 2.0
exclude_self = true
mlp = {hidden = 3, seed = 1, activation = "gelu"}

[model.layers]
dt = 0.5
discrete = false
redraw = true

[start]
n = 6
d = 4

[times]
t = 2.0

[grid]
norm = ["post", "pre", "mix"]
layers.count = [4, 6]
alpha = [0.5, 1.0]

[observables.near]
kind = "close_pairs"
threshold = 0.9
pairs = "adjacent"
"""
VALUES = [
    "0",
    "-1",
    "1e400",
    "nan",
    "-inf",
    "1e308",
    "5e-324",
    "true",
    '""',
    "[]",
    "[[]]",
    "{}",
    "1979-05-27",
    "999999999999999999999999",
    "10000000",
]
VALUES += [
    '"4/sqrt(beta)"',
    '"causal"',
    "[1.0, 2.0]",
    "[[1.0, 2.0, 3.0]]",
    "{random = 3}",
    "{a.b = 1}",
    '"\\u0000"',
    "0x10",
    '"1e999/sqrt(beta)"',
    "[1, [2]]",
]
VALUES += [
    '"pre"',
    '"run"',
    '"gaussian"',
    "{hidden = 2}",
    "{count = 3}",
    "[{beta = 1}, {V = 2.0}]",
    "[1, 2, 3, 4]",
]
WORDS = [
    "norm",
    "heads",
    "mlp",
    "layers",
    "redraw",
    "count",
    "noise",
    "radius",
    "alibi",
    "rope",
    "weights",
    "blocks",
]
WORDS += [
    "beta",
    "betta",
    "V",
    "n",
    "d",
    "t",
    "save",
    "kind",
    "radius",
    "runs",
    "seed",
    "random",
    "dims",
    "window",
    "dt",
    "method",
    "frozen",
    "model",
    "x y",
]


def mutated(text: str, dice: random.Random) -> bytes:
    """One to three slips: of letters, of lines, of values, of keys."""
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        lines = text.split("\n")
        at = dice.randrange(len(lines))
        kind = dice.randrange(8)
        key, equals, value = lines[at].partition(" = ")
        if kind == 0 and text:
            i = dice.randrange(len(text))
            text = (
                text[:i]
                + chr(dice.choice([dice.randrange(32, 127), dice.randrange(1, 0x2FF)]))
                + text[i + dice.randrange(2) :]
            )
            continue
        if kind == 1:
            del lines[at]
        elif kind == 2:
            lines.insert(dice.randrange(len(lines)), lines[at])
        elif kind == 3 and equals:
            lines[at] = f"{key} = {dice.choice(VALUES)}"
        elif kind == 4 and equals:
            lines[at] = f"{dice.choice(WORDS)} = {value}"
        elif kind == 5 and equals:
            other = dice.choice(lines).partition(" = ")[2]
            lines[at] = f"{key} = {other or 1}"
        elif kind == 6:
            lines.insert(at, f"{dice.choice(WORDS)} = {dice.choice(VALUES)}")
        else:
            lines[at] = (
                f"[{dice.choice(WORDS)}]"
                if lines[at].startswith("[")
                else lines[at][: dice.randrange(len(lines[at]) + 1)]
            )
        text = "\n".join(lines)
    data = text.encode("utf-8", "surrogatepass")
    if dice.random() < 0.02:
        i = dice.randrange(len(data) + 1)
        data = data[:i] + bytes([dice.randrange(128, 256)]) + data[i:]
    return data


def dry_run(path: Path) -> tuple[int, str, str]:
    """Exit code, output and errors of the command; called as the command line calls it, but for parsing the
    same words again and again."""
    out, err, code = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            command.ensemble(path, dry_run=True)
        except typer.Exit as end:
            code = end.exit_code
    return code, out.getvalue(), err.getvalue()


@pytest.mark.soak(mutants=MUTANTS_PER_PART)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_slip_in_a_study_ends_in_a_traceback(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, dice, ends = tmp_path / "study.toml", random.Random(part), Counter[int]()
    for mutant in range(MUTANTS_PER_PART):
        data = BASE.encode() if mutant == 0 else mutated(BASE, dice)
        path.write_bytes(data)
        timed = mutant % (MUTANTS_PER_PART // TIMED_PER_PART) == 0
        monkeypatch.setattr(estimate, "TRIAL_SECONDS", 0.05 if timed else 0.0)
        try:
            code, out, err = dry_run(path)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error} for {data!r}")
        ends[code] += 1
        if code == 2:
            assert err.startswith("Error: "), (data, err)
            assert err.count("\n") == 1, (data, err)
        else:
            assert code == 0
            assert "before compression" in out, data
            assert (", about" in out or ", at least about" in out) == timed
        assert mutant or code == 0, "the study itself is valid"
    assert ends[0] > MUTANTS_PER_PART / 20, "most slips hurt, but not all"
    assert ends[2] > MUTANTS_PER_PART / 4


def test_no_slip_in_a_study_of_the_family_ends_in_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "TRIAL_SECONDS", 0.0)
    path, dice, ends = tmp_path / "study.toml", random.Random(17), Counter[int]()
    for mutant in range(MUTANTS_PER_PART):
        path.write_bytes(FAMILY.encode() if mutant == 0 else mutated(FAMILY, dice))
        code, out, err = dry_run(path)
        ends[code] += 1
        assert (code, err.count("\n")) in ((2, 1), (0, 0)), (path.read_bytes(), err)
        assert err.startswith("Error: ") if code else "before compression" in out
        assert mutant or code == 0, err
    assert ends[0] > MUTANTS_PER_PART / 20
    assert ends[2] > MUTANTS_PER_PART / 4


def test_the_command_line_answers_a_slip_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(BASE.replace("seed", "sede"))
    done = CliRunner().invoke(cli.app, ["ensemble", str(tmp_path / "study.toml"), "--dry-run"])
    assert (done.exit_code, done.stdout, done.stderr) == dry_run(tmp_path / "study.toml")
    assert "Did you mean seed?" in done.stderr
