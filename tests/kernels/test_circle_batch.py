"""Eight runs at a time on the circle: each equals the equation, with its own parameters."""

import math
import time

import numpy as np
import pytest
from support.kernel_models import GO, turning
from support.places import on_circle

import nucleate as nc
from nucleate.attention import Attention, Frozen
from nucleate.checks import EPS
from nucleate.kernels.circle_batch import (
    CircleBatch,
    circle_batch_accuracy,
    circle_batch_drift,
    circle_batch_enter,
    circle_batch_leave,
    circle_batch_system,
)
from nucleate.kernels.model_shape import ACCURACIES, Accuracy, model_shape
from nucleate.kernels.simd import LANES


def batch_of(model: Attention, n: int, tolerance: float, accuracy: Accuracy = "brief") -> CircleBatch:
    """Tables for the runs of the model."""
    shapes = [model_shape(model, n, 2, run) for run in range(model.runs or 1)]
    return circle_batch_system(shapes, np.array([tolerance]), accuracy)


@pytest.mark.parametrize(("tolerance", "accuracy"), [(1e-10, "brief"), (2e-12, "whole")])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33])
def test_lanes_equal_the_equation_each_with_its_own_parameters(
    n: int, frozen: bool, tolerance: float, accuracy: Accuracy
) -> None:
    b = LANES + 3
    assert circle_batch_accuracy(model_shape(Attention(64.0), n, 2), tolerance) == accuracy
    rng = np.random.default_rng(n)
    x = np.stack([nc.uniform(n, 2, seed=10 * run) for run in range(b)])
    x[0] = [[1.0, 0.0]] * n  # the recurrence of lanes is least accurate near angle 0 and pi
    x[1] = on_circle(math.pi + 1e-3 * rng.standard_normal(n))
    rest = (
        Frozen(np.stack([nc.uniform(3, 2, seed=90 + run) for run in range(b)]), rng.uniform(1.0, 4.0, (b, 3)))
        if frozen
        else None
    )
    model = Attention(
        rng.uniform(0.0, 64.0, b), V=rng.uniform(-2.0, 2.0, b)[:, None, None] * np.eye(2), frozen=rest
    )
    lanes = batch_of(model, n, tolerance, accuracy)
    expected = nc.drift(model, x, kernel="reference")
    for first in (0, 3):  # so that the last runs travel too, and run 3 in another lane
        angles, velocity = np.zeros((n + 1, LANES)), np.zeros((n + 1, LANES))
        for at in range(LANES):
            circle_batch_enter(lanes, at, first + at)
            angles[:n, at] = np.arctan2(x[first + at, :, 1], x[first + at, :, 0])
        circle_batch_drift(lanes, angles.reshape(-1), velocity.reshape(-1), GO)
        for at in range(LANES):
            run = first + at
            error = np.abs(turning(x[run], velocity[:n, at]) - expected[run]).max()
            # the tolerance asked for, times |V| <= 2; rounding of the angles
            assert error <= tolerance * 2.0 + 64 * 64 * EPS * 2.0, (run, error)


