"""Twins: every compiled kernel against the equation, and the parts they are made of."""

import math
import time
import warnings
from typing import Any, Literal

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nucleate as nc
from nucleate import kernels
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array, InputError
from nucleate.kernels import simd
from nucleate.kernels.circle import TOLERANCE, circle_system, modes, roundoff, usual_ratio
from nucleate.kernels.circle_batch import lanes_enter, lanes_leave, lanes_system
from nucleate.kernels.compile import compiled
from nucleate.kernels.dispatch import TEAM_FROM, choose_kernel, drift_into, few_pairs, work_of
from nucleate.kernels.pairwise import pairwise_system
from nucleate.kernels.simd import LANES, exp, exp2, fma, hmax, hsum, load, sincos, splat, store
from nucleate.kernels.tiles import tiles_system

EPS = float(np.finfo(float).eps)
Mask = Literal["causal", "full"] | Window
MASKS: list[Mask] = ["causal", "full", Window(1), Window(2), Window(5), Window(10**6)]
GO = np.zeros(1, dtype=np.uint8)  # a stop flag that nobody sets


def norms(model: Attention, d: int) -> tuple[float, float]:
    """beta |K^T Q| and |V|, the largest over runs."""
    _, Q, K, V = model.parameters(d)
    return float((model.beta * np.linalg.norm(K.mT @ Q, 2, axis=(-2, -1))).max()), float(
        np.linalg.norm(V, 2, axis=(-2, -1)).max()
    )


def pairwise_bound(model: Attention, d: int) -> float:
    """Both twins keep within 16 max(1, beta |K^T Q|) |V| eps of the truth (tested in test_large_beta), so
    within twice that of each other."""
    z, v = norms(model, d)
    return 32 * max(1.0, z) * v * EPS


def circle_bound(model: Attention, tolerance: float = TOLERANCE) -> float:
    """What circle.py states: ratio * roundoff(z) * |V| with ratio = max(tolerance / roundoff, usual_ratio);
    and the equation's own rounding."""
    z, v = norms(model, 2)
    return max(tolerance, usual_ratio(z) * roundoff(z)) * v + pairwise_bound(model, 2)


def models(d: int, mask: Mask) -> dict[str, Attention]:
    """One of each kind that a kernel treats apart: V = c I or not, K^T Q = I or not, frozen tokens or not."""
    rng = np.random.default_rng(d)
    Q, K, V = rng.standard_normal((3, d, d)) / math.sqrt(d)
    frozen = Frozen(nc.uniform(11, d, 5), rng.uniform(1.0, 20.0, 11))
    return {
        "plain": Attention(6.0, mask=mask),
        "repulsion": Attention(6.0, V=-2.0 * np.eye(d), mask=mask),
        "V": Attention(6.0, V=V, mask=mask),
        "Q, K, V": Attention(3.0, Q=Q, K=K, V=V, mask=mask),
        "frozen": Attention(6.0, mask=mask, frozen=frozen),
        "everything": Attention(3.0, Q=Q, K=K, V=V, mask=mask, frozen=frozen),
        "beta 0": Attention(0.0, V=V, mask=mask),
    }


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [2, 3, 7, 16, 64])
def test_pairwise_equals_the_equation(d: int, mask: Mask) -> None:
    for name, model in models(d, mask).items():
        for n in (1, 2, 7, 8, 9, 63, 64, 65, 200):  # d >= 16 goes through tiles from n = 64
            x = nc.uniform(n, d, seed=n)
            error = np.abs(
                nc.drift(model, x, kernel="pairwise") - nc.drift(model, x, kernel="reference")
            ).max()
            assert error <= pairwise_bound(model, d), (name, n, error)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_circle_equals_the_equation(mask: Mask) -> None:
    for name, model in models(2, mask).items():
        for n in (1, 2, 7, 8, 9, 200):
            x = nc.uniform(n, 2, seed=n)
            error = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="reference")).max()
            assert error <= circle_bound(model), (name, n, error)


