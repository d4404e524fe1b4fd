"""`nucleate bench life`: the peer computes the same life, and the numbers come out as promised.  Nothing here
is timed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.places import on_circle
from support.silent import silent
from typer.testing import CliRunner

from nucleate.attention import Attention, drift
from nucleate.bench import life, peers, timing
from nucleate.bench.life import (
    LifeCase,
    cost_section,
    dimension_section,
    large_section,
    life_section,
    merge_times,
    merges_section,
)
from nucleate.checks import Array
from nucleate.cli import bench as command


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quick, but quicker."""
    monkeypatch.setattr(life, "QUICK_LIFE_CASES", (LifeCase(6, beta=20.0, t=1e30),))
    monkeypatch.setattr(life, "QUICK_LARGE_CASE", LifeCase(8, beta=20.0, t=1e30))
    monkeypatch.setattr(life, "QUICK_MERGES_CASES", (LifeCase(12, 4.0, 3),))
    monkeypatch.setattr(life, "QUICK_HUGE_CASE", LifeCase(12, 9.0))
    monkeypatch.setattr(life, "QUICK_COST_SIZES", (20, 40))
    monkeypatch.setattr(life, "MEMORY_TOKENS", 50)
    monkeypatch.setattr(life, "QUICK_COST_DIMENSIONS", (2,))
    monkeypatch.setattr(life, "DIMENSION_TOKENS", 20)
    monkeypatch.setattr(timing, "MIN_TURN_SECONDS", 0.0)


def test_the_jacobian_given_to_lsoda_is_that_of_the_equation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Result:
        t, y = np.zeros(1), np.zeros((5, 1))

    def keep(velocity: Any, span: Any, y: Array, jac: Any, **options: Any) -> Result:
        asked.update(velocity=velocity, jac=jac, **options)
        return Result()

    monkeypatch.setattr("scipy.integrate.solve_ivp", keep)
    theta = np.sort(np.random.default_rng(0).uniform(0.0, 3.0, 5))
    peers.lsoda_steps(theta, 4.0, 1.0, 1e-6, 1e-9)
    assert asked["method"] == "LSODA"
    tangent = np.stack([-np.sin(theta), np.cos(theta)], axis=1)
    np.testing.assert_allclose(
        asked["velocity"](0.0, theta),
        (drift(Attention(4.0), on_circle(theta)) * tangent).sum(1),
        rtol=0,
        atol=1e-14,
    )
    h = 1e-6
    steps = np.stack(
        [
            (asked["velocity"](0.0, theta + h * e) - asked["velocity"](0.0, theta - h * e)) / (2 * h)
            for e in np.eye(5)
        ],
        axis=1,
    )
    np.testing.assert_allclose(asked["jac"](0.0, theta), steps, rtol=0, atol=1e-8)  # h^2 and rounding / h


def test_mergers_are_counted_around_the_circle_and_once_each() -> None:
    # Four places, then the two across angle 0 join, then all at once.
    theta = np.array(
        [[0.1, 1.5, 3.0, 6.0], [0.1, 1.5, 3.0, 0.05], [0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1]]
    )
    assert merge_times(np.array([0.0, 5.0, 70.0, 80.0]), theta, 64.0).tolist() == [5.0, 70.0, 70.0]


def test_clusters_that_form_first_are_not_lost_to_the_count() -> None:
    # A closed chain of tokens has no gap at all: one cluster, then three, then two, then one.
    chain = np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    three, two, one = (
        np.repeat(places, 60 // len(places)) for places in ([0.0, 2.0, 4.0], [0.0, 2.0], [0.0])
    )
    assert merge_times(
        np.array([0.0, 1.0, 50.0, 90.0]), np.stack([chain, three, two, one]), 64.0
    ).tolist() == [50.0, 90.0]


def test_nothing_compared_is_never_called_agreement() -> None:
    none, one, two = np.array([1.0]), np.array([1e6]), np.array([1e6, 1e9])
    assert np.isnan(life._difference(none, none))
    assert life._agreement(none, none) == "no late mergers to compare"
    assert life._agreement(one, two) == "1 late mergers instead of 2"
    assert life._difference(two, two) == 0.0


def test_both_come_to_the_same_end_by_the_same_mergers() -> None:
    section = life_section(LifeCase(8, beta=20.0, t=1e30), 1, silent)
    assert [row.peer for row in section.rows] == [life.OURS, life.OURS_DEFAULT, life.PEER]
    for row in section.rows:
        assert row.seconds
        assert row.ratio
        assert row.error is not None
        assert row.error < 1e-6  # the tolerance of the peer
        assert "done" in row.note
    assert section.numbers is not None
    assert section.numbers["final state apart"] < 1e-6
    assert section.numbers["mergers"] >= 2
    # LSODA at rtol 1e-6 is off by some 1e-3: its local errors grow while clusters wait.
    assert section.numbers["merge times apart"] < 1e-2


def test_what_is_extrapolated_is_the_time_of_a_step_times_the_steps_and_said_to_be_so() -> None:
    section = large_section(LifeCase(8, beta=20.0, t=1e30), 5000.0, 1, silent)
    ours, peer = section.rows
    assert "extrapolated: 5000 steps" in peer.note
    assert ours.ratio == 1.0
    assert peer.seconds is not None
    assert peer.first is not None
    taken = int(section.remarks[0].split(" steps from")[0].split()[-1])
    assert peer.seconds == pytest.approx(5000.0 * peer.first / taken)
    assert section.numbers == {"LSODA extrapolated": peer.seconds}
    assert "extrapolated" not in ours.note
    assert ours.error is not None
    assert ours.error < 1e-8


def test_merges_stand_beside_the_simulation_of_their_life() -> None:
    section = merges_section((LifeCase(12, 4.0, 3),), LifeCase(12, 9.0), 1, silent)
    simulation, search, huge = section.rows
    assert simulation.seconds
    assert search.seconds
    assert section.numbers is not None
    assert (
        section.numbers["merges over simulation, n = 12, d = 3, β = 4"] == search.seconds / simulation.seconds
    )
    assert "done" in simulation.note
    assert "of the simulation's time" in search.note
    assert huge.seconds
    assert 0.0 < section.numbers["bytes"] < 1e8
    assert "GiB" in huge.note


def test_the_cost_has_an_exponent_and_a_memory() -> None:
    section = cost_section((20, 40), 50, 1, silent)
    assert section.numbers is not None
    assert set(section.numbers) == {"exponent", "bytes"}
    assert 0.0 < section.numbers["bytes"] < 50 * 1e4
    assert all(row.seconds and row.rate for row in section.rows)


@pytest.mark.usefixtures("tiny")
def test_the_cost_by_dimension_is_that_of_one_token_and_one_step() -> None:
    section = dimension_section((2, 3), 1, silent)
    assert [row.peer for row in section.rows] == [f"one token, one step, d = {d}" for d in (2, 3)]
    # far below a second each, as the whole of 10 steps of 20 tokens is
    assert all(row.seconds and row.first and row.seconds < row.first for row in section.rows)


@pytest.mark.usefixtures("tiny")
def test_the_command_prints_tables_and_writes_all_numbers(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = CliRunner().invoke(command.bench, ["life", "--quick", "--out", str(file)], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "best of 2 rounds" in done.output
    record: dict[str, Any] = json.loads(file.read_text())
    assert record["command"] == "life"
    assert len(record["sections"]) == 5
    for section in record["sections"]:
        assert set(section) == {"title", "rate", "error", "rows", "remarks", "numbers"}
        assert section["title"] in done.output
        assert all(row["seconds"] for row in section["rows"])
