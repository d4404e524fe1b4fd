"""The adaptive method honours the tolerance it is given: on exactly solvable systems, and against SciPy's
DOP853 on random ones.

Errors are distances |x - x'| of the worst token at the worst of all saved frames, in units of the tolerance
rtol + atol (|x| is 1).
"""

from functools import cache
from typing import Literal

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.exact_systems import Exact, metastable, solvable, two_tokens

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array

LEVELS = [10.0**-k for k in range(3, 12)]
FRAMES = 40


def errors(
    model: Attention,
    x0: Array,
    exact: Array,
    times: Array,
    levels: list[float],
    method: Literal["explicit", "auto"] = "explicit",
) -> list[float]:
    """The error at each level, in units of the tolerance."""
    found = []
    for rtol in levels:
        run = nc.simulate(model, x0, float(times[-1]), save=times, rtol=rtol, atol=rtol / 100, method=method)
        assert run.done
        found.append(float(np.linalg.norm(run.x - exact, axis=-1).max()) / (1.01 * rtol))
    return found


def dop853(model: Attention, x0: Array, times: Array, rtol: float, atol: float) -> Array:
    """SciPy's DOP853 on the equation in NumPy; tokens put back on the sphere at the end, to its advantage."""

    def velocity(_: float, y: Array) -> Array:
        x = y.reshape(x0.shape)
        return drift(model, x / np.linalg.norm(x, axis=-1, keepdims=True)).reshape(-1)

    y = solve_ivp(
        velocity, (0.0, times[-1]), x0.reshape(-1), method="DOP853", rtol=rtol, atol=atol, t_eval=times
    ).y.T.reshape(-1, *x0.shape)
    return np.asarray(y / np.linalg.norm(y, axis=-1, keepdims=True))


@pytest.mark.parametrize("frames", [3, 12, FRAMES])
@pytest.mark.parametrize("system", solvable(), ids=lambda system: system.name)
def test_the_error_is_within_five_tolerances_at_every_level_and_falls(system: Exact, frames: int) -> None:
    # Few frames and many: neither long steps nor the interpolant between them may spoil it.
    times = np.linspace(0.0, system.t, frames)
    found = errors(system.model, system.x0, system.frames(times), times, LEVELS)
    # The tolerance bounds the error of one step. These flows contract, so that errors of earlier steps fade:
    # what a few steps add up to is left.
    assert max(found) <= 5.0, [f"{error:.2g}" for error in found]
    absolute = np.array(found) * LEVELS
    # Over any two levels a hundredfold finer tolerance must show: one lucky cancellation may put a level
    # below the next.  An error of a tenth of the tolerance may wait: there the first step, not the tolerance,
    # sets the pace.
    falls = absolute[2:] < absolute[:-2]
    assert (falls | (np.array(found[2:]) <= 0.1)).all(), [f"{error:.2g}" for error in found]


@pytest.mark.parametrize("system", solvable(), ids=lambda system: system.name)
def test_every_accepted_step_is_within_five_tolerances(system: Exact) -> None:
    for rtol in LEVELS[::2]:
        run = nc.simulate(
            system.model, system.x0, system.t, save="steps", rtol=rtol, atol=rtol / 100, method="explicit"
        )
        assert len(run.t) == run.steps + 1
        assert np.linalg.norm(run.x - system.frames(run.t), axis=-1).max() <= 5.0 * 1.01 * rtol


