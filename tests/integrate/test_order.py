"""Every fixed-step method has the order it declares: errors over halved steps, at the steps and between
them."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45, solve_ivp
from support.exact_systems import (
    Exact,
    equiangular,
    kuramoto_groups,
    one_token,
    one_token_and_a_frozen_one,
    two_tokens,
)

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array
from nucleate.integrate import tableau
from nucleate.integrate.tableau import Tableau, fixed_step

METHODS: dict[Literal["euler", "heun", "rk4"], int] = {"euler": 1, "heun": 2, "rk4": 4}
# of the finest run: beyond the transient, well above rounding
STEPS = {"euler": 4096, "heun": 1024, "rk4": 256}


def reference(model: Attention, x0: Array, times: Array) -> Array:
    """The solution to about 1e-13 by SciPy's DOP853 on the equation in NumPy."""

    def velocity(_: float, y: Array) -> Array:
        x = y.reshape(x0.shape)
        return drift(model, x / np.linalg.norm(x, axis=-1, keepdims=True)).reshape(-1)

    y = solve_ivp(
        velocity, (0.0, times[-1]), x0.reshape(-1), method="DOP853", rtol=3e-14, atol=1e-15, t_eval=times
    ).y.T.reshape(-1, *x0.shape)
    return np.asarray(y / np.linalg.norm(y, axis=-1, keepdims=True))


def random_systems() -> list[Exact]:
    """Several tokens with random V, Q, K, for which there is no closed form."""
    found = []
    for d in (2, 3, 7):
        rng = np.random.default_rng(d)
        Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
        for name, model in {
            "causal": Attention(2.0, Q=Q, K=K, V=V),
            "window and frozen": Attention(2.0, V=V, mask=Window(2), frozen=Frozen(nc.uniform(2, d, 3), 1.5)),
        }.items():
            x0 = nc.uniform(5, d, seed=d)
            found.append(Exact(f"random {name} d={d}", model, x0, 1.0, _at_end(model, x0)))
    return found


def _at_end(model: Attention, x0: Array) -> Callable[[float], Array]:
    return lambda time: reference(model, x0, np.array([time]))[-1]


rng = np.random.default_rng(2)
SYSTEMS = [
    two_tokens(1.0, 0.2, 2.0, 2),
    two_tokens(1.0, 0.2, 2.0, 3),
    two_tokens(1.0, 0.5, 2.0, 2, scale=-1.0),
    two_tokens(1.0, 0.5, 2.0, 3, scale=-1.0),
    one_token(rng.standard_normal((2, 2)), nc.uniform(1, 2, seed=1)[0], 2.0, "one token, random V, d=2"),
    one_token(rng.standard_normal((3, 3)), nc.uniform(1, 3, seed=1)[0], 2.0, "one token, random V, d=3"),
    one_token(
        rng.standard_normal((7, 7)) / 2.0, nc.uniform(1, 7, seed=1)[0], 2.0, "one token, random V, d=7"
    ),
    one_token_and_a_frozen_one(2.0, -0.3, 2.0, 3, weight=2.5),
    equiangular(4, 1.0, 0.1, 2.0),
    kuramoto_groups(2, 3, 2.0, 2.0),
    *random_systems(),
]


def slopes(errors: list[float]) -> list[float]:
    """log2 of the ratio of consecutive errors."""
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
@pytest.mark.parametrize("method", METHODS)
def test_the_error_at_the_end_falls_by_the_declared_order(
    method: Literal["euler", "heun", "rk4"], system: Exact
) -> None:
    exact = system.solution(system.t)
    errors = []
    for count in (STEPS[method] // 4, STEPS[method] // 2, STEPS[method]):
        run = nc.simulate(system.model, system.x0, system.t, save=2, method=method, dt=system.t / count)
        assert run.status == "done"
        assert run.steps == count
        errors.append(float(np.linalg.norm(run.x[-1] - exact, axis=-1).max()))
    assert errors[-1] > 1e-13  # else rounding is measured, not the method
    # The next term of the error, of the order of dt, is a few per cent of it at these steps; a method of the
    # wrong order is off by 1.
    for slope in slopes(errors):
        assert abs(slope - METHODS[method]) <= 0.1, (slopes(errors), errors)


@pytest.mark.parametrize(
    "system",
    [system for system in SYSTEMS if not system.name.startswith("random")],
    ids=lambda system: system.name,
)
@pytest.mark.parametrize("method", METHODS)
def test_the_error_between_steps_falls_by_the_declared_order(
    method: Literal["euler", "heun", "rk4"], system: Exact
) -> None:
    # Frames at odd places inside steps.  The cubic interpolant has a local error h^4: as good as any of the
    # three methods.
    times = system.t * np.sort(np.random.default_rng(0).uniform(0.0, 1.0, 40))
    exact = system.frames(times)
    errors = []
    for count in (STEPS[method] // 4, STEPS[method] // 2, STEPS[method]):
        run = nc.simulate(system.model, system.x0, system.t, save=times, method=method, dt=system.t / count)
        errors.append(float(np.linalg.norm(run.x - exact, axis=-1).max()))
    # The place inside the step differs from halving to halving, and with it the interpolant's share of the
    # error: a wider band, from below.
    assert float(np.log2(errors[0] / errors[-1])) / 2.0 >= METHODS[method] - 0.2, errors


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("d", [2, 3])
def test_a_step_that_does_not_divide_the_time_is_followed_by_a_shorter_one(
    method: Literal["euler", "heun", "rk4"], d: int
) -> None:
    model, x0, table = Attention(2.0), nc.uniform(6, d, seed=0), fixed_step(method)
    run = nc.simulate(model, x0, 2.0, save="steps", method=method, dt=0.3)
    assert run.t == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.0], rel=1e-14)
    assert run.t[-1] == 2.0
    if d == 2:
        return  # there the steps are taken in angles, which the plain steps below are not
    x = x0
    for frame, h in zip(run.x[1:], np.diff(run.t), strict=True):
        k: list[Array] = []
        for row in table.A:
            y = x + h * sum((a * velocity for a, velocity in zip(row, k, strict=False)), np.zeros_like(x))
            k.append(drift(model, y / np.linalg.norm(y, axis=-1, keepdims=True)))
        x = x + h * sum((b * velocity for b, velocity in zip(table.B, k, strict=True)), np.zeros_like(x))
        x = x / np.linalg.norm(x, axis=-1, keepdims=True)
        assert np.abs(frame - x).max() <= 1e-14  # seven steps of rounding


