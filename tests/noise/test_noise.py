"""The step of noise, in NumPy: on the sphere, of weak order 2, along a path that can be read at any scale.

Averages over the noise are taken by quadrature, without random numbers: a step is a function of its Gaussian
increments."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import eval_gegenbauer, roots_genlaguerre, roots_hermitenorm

import nucleate as nc
from nucleate.attention import Attention, Frozen, drift
from nucleate.checks import Array, InputError
from nucleate.noise import diffuse, heun, increment, noisy_step, normals, path_grid, spread

STEPS = np.array([0.08, 0.04, 0.02])


def gaussian_nodes(count: int, axes: int) -> tuple[Array, Array]:
    """Nodes (p, axes) and weights (p,) that average polynomials of degree 2 count - 1 over N(0, I)."""
    z, weight = roots_hermitenorm(count)
    nodes = np.array(list(product(z, repeat=axes)))  # (p, axes)
    weights = np.array([np.prod(w) for w in product(weight / weight.sum(), repeat=axes)])  # (p,)
    return nodes, weights


def slopes(errors: Array) -> Array:
    """log2 of how much each error is smaller than the one of twice the step."""
    return np.log2(np.abs(errors[:-1] / errors[1:]))


# The path


def test_normals_have_the_moments_of_the_normal_law() -> None:
    z = np.concatenate([normals(0, 0, level, i, (250, 4)) for level in (0, 3) for i in range(100)]).ravel()
    count = z.size  # 200,000
    for power, exact, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)):
        assert abs((z**power).mean() - exact) < 4.0 * np.sqrt(variance / count)
    assert abs((z[:-1] * z[1:]).mean()) < 4.0 / np.sqrt(count)
    assert 3.9 < np.abs(z).max() < 6.2  # one in 10^4 and in 10^9 that z lies outside


@pytest.mark.parametrize("other", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)])
def test_seeds_runs_levels_and_steps_have_noise_of_their_own(other: tuple[int, int, int, int]) -> None:
    a, b = normals(0, 0, 0, 0, (10_000,)), normals(*other, (10_000,))
    assert abs((a * b).mean()) < 4.0 / np.sqrt(a.size)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_noise_of_a_token_does_not_depend_on_how_many_there_are(d: int) -> None:
    few, many = (increment(5, 2, 0.1, 0.1, 7, n, d) for n in (3, 11))
    assert few.tobytes() == many[:3].tobytes()


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("h", [0.2, 0.1, 0.05, 0.0125])
def test_two_increments_add_up_to_the_one_over_both(h: float, d: int) -> None:
    # read at 2h and at h, where path_dt = 0.1 is coarser than both, between them, or finer
    for i in (0, 1, 6):
        halves = [increment(1, 0, 0.1, h, 2 * i + j, 4, d) for j in (0, 1)]
        np.testing.assert_allclose(sum(halves), increment(1, 0, 0.1, 2.0 * h, i, 4, d), atol=1e-15)


@pytest.mark.parametrize("h", [0.3, 0.1, 0.025])
def test_increments_have_the_variance_of_their_time_and_are_independent(h: float) -> None:
    w = np.stack([increment(0, 0, 0.1, h, i, 500, 4) for i in range(64)])  # (64, 500, 4)
    assert abs((w**2).mean() / h - 1.0) < 4.0 * np.sqrt(2.0 / w.size)
    for apart in (1, 2, 4):  # neighbours in a bridge, and across two of them
        assert abs((w[:-apart] * w[apart:]).mean() / h) < 4.0 / np.sqrt(w[apart:].size)


@pytest.mark.parametrize("path_dt", [0.003, 0.015, 0.07, 1e30])
def test_a_path_that_does_not_fit_the_step_is_refused(path_dt: float) -> None:
    with pytest.raises(InputError, match=r"does not fit dt = 0\.02.*Give path_dt=0\.01"):
        path_grid(path_dt, 0.01)


# The parts of a step


@pytest.mark.parametrize("d", [2, 3, 8])
def test_noise_keeps_tokens_on_the_sphere(d: int) -> None:
    x = nc.uniform(100, d, seed=0)
    for i in range(10):
        x = diffuse(x, increment(0, 0, 5.0, 5.0, i, 100, d), 1.0, 5.0)  # several times around
    assert np.abs(np.linalg.norm(x, axis=-1) - 1.0).max() < 1e-15


def test_on_the_circle_noise_turns_a_token_by_the_path() -> None:
    x, w = nc.uniform(20, 2, seed=0), increment(0, 0, 0.1, 0.1, 0, 20, 2)  # (20, 2), (20, 1)
    turn = np.sqrt(2.0 / 7.0) * w[:, 0]
    angle = np.arctan2(x[:, 1], x[:, 0]) + turn
    np.testing.assert_allclose(
        diffuse(x, w, 7.0, 0.1), np.stack([np.cos(angle), np.sin(angle)], axis=-1), atol=1e-15
    )


@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_noise_alone_damps_every_mode_like_heat_to_second_order(d: int, mode: int) -> None:
    # E f(x) of the mode f = C(<x, x0>) decays by e^{-mode (mode + d - 2) h / kappa}; |P_x w|^2 / 2h has the
    # gamma law of (d-1)/2, which the quadrature of Laguerre integrates
    kappa = 2.0
    u, weight = roots_genlaguerre(60, (d - 3) / 2.0)

    def harmonic(z: Array) -> Array:
        if d == 2:
            return np.cos(mode * np.arccos(np.clip(z, -1.0, 1.0)))
        a = d / 2.0 - 1.0
        return np.asarray(eval_gegenbauer(mode, a, z) / eval_gegenbauer(mode, a, 1.0))

    errors = []
    for h in STEPS:
        x = np.zeros((60, 1, d))
        x[..., 0] = 1.0
        w = np.zeros((60, 1, 1 if d == 2 else d))
        w[..., -1] = np.sqrt(2.0 * h * u)[:, None]
        z = diffuse(x, w, kappa, h)[:, 0, 0]
        mean = (weight * harmonic(z)).sum() / weight.sum()
        errors.append(mean - np.exp(-mode * (mode + d - 2) * h / kappa))
    if d == 2:
        assert np.abs(errors).max() < 1e-13  # exact: what is left is the quadrature's rounding
    else:
        # each error of one move falls by 2^3: slope 3, less where s = 2 h mode^2 / kappa is not yet small
        assert (slopes(np.array(errors)) > 2.0).all()
        assert slopes(np.array(errors))[-1] > 2.5


def test_the_spread_stays_positive_and_below_that_of_flat_space_for_any_step() -> None:
    for d in (2, 3, 64, 4096):
        for h in (1e-12, 1e-3, 1.0, 1e6):
            assert 0.0 < spread(3.0, h, d) <= np.sqrt(2.0 / 3.0)


def test_without_noise_the_step_is_heun() -> None:
    model, x = Attention(2.0), nc.uniform(6, 3, seed=1)
    w = increment(0, 0, 0.05, 0.05, 0, 6, 3)
    quiet = noisy_step(lambda y: drift(model, y), x, (w, w), 1e40, 0.1)
    np.testing.assert_allclose(quiet, heun(lambda y: drift(model, y), x, 0.1), atol=1e-15)


# Weak order 2: the error of one step falls by 8 when the step is halved


def local_slopes(error: Callable[[float], Array]) -> Array:
    return slopes(np.stack([error(dt) for dt in STEPS]))


def field(d: int, eta: float) -> Attention:
    """One token, drift eta P_x e_1: a frozen token of weight a at e_1, beta = 0, eta = a / (1 + a)."""
    return Attention(0.0, frozen=Frozen(np.eye(d)[:1], weight=eta / (1.0 - eta)))


def mean_powers(d: int, kappa: float, eta: float, z: float, t: float, powers: int = 30) -> Array:
    """E z(t)^p for p = 0, 1, ... of z = <x, e_1> in that field, from the powers of the generator
    (1/kappa) ((1 - z^2) f'' - (d-1) z f') + eta (1 - z^2) f'."""
    L = np.zeros((powers + 4, powers + 4))
    for p in range(powers + 1):
        L[p, p] -= (p * (p - 1) + (d - 1) * p) / kappa
        L[p, p + 1] -= eta * p
        if p > 0:
            L[p, p - 1] += eta * p
        if p > 1:
            L[p, p - 2] += p * (p - 1) / kappa
    return np.asarray(expm(t * L)[:powers] @ z ** np.arange(powers + 4))


@pytest.mark.parametrize("d", [2, 3])
def test_a_step_in_a_field_has_weak_order_two(d: int) -> None:
    kappa, eta = 2.0, 0.6
    model = field(d, eta)
    x = np.array([0.6, 0.8]) if d == 2 else np.array([0.48, 0.64, 0.6])
    m = 1 if d == 2 else d
    nodes, weight = gaussian_nodes(8 if d == 3 else 16, 2 * m - (d == 3))
    if d == 3:  # the first increment needs no part along x
        frame = np.linalg.svd(x[None])[2][1:]  # (2, 3) tangent at x
        nodes = np.concatenate([nodes[:, :2] @ frame, nodes[:, 2:]], axis=1)  # (p, 6)

    def error(dt: float) -> Array:
        w = np.sqrt(dt / 2.0) * nodes[:, None, :]  # (p, 1, 2 m)
        y = noisy_step(
            lambda y: drift(model, y), np.tile(x, (len(w), 1, 1)), (w[..., :m], w[..., m:]), kappa, dt
        )
        z = y[:, 0, 0]  # (p,)
        mean = np.array([(weight * z**p).sum() for p in (1, 2, 3)])
        return mean - mean_powers(d, kappa, eta, x[0], dt)[1:4]

    found = local_slopes(error)
    assert (found[-1] > 2.7).all(), found


def test_a_step_with_attention_has_weak_order_two() -> None:
    # two tokens on the circle under the full mask: the angle between them moves by itself
    beta, kappa, phi = 1.5, 3.0, 1.1
    model = Attention(beta, mask="full")
    angle = np.array([0.3, 0.3 + phi])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=-1)  # (2, 2)
    nodes, weight = gaussian_nodes(12, 4)
    p = 2.0 * np.pi * np.arange(64) / 64
    # d/dphi and its square for 64 values on the circle, by the Fourier series
    k = np.fft.fftfreq(64, 1.0 / 64)
    D, D2 = (np.fft.ifft(q[:, None] * np.fft.fft(np.eye(64), axis=0), axis=0).real for q in (1j * k, -k * k))
    pull = -2.0 * np.sin(p) * np.exp(beta * np.cos(p)) / (np.exp(beta) + np.exp(beta * np.cos(p)))
    L = 2.0 / kappa * D2 + pull[:, None] * D

    def error(dt: float) -> Array:
        w = np.sqrt(dt / 2.0) * nodes.reshape(-1, 2, 2, 1)  # (p, half, token, 1)
        y = noisy_step(lambda y: drift(model, y), np.tile(x, (len(w), 1, 1)), (w[:, 0], w[:, 1]), kappa, dt)
        f = (y[:, 0] * y[:, 1]).sum(-1)  # (p,) cos of the angle between the two
        then = np.fft.fft(expm(dt * L) @ np.cos(p)) / 64  # its exact mean, as a function of the angle before
        return np.array([(weight * f).sum() - (then * np.exp(1j * k * phi)).sum().real])

    found = local_slopes(error)
    assert (found[-1] > 2.7).all(), found
