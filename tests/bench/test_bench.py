"""The peers compute what nucleate computes, absent ones are said and skipped, and the numbers come out as
promised.  Nothing here is timed."""

import importlib.util
import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nucleate import attention
from nucleate.attention import Attention
from nucleate.bench import batch, drift, machine, peers, table, timing
from nucleate.bench.batch import Ensemble, figure1_section, figure3_section
from nucleate.bench.drift import Case, circle_section, pairwise_section
from nucleate.bench.table import Row, Section
from nucleate.checks import Array, InputError
from nucleate.cli import bench as command
from nucleate.integrate.simulate import simulate
from nucleate.sphere import distance, uniform

ABSENT = "not installed: pip install 'nucleate[bench]'"
ROUNDING = 1e-13  # of velocities at most 1, beta about 10: a few hundred units in the last place
RTOL, ATOL = 1e-10, 1e-12
CLOSE = 1e-7  # of runs at those tolerances: what merging tokens amplify it to, with room
HAS_JAX = importlib.util.find_spec("jax") is not None and importlib.util.find_spec("diffrax") is not None


def silent(words: str) -> None:
    """Tells nobody."""


@pytest.fixture
def no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jax", "jax.numpy", "diffrax"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it is an ImportError from now on


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quick, but quicker."""
    monkeypatch.setattr(drift, "QUICK_CASES", (Case(2, 12, 3), Case(3, 20)))
    monkeypatch.setattr(drift, "QUICK_SIZES", (100, 200, 5000))
    monkeypatch.setattr(batch, "QUICK", Ensemble(3, n=8, t=2.0, frames=5, some=2, side_by_side=(2,)))
    monkeypatch.setattr(batch, "QUICK_T", 2.0)
    monkeypatch.setattr(timing, "SHORTEST", 0.0)


# --- peers


@pytest.mark.parametrize("shape", [(30, 2), (4, 15, 3), (20, 40)], ids=str)
def test_the_numpy_script_is_the_equation(shape: tuple[int, ...]) -> None:
    x = uniform(int(np.prod(shape[:-1])), shape[-1]).reshape(shape)
    np.testing.assert_allclose(
        peers.numpy_drift(x, 9.0), attention.drift(Attention(9.0), x), rtol=0, atol=ROUNDING
    )


@pytest.mark.parametrize("prepare", [peers.jax_drift, peers.jax_softmax_drift])
@pytest.mark.parametrize("shape", [(30, 2), (4, 15, 3)], ids=str)
def test_the_jax_peers_are_the_equation_in_float64(
    prepare: Callable[[Array, float], Callable[[], Array]], shape: tuple[int, ...]
) -> None:
    pytest.importorskip("jax", reason="jax is a peer; `make bench` installs it")
    x = uniform(int(np.prod(shape[:-1])), shape[-1]).reshape(shape)
    v = prepare(x, 9.0)()
    assert v.dtype == np.float64
    np.testing.assert_allclose(v, attention.drift(Attention(9.0), x), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    "velocity", [peers.plain_velocity(9.0), peers.tuned_velocity(9.0, 12)], ids=["plain", "tuned"]
)
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_scipy_in_angles_runs_the_same_system(velocity: peers.Velocity, method: str) -> None:
    x0, times = uniform(12, 2, seed=3), np.linspace(0.0, 6.0, 7)
    theta = peers.scipy_run(velocity, np.arctan2(x0[:, 1], x0[:, 0]), times, method, RTOL, ATOL)
    x = np.stack([np.cos(theta), np.sin(theta)], axis=-1)  # (m, n, 2)
    assert distance(x, simulate(Attention(9.0), x0, 6.0, save=times, rtol=RTOL, atol=ATOL).x).max() < CLOSE


@pytest.mark.parametrize("V", [np.eye(3), -np.eye(3), np.diag([1.0, 0.5, -2.0])], ids=["I", "-I", "diagonal"])
def test_scipy_on_the_sphere_runs_the_same_system(V: Array) -> None:
    x0, times = uniform(10, 3, seed=1), np.linspace(0.0, 6.0, 7)
    x = peers.scipy_sphere(x0, 9.0, V, times, "DOP853", RTOL, ATOL)  # (m, n, d)
    assert (
        distance(x, simulate(Attention(9.0, V=V), x0, 6.0, save=times, rtol=RTOL, atol=ATOL).x).max() < CLOSE
    )


def test_diffrax_runs_the_same_systems() -> None:
    pytest.importorskip("diffrax", reason="diffrax is a peer; `make bench` installs it")
    e = Ensemble(2, n=12, t=6.0, frames=7)
    x0 = e.starts()
    # (b, m, n)
    theta = peers.diffrax_angles(np.arctan2(x0[..., 1], x0[..., 0]), e.beta, e.times, RTOL, ATOL)()
    x = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
    assert (
        distance(x, simulate(Attention(e.beta), x0, e.t, save=e.times, rtol=RTOL, atol=ATOL).x).max() < CLOSE
    )


def test_a_peer_that_gives_up_leaves_nan_and_no_invented_frames() -> None:
    # blows up at t = 1
    frames = peers.scipy_run(
        lambda t, y: y * y, np.array([1.0]), np.array([0.0, 0.5, 2.0]), "RK45", 1e-6, 1e-9
    )
    assert np.isfinite(frames[:2]).all()
    assert np.isnan(frames[2]).all()


# --- the truth


@pytest.mark.parametrize("model", [Attention(9.0), drift.general_model(seed=2)], ids=["plain", "general"])
def test_single_rows_of_the_equation_are_the_rows_of_the_equation(model: Attention) -> None:
    x = uniform(40, 2, seed=5)
    rows = np.array([0, 1, 7, 39])
    np.testing.assert_allclose(
        drift.exact_rows(model, x, rows), attention.drift(model, x)[rows], rtol=0, atol=1e-14
    )


def test_the_compared_tokens_of_a_large_system_include_the_first_and_the_last() -> None:
    x = uniform(drift.FEW + 1000, 2)
    rows, exact = drift._some_exact(Attention(4.0), x)
    assert isinstance(rows, np.ndarray)
    assert rows[0] == 0
    assert rows[-1] == len(x) - 1
    assert exact.shape == (len(rows), 2)


def test_clustered_tokens_are_mostly_in_clusters_and_on_the_circle() -> None:
    x = drift.clustered(2000, seed=0)
    near = (distance(x[:, None], x[None]) < 0.01).sum(1)  # (n,) neighbours
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=0, atol=1e-15)
    assert 0.95 < (near > 50).mean() < 1.0


# --- tables


@pytest.mark.usefixtures("no_extras")
def test_an_absent_peer_is_said_and_skipped() -> None:
    of_drift = pairwise_section(Case(2, 12, 3), 1, silent)
    of_runs = figure3_section(Ensemble(2, n=8, t=2.0, frames=5, some=1, side_by_side=(2,)), 1, silent)
    rows = {row.peer: row for row in (*of_drift.rows, *of_runs.rows)}
    for name in ("JAX jit", "JAX jit, softmax", "diffrax Tsit5, vmap of 2"):
        assert rows.pop(name) == Row(name, note=ABSENT)
    assert all(row.seconds and row.ratio and row.error is not None for row in rows.values())


@pytest.mark.skipif(not HAS_JAX, reason="jax and diffrax are peers; `make bench` installs them")
def test_every_peer_that_is_there_gets_its_figures() -> None:
    of_drift = pairwise_section(Case(2, 12, 3), 1, silent)
    of_runs = figure3_section(Ensemble(2, n=8, t=2.0, frames=5, some=1, side_by_side=(1, 2, 64)), 1, silent)
    assert [row.peer for row in of_runs.rows if "diffrax" in row.peer] == [
        "diffrax Tsit5, vmap of 1",
        "diffrax Tsit5, vmap of 2",
    ]
    for row in (*of_drift.rows, *of_runs.rows):
        assert row.seconds
        assert row.error is not None
        assert row.error < 1e-3


def test_errors_in_the_tables_are_rounding_for_velocities_and_the_tolerance_for_runs() -> None:
    one = pairwise_section(Case(3, 20), 1, silent)
    circle = circle_section((50, 100, 200), 1, silent)
    velocities = [row.error for row in (*one.rows, *circle.rows) if row.error is not None]
    assert max(velocities) < 1e-11  # what the circle kernel promises
    runs = (
        figure3_section(Ensemble(2, n=8, t=2.0, frames=5, some=1), 1, silent).rows
        + figure1_section(2.0, 1, silent).rows
    )
    errors = [row.error for row in runs if row.error is not None]
    assert max(errors) < 1e-4
    assert circle.numbers is not None
    assert set(circle.numbers) == {"exponent"}
    assert all(row.memory for row in circle.rows[:-1])


def test_the_ratio_is_the_others_time_over_ours() -> None:
    ours, other, absent = table.with_ratios(
        [Row("nucleate", 2.0), Row("other", 7.0), Row("absent")], "nucleate"
    )
    assert (ours.ratio, other.ratio, absent.ratio) == (1.0, 3.5, None)


def test_a_contestant_that_failed_says_so_and_json_stays_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    section = Section(
        "title", "", "error", (Row("other", 1.0, error=float("nan")), Row("absent", note=ABSENT))
    )
    table.show(section, Console(width=100))
    shown = capsys.readouterr().out
    assert "gave up" in shown
    assert ABSENT in shown  # square brackets are markup to rich, unless told otherwise
    table.write_json(tmp_path / "out.json", "drift", machine.facts(), 1, [section])
    assert (
        json.loads((tmp_path / "out.json").read_text(), parse_constant=pytest.fail)["sections"][0]["rows"][0][
            "error"
        ]
        is None
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2e-7, "0.20 µs"), (1.234e-3, "1.23 ms"), (0.0999, "99.9 ms"), (12.34, "12.3 s"), (4321.0, "4,321 s")],
)
def test_times_are_written_with_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert table._time(seconds) == text


# --- timing and machine


def test_contestants_take_turns_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SHORTEST", 0.0)  # no repetitions
    calls: list[str] = []
    timings = timing.race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3, silent)
    assert calls == ["a", "a", "b", "b"] + ["a", "b"] * 3
    assert len(timings["a"].rounds) == 3
    assert replace(timings["a"], rounds=(3.0, 1.0, 2.0)).best == 1.0
    assert replace(timings["a"], rounds=(3.0, 1.0, 9.0)).median == 3.0


def test_memory_counts_arrays_that_are_gone_at_the_end() -> None:
    size = 8 * 100_000
    assert size <= timing.peak_memory(lambda: np.ones(100_000).sum()) < 1.1 * size


def test_the_facts_name_versions_but_no_host_and_no_folder() -> None:
    known = {name: str(value) for name, value in machine.facts().items()}
    assert {"cores", "python", "nucleate", "numpy", "scipy", "numba", "jax", "diffrax"} <= set(known)
    assert [value for value in known.values() if os.sep in value or socket.gethostname() in value] == []


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot keep a process to some cores"
)
def test_a_process_kept_to_one_core_gets_the_others_back() -> None:
    before = os.sched_getaffinity(0)
    with machine.only_cores(1):
        assert len(os.sched_getaffinity(0)) == 1
        assert machine.facts()["cores"] == 1
    assert os.sched_getaffinity(0) == before
    with pytest.raises(InputError, match="Ask for at most that many"), machine.only_cores(len(before) + 1):
        pass


# --- commands


@pytest.mark.usefixtures("tiny", "no_extras")
@pytest.mark.parametrize("name", ["drift", "batch"])
def test_the_command_prints_tables_and_writes_all_numbers(name: str, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = CliRunner().invoke(command.bench, [name, "--quick", "--out", str(file)], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "best of 2 rounds" in done.output
    assert ABSENT in done.output
    record: dict[str, Any] = json.loads(file.read_text())
    assert set(record) == {"command", "machine", "rounds", "sections"}
    assert record["command"] == name
    for section in record["sections"]:
        assert set(section) == {"title", "rate", "error", "rows", "remarks", "numbers"}
        assert section["title"] in done.output
        for row in section["rows"]:
            assert set(row) == {
                "peer",
                "seconds",
                "median",
                "first",
                "rate",
                "ratio",
                "error",
                "memory",
                "note",
            }
            assert row["seconds"] or row["note"] == ABSENT
