"""Effective dimension: other exponents and ratios change its verdicts."""

import numpy as np
import pytest
from support.small_items import made, scaled, scaled_by_beta

import nucleate as nc
from nucleate.papers.causal_clustering.dimension.data import value_matrix


def test_another_exponent_is_evidence_against_the_effective_dimension() -> None:
    found = made("dimension")
    assert found.words(scaled_by_beta(found.data, "dimL2", "clusters", 0.6))[0] == "evidence against"
    assert found.words(scaled_by_beta(found.data, "dimL1", "clusters", 0.5))[0] == "evidence against"


def test_other_numbers_than_on_L_alone_are_evidence_against_the_reduction() -> None:
    found = made("dimension")
    names = [name for name in found.data if name.startswith("dimL3")]
    assert found.words(scaled(found.data, names, "alone", 1.5))[1] == "evidence against"
    assert found.words(scaled(found.data, names, "near", 0.5))[1] == "evidence against"


def test_tokens_that_gather_away_from_L_are_evidence_against_its_winning() -> None:
    found = made("dimension")
    assert found.words(scaled(found.data, ["gap0.1-beta64"], "on_L", 0.5))[2] == "evidence against"
    assert found.words(scaled(found.data, ["gap2-beta4"], "on_L", 0.4))[2] == "evidence against"
    assert found.words(scaled(found.data, ["gap0.1-beta4"], "on_L", 3.0))[2] == "evidence against"


def test_a_token_alone_nears_L_at_the_rate_of_the_gap() -> None:
    V = value_matrix(8, 3, 0.7)
    run = nc.simulate(nc.Attention(5.0, V=V), nc.uniform(1, 8, 2), 20.0, save=np.array([15.0, 20.0]))
    off = np.linalg.norm(run.x[:, 0, 3:], axis=-1)
    # the square of what is left at t = 15 is e^-21
    assert np.log(off[0] / off[1]) / 5.0 == pytest.approx(0.7, abs=1e-3)
