"""Rényi parking: the greedy choice of centers, against its definition and against exact counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nucleate.checks import Array, InputError
from nucleate.observe.centers import renyi_centers
from nucleate.sphere import distance, retract, uniform


def slow_centers(x: Array, delta: float, strong: bool) -> list[int]:
    """The definition, token by token."""
    centers: list[int] = []
    for k in range(len(x)):
        before = range(k) if strong else centers
        if all(distance(x[k], x[j])[0] > delta for j in before):
            centers.append(k)
    return centers


@given(n=st.integers(1, 40), d=st.integers(2, 6), delta=st.floats(0.01, np.pi), strong=st.booleans(), seed=st.integers(0, 2**32))
def test_centers_equal_the_double_loop(n: int, d: int, delta: float, strong: bool, seed: int) -> None:
    x = uniform(n, d, seed)
    found = renyi_centers(x, delta, strong=strong)
    assert found.tolist() == slow_centers(x, delta, strong)
    assert found.dtype == np.int64


@given(n=st.integers(2, 30), seed=st.integers(0, 2**32))
def test_clustered_tokens_equal_the_double_loop(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = retract(uniform(4, 3, seed)[rng.integers(4, size=n)] + 1e-9 * rng.standard_normal((n, 3)))  # near-doubles and exact ones
    x[1] = x[0]
    for strong in (False, True):
        assert renyi_centers(x, 1e-9, strong=strong).tolist() == slow_centers(x, 1e-9, strong)


@given(seed=st.integers(0, 2**32), delta=st.floats(0.05, 3.0))
def test_centers_are_apart_cover_all_and_contain_the_strong_ones(seed: int, delta: float) -> None:
    x = uniform(50, 3, seed)
    centers, strong = renyi_centers(x, delta), renyi_centers(x, delta, strong=True)
    apart = distance(x[centers][:, None], x[centers][None])
    assert (apart[~np.eye(len(centers), dtype=bool)] > delta).all()
    assert (distance(x[:, None], x[centers][None]).min(1) <= delta).all()
    assert set(strong) <= set(centers)
    assert centers[0] == strong[0] == 0
    assert (np.diff(centers) > 0).all()


def test_farther_means_strictly_farther() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # quarter turns
    assert renyi_centers(x, np.pi / 2).tolist() == [0, 2]
    assert renyi_centers(x, np.pi / 2, strong=True).tolist() == [0]  # the third is a quarter from the second
    assert renyi_centers(x, np.pi).tolist() == [0]


def test_mean_counts_are_those_of_the_theory() -> None:
    # beta = 64, delta = 1/2, n = 200, d = 2: strong (1 - (1 - delta/pi)^n) pi/delta = 2 pi exactly to 1e-14; Rényi 9.148 +- .002.
    # Standard deviations of one count are below 1, so that of a mean over 600 below .04; 4 of them are allowed.
    starts = [uniform(200, 2, seed) for seed in range(600)]
    assert abs(np.mean([len(renyi_centers(x, 0.5, strong=True)) for x in starts]) - 2 * np.pi) < 0.16
    assert abs(np.mean([len(renyi_centers(x, 0.5)) for x in starts]) - 9.148) < 0.16


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, np.inf, 3.2, "half"])
def test_a_delta_that_is_no_distance_is_refused(delta: float) -> None:
    with pytest.raises(InputError, match="delta must be"):
        renyi_centers(uniform(3, 2, 0), delta)


def test_several_runs_at_once_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(n, d\), but has shape \(2, 3, 2\)"):
        renyi_centers(np.stack([uniform(3, 2, 0)] * 2), 0.5)