@pytest.mark.parametrize(
    "mask",
    ["causal", "full", *(Window(w) for w in (1, 2, 3, 511, 512, 513, 1024, 4095, 4096, 4097, 5000, 9000))],
    ids=str,
)
def test_circle_equals_pairwise_across_chunks_and_superblocks(mask: Mask) -> None:
    # A superblock is 8 chunks of 512 tokens: 5000 tokens make two, and a padded third of a lane.
    x = nc.uniform(5000, 2, seed=3)
    for name in ("plain", "everything"):
        model = models(2, mask)[name]
        error = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="pairwise")).max()
        assert error <= circle_bound(model), (name, error)


@pytest.mark.parametrize("n", [1, 2, 9, 300, 700])
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [16, 64])
def test_tiles_equal_the_equation_at_any_size(d: int, mask: Mask, n: int) -> None:
    # Below n = 64 `drift` would not take tiles; 700 tokens are three tiles of columns, eleven of rows.
    x = nc.uniform(n, d, seed=n)
    for name, model in models(d, mask).items():
        if n == 700 and name not in ("plain", "everything"):
            continue
        velocity = np.zeros(n * d + LANES)
        drift_into(tiles_system(model, n, d), _flat(x), velocity, GO)
        error = np.abs(velocity[: n * d].reshape(n, d) - nc.drift(model, x, kernel="reference")).max()
        assert error <= pairwise_bound(model, d), (name, error)


def test_pairwise_equals_the_equation_in_high_dimension_without_tiles() -> None:
    for n, d in ((200, 16), (1500, 64)):  # 1500 pairs are two strips
        for name, model in models(d, "causal").items():
            x, velocity = nc.uniform(n, d, seed=1), np.zeros(n * d + LANES)
            drift_into(pairwise_system(model, n, d), _flat(x), velocity, GO)
            error = np.abs(velocity[: n * d].reshape(n, d) - nc.drift(model, x, kernel="reference")).max()
            assert error <= pairwise_bound(model, d), (name, error)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33])
def test_lanes_equal_the_equation_each_with_its_own_parameters(n: int, frozen: bool) -> None:
    b, tolerance = LANES + 3, 1e-10
    rng = np.random.default_rng(n)
    x = np.stack([nc.uniform(n, 2, seed=10 * run) for run in range(b)])
    x[0] = [[1.0, 0.0]] * n  # the recurrence of lanes is least accurate near angle 0 and pi
    x[1] = _points(math.pi + 1e-3 * rng.standard_normal(n))
    rest = (
        Frozen(np.stack([nc.uniform(3, 2, seed=90 + run) for run in range(b)]), rng.uniform(1.0, 4.0, (b, 3)))
        if frozen
        else None
    )
    model = Attention(
        rng.uniform(0.0, 64.0, b), V=rng.uniform(-2.0, 2.0, b)[:, None, None] * np.eye(2), frozen=rest
    )
    lanes = lanes_system(model, n, np.array([tolerance]))
    expected = nc.drift(model, x, kernel="reference")
    for first in (0, 3):  # so that the last runs travel too, and run 3 in another lane
        angles, velocity = np.zeros((n + 1, LANES)), np.zeros((n + 1, LANES))
        for at in range(LANES):
            lanes_enter(lanes, at, first + at)
            angles[:n, at] = np.arctan2(x[first + at, :, 1], x[first + at, :, 0])
        drift_into(lanes, angles.reshape(-1), velocity.reshape(-1), GO)
        for at in range(LANES):
            run = first + at
            error = np.abs(_turning(x[run], velocity[:n, at]) - expected[run]).max()
            # the tolerance asked for, times |V| <= 2; rounding of the angles
            assert error <= tolerance * 2.0 + 64 * 64 * EPS * 2.0, (run, error)


