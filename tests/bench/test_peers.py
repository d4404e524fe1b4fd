"""The peers compute what nucleate computes."""

from collections.abc import Callable

import numpy as np
import pytest

from nucleate import attention
from nucleate.attention import Attention
from nucleate.bench import peers
from nucleate.bench.batch import BatchCase
from nucleate.checks import Array
from nucleate.integrate.simulate import simulate
from nucleate.sphere import distance, uniform

RTOL, ATOL = 1e-10, 1e-12
ROUNDING = 1e-13  # of velocities at most 1, beta about 10: a few hundred units in the last place


CLOSE = 1e-7  # of runs at those tolerances: what merging tokens amplify it to, with room


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
    e = BatchCase(2, n=12, t=6.0, frames=7)
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
