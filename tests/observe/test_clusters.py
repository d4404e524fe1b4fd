"""Clusters: connected components, against a naive union-find."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.slow_twins import slow_clusters
from support.time_limits import patient

from nucleate.checks import Array, InputError
from nucleate.observe.clusters import clusters, compact, count_clusters
from nucleate.sphere import distance, retract, uniform


@given(n=st.integers(1, 40), d=st.integers(2, 6), radius=st.floats(0.001, np.pi), seed=st.integers(0, 2**32))
def test_clusters_equal_the_double_loop(n: int, d: int, radius: float, seed: int) -> None:
    x = uniform(n, d, seed)
    label = clusters(x, radius)
    assert label.tolist() == slow_clusters(x, radius)
    assert label.dtype == np.int64


@given(
    n=st.integers(2, 25),
    d=st.integers(2, 4),
    spread=st.sampled_from([1e-12, 1e-3, 0.05, 0.2]),
    seed=st.integers(0, 2**32),
)
def test_gathered_tokens_equal_the_double_loop(n: int, d: int, spread: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = retract(uniform(5, d, seed)[rng.integers(5, size=n)] + spread * rng.standard_normal((n, d)))
    x[1] = x[0]
    for radius in (0.03, 0.1, 0.3):
        assert clusters(x, radius).tolist() == slow_clusters(x, radius)


def at_angles(*angles: float, d: int = 2) -> Array:
    return np.array([[np.cos(a), np.sin(a)] + [0.0] * (d - 2) for a in angles])


@pytest.mark.parametrize("d", [2, 3])
def test_a_chain_of_four_and_one_apart_are_two(d: int) -> None:
    assert clusters(at_angles(2.0, 0.0, 0.3, 0.6, 0.9, d=d), 0.31).tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("d", [2, 3])
def test_the_cut_of_the_angle_parts_nothing(d: int) -> None:
    assert clusters(at_angles(np.pi - 0.05, 0.0, -np.pi + 0.05, d=d), 0.11).tolist() == [0, 1, 0]
    assert clusters(at_angles(*np.linspace(-np.pi, np.pi, 30), d=d), 0.3).max() == 0  # all the way round


def test_a_turn_renames_nothing() -> None:
    x = uniform(80, 2, 3)
    turn = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
    np.testing.assert_array_equal(clusters(x, 0.05), clusters(x @ turn.T, 0.05))
    np.testing.assert_array_equal(clusters(x, 0.05), clusters(np.column_stack([x, np.zeros(80)]), 0.05))


@given(
    d=st.sampled_from([3, 8, 20, 64]), spread=st.sampled_from([0.02, 0.06, 0.1]), seed=st.integers(0, 2**32)
)
def test_groups_that_touch_by_their_outer_members_equal_the_double_loop(
    d: int, spread: float, seed: int
) -> None:
    # one cloud
    x = retract(
        np.eye(1, d) + spread * np.random.default_rng(seed).standard_normal((40, d)) * np.sqrt(3.0 / d)
    )
    for radius in (0.02, 0.05, 0.1, 0.15):
        assert clusters(x, radius).tolist() == slow_clusters(x, radius)


@pytest.mark.parametrize("d", [2, 3])
def test_leading_axes_are_frames_of_their_own(d: int) -> None:
    x = np.stack([[uniform(25, d, 10 * i + j) for j in range(4)] for i in range(3)])  # (3, 4, 25, d)
    label, count = clusters(x, 0.15), count_clusters(x, 0.15)
    assert (label.shape, count.shape) == ((3, 4, 25), (3, 4))
    for at in np.ndindex(3, 4):
        assert label[at].tolist() == slow_clusters(x[at], 0.15)
        assert count[at] == len(set(slow_clusters(x[at], 0.15)))
    assert count_clusters(x[0, 0], 0.15).shape == ()


def cloud(d: int, n: int, spread: float) -> Array:
    """n tokens around nine."""
    rng = np.random.default_rng(0)
    return retract(
        uniform(9, d, 0)[rng.integers(9, size=n)] + spread / np.sqrt(d) * rng.standard_normal((n, d))
    )


def two(d: int, n: int) -> Array:
    """n tokens in two balls that the radius 0.1 just does not join."""
    rng = np.random.default_rng(0)
    # (n, d - 1)
    ball = retract(rng.standard_normal((n, d - 1))) * 0.025 * rng.random((n, 1)) ** (1 / (d - 1))
    ball[:, 0] += np.where(rng.random(n) < 0.5, 0.0, 0.1525)
    return retract(np.column_stack([np.ones(n), ball]))


BIG = [("spread", d, radius) for d in (2, 3, 4) for radius in (5e-4, 0.0125, 0.3)] + [("spread", 64, 0.0125)]
BIG += [(what, d, 0.0125) for what in ("tight", "loose") for d in (2, 3, 4, 64)] + [
    ("two", d, 0.1) for d in (3, 4, 64)
]


@pytest.mark.parametrize(("what", "d", "radius"), BIG)
def test_1e5_tokens_take_no_quadratic_time(what: str, d: int, radius: float) -> None:
    n = 100_000
    x = {
        "spread": lambda: uniform(n, d, 0),
        "tight": lambda: cloud(d, n, 1e-9),
        "loose": lambda: cloud(d, n, 1e-3),
        "two": lambda: two(d, n),
    }[what]()
    count_clusters(uniform(3, d, 0), radius)  # compiled by now
    begin = time.process_time()  # other programs on this machine do not count
    count_clusters(x, radius)
    assert time.process_time() - begin < 3.0  # 5e9 pairs at a nanosecond each would be 5


def test_two_balls_that_do_not_touch_are_two() -> None:
    assert count_clusters(two(3, 1000), 0.1) == 2
    assert count_clusters(two(3, 1000), 0.14) == 1


def test_compact_means_a_small_diameter() -> None:
    x = at_angles(0.0, 0.1, -0.1, 1.0, 1.1, 2.5)  # diameters 0.2, 0.1, 0
    label = clusters(x, 0.15)
    assert compact(x, label, 0.25).tolist() == [True, True, True]
    # though every member is within 0.15 of the first
    assert compact(x, label, 0.15).tolist() == [False, True, True]
    assert compact(x, label, 0.05).tolist() == [False, False, True]


@patient
def test_diameters_of_large_clusters_take_no_table_of_all_pairs() -> None:
    angle = np.linspace(-0.06, 0.06, 60_000)
    x, label = at_angles(0.03, *angle), np.zeros(60_001, dtype=np.int64)  # the first is not in the middle
    begin = time.process_time()
    assert compact(x, label, 0.1201).tolist() == [True]
    assert compact(x, label, 0.1199).tolist() == [False]
    assert time.process_time() - begin < 2.0  # 3.6e9 pairs at a nanosecond each would be 3.6


@given(n=st.integers(1, 30), d=st.integers(2, 5), seed=st.integers(0, 2**32))
def test_compact_equals_the_double_loop(n: int, d: int, seed: int) -> None:
    x = retract(
        uniform(3, d, seed)[np.arange(n) % 3] + 0.2 * np.random.default_rng(seed).standard_normal((n, d))
    )
    label = clusters(x, 0.4)
    largest = np.array(
        [max(distance(a, b) for a in x[label == c] for b in x[label == c]) for c in range(label.max() + 1)]
    )
    # on either side of every diameter
    for width in np.outer(largest[largest > 0], [1 - 1e-6, 1 + 1e-6, 2.0]).reshape(-1).clip(max=np.pi):
        assert compact(x, label, width).tolist() == (largest < width).tolist()


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 3.2, "half"])
def test_a_radius_that_is_no_distance_is_refused(radius: float) -> None:
    with pytest.raises(InputError, match="radius must be"):
        clusters(uniform(3, 2, 0), radius)


@pytest.mark.parametrize(
    "x", [np.empty((0, 2)), np.ones((3, 2)), [[np.nan, 1.0]], [1.0, 0.0], [[1.0], [1.0]], "tokens"]
)
def test_what_are_no_tokens_is_refused(x: Array) -> None:
    for find in (clusters, count_clusters):
        with pytest.raises(InputError, match="x must"):
            find(x, 0.1)
