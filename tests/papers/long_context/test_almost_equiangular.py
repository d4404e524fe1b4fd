"""Random tokens: a transition elsewhere, or one that does not come nearer, changes the verdict."""

import numpy as np
import pytest
from support.small_items import changed, made

from nucleate.papers.long_context.almost_equiangular.data import almost_equiangular, mean_cosine
from nucleate.papers.long_context.almost_equiangular.measures import crossings


def test_the_mean_cosine_is_that_of_all_pairs() -> None:
    x = np.random.default_rng(0).standard_normal((9, 4))
    y = x / np.linalg.norm(x, axis=1, keepdims=True)
    slow = np.mean([y[i] @ y[j] for i in range(9) for j in range(9) if i != j])
    assert mean_cosine(x) == pytest.approx(slow, abs=1e-14)


def test_tokens_have_length_one_and_overlaps_near_rho() -> None:
    x = almost_equiangular(50, 4000, 0.4, np.random.default_rng(1))
    assert np.linalg.norm(x, axis=1) == pytest.approx(1.0, abs=1e-14)
    overlaps = (x @ x.T)[np.triu_indices(50, 1)]
    assert np.abs(overlaps - 0.4).max() < 5.0 * 0.6 / np.sqrt(4000)  # 1225 pairs stay below five of these


def test_a_planted_transition_is_found_where_it_was_planted() -> None:
    found = made("almost-equiangular")
    one, rho = found.data["d64"], found.p["rho"]
    share = one["gamma"].values * (1.0 - rho)
    level = 4.0 * rho / (1.0 + 3.0 * rho)
    planted = changed(one, cosine=level - 0.1 * (share - 1.07))
    assert crossings(planted, rho) == pytest.approx(1.07, abs=1e-12)


def test_another_place_or_no_approach_changes_the_verdict() -> None:
    found = made("almost-equiangular")
    names = [f"d{d}" for d in found.p["d"]]
    moved = found.data[names[-1]].assign_coords(gamma=found.data[names[-1]]["gamma"] * 1.08)
    assert found.words({**found.data, names[-1]: moved}) == ["disagrees"]
    reverse = dict(zip(names, [found.data[name] for name in reversed(names)], strict=True))
    assert found.words({**found.data, **reverse}) == ["disagrees"]
    assert found.words(found.data) == ["agrees"]
