"""Exact solutions of the theory room against 40 digits, closed forms and the solver."""

import mpmath as mp
import numpy as np
import pytest
from support import exact_systems as exact

from nucleate.attention import Attention, Window
from nucleate.checks import Array, InputError
from nucleate.integrate.simulate import simulate
from nucleate.sphere import distance, retract, uniform
from nucleate.theory.flows import (
    equiangular_overlap,
    kuramoto_gap,
    log_two_token_time,
    one_token,
    two_token_overlap,
    two_token_time,
)

EPS = float(np.finfo(float).eps)


def flow_to_40_digits(V: Array, x0: Array, t: float) -> Array:
    """e^{tV} x0, normalised, in mpmath with digits to spare."""
    with mp.workdps(40 + int(np.abs(V).sum() * abs(t))):
        y = mp.expm(mp.matrix(V.tolist()) * mp.mpf(t)) * mp.matrix(x0.tolist())
        length = mp.norm(y)
        return np.array([float(c / length) for c in y])


# One token


def test_one_token_equals_the_matrix_exponential_to_40_digits() -> None:
    rng = np.random.default_rng(0)
    for d in (2, 3, 5):
        for t in (-3.0, 0.0, 0.1, 2.0, 15.0):
            V, x0 = rng.standard_normal((d, d)), uniform(1, d, rng)[0]
            # Rounding of tV is |tV| eps; how much the flow stretches it, e^{|t| |V|}, is bounded here by
            # squaring: below 1e3 for these.
            assert np.abs(one_token(V, x0, t) - flow_to_40_digits(V, x0, t)).max() < 1e3 * EPS * (
                1.0 + abs(t) * np.abs(V).sum()
            )


def test_one_token_obeys_the_equation() -> None:
    rng = np.random.default_rng(1)
    V, x0 = rng.standard_normal((4, 4)), uniform(1, 4, rng)[0]
    step = 1e-4
    before, now, after = one_token(V, x0, np.array([0.7 - step, 0.7, 0.7 + step]))
    velocity = V @ now - (now @ V @ now) * now
    # the third derivative, |V|^3 or so
    assert np.allclose((after - before) / (2 * step), velocity, atol=100 * step**2)


def test_one_token_is_a_flow() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        V, x0 = rng.standard_normal((4, 4)), uniform(1, 4, rng)[0]
        s, t = rng.uniform(0.0, 3.0, size=2)
        assert distance(one_token(V, one_token(V, x0, s), t), one_token(V, x0, s + t)) < 1e-11
        # back to where it was, which expands what rounding left
        assert distance(one_token(V, one_token(V, x0, s), -s), x0) < 1e-10


def test_one_token_for_very_long_times() -> None:
    x0 = np.array([0.6, 0.0, 0.8])
    V = np.diag([1.0, 0.5, -2.0])
    assert np.abs(one_token(V, x0, 1e300) - [1.0, 0.0, 0.0]).max() == 0.0
    assert np.abs(one_token(V, x0, -1e300) - [0.0, 0.0, 1.0]).max() == 0.0
    # a start in a decaying direction, kept there by the zeros of V
    assert one_token(V, [0.0, 0.0, 1.0], 1e300).tolist() == [0.0, 0.0, 1.0]
    block = np.eye(4) + np.eye(4, k=1)  # e^{tV} grows like t^3 / 6: directions t^3/6, t^2/2, t, 1
    for t in (1e3, 1e10, 1e30):
        exact_way = retract([1.0, 3.0 / t, 6.0 / t**2, 6.0 / t**3])
        assert one_token(block, [0.0, 0.0, 0.0, 1.0], t) == pytest.approx(exact_way, rel=1e-12)
    turn = np.array([[0.5, -3.0], [3.0, 0.5]])
    assert np.abs(one_token(turn, [1.0, 0.0], 1e6) - [np.cos(3e6), np.sin(3e6)]).max() < 3e6 * 8 * EPS


def test_one_token_agrees_with_the_solver() -> None:
    rng = np.random.default_rng(3)
    V, x0 = rng.standard_normal((3, 3)), uniform(1, 3, rng)
    run = simulate(Attention(2.0, V=V), x0, 6.0, save=5, rtol=1e-10, atol=1e-12)
    assert np.abs(one_token(V, x0[0], run.t) - run.x[:, 0]).max() < 1e-8