def test_euler_is_the_script_people_write() -> None:
    # x + dt P_x(...) then normalise, sixty times, in NumPy.
    model, x = Attention(9.0), nc.uniform(12, 3, seed=0)
    run = nc.simulate(model, x, 3.0, save=[3.0], method="euler", dt=0.05)
    for _ in range(60):
        x = x + 0.05 * drift(model, x)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
    assert np.abs(run.x[-1] - x).max() <= 1e-13  # sixty roundings, grown by at most e^3 on the way


# The coefficients themselves


def orders_of(table: Tableau) -> list[float]:
    """Orders seen on y' = cos(t) y, y = e^{sin t} (as an autonomous pair), up to t = 10, over two halvings by
    plain Python steps."""
    errors = []
    finest = {1: 640, 2: 640, 4: 640, 5: 320}.get(table.order, 48)  # short of rounding
    for count in (finest // 4, finest // 2, finest):
        y, h, worst = np.array([1.0, 0.0]), 10.0 / count, 0.0
        for _ in range(count):
            y = y + h * sum((b * k for b, k in zip(table.B, stages(table, y, h), strict=True)), np.zeros(2))
            worst = max(worst, abs(y[0] - np.exp(np.sin(y[1]))))
        errors.append(worst)
    assert errors[-1] > 1e-12  # else rounding is measured
    return slopes(errors)


def stages(table: Tableau, y: Array, h: float) -> list[Array]:
    """k_1 .. k_s of one step of y' = (cos(t) y, 1)."""
    found: list[Array] = []
    for row in table.A:
        at = y + h * sum((a * k for a, k in zip(row, found, strict=False)), np.zeros(2))
        found.append(np.array([np.cos(at[1]) * at[0], 1.0]))
    return found


ADAPTIVE = [name for name in tableau.__all__ if name.startswith("dormand_prince")]
TABLES: list[Any] = [(name, fixed_step(name)) for name in METHODS] + [
    (name, getattr(tableau, name)()) for name in ADAPTIVE
]


@pytest.mark.parametrize(("name", "table"), TABLES, ids=[name for name, _ in TABLES])
def test_coefficients_have_the_order_they_declare(name: str, table: Tableau) -> None:
    # The next term of the error is a few per cent of it; from order 6 on steps must be long for the error to
    # stay above rounding, and it is more. A method of the wrong order is off by 1.
    band = 0.3 if table.order >= 6 else 0.1
    assert abs(orders_of(table)[-1] - table.order) <= band, (name, orders_of(table))


@pytest.mark.parametrize(
    ("method", "names"), [(RK45, "A B E P"), (DOP853, "A B E5 E3 A_EXTRA D")], ids=["RK45", "DOP853"]
)
def test_the_coefficients_are_those_that_scipy_publishes(method: Any, names: str) -> None:
    text = Path(tableau.__file__).with_name("dormand_prince.json").read_text(encoding="utf-8")
    assert json.loads(text)[method.__name__] == {
        name: np.asarray(getattr(method, name)).tolist() for name in names.split()
    }


def test_the_adaptive_method_is_of_order_five_at_least() -> None:
    assert ADAPTIVE
    assert all(getattr(tableau, name)().order >= 5 for name in ADAPTIVE)


@pytest.mark.parametrize(("name", "table"), TABLES, ids=[name for name, _ in TABLES])
def test_the_interpolant_meets_the_step_at_both_ends(name: str, table: Tableau) -> None:
    s = len(table.B)
    whole = table.P.sum(1)  # y(1) = y + h sum_i k_i sum_p P_ip
    assert np.abs(whole[:s] - table.B).max() <= 1e-12, name  # sums of coefficients as large as 1e2
    assert np.abs(whole[s:]).max() <= 1e-12
    slope = table.P[:, 0]  # y'(0) = k_1
    assert np.abs(slope - np.eye(len(table.P))[0]).max() <= 1e-13
    # y'(1) = the velocity at the new point, so frames join smoothly
    end = table.P @ np.arange(1, table.P.shape[1] + 1)
    assert np.abs(end - np.eye(len(table.P))[s]).max() <= 1e-11
