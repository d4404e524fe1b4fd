"""The first large mode: found as one would find it, and other races change the verdicts."""

import numpy as np
import pytest
import xarray
from support.small_items import made

from nucleate.papers.clustering_onset.first_clusters.measures import first_modes, raced_modes
from nucleate.theory.onset import mode_growth


def with_first(found: xarray.Dataset, first: np.ndarray) -> xarray.Dataset:
    """The data with the mode `first` of every run alone at the level in the end."""
    size = np.zeros((len(first), 2, len(found["k"])))
    size[np.arange(len(first)), 1, first - 1] = 0.5
    return xarray.Dataset({"size": (("run", "time", "k"), size)}, {"k": found["k"].values})


def test_the_first_mode_is_the_largest_of_the_first_frame_at_the_level() -> None:
    size = np.array([[[0.1, 0.0], [0.2, 0.3], [0.9, 0.3]], [[0.0, 0.0], [0.1, 0.1], [0.1, 0.1]]])
    found = xarray.Dataset({"size": (("run", "time", "k"), size)}, {"k": [1, 2]})
    assert first_modes(found, 0.2).tolist() == [2, 0]


def test_a_race_of_equals_is_even_and_a_faster_mode_wins_more_among_more_tokens() -> None:
    assert raced_modes(np.full(4, 0.7), 1e4, 0.2, 0) == pytest.approx(0.25, abs=0.02)  # 20 000 races
    shares = [raced_modes(np.array([0.5, 0.7]), n, 0.2, 0)[1] for n in (1e3, 1e6, 1e12)]
    assert (np.diff(shares) > 0.0).all()


def test_verdicts_follow_the_winners() -> None:
    found = made("first-clusters")
    rng, even, raced, low = np.random.default_rng(2), {}, {}, {}
    for name, one in found.data.items():
        k = one["k"].values
        share = raced_modes(mode_growth(k, float(name.removeprefix("beta"))), found.p["n"], 0.2, 9)
        raced[name] = with_first(one, rng.choice(k, 60, p=share))
        even[name] = with_first(one, rng.choice(k, 60))
        low[name] = with_first(one, np.ones(60, dtype=int))
    assert found.words(raced) == ["agrees", "observed"]
    assert found.words(even)[1] == "not observed"
    assert found.words(low) == ["disagrees", "not observed"]