@pytest.mark.parametrize("kernel", ["pairwise", "circle"])
def test_run_axes_mean_one_system_per_run(kernel: Literal["pairwise", "circle"]) -> None:
    b, n = 5, 40
    rng = np.random.default_rng(0)
    beta, (Q, K, V) = rng.uniform(0.5, 9.0, b), rng.standard_normal((3, b, 2, 2))
    x = nc.uniform(n, 2, seed=0, runs=b)
    frozen_x, weight = (
        np.stack([nc.uniform(3, 2, 40 + run) for run in range(b)]),
        rng.uniform(1.0, 5.0, (b, 3)),
    )
    whole = nc.drift(Attention(beta, Q=Q, K=K, V=V, frozen=Frozen(frozen_x, weight)), x, kernel=kernel)
    for run in range(b):
        alone = Attention(beta[run], Q=Q[run], K=K[run], V=V[run], frozen=Frozen(frozen_x[run], weight[run]))
        # the same compiled code on the same numbers
        assert np.array_equal(whole[run], nc.drift(alone, x[run], kernel=kernel))
    one_start = nc.drift(Attention(beta, V=V), x[0], kernel=kernel)
    assert one_start.shape == (b, n, 2)
    assert np.array_equal(one_start[3], nc.drift(Attention(beta[3], V=V[3]), x[0], kernel=kernel))


@pytest.mark.parametrize("d", [2, 3, 7, 16])
@pytest.mark.parametrize("mask", ["causal", "full", Window(5)], ids=str)
@pytest.mark.parametrize("b", [2, 9])
def test_batches_of_one_model_equal_the_equation_run_by_run(b: int, mask: Mask, d: int) -> None:
    # Batches have ways of their own: eight runs side by side, or in lanes by modes.
    for n in (1, 2, 9, 70):
        x = nc.uniform(n, d, seed=0, runs=b)
        for name, model in models(d, mask).items():
            expected = np.stack([nc.drift(model, x[run], kernel="reference") for run in range(b)])
            assert np.abs(nc.drift(model, x, kernel="pairwise") - expected).max() <= pairwise_bound(
                model, d
            ), (name, n)
            bound = circle_bound(model) if d == 2 else pairwise_bound(model, d)
            assert np.abs(nc.drift(model, x) - expected).max() <= bound, (name, n)


@pytest.mark.parametrize("d", [2, 3, 7, 16])
def test_a_batch_does_not_mix_its_runs(d: int) -> None:
    x = nc.uniform(70, d, seed=0, runs=21)
    rows = np.random.default_rng(0).permutation(21)
    for name, model in models(d, "causal").items():
        for kernel in ("auto", "pairwise"):
            whole = nc.drift(model, x, kernel=kernel)
            assert np.array_equal(nc.drift(model, x[rows], kernel=kernel), whole[rows]), (name, kernel)
            assert np.array_equal(nc.drift(model, x[:10], kernel=kernel), whole[:10]), (name, kernel)


def test_a_rounded_start_in_one_run_does_not_touch_the_bits_of_another() -> None:
    x = nc.uniform(20, 3, seed=0, runs=2)
    rough = x.copy()
    rough[0] = rough[0].astype(np.float32)  # unit to 1e-7: made unit again
    model = Attention(4.0)
    assert np.array_equal(nc.drift(model, rough)[1], nc.drift(model, x)[1])


# The circle kernel where modes are not enough


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("used", [1, 3, LANES])
def test_lanes_mend_isolated_tokens_behind_clusters(used: int, frozen: bool) -> None:
    n, tolerance = 6001, 1e-6
    rng = np.random.default_rng(used)
    theta = 0.01 * rng.standard_normal((used, n))
    theta[:, ::500] = rng.uniform(1.0, 5.0, theta[:, ::500].shape)  # each alone, other ones in every lane
    x = _points(theta)
    rest = Frozen(nc.uniform(3, 2, seed=0, runs=used), rng.uniform(1.0, 4.0, (used, 3))) if frozen else None
    model = Attention(
        rng.uniform(20.0, 60.0, used), V=rng.uniform(-2.0, 2.0, used)[:, None, None] * np.eye(2), frozen=rest
    )
    lanes = lanes_system(model, n, np.array([tolerance]))
    angles, velocity = np.zeros((n + 1, LANES)), np.zeros((n + 1, LANES))
    for at in range(used):
        lanes_enter(lanes, at, at)
        angles[:n, at] = theta[at]
    drift_into(lanes, angles.reshape(-1), velocity.reshape(-1), GO)
    mended = (np.arange(n)[:, None] + 1.0 + lanes.mass > lanes.limit * lanes.Z).any(0)  # (8,)
    # every run has such tokens, and a lane without a run costs nothing
    assert mended.tolist() == [at < used for at in range(LANES)]
    expected = nc.drift(model, x, kernel="pairwise")
    for at in range(used):
        error = np.abs(_turning(x[at], velocity[:n, at]) - expected[at]).max()
        # rounding of the angles, times beta
        assert error <= 2.0 * tolerance + 60.0 * 16 * EPS * 2.0, (at, error)
    lanes_leave(lanes, 0)
    assert lanes.limit[0] == np.inf


