"""Clusters: connected components, against a naive union-find."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nucleate.checks import Array, InputError
from nucleate.observe.clusters import clusters, compact
from nucleate.sphere import distance, retract, uniform


def slow_clusters(x: Array, radius: float) -> list[int]:
    """Every pair, one by one; a root is the first member of its cluster."""
    root = list(range(len(x)))

    def find(k: int) -> int:
        return k if root[k] == k else find(root[k])

    for k in range(len(x)):
        for j in range(k):
            if distance(x[j], x[k])[0] <= radius:
                low, high = sorted((find(j), find(k)))
                root[high] = low
    roots = [find(k) for k in range(len(x))]
    return [sorted(set(roots)).index(k) for k in roots]


@given(n=st.integers(1, 40), d=st.integers(2, 6), radius=st.floats(0.001, np.pi), seed=st.integers(0, 2**32))
def test_clusters_equal_the_double_loop(n: int, d: int, radius: float, seed: int) -> None:
    x = uniform(n, d, seed)
    label = clusters(x, radius)
    assert label.tolist() == slow_clusters(x, radius)
    assert label.dtype == np.int64


@given(n=st.integers(2, 25), d=st.integers(2, 4), spread=st.sampled_from([1e-12, 1e-3, 0.05, 0.2]), seed=st.integers(0, 2**32))
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


def test_many_gathered_tokens_take_no_quadratic_time() -> None:
    rng = np.random.default_rng(0)
    x = retract(uniform(9, 3, 0)[rng.integers(9, size=40_000)] + 1e-6 * rng.standard_normal((40_000, 3)))  # n^2 / 9 pairs would be 2e8
    assert clusters(x, 0.05).max() == 8


def test_compact_means_a_small_diameter() -> None:
    x = at_angles(0.0, 0.1, -0.1, 1.0, 1.1, 2.5)  # diameters 0.2, 0.1, 0
    label = clusters(x, 0.15)
    assert compact(x, label, 0.25).tolist() == [True, True, True]
    assert compact(x, label, 0.15).tolist() == [False, True, True]  # though every member is within 0.15 of the first
    assert compact(x, label, 0.05).tolist() == [False, False, True]


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 3.2, "half"])
def test_a_radius_that_is_no_distance_is_refused(radius: float) -> None:
    with pytest.raises(InputError, match="radius must be"):
        clusters(uniform(3, 2, 0), radius)


@pytest.mark.parametrize("x", [np.empty((0, 2)), np.ones((3, 2)), [[np.nan, 1.0]], np.stack([np.eye(2)] * 2), "tokens"])
def test_what_are_no_tokens_is_refused(x: Array) -> None:
    with pytest.raises(InputError, match="x must"):
        clusters(x, 0.1)
