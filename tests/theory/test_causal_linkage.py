"""Causal single linkage: a slow twin, its place between two kinds of centers, and the limit of large beta."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import InputError
from nucleate.theory.causal_linkage import linkage_angles


@pytest.mark.parametrize("d", [2, 3, 4])
def test_angles_are_those_of_merging_the_nearest_pair_again_and_again(d: int) -> None:
    x = nc.uniform(40, d, d)
    left, lost = list(range(40)), {0: np.inf}
    while len(left) > 1:
        apart, k = min((float(nc.distance(x[i], x[j])), j) for i in left for j in left if i < j)
        lost[k] = apart
        left.remove(k)
    assert linkage_angles(x).tolist() == pytest.approx([lost[k] for k in range(40)])


def test_those_left_are_between_strong_and_all_renyi_centers_in_number() -> None:
    x = nc.uniform(300, 3, 0)
    found = linkage_angles(x)
    for delta in (0.2, 0.5, 1.0):
        left = set(np.flatnonzero(found > delta).tolist())
        assert set(nc.renyi_centers(x, delta, strong=True).tolist()) <= left
        assert all(float(nc.distance(x[i], x[j])) > delta for i in left for j in left if i < j)


def test_predicted_merges_tend_to_it_as_beta_grows() -> None:
    x = nc.uniform(12, 2, 1)
    angle = linkage_angles(x)
    for beta, error in ((1e4, 2e-3), (1e6, 3e-5)):  # log(m beta) / beta
        found = nc.predict_merges(nc.Attention(beta), x)
        lost = np.array([event.lost for event in found])
        assert found.log_times / beta == pytest.approx(1.0 - np.cos(angle[lost]), abs=error)


def test_tokens_of_several_runs_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(n, d\)"):
        linkage_angles(nc.uniform(4, 2, 0, runs=2))
