"""Boxes proved by interval arithmetic: what they are made of is the equation, and false ones are refused."""

import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.checks import Array
from nucleate.papers.causal_clustering.conjectures.attracting_box import (
    _Field,
    _inverse,
    attracting_box,
    largest_attracting_box,
    within_conjecture_1,
)
from nucleate.papers.causal_clustering.conjectures.counterexamples import stored_counterexamples, verify
from nucleate.papers.causal_clustering.shared.interval_arithmetic import interval_array, product
from nucleate.sphere import uniform

STORED = {one.name: one for one in stored_counterexamples()}
SINK = np.array([[1.0, 0.0], [-0.96, 0.28]])


def field_of(model: Attention, x: Array) -> _Field:
    _, Q, K, V = model.parameters(x.shape[1])
    A = product(interval_array(K.T), interval_array(Q))
    return _Field(float(model.beta), A, interval_array(V), x)


@pytest.mark.parametrize("seed", range(4))
def test_the_continued_velocity_is_the_equation_and_its_derivatives_are_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = 4, int(rng.integers(2, 4))
    Q, K, V = rng.standard_normal((3, d, d))
    model, x = Attention(0.8, Q=Q, K=K, V=V), uniform(n, d, seed)
    field, right = field_of(model, x), drift(model, x)
    places = [interval_array(row) for row in x]
    for k in range(n):
        found = field.velocity(places, k)
        # x is on the sphere only to rounding
        assert (found.low - 1e-13 <= right[k]).all()
        assert (right[k] <= found.high + 1e-13).all()
        for j, derivative in enumerate(field.derivatives(places, k)):
            for b in range(d):
                ends = []
                for sign in (1.0, -1.0):
                    moved = x.copy()
                    moved[j, b] += sign * 1e-6
                    ends.append(field.velocity([interval_array(row) for row in moved], k).low)
                assert derivative.low[:, b] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["exact_sink", "non_normal", "non_normal_five_tokens", "searched_general"])
def test_a_box_is_proved_and_starts_within_its_ball_do_end_there(name: str) -> None:
    from nucleate.integrate.simulate import simulate

    found = verify(STORED[name])
    box = found.box
    assert box.holds, box.failure
    assert 0.0 < box.rate < -found.growth
    assert 0.0 < box.off < found.off
    n, d = found.x.shape
    change = np.random.default_rng(1).standard_normal((8, n, d))
    change *= 0.9 * box.ball / np.linalg.norm(change, axis=(1, 2), keepdims=True)
    start = found.x + change
    start /= np.linalg.norm(start, axis=-1, keepdims=True)
    t = 20.0 / box.rate
    end = simulate(STORED[name].model, start, t, save=[t]).x[:, -1]
    assert np.abs(end - found.x).max() < 1e-6


def test_a_box_without_equilibrium_is_refused() -> None:
    # the sink of V = (4 -4; 0 1), displaced along the circle by more than its radius
    model, at = STORED["exact_sink"].model, np.arctan2(0.28, -0.96) + 0.01
    moved = np.array([[1.0, 0.0], [np.cos(at), np.sin(at)]])
    assert attracting_box(model, SINK, 1e-3).holds
    assert "may leave the box" in attracting_box(model, moved, 1e-3).failure


def test_a_saddle_is_refused() -> None:
    # V (e_1 + e_2)/2 = e_2/2: the other equilibrium of the same model
    model, x = STORED["exact_sink"].model, np.array([[1.0, 0.0], [0.0, 1.0]])
    assert np.abs(drift(model, x)).max() == 0.0
    assert "may grow" in largest_attracting_box(model, x).failure


def test_a_box_that_is_too_large_is_refused() -> None:
    model = STORED["exact_sink"].model
    assert "may grow" in attracting_box(model, SINK, 0.5).failure
    # 0.28 wide, it would hold the pole
    assert not attracting_box(model, SINK, 0.3).holds


def test_tokens_at_the_poles_and_matrices_outside_the_conjecture_are_refused() -> None:
    model = Attention(1.0, V=np.diag([1.0, 0.5]))
    assert "poles" in largest_attracting_box(model, np.array([[1.0, 0.0], [1.0, 0.0]])).failure
    for V in (
        [[1.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.1, 0.5]],
        [[1.0, 0.0], [0.0, -0.5]],
        [[0.5, 0.0], [0.0, 1.0]],
    ):
        assert not within_conjecture_1(np.array(V))
        assert "V is not" in attracting_box(Attention(1.0, V=V), SINK, 1e-3).failure


def test_an_inverse_is_enclosed_and_a_singular_matrix_refused() -> None:
    S = np.random.default_rng(0).standard_normal((3, 3))
    found = _inverse(S)
    assert found is not None
    one = product(found, interval_array(S))
    assert (one.low <= np.eye(3)).all()
    assert (np.eye(3) <= one.high).all()
    assert (found.high - found.low).max() < 1e-12
    assert _inverse(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-16]]) + np.diag([0.0, 2e-16])) is None
