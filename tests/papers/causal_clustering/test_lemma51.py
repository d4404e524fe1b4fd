"""Lemma 5.1: centers drawn at an index, the guarantee, and lifetimes that change the verdicts."""

import numpy as np
import pytest
from support.small_items import changed, made, words_changed

from nucleate.observe.centers import renyi_centers
from nucleate.papers.causal_clustering.lemma51.data import (
    CHORD,
    draw_center,
    draw_center_on_sphere,
    guarantees,
    one_chord,
)
from nucleate.papers.causal_clustering.lemma51.item import _power
from nucleate.sphere import distance
from nucleate.theory.bounds import best_guarantee
from nucleate.theory.interaction import interaction, strongest_distance


def test_centers_drawn_at_an_index_are_strong_and_the_rest_is_uniform() -> None:
    delta = 0.5
    phi = draw_center(delta, 12, 400, 7)
    for row in phi[:20]:
        assert 11 in renyi_centers(np.stack([np.cos(row), np.sin(row)], axis=-1), delta, strong=True)
    others = np.sort(phi[:, :-1].ravel())
    level = (others - delta) / (2 * np.pi - 2 * delta)  # uniform on [0, 1]
    # Kolmogorov, 1 in 100
    assert np.abs(level - (np.arange(len(level)) + 0.5) / len(level)).max() < 1.63 / np.sqrt(len(level))


def test_the_guarantee_is_split_as_the_lemma_says() -> None:
    for sure in guarantees(64.0, 4.0, [0.25, 0.75]):
        x = sure.c * 64.0**-0.5
        assert abs(sure.c * (1 + 2 * sure.eps) - 4.0) < 1e-12
        assert abs(sure.product * float(interaction(x, 64.0)) - sure.eps * x) < 1e-12


def test_a_power_is_that_of_a_line_through_logarithms() -> None:
    rng = np.random.default_rng(2)
    indices, ratio = np.array([8, 16, 64]), np.exp(rng.standard_normal((3, 21)))
    quartile = np.sort(ratio, axis=1)[:, 5]
    assert float(_power(indices, ratio)) == pytest.approx(
        np.polyfit(np.log(indices), np.log(quartile / indices), 1)[0], rel=1e-10
    )


@pytest.mark.parametrize("name", ["beta64-c3-8", "beta64-c3-96"])
def test_one_center_beyond_the_bound_disagrees(name: str) -> None:
    moved, ratio = (made("lemma5.1").data[name][key].values.copy() for key in ("moved", "ratio"))
    moved[5], ratio[4] = 1.01, 0.99
    assert words_changed("lemma5.1", name, moved=moved)[0] == "disagrees"
    assert words_changed("lemma5.1", name, ratio=ratio)[0] == "disagrees"


def test_a_strong_center_of_a_start_that_wanders_disagrees() -> None:
    found = made("lemma5.1").data["starts"]
    moved = found["moved"].values.copy()
    moved[1, 1:] = 1.5
    assert words_changed("lemma5.1", "starts", moved=moved)[0] == "disagrees"
    assert words_changed("lemma5.1", "starts", done=0)[0] == "disagrees"


def test_lifetimes_with_all_earlier_tokens_at_one_point_must_fall_as_the_law_says() -> None:
    found = made("lemma5.1").data["beta64-c3-point"]
    exact = found["exact"].values.copy()
    exact[1] *= 1.0 + 1e-6
    assert words_changed("lemma5.1", "beta64-c3-point", exact=exact)[1] == "contradicted"
    simulated = 1.001 * found["simulated"].values
    assert words_changed("lemma5.1", "beta64-c3-point", simulated=simulated)[1] == "contradicted"


def test_centers_drawn_on_the_sphere_are_strong_and_the_rest_is_uniform() -> None:
    delta = 0.5
    x = draw_center_on_sphere(delta, 12, 400, 7)
    for row in x[:20]:
        assert 11 in renyi_centers(row, delta, strong=True)
    # the share of the sphere outside the cap that is farther down is uniform on [0, 1]
    level = np.sort((x[:, :-1, 2].ravel() + 1.0) / (np.cos(delta) + 1.0))
    # Kolmogorov, 1 in 100
    assert np.abs(level - (np.arange(len(level)) + 0.5) / len(level)).max() < 1.63 / np.sqrt(len(level))


def test_one_center_on_the_sphere_beyond_the_bound_is_seen() -> None:
    moved = made("lemma5.1").data["sphere-beta64-c4"]["moved"].values.copy()
    moved[1, 3] = 1.01
    assert words_changed("lemma5.1", "sphere-beta64-c4", moved=moved)[3] == "not observed"
    assert words_changed("lemma5.1", "sphere-beta64-c4", done=0)[3] == "not observed"


def test_the_placement_with_a_chord_meets_what_the_lemma_asks_for() -> None:
    beta, separation = CHORD["beta"], CHORD["separation"]
    x = one_chord(np.random.default_rng(0))
    assert len(x) - 1 in renyi_centers(x, separation * beta**-0.5, strong=True)
    scale = beta**0.5
    assert distance(x[0], x[2]) * scale == pytest.approx(CHORD["apart"], abs=0.01)
    assert distance(x[1], x[2]) * scale == pytest.approx(CHORD["apart"], abs=0.01)
    sure = best_guarantee(beta, separation)
    assert sure.c * (1 + 2 * sure.eps) == pytest.approx(separation)
    assert sure.c > beta**0.5 * strongest_distance(beta)
    assert sure.time(len(x)) * len(x) * interaction(sure.c / scale, beta) <= sure.displacement * (1 + 1e-12)


def test_a_center_that_stays_in_spite_of_the_chord_is_no_counterexample() -> None:
    found = made("lemma5.1").data["chords"]
    moved = found["moved"].values.copy()
    moved[1] = 0.99
    assert words_changed("lemma5.1", "chords", moved=moved)[4] == "not observed"
    assert words_changed("lemma5.1", "chords", done=0)[4] == "not observed"


def test_the_law_of_random_lifetimes_is_judged_by_what_is_known_of_it() -> None:
    found = made("lemma5.1")
    runs = found.data["beta64-c3-8"].sizes["run"]

    def with_law(early: float, late: float, spread: float) -> list[str]:
        """Lifetimes with one power of the index up to 64, and another beyond."""
        rng, data = np.random.default_rng(5), dict(found.data)
        for s in found.p["indices"]:
            lifetime = min(s, 64) ** early * (max(s, 64) / 64) ** late
            ratio = 1e3 * s * lifetime * np.exp(spread * rng.standard_normal(runs))
            data[f"beta64-c3-{s}"] = changed(data[f"beta64-c3-{s}"], ratio=ratio)
        return found.words(data)

    assert with_law(-1.0, -1.0, 0.01)[2] == "not observed"
    assert with_law(-0.5, -0.5, 0.01)[2] == "not observed"  # another power, but one
    assert with_law(-1.5, -0.5, 0.01)[2] == "observed"
    assert with_law(-1.5, -0.5, 3.0)[2] == "not observed"  # too little is known
