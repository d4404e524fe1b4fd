"""Runs that do not reach their end say why, by a name with a remedy, and keep what was computed."""

import math
import time
import warnings
from typing import Any

import numpy as np
import pytest
from support.long_runs import ENDLESS, endless_start
from support.time_limits import check_wall_seconds, patient, within_cpu_seconds

import nucleate as nc
from nucleate.attention import Attention
from nucleate.integrate import status
from nucleate.integrate.status import STATUS, STATUS_HELP


def test_every_status_says_what_happened_and_what_to_do() -> None:
    assert set(STATUS_HELP) == set(STATUS) - {"running"}
    for name, help in STATUS_HELP.items():
        fact, _, remedy = help.partition(". ")
        assert fact, name
        assert remedy.endswith("."), name


def test_the_numbers_of_compiled_code_are_the_places_of_the_names() -> None:
    for number, name in enumerate(STATUS):
        assert getattr(status, name.upper().replace(" ", "_").replace("-", "_")) == number


@pytest.mark.parametrize("d", [2, 3])
def test_max_steps(d: int) -> None:
    x0 = nc.uniform(10, d, seed=0)
    whole = nc.simulate(Attention(9.0), x0, 50.0, save=251)
    run = nc.simulate(Attention(9.0), x0, 50.0, save=251, max_steps=12)
    assert run.status == "max steps"
    assert not run.done
    assert isinstance(run.steps, int)
    assert 0 < run.steps <= 12
    assert 1 < len(run.t) < 251  # cut off, not padded
    assert run.x.shape == (len(run.t), 10, d)
    assert np.array_equal(run.x, whole.x[: len(run.t)])  # what was computed is what a longer run computes


def test_max_steps_counts_fixed_steps_too() -> None:
    run = nc.simulate(
        Attention(1.0), nc.uniform(4, 3, seed=0), 10.0, save="steps", method="rk4", dt=0.1, max_steps=7
    )
    assert (run.status, run.steps, len(run.t)) == ("max steps", 7, 8)
    assert run.t[-1] == pytest.approx(0.7)


@pytest.mark.parametrize("d", [2, 3])
def test_stalled_where_time_can_no_longer_take_a_step(d: int) -> None:
    # A force of e^-57 lets time run to 1e24 before the tokens meet; then steps of 1 are needed, and 1e24 + 1
    # = 1e24.
    x0 = np.zeros((2, d))
    x0[:, 0], x0[1, 1] = [1.0, -0.9], math.sqrt(1.0 - 0.81)
    run = nc.simulate(Attention(30.0), x0, 1e30, save=100, method="explicit")
    assert run.status == "stalled"
    assert 1e20 < run.t[-1] < 1e28
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("d", [2, 3, 16])
@pytest.mark.parametrize("scalar", [True, False])
def test_non_finite_drift(d: int, scalar: bool) -> None:
    V, x0 = np.eye(d) * 1.7e308 if scalar else np.full((d, d), 1.7e308), nc.uniform(70, d, seed=0)
    nc.simulate(Attention(0.0), x0, 1e-3)  # compile
    with within_cpu_seconds(1.0):
        run = nc.simulate(Attention(0.0, V=V), x0, 1.0)
    assert run.status == "non-finite"
    assert np.isfinite(run.x).all()  # no invented numbers
    assert np.array_equal(run.t, [0.0])


@pytest.mark.parametrize("method", ["euler", "heun", "rk4"])
def test_non_finite_drift_with_fixed_steps(method: Any) -> None:
    for d in (2, 3):
        run = nc.simulate(
            Attention(0.0, V=np.full((d, d), 1.7e308)), nc.uniform(5, d, seed=0), 1.0, method=method, dt=0.1
        )
        assert run.status == "non-finite"
        assert np.isfinite(run.x).all()


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e200, 1e300])
@pytest.mark.parametrize("d", [2, 3])
def test_absurd_speeds_never_come_out_as_done(d: int, scale: float) -> None:
    # Time 1 is 1e20 turns or more, of some steps each: it cannot be reached, whatever the reason given.
    V = np.zeros((d, d))
    V[0, 1], V[1, 0] = -scale, 0.5 * scale
    for method in ("explicit", "auto"):
        run = nc.simulate(
            Attention(1.0, V=V), nc.uniform(4, d, seed=0), 1.0, save=5, max_steps=3000, method=method
        )
        assert run.status in ("max steps", "stalled", "non-finite", "underflow"), (method, run.status)
        assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() <= 1e-15


def test_a_value_matrix_whose_norm_overflows_comes_to_a_named_end() -> None:
    # Every entry is finite and so may be every velocity, but |V| is not: whatever is scaled by it must not
    # hang.
    for d in (2, 3):
        with within_cpu_seconds(2.0):
            run = nc.simulate(
                Attention(1.0, V=np.full((d, d), 1e308)),
                nc.uniform(4, d, seed=3),
                1.0,
                save=3,
                max_steps=2000,
                time_limit=50.0,
            )
        assert run.status in ("max steps", "stalled", "non-finite", "underflow"), run.status


@pytest.mark.parametrize("d", [2, 3])
def test_scores_that_overflow_are_not_simulated_as_if_they_had_not(d: int) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's own words about it come on top
            run = nc.simulate(Attention(1e300, Q=1e10 * np.eye(d)), nc.uniform(5, d, seed=0), 1.0)
    except nc.InputError:
        return
    assert run.status == "non-finite"


@patient
def test_time_limit() -> None:
    start = time.monotonic()
    run = nc.simulate(Attention(9.0), endless_start(), time_limit=0.3, **ENDLESS)
    seconds = time.monotonic() - start
    assert run.status == "time limit"
    assert seconds >= 0.3
    check_wall_seconds(seconds, 1.5)
    assert len(run.t) > 1
    assert np.isfinite(run.x).all()


def test_a_finished_run_is_done_whatever_the_limit() -> None:
    run = nc.simulate(Attention(9.0), endless_start(), 1.0, time_limit=60.0, max_steps=10**6)
    assert run.status == "done"
    assert run.t[-1] == 1.0
