"""The law β^{(d−1)/2}: other powers, radii and matches change its verdicts."""

import pytest
from support.small_items import made, scaled, scaled_by_beta


@pytest.mark.parametrize(
    ("variable", "part", "word"),
    [("strong", 0, "disagrees"), ("renyi", 0, "disagrees"), ("clusters", 1, "evidence against")],
)
def test_another_power_of_beta_changes_the_verdict(variable: str, part: int, word: str) -> None:
    found = made("law")
    assert found.words(scaled_by_beta(found.data, "d3", variable, 0.4))[part] == word
    assert found.words(scaled_by_beta(found.data, "d4", variable, -0.5))[part] == word


def test_many_more_clusters_than_centers_are_evidence_against_the_radius_of_the_figures() -> None:
    found = made("law")
    names = [name for name in found.data if name.startswith("d2-")]
    assert found.words(scaled(found.data, names, "clusters", 1.5))[2] == "evidence against"
    assert found.words(scaled(found.data, names, "clusters", 50.0))[2] == "evidence against"


def test_strong_centers_are_the_better_tellers_only_while_the_data_say_so() -> None:
    found = made("law")
    names = [name for name in found.data if name.startswith("d4-")]
    assert found.words(scaled(found.data, names, "strong_match", 0.5))[3] == "evidence against"