@pytest.mark.parametrize("bad", [0, 3])
def test_a_run_that_is_not_finite_leaves_the_mending_of_its_neighbours_alone(bad: int) -> None:
    n = 601
    rng = np.random.default_rng(0)
    theta = 0.01 * rng.standard_normal((LANES, n))
    theta[:, ::100] = rng.uniform(1.0, 5.0, theta[:, ::100].shape)  # each alone, behind a cluster
    V = np.repeat(np.eye(2)[None], LANES, axis=0)
    alone = nc.simulate(
        Attention(40.0, V=V), _points(theta), 2.0, save=3, rtol=1e-5, atol=1e-6, method="explicit"
    )
    V[bad] *= 1.7e308
    beside = nc.simulate(
        Attention(40.0, V=V), _points(theta), 2.0, save=3, rtol=1e-5, atol=1e-6, method="explicit"
    )
    others = [run for run in range(LANES) if run != bad]
    assert beside.status[bad] == "non-finite"
    assert np.array_equal(beside.x[others], alone.x[others])


def test_lanes_without_a_run_cost_next_to_nothing() -> None:
    x = nc.uniform(200, 2, seed=0, runs=LANES)

    def seconds(b: int) -> float:
        began = time.process_time()
        nc.simulate(Attention(64.0), x[:b], 20.0, rtol=1e-6, atol=1e-9)
        return time.process_time() - began

    seconds(2)  # compiled by now
    # was 27 times, when empty lanes were mended
    assert min(seconds(2) for _ in range(3)) < 3.0 * min(seconds(LANES) for _ in range(3))


def test_an_isolated_token_behind_a_cluster_of_100000_is_exact() -> None:
    n, beta = 100_001, 64.0
    rng = np.random.default_rng(0)
    theta = np.append(0.02 * rng.standard_normal(n - 1), 1.1)
    velocity = _angular(Attention(beta), theta)
    gap = theta[:-1] - theta[-1]
    # about e^-35 each: Z is 1 and a sum over modes, good to 1e5 eps, cannot see them
    w = np.exp(-2.0 * beta * np.sin(0.5 * gap) ** 2)
    expected = math.fsum(w * np.sin(gap)) / (1.0 + math.fsum(w))
    # The pairwise kernel's bound, against the force itself, far below the 1e-11 of the modes.
    assert abs(velocity[-1] - expected) <= 1e-9 * abs(expected) + 1e-16
    mid = n // 2
    gap = theta[:mid] - theta[mid]
    w = np.exp(-2.0 * beta * np.sin(0.5 * gap) ** 2)
    assert abs(velocity[mid] - math.fsum(w * np.sin(gap)) / (1.0 + math.fsum(w))) <= circle_bound(
        Attention(beta)
    )


@pytest.mark.parametrize("mask", ["causal", "full", Window(700)], ids=str)
def test_clusters_and_strays_are_right_together(mask: Mask) -> None:
    rng = np.random.default_rng(1)
    theta = rng.choice([0.0, 2.0], 3000) + 0.01 * rng.standard_normal(3000)
    theta[rng.choice(3000, 25, replace=False)] = rng.uniform(0.0, 2.0 * math.pi, 25)
    x = _points(theta)
    for name, model in models(2, mask).items():
        error = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="pairwise")).max()
        assert error <= circle_bound(model), (name, error)


