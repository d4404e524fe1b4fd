"""The tables of velocities and of whole runs: absent peers are said, and errors are what they should be."""

import importlib.util

import pytest
from support.silent import silent

from nucleate.bench.batch import BatchCase, SphereCase, alone_section, figure1_section, figure3_section
from nucleate.bench.batch import sphere_section as sphere_batches
from nucleate.bench.drift import DriftCase, circle_section, pairwise_section, sphere_section
from nucleate.bench.table import Row

ABSENT = "not installed: pip install 'nucleate[bench]'"


HAS_JAX = importlib.util.find_spec("jax") is not None and importlib.util.find_spec("diffrax") is not None


@pytest.mark.usefixtures("no_extras")
def test_an_absent_peer_is_said_and_skipped() -> None:
    of_drift = pairwise_section(DriftCase(2, 12, 3), 1, silent)
    of_runs = figure3_section(
        BatchCase(2, n=8, t=2.0, frames=5, compared_runs=1, diffrax_batches=(2,)), 1, silent
    )
    rows = {row.peer: row for row in (*of_drift.rows, *of_runs.rows)}
    for name in ("JAX jit", "JAX jit, softmax", "diffrax Tsit5, vmap of 2"):
        assert rows.pop(name) == Row(name, note=ABSENT)
    assert all(row.seconds and row.ratio and row.error is not None for row in rows.values())


def test_a_run_alone_stands_beside_one_of_a_batch() -> None:
    section = alone_section(BatchCase(3, n=8, t=2.0, frames=5, compared_runs=1), 1, silent)
    batch, alone = section.rows
    assert batch.ratio == 1.0
    assert alone.seconds
    assert section.numbers is not None
    assert 0.0 <= section.numbers["apart"] < 1e-8


@pytest.mark.skipif(not HAS_JAX, reason="jax and diffrax are peers; `make bench` installs them")
def test_every_peer_that_is_there_gets_its_figures() -> None:
    of_drift = pairwise_section(DriftCase(2, 12, 3), 1, silent)
    of_runs = figure3_section(
        BatchCase(2, n=8, t=2.0, frames=5, compared_runs=1, diffrax_batches=(1, 2, 64)), 1, silent
    )
    assert [row.peer for row in of_runs.rows if "diffrax" in row.peer] == [
        "diffrax Tsit5, vmap of 1",
        "diffrax Tsit5, vmap of 2",
    ]
    for row in (*of_drift.rows, *of_runs.rows):
        assert row.seconds
        assert row.error is not None
        assert row.error < 1e-3


@pytest.mark.usefixtures("no_extras")
@pytest.mark.parametrize("random", [False, True])
def test_runs_on_spheres_keep_the_tolerance_and_name_absent_peers(random: bool) -> None:
    case = SphereCase(d=4, runs=2, n=8, t=2.0, frames=5, compared_runs=1)
    rows = sphere_batches(case, random, 1, silent).rows
    assert [row.peer for row in rows] == [
        "nucleate",
        "nucleate, one thread",
        "SciPy RK45",
        "diffrax Tsit5, vmap of 2",
    ]
    assert "not installed" in rows[-1].note
    for row in rows[:-1]:
        assert row.error is not None
        assert row.error < 1e-4


def test_errors_in_the_tables_are_rounding_for_velocities_and_the_tolerance_for_runs() -> None:
    one = pairwise_section(DriftCase(3, 20), 1, silent)
    circle = circle_section((50, 100, 200), 1, silent)
    sphere, sphere_in_4 = (sphere_section((300, 600), 1, silent, d=d) for d in (3, 4))
    rows = (*one.rows, *circle.rows, *sphere.rows, *sphere_in_4.rows)
    velocities = [row.error for row in rows if row.error is not None]
    assert max(velocities) < 1e-11  # what the circle and the sphere kernel promise
    runs = (
        figure3_section(BatchCase(2, n=8, t=2.0, frames=5, compared_runs=1), 1, silent).rows
        + figure1_section(2.0, 1, silent).rows
    )
    errors = [row.error for row in runs if row.error is not None]
    assert max(errors) < 1e-4
    assert circle.numbers is not None
    assert set(circle.numbers) == {"exponent"}
    assert all(row.memory for row in circle.rows[:-1])