@pytest.mark.parametrize("center", [0.0, math.pi])
def test_products_err_less_than_the_recurrence_where_it_errs_most(center: float) -> None:
    n, beta = 400, 1000.0
    theta = center + 1e-2 * np.random.default_rng(0).standard_normal((n, LANES))
    x = on_circle(theta.T)
    expected = nc.drift(Attention(beta), x, kernel="pairwise")
    errors: dict[Accuracy, float] = {}
    for accuracy in ACCURACIES:
        lanes, velocity = batch_of(Attention(beta), n, 1e-13, accuracy), np.zeros((n, LANES))
        for at in range(LANES):
            circle_batch_enter(lanes, at, at)
        lanes.limit[:] = 1e300  # all by modes
        circle_batch_drift(lanes, theta.reshape(-1), velocity.reshape(-1), GO)
        found = np.stack([turning(x[at], velocity[:, at]) for at in range(LANES)])
        errors[accuracy] = float(np.abs(found - expected).max())
    assert errors["whole"] < 0.3 * errors["brief"], errors


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("used", [1, 3, LANES])
def test_isolated_tokens_behind_clusters_are_computed_pair_by_pair(used: int, frozen: bool) -> None:
    n, tolerance = 6001, 1e-6
    rng = np.random.default_rng(used)
    theta = 0.01 * rng.standard_normal((used, n))
    theta[:, ::500] = rng.uniform(1.0, 5.0, theta[:, ::500].shape)  # each alone, other ones in every lane
    x = on_circle(theta)
    rest = (
        Frozen(
            np.stack([nc.uniform(3, 2, seed=run) for run in range(used)]), rng.uniform(1.0, 4.0, (used, 3))
        )
        if frozen
        else None
    )
    model = Attention(
        rng.uniform(20.0, 60.0, used), V=rng.uniform(-2.0, 2.0, used)[:, None, None] * np.eye(2), frozen=rest
    )
    lanes = batch_of(model, n, tolerance)
    angles, velocity = np.zeros((n + 1, LANES)), np.zeros((n + 1, LANES))
    for at in range(used):
        circle_batch_enter(lanes, at, at)
        angles[:n, at] = theta[at]
    circle_batch_drift(lanes, angles.reshape(-1), velocity.reshape(-1), GO)
    with np.errstate(invalid="ignore"):  # Z is 0 where nothing was summed
        by_pairs = (np.arange(n)[:, None] + 1.0 + lanes.mass > lanes.limit * lanes.Z).any(0)  # (8,)
    # every run has such tokens, and a lane without a run costs nothing
    assert by_pairs.tolist() == [at < used for at in range(LANES)]
    expected = nc.drift(model, x, kernel="pairwise")
    for at in range(used):
        error = np.abs(turning(x[at], velocity[:n, at]) - expected[at]).max()
        # rounding of the angles, times beta
        assert error <= 2.0 * tolerance + 60.0 * 16 * EPS * 2.0, (at, error)
    circle_batch_leave(lanes, 0)
    assert lanes.limit[0] == np.inf


@pytest.mark.parametrize("bad", [0, 3])
def test_a_run_that_is_not_finite_leaves_its_neighbours_alone(bad: int) -> None:
    n = 601
    rng = np.random.default_rng(0)
    theta = 0.01 * rng.standard_normal((LANES, n))
    theta[:, ::100] = rng.uniform(1.0, 5.0, theta[:, ::100].shape)  # each alone, behind a cluster
    V = np.repeat(np.eye(2)[None], LANES, axis=0)
    alone = nc.simulate(
        Attention(40.0, V=V), on_circle(theta), 2.0, save=3, rtol=1e-5, atol=1e-6, method="explicit"
    )
    V[bad] *= 1.7e308
    beside = nc.simulate(
        Attention(40.0, V=V), on_circle(theta), 2.0, save=3, rtol=1e-5, atol=1e-6, method="explicit"
    )
    others = [run for run in range(LANES) if run != bad]
    assert beside.status[bad] == "non-finite"
    assert np.array_equal(beside.x[others], alone.x[others])


def test_lanes_without_a_run_cost_next_to_nothing() -> None:
    x = np.stack([nc.uniform(200, 2, seed=run) for run in range(LANES)])

    def seconds(b: int) -> float:
        began = time.process_time()
        nc.simulate(Attention(64.0), x[:b], 20.0, rtol=1e-6, atol=1e-9)
        return time.process_time() - began

    seconds(2)  # compiled by now
    # was 27 times, when empty lanes were computed pair by pair too
    assert min(seconds(2) for _ in range(3)) < 3.0 * min(seconds(LANES) for _ in range(3))


def test_a_heavy_frozen_token_does_not_drown_the_tokens_of_a_batch() -> None:
    x = np.stack([nc.uniform(60, 2, seed=run) for run in range(8)])
    model = Attention(64.0, frozen=Frozen([[1.0, 0.0]], 1e12))
    batch = nc.simulate(model, x, 1.0, save=2, rtol=1e-6, atol=1e-8).x
    assert (
        np.abs(
            batch[:, -1]
            - np.stack([nc.simulate(model, x0, 1.0, save=2, rtol=1e-10, atol=1e-12).x[-1] for x0 in x])
        ).max()
        <= 5e-6
    )  # five times rtol