@pytest.mark.parametrize("weight", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("mask", ["causal", "full", Window(50)], ids=str)
def test_a_heavy_frozen_token_does_not_drown_the_tokens_far_from_it(mask: Mask, weight: float) -> None:
    # Modes are good to eps times the sum of the weights, 1e12 here, while a token at the far side has Z of
    # order 1.
    x = nc.uniform(100, 2, seed=0)
    for V in (np.eye(2), np.array([[1.0, 0.3], [-0.2, 0.5]])):
        model = Attention(64.0, V=V, mask=mask, frozen=Frozen([[1.0, 0.0]], weight))
        for kernel in ("circle", "auto"):
            error = np.abs(nc.drift(model, x, kernel=kernel) - nc.drift(model, x, kernel="reference")).max()
            assert error <= circle_bound(model), (kernel, error)


def test_a_heavy_frozen_token_does_not_drown_the_tokens_of_a_batch() -> None:
    x = nc.uniform(60, 2, seed=0, runs=8)
    model = Attention(64.0, frozen=Frozen([[1.0, 0.0]], 1e12))
    batch = nc.simulate(model, x, 1.0, save=2, rtol=1e-6, atol=1e-8).x
    assert (
        np.abs(
            batch[:, -1]
            - np.stack([nc.simulate(model, x0, 1.0, save=2, rtol=1e-10, atol=1e-12).x[-1] for x0 in x])
        ).max()
        <= 5e-6
    )  # five times rtol


def test_frozen_tokens_given_in_single_precision_are_put_on_the_sphere() -> None:
    # Unit to 1e-7 only: a kernel that uses |x_j - x_k|^2 and one that uses <x_j, x_k> must still agree.
    x, frozen = nc.uniform(30, 2, seed=0), nc.uniform(4, 2, seed=9).astype(np.float32)
    model = Attention(64.0, frozen=Frozen(frozen))
    expected = nc.drift(Attention(64.0, frozen=Frozen(nc.retract(frozen))), x, kernel="reference")
    for kernel in ("reference", "pairwise", "circle"):
        assert np.abs(nc.drift(model, x, kernel=kernel) - expected).max() <= circle_bound(model), kernel


@given(
    theta=st.lists(
        st.floats(-math.pi, math.pi) | st.sampled_from([0.0, 1e-9, 0.5, math.pi, -math.pi / 2]),
        min_size=1,
        max_size=40,
    ),
    beta=st.sampled_from([0.0, 1e-3, 0.3, 1.0, 10.0, 64.0, 300.0]),
    numbers=st.lists(st.floats(-2.0, 2.0), min_size=12, max_size=12),
    w=st.integers(1, 45),
    mask=st.sampled_from(["causal", "full", "window"]),
)
@settings(max_examples=150)
def test_all_kernels_agree_on_the_circle(
    theta: list[float], beta: float, numbers: list[float], w: int, mask: str
) -> None:
    Q, K, V = np.reshape(numbers, (3, 2, 2))
    x = _points(np.array(theta))
    kind: Mask = Window(w) if mask == "window" else "full" if mask == "full" else "causal"
    for model in (Attention(beta, Q=Q, K=K, V=V, mask=kind), Attention(beta, mask=kind)):
        expected = nc.drift(model, x, kernel="reference")
        assert (
            np.abs(nc.drift(model, x, kernel="pairwise") - expected).max()
            <= pairwise_bound(model, 2) + 1e-300
        )
        assert np.abs(nc.drift(model, x, kernel="circle") - expected).max() <= circle_bound(model) + 1e-300


def test_scores_that_overflow_are_never_shown_as_velocities() -> None:
    # beta K^T Q is infinite: there is no answer, so none that looks like one may come out.
    for d, n in ((2, 5), (3, 5), (16, 70)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's own words about it come on top
            try:
                velocity = nc.drift(Attention(1e300, Q=1e10 * np.eye(d)), nc.uniform(n, d, seed=0))
            except InputError:
                continue
        assert not np.isfinite(velocity[1:]).any(), (d, velocity[1])


# Structure that the fast form must keep


def test_small_forces_keep_their_relative_accuracy() -> None:
    # Two tokens far apart: the force e^{-beta (1 - u)} sqrt(1 - u^2) is far below the rounding of x itself.
    theta, beta = 2.0, 60.0
    velocity = nc.drift(Attention(beta), _points(np.array([0.0, theta])), kernel="pairwise")[1]
    force = math.exp(-2.0 * beta * math.sin(theta / 2) ** 2) * math.sin(theta)  # about 1e-37
    # x is the rounded point: its angle, and with it beta * (1 - cos), is off by eps
    assert velocity @ [-math.sin(theta), math.cos(theta)] == pytest.approx(-force, rel=8 * beta * EPS)


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("d", [2, 3])
# up to 354 no weight can underflow, and none is looked at for it
@pytest.mark.parametrize("beta", [60.0, 350.0, 360.0, 480.0, 800.0])
def test_small_forces_keep_their_relative_accuracy_in_batches(beta: float, d: int, mask: Mask) -> None:
    theta = np.array([0.5, 1.0, 2.0, 3.0])  # (b,)
    x = np.zeros((4, 2, d))
    x[:, 0, 0], x[:, 1, 0], x[:, 1, 1] = 1.0, np.cos(theta), np.sin(theta)
    velocity = nc.drift(Attention(beta, mask=mask), x, kernel="pairwise")[:, 1]
    weight = np.exp(-2.0 * beta * np.sin(theta / 2) ** 2)
    weight[2.0 * beta * np.sin(theta / 2) ** 2 > 1021 * math.log(2.0)] = 0.0  # the last normal power
    force = velocity[:, 1] * np.cos(theta) - velocity[:, 0] * np.sin(theta)
    assert force == pytest.approx(-weight / (1.0 + weight) * np.sin(theta), rel=8 * beta * EPS, abs=0.0)
    assert (velocity[:, 2:] == 0.0).all()


@pytest.mark.parametrize(("n", "d"), [(50, 2), (3000, 2), (50, 3), (50, 16), (200, 16), (200, 64)])
@pytest.mark.parametrize("mask", ["causal", Window(5)], ids=str)
def test_the_first_token_stands_still_to_the_last_bit(n: int, d: int, mask: Mask) -> None:
    for V in (np.eye(d), -np.eye(d), 0.3 * np.eye(d)):
        for kernel in ("auto", "pairwise", "circle") if d == 2 else ("auto",):
            assert not nc.drift(Attention(9.0, V=V, mask=mask), nc.uniform(n, d, seed=n), kernel=kernel)[
                0
            ].any(), (kernel, V[0, 0])


# Threads


@pytest.mark.parametrize(("n", "d"), [(60_000, 2), (3000, 3), (2500, 7), (2001, 16), (1001, 64)])
@pytest.mark.parametrize("mask", ["causal", "full", Window(900)], ids=str)
def test_two_threads_give_the_bits_of_one(n: int, d: int, mask: Mask) -> None:
    x = nc.uniform(n, d, seed=4)
    for name in ("plain", "everything"):
        model = models(d, mask)[name]
        one = nc.drift(model, x, threads=1)
        assert np.array_equal(one, nc.drift(model, x, threads=2)), name
        assert np.array_equal(one, nc.drift(model, x, threads=3)), name


def test_a_team_is_at_work_in_the_test_above() -> None:
    for model in (models(2, "causal")["plain"], models(2, Window(900))["everything"]):
        assert choose_kernel(model, 60_000, 2, 0) == "circle"
        assert work_of(circle_system(model, 60_000)) > TEAM_FROM
        assert work_of(pairwise_system(model, 3000, 2)) > TEAM_FROM
    assert work_of(tiles_system(Attention(6.0), 1001, 64)) > TEAM_FROM


# The parts


def test_modes_obey_their_rule() -> None:
    def tail(M: int, z: float) -> float:
        with mp.workdps(30):
            terms = (
                mp.exp(-z) * mp.besseli(m, z) * max(mp.mpf(1), mp.mpf(m) / z) for m in range(M + 1, M + 60)
            )
            return float(2 * mp.fsum(terms))

    assert modes(64.0, 1e-10) == 53  # design.md
    for z in (0.1, 1.0, 7.0, 64.0, 300.0):
        for truncation in (1e-8, 1e-12, EPS):
            M = modes(z, truncation)
            assert tail(M, z) < truncation, (z, truncation, M)
            assert M == 1 or tail(M - 1, z) >= truncation, (z, truncation, M)
    assert modes(0.0) >= 1


def test_auto_takes_the_circle_only_where_it_is_accurate_and_pays() -> None:
    assert choose_kernel(Attention(64.0), 10_000, 2, 0) == "circle"
    assert choose_kernel(Attention(64.0), 10, 2, 0) == "pairwise"
    assert choose_kernel(Attention(64.0), 10_000, 3, 0) == "pairwise"
    assert choose_kernel(Attention(1e9), 10_000, 2, 0) == "pairwise"
    assert choose_kernel(Attention(64.0, mask=Window(5)), 10_000, 2, 0) == "pairwise"
    assert choose_kernel(Attention(64.0), 10_000, 2, 0, 1e-15) == "pairwise"


def test_auto_sums_over_pairs_where_runs_are_small() -> None:
    assert few_pairs(Attention(64.0), 200)
    assert few_pairs(Attention(256.0), 400)  # more modes
    assert few_pairs(Attention(1e9), 400)  # more than can be summed
    assert not few_pairs(Attention(64.0), 300)
    assert not few_pairs(Attention(1e9), 600)
    assert few_pairs(Attention(64.0, mask="full"), 140)
    assert not few_pairs(Attention(64.0, mask="full"), 200)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1.1, 1e200])
