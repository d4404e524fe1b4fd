"""Lyapunov exponents: those that are known exactly, nearby runs, prefixes, and what is refused."""

from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.integrate.lyapunov import tangent_frames, window_mean
from nucleate.integrate.variational import diagonal_blocks


def test_tokens_that_gather_at_the_first_have_the_exponents_of_theorem_4_1() -> None:
    found = nc.lyapunov(nc.Attention(2.0), nc.uniform(4, 3, 0), 120.0, since=60.0)
    assert found.status == "done"
    k = np.arange(1, 5)[:, None]
    assert found.exponents == pytest.approx(-(k - 1) / k + np.zeros((4, 2)), abs=1e-6)


def test_two_tokens_that_repel_have_the_rate_of_their_antipodal_rest() -> None:
    beta = 1.0
    found = nc.lyapunov(nc.Attention(beta, V=-np.eye(3)), nc.uniform(2, 3, 0), 400.0, since=200.0)
    assert found.exponents[1] == pytest.approx(-1.0 / (1.0 + np.exp(2.0 * beta)), abs=1e-6)


def test_one_token_has_differences_of_real_parts_of_eigenvalues() -> None:
    # |rotation| is periodic: over a window of 400 the logarithm of its growth is off by about 1
    V = np.array(
        [[-0.2, 1.0, 0.3, 0.0], [-1.5, -0.2, 0.0, 0.1], [0.0, 0.0, -0.7, 0.5], [0.0, 0.0, 0.0, -1.3]]
    )
    found = nc.lyapunov(nc.Attention(1.0, V=V), nc.uniform(1, 4, 0), 500.0, since=100.0, tol=1e-6)
    assert found.exponents[0] == pytest.approx([0.0, -0.5, -1.1], abs=0.005)


@pytest.mark.parametrize(("sign", "beta"), [(-1.0, 50.0), (1.0, 1000.0)])
def test_fast_rates_are_kept_however_far_vectors_shrink_or_grow(sign: float, beta: float) -> None:
    model = nc.Attention(beta, Q=np.diag([2.0 * sign, 0.0]))
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])  # all three at rest
    along = np.array([1.0, 0.0])  # the tangent at the third
    rate = float(along @ diagonal_blocks(model, x)[2] @ along)
    found = nc.lyapunov(model, x, 2.0, since=1.0)
    assert abs(rate) > 60.0
    np.testing.assert_allclose(found.by_token[2], rate, rtol=1e-5)


def test_a_short_window_is_the_window_that_was_asked_for() -> None:
    found = nc.lyapunov(nc.Attention(1.0), nc.uniform(3, 3, seed=1), 1.0, since=0.9)
    in_window = (found.t > 0.9).sum()
    assert in_window >= 8
    expected = found.growth[-in_window:].mean(0) / found.t[0]  # (n, d - 1)
    np.testing.assert_allclose(found.exponents, -np.sort(-expected, axis=1))


def test_two_nearby_simulations_part_as_the_tangent_flow_says_and_later_tokens_change_nothing() -> None:
    rng, token = np.random.default_rng(5), 6
    Q, K, V = rng.standard_normal((3, 3, 3))
    model, x = nc.Attention(4.0, Q, K, V), nc.uniform(8, 3, 0)
    found = nc.lyapunov(model, x, 10.0)
    moved = x.copy()
    moved[token] = nc.retract(x[token] + 1e-6 * tangent_frames(x)[token, 0])
    ends = [nc.simulate(model, one, 10.0, rtol=1e-11, atol=1e-13).x[-1, token] for one in (x, moved)]
    simulated = np.log(np.linalg.norm(ends[1] - ends[0]) / 1e-6)
    assert simulated == pytest.approx(found.growth[:, token, 0].sum(), abs=1e-4)
    fewer = nc.lyapunov(model, x[:5], 10.0)
    assert fewer.by_token == pytest.approx(found.by_token[:5], abs=1e-4)  # steps differ, the run does not
    assert found.largest == found.by_token.max()
    assert "8 tokens, 2 exponents each" in repr(found)


def test_planted_growth_gives_its_rate_and_an_interval_that_holds_it() -> None:
    rng, times = np.random.default_rng(0), np.arange(1, 801) / 2.0
    growth = 0.5 * (np.array([-0.3, 0.1]) + rng.standard_normal((800, 1, 2)))
    growth[:200] = 7.0  # before the window
    exponents, half = window_mean(growth, times, 100.0)
    assert exponents[0, 0] > exponents[0, 1]
    assert (np.abs(exponents[0] - [0.1, -0.3]) < 2.0 * half[0]).all()
    assert (half < 0.2).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": nc.Attention(1.0, mask="full")}, 'mask="full"'),
        ({"model": nc.Attention(1.0, frozen=nc.Frozen(np.eye(2)))}, "frozen tokens"),
        ({"model": nc.Attention(np.ones(2))}, "takes one run"),
        ({"model": nc.Block(nc.Attention(1.0), norm="pre")}, "softmax head"),
        ({"since": 3.0}, "since must be below t"),
        ({"t": 1e9}, "shorter time"),
    ],
)
def test_what_has_no_exponents_by_token_is_refused(change: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"model": nc.Attention(1.0), "x": nc.uniform(3, 2, 0), "t": 2.0}
    with pytest.raises(nc.InputError, match=words):
        nc.lyapunov(**{**good, **change})
