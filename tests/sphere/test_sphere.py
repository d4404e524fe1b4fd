"""Geometry of the sphere, and uniform starts."""

import math
from typing import Any

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.sphere import distance, retract, tangent, uniform

EPS = float(np.finfo(float).eps)


def test_distance_is_accurate_for_close_and_for_antipodal_points() -> None:
    for angle in (1e-12, 1e-6, 1.0, math.pi - 1e-6, math.pi):
        x, y = np.array([[1.0, 0.0]]), np.array([[math.cos(angle), math.sin(angle)]])
        # cos(1e-12) itself rounds to 1; atan2 keeps the sine
        assert distance(x, y) == pytest.approx(angle, rel=1e-9, abs=4 * EPS)


def test_the_distance_of_two_points_is_a_number_and_of_arrays_one_each() -> None:
    x, y = uniform(5, 3, seed=0), uniform(5, 3, seed=1)
    assert np.shape(distance(x[0], y[0])) == ()
    assert float(distance(x[0], y[0])) == distance(x, y)[0]
    assert distance(x, y).shape == (5,)
    assert distance(x[0], y).shape == (5,)
    assert distance(x[:, None], y[None]).shape == (5, 5)


def test_the_tangent_part_is_tangent_and_the_rest_is_along_the_point() -> None:
    x, y = uniform(20, 4, seed=0), np.random.default_rng(1).standard_normal((20, 4))
    part = tangent(x, y)
    assert np.abs((part * x).sum(-1)).max() <= 16 * EPS  # a sum of four products, each rounded
    along = y - part
    assert np.abs(along - (along * x).sum(-1, keepdims=True) * x).max() <= 16 * EPS


def test_retracting_gives_the_nearest_point_and_leaves_points_of_the_sphere() -> None:
    x = uniform(20, 3, seed=0)
    assert np.abs(retract(7.0 * x) - x).max() <= 2 * EPS
    assert np.abs(retract(x) - x).max() <= 2 * EPS


def test_uniform_points_have_no_preferred_direction() -> None:
    x = uniform(20_000, 3, seed=0)
    # five standard deviations of the mean of a coordinate
    assert np.abs(x.mean(0)).max() < 5 * math.sqrt(1 / 3 / 20_000)
    # Var(x_i^2) = 4/45
    assert np.abs(x.T @ x / 20_000 - np.eye(3) / 3).max() < 5 * math.sqrt(4 / 45 / 20_000)
    assert np.array_equal(x[:5], retract(x)[:5]) or np.abs(x - retract(x)).max() <= 2 * EPS


def test_many_starts_are_one_for_each_stream_of_the_seed_whatever_their_number() -> None:
    x = uniform(7, 3, seed=5, runs=4)
    assert x.shape == (4, 7, 3)
    for run in range(4):
        stream = np.random.SeedSequence(5, spawn_key=(run,))
        assert np.array_equal(x[run], uniform(7, 3, stream))
    assert np.array_equal(x[:2], uniform(7, 3, seed=5, runs=2))
    assert len({start.tobytes() for start in x}) == 4


@pytest.mark.parametrize("runs", [0, -1, 1.5, "3", True])
def test_a_number_of_starts_that_is_none_is_refused(runs: Any) -> None:
    with pytest.raises(InputError, match="runs must be a whole number"):
        uniform(7, 3, seed=5, runs=runs)


def test_many_starts_need_a_number_as_seed() -> None:
    with pytest.raises(InputError, match="seed must be a whole number"):
        uniform(7, 3, np.random.default_rng(0), runs=2)


def test_points_drawn_in_pieces_are_those_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = uniform(1000, 3, seed=1), uniform(100, 4, seed=2, runs=3)
    monkeypatch.setattr("nucleate.sphere.NUMBERS_AT_ONCE", 7)
    assert (uniform(1000, 3, seed=1) == at_once[0]).all()
    assert (uniform(100, 4, seed=2, runs=3) == at_once[1]).all()
