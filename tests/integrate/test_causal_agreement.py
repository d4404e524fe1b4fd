"""The causal solver against other solvers, on random systems and where tokens repel each other."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.places import apart

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array


def systems_without_full_mask() -> list[tuple[str, Attention, Array]]:
    """Random Q, K, V, attraction, repulsion, windows, frozen tokens; d = 2, 3, 8."""
    found = []
    for seed in range(18):
        rng = np.random.default_rng(seed)
        d, n, beta = (2, 3, 8)[seed % 3], (3, 9, 20)[seed // 3 % 3], (1.0, 4.0, 9.0)[seed // 2 % 3]
        Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
        model = Attention(
            beta,
            Q=Q if seed % 2 else None,
            K=K if seed % 2 else None,
            V={0: np.eye(d), 1: -np.eye(d), 2: None}.get(seed % 5, V),
            mask=("causal", Window(3), "causal", Window(2))[seed % 4],
            frozen=(
                Frozen(nc.uniform(seed % 7 + 1, d, seed + 50), 1.5) if seed % 3 == 1 or seed > 14 else None
            ),
        )
        found.append((f"{seed}: d={d} n={n} beta={beta:g} {model.mask}", model, nc.uniform(n, d, seed + 100)))
    return found


@pytest.mark.parametrize(
    ("name", "model", "x0"),
    systems_without_full_mask(),
    ids=[name for name, _, _ in systems_without_full_mask()],
)
def test_explicit_and_causal_agree_and_the_difference_falls(name: str, model: Attention, x0: Array) -> None:
    times = np.linspace(0.0, 8.0, 9)
    exact = nc.simulate(model, x0, 8.0, save=times, rtol=1e-12, atol=1e-14, method="explicit").x
    levels = (1e-4, 1e-6, 1e-8, 1e-10)
    errors, allowed = [], []
    for rtol in levels:
        run = nc.simulate(model, x0, 8.0, save=times, rtol=rtol, atol=rtol / 100, method="causal")
        other = nc.simulate(model, x0, 8.0, save=times, rtol=rtol, atol=rtol / 100, method="explicit")
        assert run.status == "done"
        assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() <= 1e-15
        errors.append(apart(run.x, exact))
        # a system that amplifies errors does so for both
        allowed.append(max(10.0 * rtol, 10.0 * apart(other.x, exact)))
    assert (np.array(errors) <= allowed).all(), (errors, allowed)
    assert (np.array(errors[1:]) < errors[:-1]).all(), errors


@pytest.mark.parametrize("d", [3, 8])
def test_random_systems_agree_with_lsoda(d: int) -> None:
    for seed in range(3):
        Q, K, V = np.random.default_rng(seed).standard_normal((3, d, d)) / np.sqrt(d)
        model, x0, times = Attention(4.0, Q, K, V), nc.uniform(8, d, seed), np.linspace(0.0, 20.0, 6)

        def velocity(
            _: float, y: Array, model: Attention = model, shape: tuple[int, ...] = x0.shape
        ) -> Array:
            x = y.reshape(shape)
            return drift(model, x / np.linalg.norm(x, axis=-1, keepdims=True)).reshape(-1)

        y = solve_ivp(
            velocity, (0.0, 20.0), x0.reshape(-1), method="LSODA", rtol=1e-11, atol=1e-13, t_eval=times
        ).y.T.reshape(-1, *x0.shape)
        run = nc.simulate(model, x0, 20.0, save=times, rtol=1e-9, atol=1e-11, method="causal")
        # a thousand tolerances: random V may amplify
        assert apart(run.x, y / np.linalg.norm(y, axis=-1, keepdims=True)) < 1e-6, seed


def test_repulsion_comes_to_an_equilibrium_at_large_steps() -> None:
    run = nc.simulate(Attention(1.0, V=-np.eye(3)), nc.uniform(2, 3, seed=1), 1e12, method="causal")
    assert run.status == "done"
    assert np.linalg.norm(run.x[-1, 0] + run.x[-1, 1]) < 1e-9  # opposite
    # From d = 3 on some tokens balance where they are free to drift along a circle, and rounding, 1e-16 a
    # unit of time, moves them.
    for d, beta, t in ((2, 2.0, 1e12), (3, 2.0, 1e6), (3, 9.0, 1e6)):
        x0 = nc.uniform(7, d, seed=d)
        times = np.array([0.0, 10.0, 100.0, t])
        model = Attention(beta, V=-np.eye(d))
        run = nc.simulate(model, x0, t, save=times, method="causal")
        assert run.status == "done"
        assert run.steps < 3000
        assert (
            apart(run.x[:3], nc.simulate(model, x0, 100.0, save=times[:3], method="explicit", rtol=1e-11).x)
            < 1e-6
        )
        # all that is left would move them by less than 10 in twice the time
        assert np.abs(drift(model, run.x[-1])).max() < 10.0 / t
