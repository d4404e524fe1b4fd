"""The threshold of noise against the growth of a small mean, and ordered states against the equation of the
law in time and against an iteration with another quadrature."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import eval_legendre, i0e, iv

from nucleate.attention import Attention, drift
from nucleate.checks import Array, InputError
from nucleate.theory.noise_threshold import (
    beta_star,
    coexistence,
    fold,
    heat_decay,
    kappa_c,
    mode_growth,
    ordered_states,
)

# The uniform law


def sphere_quadrature(d: int) -> tuple[Array, Array]:
    """Points (m, d) of the sphere and their weights (m,): a circle, or Gauss and Legendre times a circle."""
    angle = 2.0 * np.pi * np.arange(48) / 48
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)  # (48, 2)
    if d == 2:
        return circle, np.full(48, 1.0 / 48)
    c, w = np.polynomial.legendre.leggauss(24)
    s = np.sqrt(1.0 - c * c)
    points = np.concatenate(
        [np.repeat(c, 48)[:, None], np.repeat(s, 48)[:, None] * np.tile(circle, (24, 1))], axis=1
    )
    return points, np.repeat(w / 2.0, 48) / 48


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("beta", [0.0, 0.5, 3.0, 8.0])
def test_a_small_mean_grows_exactly_from_kappa_c_on(beta: float, d: int) -> None:
    x, w = sphere_quadrature(d)  # (m, d), (m,)
    small = 1e-6
    mu = w * (1.0 + small * x[:, 0])  # (m,)
    field = (np.exp(beta * x @ x.T) * mu) @ x  # (m, d) int e^{beta <x, y>} y mu(dy)
    velocity = field - (field * x).sum(1, keepdims=True) * x  # (m, d)
    pull = float(mu @ velocity[:, 0]) / float(mu @ x[:, 0])  # what attention does to the mean
    for kappa in (0.5 * kappa_c(beta, d), kappa_c(beta, d), 3.0 * kappa_c(beta, d)):
        growth = pull - (d - 1) / kappa  # the Laplacian of x is -(d - 1) x
        # the second order of what is small, and rounding over it
        assert mode_growth(beta, d, kappa) == pytest.approx(growth, abs=1e-8 * (1.0 + pull))
    assert mode_growth(beta, d, kappa_c(beta, d)) == pytest.approx(0.0, abs=1e-13 * pull)


def test_tokens_of_the_equation_without_noise_grow_their_mean_so() -> None:
    beta, n = 3.0, 400
    angle = 2.0 * np.pi * np.arange(n) / n
    angle = angle - 1e-6 * np.sin(angle)  # (n,)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)  # (n, 2)
    v = drift(Attention(beta, mask="full", weights="exponential"), x)
    assert v[:, 0].mean() / x[:, 0].mean() == pytest.approx(1.0 / kappa_c(beta, 2), rel=1e-6)


def test_on_the_circle_the_threshold_is_beta_over_bessel_and_kuramotos_for_beta_zero() -> None:
    for beta in (0.1, 1.0, 9.0):
        assert kappa_c(beta, 2) == pytest.approx(beta / iv(1, beta), rel=1e-13)
    assert kappa_c(0.0, 2) == 2.0
    for d in (2, 3, 7):
        assert kappa_c(0.0, d) == d
        assert kappa_c(1e-4, d) == pytest.approx(d, rel=1e-7)
    # in three dimensions the Bessel functions are elementary
    assert kappa_c(2.0, 3) == pytest.approx(2.0 / (np.cosh(2.0) / 2.0 - np.sinh(2.0) / 4.0), rel=1e-13)


def test_the_first_harmonic_is_the_first_to_grow() -> None:
    for beta, d in ((0.5, 2), (20.0, 2), (5.0, 4)):
        assert all(mode_growth(beta, d, kappa_c(beta, d), degree) < 0.0 for degree in (2, 3, 9))


# The order of the transition


def test_beta_star_is_as_published() -> None:
    assert [beta_star(d) for d in (2, 3, 4)] == pytest.approx([2.4469, 1.8162, 1.5753], abs=5e-5)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_branch_of_ordered_states_turns_back_from_beta_star_on(d: int) -> None:
    for factor, sign in ((0.9, 1.0), (0.99, 1.0), (1.01, -1.0), (1.1, -1.0)):
        beta = factor * beta_star(d)
        branch = ordered_states(beta, d, [0.02])
        assert np.sign(branch.kappa[0] - kappa_c(beta, d)) == sign
        assert np.sign(branch.free_energy[0]) == -sign


def test_fold_and_coexistence_lie_in_their_order() -> None:
    for beta, d in ((4.0, 2), (3.0, 3)):
        (low, order), (middle, ordered) = fold(beta, d), coexistence(beta, d)
        assert low < middle < kappa_c(beta, d)
        assert 0.0 < order < ordered < 1.0
        branch = ordered_states(beta, d)
        assert branch.stable[branch.order > order + 0.01].all()
        assert not branch.stable[branch.order < order - 0.01].any()
    for found in (fold(2.0, 2), coexistence(2.0, 2)):
        assert found == (kappa_c(2.0, 2), 0.0)


# The ordered states


def law_in_time(beta: float, kappa: float, a0: Array, t: float) -> Array:
    """a_k = <cos k angle> (L,) after the time t, d = 2, by the equation of the law in Fourier's modes:

    a_k' = -k^2 a_k / kappa + (k / beta) sum_l l I_l(beta) a_l (a_{|k-l|} - a_{k+l}).
    """
    L = len(a0)
    k = np.arange(1, L + 1)
    pull = k * iv(k, beta) / beta  # (L,)

    def rates(_: float, a: Array) -> Array:
        padded = np.concatenate([[1.0], a, np.zeros(L)])  # (2 L + 1,) a_0 .. a_2L
        gap, total = np.abs(k[:, None] - k), k[:, None] + k  # (L, L)
        return -(k**2) * a / kappa + k * ((padded[gap] - padded[total]) @ (pull * a))

    solved = solve_ivp(rates, (0.0, t), a0, "LSODA", rtol=1e-9, atol=1e-12)
    assert solved.success
    return solved.y[:, -1]


def test_above_beta_star_the_order_depends_on_where_the_law_comes_from() -> None:
    beta, k = 4.0, np.arange(1.0, 41.0)
    branch = ordered_states(beta, 2, np.linspace(0.01, 0.9, 891))
    nearly_uniform, ordered = 0.02**k, 0.9**k  # (40,) moments of laws of these orders
    for kappa in (0.39, 0.4, 0.405):  # between the fold, 0.3871, and kappa_c, 0.4099
        orders, stable = branch.at(kappa)
        assert stable.tolist() == [False, True]
        assert law_in_time(beta, kappa, nearly_uniform, 4e2)[0] < 1e-3  # upwards
        # downwards; the branch is interpolated over steps of 0.001
        assert law_in_time(beta, kappa, ordered, 4e2)[0] == pytest.approx(orders[1], abs=1e-5)
        # and the unstable one parts the two
        for factor, end in ((0.85, 0.0), (1.15, orders[1])):
            start = (factor * orders[0]) * np.where(k == 1, 1.0, _tail(beta, kappa, orders[0], k))
            assert law_in_time(beta, kappa, start, 1e3)[0] == pytest.approx(end, abs=1e-3)
    low, high = fold(beta, 2)[0], kappa_c(beta, 2)
    assert law_in_time(beta, 0.98 * low, ordered, 4e2)[0] < 1e-3
    orders, stable = branch.at(1.05 * high)
    assert stable.tolist() == [True]
    assert law_in_time(beta, 1.05 * high, nearly_uniform, 4e2)[0] == pytest.approx(orders[0], abs=1e-5)


def _tail(beta: float, kappa: float, order: float, k: Array) -> Array:
    """Moments of an ordered state over its first, (L,), by iterating all but the first."""
    angle = 2.0 * np.pi * np.arange(256) / 256
    cosines = np.cos(k[:, None] * angle)  # (L, 256)
    a = order**k
    for _ in range(500):
        law = np.exp((2.0 * kappa / beta) * (iv(k, beta) * a) @ cosines)
        a = np.where(k == 1, order, cosines @ law / law.sum())
    return a / order


def test_below_beta_star_the_order_grows_continuously() -> None:
    branch = ordered_states(1.0, 2)
    assert branch.stable.all()
    small = 0.02 ** np.arange(1.0, 41.0)
    orders, stable = branch.at(1.02 * kappa_c(1.0, 2))
    assert stable.tolist() == [True]
    assert law_in_time(1.0, 1.02 * kappa_c(1.0, 2), small, 2e3)[0] == pytest.approx(orders[0], abs=1e-4)
    assert branch.at(0.9 * kappa_c(1.0, 2))[0].size == 0


@pytest.mark.parametrize(("beta", "kappa"), [(3.0, 1.25), (1.0, 3.5)])
def test_in_three_dimensions_iterating_the_law_ends_at_the_stable_state(beta: float, kappa: float) -> None:
    c, w = np.polynomial.legendre.leggauss(120)
    s = np.sqrt(1.0 - c * c)
    # the mean of e^{beta <x, y>} over the circles with cosines c and c'
    kernel = i0e(beta * np.outer(s, s)) * np.exp(beta * (np.outer(c, c) + np.outer(s, s)))  # (120, 120)
    mu = w * np.exp(5.0 * c)
    for _ in range(3000):
        mu = w * np.exp((kappa / beta) * kernel @ (mu / mu.sum()))
    orders, stable = ordered_states(beta, 3, np.linspace(0.01, 0.95, 1881)).at(kappa)
    assert float(mu @ c / mu.sum()) == pytest.approx(orders[stable][-1], abs=1e-5)


# Noise alone


def test_noise_alone_decays_like_heat_on_the_circle_and_the_sphere() -> None:
    t, kappa = 0.7, 2.0
    nodes, w = np.polynomial.hermite_e.hermegauss(60)
    for degree in (1, 2, 5):  # the angle is normal with the variance 2 t / kappa
        mean = float(w @ np.cos(degree * np.sqrt(2.0 * t / kappa) * nodes) / w.sum())
        assert heat_decay(2, kappa, t, degree) == pytest.approx(mean, abs=1e-12)
    c, step = np.linspace(-0.9, 0.9, 7), 1e-4
    for degree in (1, 2, 5):  # the Laplacian of P_l(c) is ((1 - c^2) P_l')'

        def flux(at: Array, degree: int = degree) -> Array:
            slope = (eval_legendre(degree, at + step) - eval_legendre(degree, at - step)) / (2.0 * step)
            return (1.0 - at**2) * slope

        laplacian = (flux(c + step) - flux(c - step)) / (2.0 * step)
        rate = np.log(heat_decay(3, kappa, t, degree)) * kappa / t
        assert laplacian == pytest.approx(float(rate) * eval_legendre(degree, c), abs=1e-4)
    assert heat_decay(5, 2.0, [0.0, 1.0]) == pytest.approx([1.0, np.exp(-2.0)], rel=1e-15)


def test_impossible_noise_is_refused() -> None:
    with pytest.raises(InputError, match="kappa must be finite and greater than 0, but is 0"):
        heat_decay(3, 0.0, 1.0)
    with pytest.raises(InputError, match="beta must be at most 300, but is 301"):
        kappa_c(301.0, 2)
    with pytest.raises(InputError, match="d must be a whole number of at least 2"):
        beta_star(1)
    with pytest.raises(InputError, match=r"order must be numbers \(m,\) above 0 and up to 0\.995"):
        ordered_states(1.0, 2, [0.0, 0.5])
    with pytest.raises(InputError, match="order must rise"):
        ordered_states(1.0, 2, [0.5, 0.4])