def test_a_batch_with_a_token_off_the_sphere_is_refused_wherever_it_is(bad: float, d: int) -> None:
    x = nc.uniform(5, d, seed=0, runs=19)
    for run, k in ((0, 0), (7, 4), (18, 2)):
        broken = x.copy()
        broken[run, k] *= bad
        with pytest.raises(nc.InputError, match=r"x must be finite|x must have rows of length 1"):
            nc.drift(Attention(4.0), broken, kernel="pairwise")


@pytest.mark.parametrize("too_far", [kernels.TOO_FAR, 1e-300], ids=["usual", "even after rounding"])
def test_a_batch_near_the_sphere_is_put_onto_it(too_far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x = nc.uniform(50, 3, seed=0, runs=17)
    near = x * (1.0 + 1e-8)
    # the second: as if rounding left rows farther off than they may be
    monkeypatch.setattr(kernels, "TOO_FAR", too_far)
    assert (
        np.abs(nc.drift(Attention(4.0), near) - nc.drift(Attention(4.0), x, kernel="reference")).max() < 1e-14
    )


@compiled
def eight_exp(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """e^x eight at a time."""
    for i in range(0, x.size, LANES):
        store(out, i, exp(load(x, i)))


@compiled
def eight_exp2(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    """2^x eight at a time."""
    for i in range(0, x.size, LANES):
        store(out, i, exp2(load(x, i)))


@compiled
def eight_sincos(x, sine, cosine):  # type: ignore[no-untyped-def]  # Numba infers its types
    """sin x and cos x eight at a time."""
    for i in range(0, x.size, LANES):
        s, c = sincos(load(x, i))
        store(sine, i, s)
        store(cosine, i, c)


@compiled
def folds(x):  # type: ignore[no-untyped-def]  # Numba infers its types
    """Sum and maximum over the lanes, and a number in every lane."""
    return hsum(load(x, 0)), hmax(load(x, 0)), hsum(splat(x[0]))


def test_exp_is_right_to_about_one_unit_in_the_last_place() -> None:
    x = np.concatenate(
        [
            -np.geomspace(1e-300, 708.0, 4000),
            np.linspace(-708.0, 0.0, 4000),
            np.linspace(0.0, 700.0, 992),
            np.zeros(8),
        ]
    )
    out = np.empty_like(x)
    eight_exp(x, out)
    with mp.workdps(30):
        expected = [mp.exp(mp.mpf(float(value))) for value in x]
        ulps = [
            abs(mp.mpf(float(got)) - want) / float(np.spacing(float(want)))
            for got, want in zip(out, expected, strict=True)
        ]
    assert max(ulps) <= 1.25
    assert (out[-8:] == 1.0).all()


# what processors without AVX-512 compute
split_plain, series_plain = compiled(simd._split_plain), compiled(simd._series_plain)


@compiled
def eight_exp2_without_table(x, out):  # type: ignore[no-untyped-def]  # Numba infers its types
    for i in range(0, x.size, LANES):
        a, f = split_plain(load(x, i))
        store(out, i, fma(a * f, series_plain(f), a))


@pytest.mark.parametrize(
    "power", [eight_exp2, eight_exp2_without_table], ids=["of this processor", "without a table"]
)
def test_exp2_is_right_to_about_one_unit_in_the_last_place_and_one_at_zero(power: Any) -> None:
    sixteenths = np.arange(-16000.0, 0.0) / 16.0  # where the table's entries meet
    x = np.concatenate(
        [-np.geomspace(1e-300, 1021.0, 4000), np.linspace(-1021.0, 0.0, 4000), sixteenths, np.zeros(8)]
    )
    out = np.empty_like(x)
    power(x, out)
    with mp.workdps(30):
        expected = [mp.mpf(2) ** mp.mpf(float(value)) for value in x]
        ulps = [
            abs(mp.mpf(float(got)) - want) / float(np.spacing(float(want)))
            for got, want in zip(out, expected, strict=True)
        ]
    assert max(ulps) <= 1.25
    assert (out[-8:] == 1.0).all()  # a token's weight on itself


def test_exp2_of_very_negative_numbers_is_zero_and_of_nan_is_nan() -> None:
    out = np.empty(8)
    eight_exp2(np.array([-1021.5, -1075.0, -1e4, -1e300, -np.inf, np.nan, -1021.0, 0.0]), out)
    assert (out[:5] == 0.0).all()
    assert np.isnan(out[5])
    assert out[6] == 2.0**-1021


def test_exp_of_very_negative_numbers_is_zero_and_of_nan_is_nan() -> None:
    # A NaN score must not come out as an ordinary weight: nothing downstream could tell.
    x = np.array([-708.5, -745.0, -1e4, -1e300, -np.inf, np.nan, -708.0, 0.0])
    out = np.empty_like(x)
    eight_exp(x, out)
    assert (out[:5] == 0.0).all()
    assert np.isnan(out[5])
    assert out[6] == pytest.approx(math.exp(-708.0), rel=2 * EPS)


def test_sine_and_cosine_are_right_to_about_one_unit_in_the_last_place() -> None:
    rng = np.random.default_rng(0)
    # where they nearly vanish
    special = np.concatenate(
        [math.pi / 4 * np.arange(-400, 400), math.pi / 2 * rng.integers(-600_000, 600_000, 1200)]
    )
    x = np.concatenate(
        [
            rng.uniform(-math.pi, math.pi, 2000),
            rng.uniform(-1e6, 1e6, 2000),
            special,
            np.geomspace(1e-300, 1.0, 1000),
        ]
    )
    sine, cosine = np.empty_like(x), np.empty_like(x)
    eight_sincos(x, sine, cosine)
    with mp.workdps(40):
        for got, function in ((sine, mp.sin), (cosine, mp.cos)):
            want = [function(mp.mpf(float(value))) for value in x]
            errors = np.array([float(abs(mp.mpf(float(a)) - b)) for a, b in zip(got, want, strict=True)])
            # pi / 2 is taken off n times to 107 bits: 1.5e-33 n is left, more than a unit in the last place
            # only of values below 1e-17 n
            allowed = 1.5 * np.spacing(np.abs(np.array(want, dtype=float))) + 1.5e-33 * np.abs(x)
            assert (errors <= allowed).all(), (function, x[int(np.argmax(errors / allowed))])


def test_folds_over_lanes() -> None:
    x = np.array([3.0, -1.0, 4.0, -1.0, 5.0, -9.0, 2.0, 6.0])
    assert folds(x) == (9.0, 6.0, 24.0)


# Small helpers


def _flat(x: Array) -> Array:
    return np.concatenate([x.reshape(-1), np.zeros(LANES)])


def _points(theta: Array) -> Array:
    return np.stack([np.cos(theta), np.sin(theta)], axis=-1)


def _turning(x: Array, velocity: Array) -> Array:
    return np.stack([-x[:, 1], x[:, 0]], axis=1) * velocity[:, None]


def _angular(model: Attention, theta: Array) -> Array:
    x = _points(theta)
    velocity = nc.drift(model, x, kernel="circle")
    return np.asarray(velocity[:, 1] * x[:, 0] - velocity[:, 0] * x[:, 1])
