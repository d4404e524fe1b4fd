"""Rényi parking: the greedy choice of centers, against its definition and against exact counts."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nucleate.checks import Array, InputError
from nucleate.observe.centers import Metric, center_mask, renyi_centers
from nucleate.observe.inputs import center_table
from nucleate.sphere import distance, retract, uniform

METRICS: tuple[Metric, ...] = ("geodesic", "chordal")


def apart(x: Array, y: Array, metric: str = "geodesic") -> float:
    return float(distance(x, y) if metric == "geodesic" else np.linalg.norm(x - y))


def slow_centers(x: Array, delta: float, strong: bool, metric: str = "geodesic") -> list[int]:
    """The definition, token by token."""
    centers: list[int] = []
    for k in range(len(x)):
        before = range(k) if strong else centers
        if all(apart(x[k], x[j], metric) > delta for j in before):
            centers.append(k)
    return centers


def same(x: Array, delta: float, metric: Metric = "geodesic") -> None:
    for strong in (False, True):
        assert renyi_centers(x, delta, strong, metric).tolist() == slow_centers(x, delta, strong, metric)


@given(
    n=st.integers(1, 40),
    d=st.integers(2, 6),
    delta=st.floats(0.01, np.pi),
    strong=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_centers_equal_the_double_loop(n: int, d: int, delta: float, strong: bool, seed: int) -> None:
    x = uniform(n, d, seed)
    found = renyi_centers(x, delta, strong=strong)
    assert found.tolist() == slow_centers(x, delta, strong)
    assert found.dtype == np.int64


@given(n=st.integers(2, 30), seed=st.integers(0, 2**32))
def test_clustered_tokens_equal_the_double_loop(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # near-doubles and exact ones
    x = retract(uniform(4, 3, seed)[rng.integers(4, size=n)] + 1e-9 * rng.standard_normal((n, 3)))
    x[1] = x[0]
    same(x, 1e-9)


@given(
    n=st.integers(2, 25),
    d=st.sampled_from([2, 3, 4, 5, 9, 64]),
    spread=st.sampled_from([1e-15, 1e-8, 0.1, 10.0]),
    metric=st.sampled_from(METRICS),
    seed=st.integers(0, 2**32),
)
def test_ties_are_decided_to_the_last_bit(n: int, d: int, spread: float, metric: Metric, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = retract(uniform(2, d, seed)[rng.integers(2, size=n)] + spread * rng.standard_normal((n, d)))
    tie = apart(x[rng.integers(n)], x[rng.integers(n)], metric)
    # exactly the distance of two tokens, and its neighbours among doubles
    for delta in (np.nextafter(tie, 0.0), tie, np.nextafter(tie, 9.0)):
        if 0.0 < delta <= {"geodesic": np.pi, "chordal": 2.0}[metric]:
            same(x, float(delta), metric)


@pytest.mark.parametrize(("n", "steps"), [(12, 1), (12, 3), (60, 7), (60, 30)])
def test_a_ring_of_equal_steps_equals_the_double_loop(n: int, steps: int) -> None:
    angle = 2 * np.pi * np.random.default_rng(n).permutation(n) / n
    # nearly all distances are ties, but for rounding
    same(np.column_stack([np.cos(angle), np.sin(angle)]), 2 * np.pi * steps / n)


@pytest.mark.parametrize("delta", [5e-324, 1e-200, 1e-16, 1e-12, np.pi])
def test_the_smallest_and_the_largest_delta_equal_the_double_loop(delta: float) -> None:
    x = np.concatenate(
        [uniform(5, 3, 0), uniform(5, 3, 0), -uniform(5, 3, 0), retract(uniform(5, 3, 0) + 1e-16)]
    )
    same(x, delta)


@given(seed=st.integers(0, 2**32), delta=st.floats(0.05, 3.0))
def test_centers_are_apart_cover_all_and_contain_the_strong_ones(seed: int, delta: float) -> None:
    x = uniform(50, 3, seed)
    centers, strong = renyi_centers(x, delta), renyi_centers(x, delta, strong=True)
    between = distance(x[centers][:, None], x[centers][None])
    assert (between[~np.eye(len(centers), dtype=bool)] > delta).all()
    assert (distance(x[:, None], x[centers][None]).min(1) <= delta).all()
    assert set(strong) <= set(centers)
    assert centers[0] == strong[0] == 0
    assert (np.diff(centers) > 0).all()


@pytest.mark.parametrize(
    ("n", "d", "delta"), [(4000, 2, 0.004), (3000, 3, 0.05), (3000, 5, 0.3), (1500, 64, 1.2)]
)
def test_many_tokens_equal_the_loop_over_centers(n: int, d: int, delta: float) -> None:
    x = uniform(n, d, 7)
    free, centers = np.arange(n), []
    while free.size:  # one look at all tokens for each center
        k, free = int(free[0]), free[1:]
        centers.append(k)
        free = free[distance(x[free], x[k]) > delta] if free.size else free
    assert renyi_centers(x, delta).tolist() == centers
    strong = [k for k in centers if k == 0 or (distance(x[:k], x[k]) > delta).all()]
    assert renyi_centers(x, delta, strong=True).tolist() == strong
    assert len(centers) > len(strong) > 5


def test_the_chordal_metric_measures_straight_lines() -> None:
    x = uniform(200, 4, 1)
    # no tie among these
    np.testing.assert_array_equal(renyi_centers(x, 2 * np.sin(0.35), metric="chordal"), renyi_centers(x, 0.7))


def test_farther_means_strictly_farther() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # quarter turns
    assert renyi_centers(x, np.pi / 2).tolist() == [0, 2]
    assert renyi_centers(x, np.pi / 2, strong=True).tolist() == [0]  # the third is a quarter from the second
    assert renyi_centers(x, np.pi).tolist() == [0]


def test_the_mask_says_the_same_for_every_run_and_time() -> None:
    x = np.stack([[uniform(30, 3, 10 * i + j) for j in range(2)] for i in range(3)])  # (3, 2, 30, 3)
    for strong in (False, True):
        mask = center_mask(x, 0.6, strong)
        assert mask.shape == (3, 2, 30)
        assert mask.dtype == bool
        for at in np.ndindex(3, 2):
            assert np.flatnonzero(mask[at]).tolist() == slow_centers(x[at], 0.6, strong)


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_runs_together_have_the_centers_they_have_alone(d: int, strong: bool) -> None:
    x = uniform(60, d, seed=1, runs=7)
    ring = np.arange(60) * 2.0 * np.pi / 60  # ties, which are looked at once more
    x[3, :, :2], x[3, :, 2:] = np.stack([np.cos(ring), np.sin(ring)], axis=1), 0.0
    delta = 3 * 2.0 * np.pi / 60
    marks = center_mask(x, delta, strong)
    for run in range(7):
        assert np.flatnonzero(marks[run]).tolist() == renyi_centers(x[run], delta, strong).tolist(), run


def test_a_table_of_centers_holds_those_that_are_marked() -> None:
    marks = np.array([[True, False, True], [False, False, False], [False, True, False]])
    assert center_table(marks).tolist() == [[0, 2], [-1, -1], [1, -1]]
    assert center_table(np.zeros((2, 3), dtype=bool)).shape == (2, 0)


def test_mean_counts_are_those_of_the_theory() -> None:
    # beta = 64, delta = 1/2, n = 200, d = 2: strong (1 - (1 - delta/pi)^n) pi/delta = 2 pi exactly to 1e-14;
    # Rényi 9.148 +- .002.
    # Standard deviations of one count are below 1, so that of a mean over 600 below .04; 4 of them are
    # allowed.
    starts = [uniform(200, 2, seed) for seed in range(600)]
    assert abs(np.mean([len(renyi_centers(x, 0.5, strong=True)) for x in starts]) - 2 * np.pi) < 0.16
    assert abs(np.mean([len(renyi_centers(x, 0.5)) for x in starts]) - 9.148) < 0.16


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("delta", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize(("n", "d"), [(1_000_000, 2), (100_000, 3)])
def test_a_million_tokens_on_the_circle_and_1e5_on_the_sphere_take_less_than_two_seconds(
    n: int, d: int, delta: float, strong: bool
) -> None:
    renyi_centers(uniform(2, d, 0), delta, strong)  # compiled by now
    x = uniform(n, d, 0)
    begin = time.process_time()  # other programs on this machine do not count
    count = len(renyi_centers(x, delta, strong))
    assert time.process_time() - begin < 2.0
    assert count > 3


# What cannot be


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, np.inf, 3.2, "half"])
def test_a_delta_that_is_no_distance_is_refused(delta: float) -> None:
    for find in (renyi_centers, center_mask):
        with pytest.raises(InputError, match="delta must be"):
            find(uniform(3, 2, 0), delta)


def test_a_chord_is_at_most_2_and_other_metrics_are_refused() -> None:
    with pytest.raises(InputError, match=r"delta must be at most 2, but is 2.1"):
        renyi_centers(uniform(3, 2, 0), 2.1, metric="chordal")
    with pytest.raises(InputError, match="metric must be"):
        renyi_centers(uniform(3, 2, 0), 1.0, metric="taxi")  # type: ignore[arg-type]  # that is what is refused


@pytest.mark.parametrize(
    "x", [np.empty((0, 2)), np.ones((3, 2)), [[np.nan, 1.0]], [[1.0], [1.0]], [1.0, 0.0], "tokens"]
)
def test_what_are_no_tokens_is_refused(x: Array) -> None:
    for find in (renyi_centers, center_mask):
        with pytest.raises(InputError, match="x must"):
            find(x, 0.1)


def test_several_runs_at_once_are_for_the_mask() -> None:
    with pytest.raises(InputError, match=r"shape \(n, d\), but has shape \(2, 3, 2\).*use center_mask"):
        renyi_centers(np.stack([uniform(3, 2, 0)] * 2), 0.5)
