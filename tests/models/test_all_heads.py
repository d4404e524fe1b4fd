"""All heads of a model, each simulated alone; and what the command line says of one and of all."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.made_checkpoints import make
from typer.testing import CliRunner

from nucleate.checks import InputError
from nucleate.cli import app as cli
from nucleate.models.all_heads import HeadOutcomes, simulate_all_heads
from nucleate.models.head_simulation import (
    HeadOutcome,
    simulate_head,
)
from nucleate.models.spectra import spectra
from nucleate.models.table import COLUMNS, OUTCOME_COLUMNS, head_table


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
    plain = json.loads((tmp_path / "a.json").read_text())["outcomes"]
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
