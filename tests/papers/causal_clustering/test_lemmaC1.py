"""Lemma C.1: counts and extrapolation, and other counts that change the verdicts."""

import numpy as np
import pytest
from support.small_items import changed, made, scaled

import nucleate as nc
from nucleate.papers.causal_clustering.lemmaC1.data import _counts_of_start
from nucleate.papers.causal_clustering.lemmaC1.measures import jammed


def test_other_numbers_of_strong_centers_disagree_with_the_lemma() -> None:
    found = made("lemmaC.1")
    assert found.words(scaled(found.data, ["strong_3_1.333"], "count", 1.2))[0] == "disagrees"


def test_other_numbers_among_n_tokens_contradict_the_formula() -> None:
    found = made("lemmaC.1")
    few = found.data["strong_2_0.100"]
    count = few["count"].values.copy()
    count[:, 0] *= 1.2  # among ten tokens, far from all
    told = found.words({**found.data, "strong_2_0.100": changed(few, count=count)})
    assert told == ["agrees", "contradicted", "proved", "observed"]


def test_other_numbers_of_parked_cars_contradict_renyi() -> None:
    found = made("lemmaC.1")
    names = [name for name in found.data if name.startswith("renyi_2")]
    assert found.words(scaled(found.data, names, "count", 1.15))[2] == "contradicted"


@pytest.mark.parametrize("d", [3, 4, 5])
def test_other_densities_are_not_those_of_flat_balls(d: int) -> None:
    found = made("lemmaC.1")
    names = [name for name in found.data if name.startswith(f"renyi_{d}")]
    assert found.words(scaled(found.data, names, "count", 1.6))[3] == "not observed"


def test_the_misprinted_number_is_a_slip_only_if_counts_say_so() -> None:
    found = made("lemmaC.1")
    assert len(found.item.slips(found.numbers)) == 1
    printed = scaled(found.data, ["strong_3_1.333"], "count", 1.0 / 3.0)
    assert found.item.slips(found.item.measure(printed, found.p)) == ()


def test_a_parabola_in_the_right_power_is_followed_to_infinitely_many_tokens() -> None:
    tokens = np.array([100, 200, 400, 800, 1600, 3200])
    for d in (2, 3, 5):
        x = tokens ** (-1.0 / (d - 1))
        count = np.stack([50.0 - 3.0 * x + 2.0 * x**2, 40.0 + x])
        np.testing.assert_allclose(
            jammed(count, tokens, d, 6, 2), [50.0, 40.0], rtol=1e-10
        )  # exact but for rounding, times the extrapolation
        np.testing.assert_allclose(jammed(count[1:], tokens, d, 4, 1), [40.0], rtol=1e-10)


def test_one_start_serves_every_number_of_tokens() -> None:
    sizes = np.array([1, 10, 100, 400])
    for strong in (False, True):
        counts = _counts_of_start(3, 0.4, sizes, 5, strong, 2)
        x = nc.uniform(400, 3, np.random.SeedSequence(5, spawn_key=(3, 400_000, 2)))
        assert counts.tolist() == [len(nc.renyi_centers(x[:n], 0.4, strong=strong)) for n in sizes]
