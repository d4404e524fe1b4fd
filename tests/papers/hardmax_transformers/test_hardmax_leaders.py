"""Hardmax leaders: other ends, other leaders and other times of meeting change the verdicts."""

import numpy as np
from support.small_items import made, words_changed

from nucleate.papers.hardmax_transformers.hardmax_leaders.data import first_below, layer
from nucleate.papers.hardmax_transformers.hardmax_leaders.measures import (
    linkage_heights,
    mutual_pairs,
    square,
)

KEY = "hardmax-leaders"


def test_small_runs_are_judged_as_large_ones_are() -> None:
    found = made(KEY)
    assert found.words(found.data) == ["agrees", "observed", "observed", "observed"]


def test_a_layer_goes_halfway_to_the_choice_and_a_leader_stays() -> None:
    z = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    after, own = layer(z, alpha=1.0)
    np.testing.assert_array_equal(after, [[2.0, 0.0], [1.5, 0.0], [0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(own, [True, False, False, False])


def test_times_of_exponential_angles_are_exact_and_infinite_if_never() -> None:
    t = np.linspace(0.0, 5.0, 11)
    angle = np.stack([0.5 * np.exp(-2.0 * t), 0.5 * np.exp(-0.1 * t)], -1)[None]  # (1, frames, 2)
    met = first_below(angle, t, 0.01)
    np.testing.assert_allclose(met, [[np.log(50.0) / 2.0, np.inf]], rtol=1e-12)


def test_mutual_pairs_and_heights_are_those_of_slow_twins() -> None:
    n, rng = 9, np.random.default_rng(3)
    angle = rng.uniform(0.1, 2.0, (5, n * (n - 1) // 2))
    full = square(angle, n, np.inf)
    i, j = np.triu_indices(n, 1)
    for run in range(5):
        mutual = [
            full[run, a].argmin() == b and full[run, b].argmin() == a for a, b in zip(i, j, strict=True)
        ]
        np.testing.assert_array_equal(mutual_pairs(angle, n)[run], mutual)
        widest = full[run].copy()  # the widest step of the best way, by Floyd and Warshall
        for k in range(n):
            widest = np.minimum(widest, np.maximum(widest[:, k : k + 1], widest[k]))
        np.testing.assert_array_equal(linkage_heights(angle[run]), widest[i, j])


def test_tokens_that_end_elsewhere_or_at_others_change_the_verdict() -> None:
    layers = made(KEY).data["layers"]
    end, leader, place = (layers[name].values for name in ("end", "leader", "place"))
    away = end.copy()
    away[0, np.nonzero(~leader[0])[0][0]] += 1e-3
    assert words_changed(KEY, "layers", end=away)[0] == "disagrees"
    assert words_changed(KEY, "layers", place=place + 1e-9)[0] == "disagrees", "leaders have moved"
    one_token = np.zeros_like(end)
    assert words_changed(KEY, "layers", end=one_token, place=one_token, start=one_token)[0] == "disagrees"


def test_another_first_pair_or_another_law_changes_the_verdict() -> None:
    sphere = made(KEY).data["sphere"]
    angle, met, gap = (sphere[name].values for name in ("angle", "met", "nearest_gap"))
    later = met.copy()
    later[0, angle[0].argmin()] = 19.0
    assert words_changed(KEY, "sphere", met=later)[1] == "not observed"
    slower = gap * np.exp(0.01 * sphere["time"].values)
    assert words_changed(KEY, "sphere", nearest_gap=slower)[1] == "not observed"


def test_mutual_pairs_in_another_order_change_the_verdict() -> None:
    found = made(KEY)
    angle, met = found.data["sphere"]["angle"].values, found.data["sphere"]["met"].values.copy()
    (mutual,) = np.nonzero(mutual_pairs(angle, found.p["n"])[0])
    met[0, mutual] = met[0, mutual[::-1]]
    assert words_changed(KEY, "sphere", met=met)[2] == "not observed"
    met[0, mutual] = np.inf
    assert words_changed(KEY, "sphere", met=met)[2] == "not observed"


def test_times_in_a_random_order_are_not_those_of_single_linkage() -> None:
    met = made(KEY).data["sphere"]["met"].values
    rng = np.random.default_rng(0)
    times = np.where(np.isfinite(met), rng.uniform(1.0, 19.0, met.shape), np.inf)
    assert words_changed(KEY, "sphere", met=times)[3] == "not observed"


def test_the_picture_is_drawn() -> None:
    found = made(KEY)
    assert list(found.item.draw(found.data, found.numbers, found.p)) == [KEY]