@pytest.mark.parametrize("method", ["explicit", "auto"])
@pytest.mark.parametrize("system", metastable(), ids=lambda system: system.name)
def test_what_a_long_rest_amplifies_is_amplified_no_more_than_in_dop853(
    system: Exact, method: Literal["explicit", "auto"]
) -> None:
    # A deviation at the start is multiplied some thousand times before the tokens meet; five tolerances, or
    # what DOP853 makes of it.
    times = np.concatenate(
        [np.linspace(0.0, 0.8 * system.t, FRAMES // 2), np.linspace(0.9 * system.t, system.t, FRAMES)]
    )
    exact = system.frames(times)
    ours = errors(system.model, system.x0, exact, times, LEVELS, method)
    theirs = [
        float(np.linalg.norm(dop853(system.model, system.x0, times, rtol, rtol / 100) - exact, axis=-1).max())
        / (1.01 * rtol)
        for rtol in LEVELS
    ]
    pairs = [f"{a:.2g} against {b:.2g}" for a, b in zip(ours, theirs, strict=True)]
    assert max(ours) <= max(5.0, *theirs), pairs


@pytest.mark.parametrize("system", metastable(), ids=lambda system: system.name)
def test_what_a_long_rest_amplifies_in_a_batch_costs_loose_tolerances_a_hundredfold(system: Exact) -> None:
    # Batches take order 5 where the tolerance is loose.  A thousandfold of what its steps err, about a tenth
    # of the tolerance, is a hundred tolerances: SciPy's RK45 has up to 270 here.  Finer ones have order 8.
    times = np.linspace(0.0, system.t, FRAMES)
    found = errors(system.model, system.x0[None], system.frames(times)[None], times, LEVELS)
    assert max(found[:4]) <= 150.0, [f"{error:.2g}" for error in found]
    assert max(found[4:]) <= 5.0, [f"{error:.2g}" for error in found]


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_runs_in_lanes_keep_the_tolerance_too(scale: float, d: int) -> None:
    # Eleven two-token runs travel together: each must keep the error it would be allowed alone.
    systems = [two_tokens(1.0, u0, 6.0, d, scale=scale) for u0 in np.linspace(-0.8, 0.9, 11)]
    times = np.linspace(0.0, 6.0, 20)
    exact = np.stack([system.frames(times) for system in systems])  # (b, m, n, d)
    found = errors(systems[0].model, np.stack([system.x0 for system in systems]), exact, times, LEVELS)
    assert max(found) <= 5.0, [f"{error:.2g}" for error in found]


@cache
def random_systems() -> list[tuple[str, Attention, Array]]:
    """Random Q, K, V, every mask, frozen tokens, attraction and repulsion; d = 2, 3, 7."""
    found = []
    for seed in range(18):
        rng = np.random.default_rng(seed)
        d, n, beta = (2, 3, 7)[seed % 3], (3, 12, 20)[seed // 3 % 3], (1.0, 4.0, 9.0)[seed // 2 % 3]
        Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
        model = Attention(
            beta,
            Q=Q if seed % 2 else None,
            K=K if seed % 2 else None,
            V={0: np.eye(d), 1: -np.eye(d)}.get(seed % 5, V),
            mask=("causal", "full", Window(3), Window(2))[seed % 4],
            frozen=Frozen(nc.uniform(2, d, seed + 50), [1.5, 3.0]) if seed % 3 == 1 else None,
        )
        found.append((f"{seed}: d={d} n={n} beta={beta:g} {model.mask}", model, nc.uniform(n, d, seed + 100)))
    return found


def test_on_random_systems_the_error_is_no_worse_than_that_of_dop853() -> None:
    times, levels = np.linspace(0.0, 8.0, 17), LEVELS[::2]
    ours, theirs = [], []
    for _, model, x0 in random_systems():
        exact = dop853(model, x0, times, 1e-13, 1e-15)  # a hundred times finer than the finest level
        ours.append(errors(model, x0, exact, times, levels))
        theirs.append(
            [
                float(np.linalg.norm(dop853(model, x0, times, rtol, rtol / 100) - exact, axis=-1).max())
                / (1.01 * rtol)
                for rtol in levels
            ]
        )
    us, them = np.array(ours), np.array(theirs)  # (systems, levels)
    # Systems whose error is far below the tolerance either way say nothing: a tenth of it counts as a tenth.
    ratio = np.maximum(us, 0.1) / np.maximum(them, 0.1)
    table = "\n".join(
        f"{rtol:.0e}: median ratio {np.median(r):.2f}, worst error {worst_us:.1f} (DOP853 {worst_them:.1f})"
        for rtol, r, worst_us, worst_them in zip(levels, ratio.T, us.max(0), them.max(0), strict=True)
    )
    assert (np.median(ratio, axis=0) <= 1.0).all(), table
    assert (us.max(0) <= np.maximum(5.0, them.max(0))).all(), table


@pytest.mark.parametrize("beta", [16.0, 64.0])
def test_a_batch_of_circles_agrees_with_dop853(beta: float) -> None:
    # Lanes leave room for a hundredth of the tolerance in every velocity; many tokens and a fast merge would
    # show more.
    x0 = nc.uniform(40, 2, seed=0, runs=5)
    times = np.linspace(0.0, 10.0, 11)
    for rtol in (1e-3, 1e-6, 1e-9):
        run = nc.simulate(Attention(beta), x0, 10.0, save=times, rtol=rtol, atol=rtol / 100)
        for x, start in zip(run.x, x0, strict=True):
            exact = dop853(Attention(beta), start, times, 1e-12, 1e-14)
            theirs = float(
                np.linalg.norm(dop853(Attention(beta), start, times, rtol, rtol / 100) - exact, axis=-1).max()
            )
            assert float(np.linalg.norm(x - exact, axis=-1).max()) <= max(5.0 * 1.01 * rtol, theirs), rtol