def test_one_token_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match=r"V and x0 must have shapes \(d, d\) and \(d,\)"):
        one_token(np.eye(3), [1.0, 0.0], 1.0)
    with pytest.raises(InputError, match="t V must be finite"):
        one_token(np.diag([1e200, 1.0]), [0.6, 0.8], 1e200)
    with pytest.raises(InputError, match="Jordan blocks make powers of t"):
        one_token(np.eye(9) + np.eye(9, k=1), np.eye(9)[8], 1e100)
    with pytest.raises(InputError, match="x0 must have rows of length 1"):
        one_token(np.eye(2), [1.0, 1.0], 1.0)
    with pytest.raises(InputError, match="t must be finite"):
        one_token(np.eye(2), [1.0, 0.0], np.inf)


# Two tokens


def test_two_token_times_are_those_of_the_paper_notes() -> None:
    for beta, u0, u1, time in (
        (9.0, 0.0, 0.99, 931.0725701),
        (4.0, -0.9, 0.5, 1203.1764650),
        (1.0, 0.2, 0.999, 7.8402664865),
    ):
        assert two_token_time(beta, u0, u1) == pytest.approx(time, rel=1e-10)  # ten printed digits


@pytest.mark.parametrize("beta", [0.0, 1e-12, 1e-3, 0.5, 4.0, 9.0, 64.0, 300.0])
@pytest.mark.parametrize("weight", [1.0, 700.0])
def test_two_token_time_equals_the_closed_form_in_40_digits(beta: float, weight: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        s0, way = rng.uniform(-12.0, 8.0), 10.0 ** rng.uniform(-6.0, 1.0)
        u0, u1 = float(np.tanh(s0)), float(np.tanh(s0 + way))
        if not -1.0 < u0 < u1 < 1.0:
            continue
        expected = exact.two_token_time(u0, u1, beta, weight)
        # The exponent beta (1 - u0) is rounded: that many eps; quadrature is asked for 1e-13.
        assert two_token_time(beta, u0, u1, weight) == pytest.approx(expected, rel=4e-13 + 8 * EPS * beta)
        assert two_token_time(beta, u1, u0, weight) == -two_token_time(beta, u0, u1, weight)
        assert log_two_token_time(beta, u0, u1, weight) == pytest.approx(
            float(np.log(expected)), rel=1e-13, abs=4e-13 + 8 * EPS * beta
        )


def test_two_token_time_at_beta_0_is_twice_the_artanh() -> None:
    assert two_token_time(0.0, -0.5, 0.9) == pytest.approx(
        2.0 * (np.arctanh(0.9) + np.arctanh(0.5)), rel=1e-14
    )


def test_a_very_large_beta_gives_a_logarithm_where_the_time_overflows() -> None:
    for beta in (1e3, 1e6, 1e12):
        assert two_token_time(beta, -0.9, 0.9) == np.inf
        # Laplace: the time is spent at u0, T = e^{beta (1 - u0)} / (beta (1 - u0^2)) (1 + O(1/beta)); d/du of
        # 1/(1 - u^2) gives the constant, 10.
        leading = beta * 1.9 - np.log(beta * (1.0 - 0.81))
        assert log_two_token_time(beta, -0.9, 0.9) == pytest.approx(leading, abs=20.0 / beta + 4 * EPS * beta)


def test_two_token_overlap_turns_the_time_round() -> None:
    for beta in (0.0, 1.0, 9.0):
        for u0, u1 in ((-0.9, 0.5), (0.0, 0.99), (0.2, 0.999999)):
            t = two_token_time(beta, u0, u1)
            # dT/du = (1 + e^{beta (1 - u)}) / (1 - u^2): an error of 1e-13 T in time is this much in u.
            assert two_token_overlap(beta, u0, t) == pytest.approx(u1, abs=1e-12 * (1.0 + t))
            assert two_token_overlap(beta, u1, -t) == pytest.approx(u0, abs=1e-9)
    assert two_token_overlap(9.0, 0.3, 0.0) == 0.3
    assert two_token_overlap(1.0, 0.2, 1e4) == 1.0 - 2.0**-53
    assert two_token_overlap(1.0, 0.2, -1e9) == -1.0 + 2.0**-53


def test_two_token_overlap_agrees_with_the_solver() -> None:
    x0 = np.array([[1.0, 0.0, 0.0], [-0.5, np.sqrt(0.75), 0.0]])
    run = simulate(Attention(4.0), x0, 300.0, save=7, rtol=1e-10, atol=1e-12)
    for t, x in zip(run.t[1:], run.x[1:], strict=True):
        # the start's rounding grows e^{beta 1.5}-fold
        assert float(x[0] @ x[1]) == pytest.approx(two_token_overlap(4.0, -0.5, float(t)), abs=1e-6)


def test_overlaps_that_no_two_tokens_have_are_refused() -> None:
    with pytest.raises(InputError, match="u1 must be less than 1, but is 1"):
        two_token_time(1.0, 0.0, 1.0)
    with pytest.raises(InputError, match="u0 must be finite and greater than -1"):
        two_token_time(1.0, -1.0, 0.0)
    with pytest.raises(InputError, match="u1 must be greater than u0"):
        log_two_token_time(1.0, 0.5, 0.5)
    with pytest.raises(InputError, match="beta must be finite and at least 0"):
        two_token_time(-1.0, 0.0, 0.5)
    assert two_token_time(1.0, 0.5, 0.5) == 0.0


# Many tokens


@pytest.mark.parametrize(("n", "beta", "rho0"), [(4, 1.0, 0.0), (8, 4.0, 0.1), (3, 0.0, -0.4)])
def test_equiangular_tokens_keep_equal_overlaps_which_the_formula_gives(
    n: int, beta: float, rho0: float
) -> None:
    gram = np.full((n, n), rho0) + (1.0 - rho0) * np.eye(n)
    run = simulate(
        Attention(beta, mask="full"), retract(np.linalg.cholesky(gram)), 5.0, save=4, rtol=1e-10, atol=1e-12
    )
    for t, x in zip(run.t, run.x, strict=True):
        overlaps = (x @ x.T)[~np.eye(n, dtype=bool)]
        assert overlaps == pytest.approx(
            np.full(n * (n - 1), equiangular_overlap(n, beta, rho0, float(t))), abs=1e-8
        )


def test_equiangular_overlaps_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match=r"rho0 must be greater than -1/\(n - 1\) = -0.5"):
        equiangular_overlap(3, 1.0, -0.5, 1.0)
    with pytest.raises(InputError, match="n must be a whole number of at least 2"):
        equiangular_overlap(1, 1.0, 0.0, 1.0)
    with pytest.raises(InputError, match=r"beta \(1 - rho0\) must be at most 700, but is 1000"):
        equiangular_overlap(3, 1000.0, 0.0, 1.0)
    assert equiangular_overlap(3, 1.0, 0.3, 0.0) == 0.3
    assert equiangular_overlap(3, 1.0, 0.3, 1e300) == 1.0


def test_two_kuramoto_groups_close_their_gap_as_the_formula_says() -> None:
    angles = np.repeat([0.3, 0.3 + 2.5], [3, 5])
    x0 = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    run = simulate(Attention(0.0, mask="full"), x0, 8.0, save=6, rtol=1e-10, atol=1e-12)
    assert distance(run.x[:, 0], run.x[:, -1]) == pytest.approx(kuramoto_gap(2.5, run.t), abs=1e-8)
    with pytest.raises(InputError, match="gap must lie between -pi and pi"):
        kuramoto_gap(np.pi, 1.0)


def test_the_two_token_clock_also_runs_under_a_window_of_two() -> None:
    x0 = np.array([[1.0, 0.0], [0.0, 1.0]])
    run = simulate(Attention(1.0, mask=Window(2)), x0, 4.0, save=3, rtol=1e-10, atol=1e-12)
    assert [float(x[0] @ x[1]) for x in run.x[1:]] == pytest.approx(
        [two_token_overlap(1.0, 0.0, float(t)) for t in run.t[1:]], abs=1e-8
    )
