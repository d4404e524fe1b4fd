"""Effective dimension: other exponents and ratios change its verdicts."""

from typing import Any

import numpy as np
import pytest
from support.small_items import made, scaled, scaled_by_beta

import nucleate as nc
from nucleate.papers import find
from nucleate.papers.causal_clustering.dimension.data import random_value_matrices, value_matrix
from nucleate.papers.core.item import Data
from nucleate.theory.atlas import atlas


def test_another_exponent_is_evidence_against_the_effective_dimension() -> None:
    found = made("dimension")
    assert found.words(scaled_by_beta(found.data, "dimL2", "clusters", 0.6))[:2] == [
        "evidence against",
        "evidence for",
    ]
    assert found.words(scaled_by_beta(found.data, "dimL1", "clusters", 0.5))[0] == "evidence against"


@pytest.mark.parametrize("kind", list(find("dimension").parameters["other_V"]))
def test_another_exponent_of_one_kind_of_V_is_evidence_against_it_for_other_V(kind: str) -> None:
    found = made("dimension")
    assert found.words(scaled_by_beta(found.data, f"{kind}-dimL2", "clusters", 0.8))[:2] == [
        "evidence for",
        "evidence against",
    ]


@pytest.mark.parametrize("names", ["dimL3", "oblique-dimL2"])
def test_other_numbers_than_on_L_alone_are_told(names: str) -> None:
    found = made("dimension")
    data = exactly_as_on_L(found.data)
    assert found.words(data)[2] == "observed"
    some = [name for name in data if name.startswith(names)]
    for variable, factor in (("alone", 1.15), ("near", 0.5)):
        assert found.words(scaled(data, some, variable, factor))[2] == "not observed"


def test_the_ratio_is_called_different_from_1_where_its_interval_is() -> None:
    found = made("dimension")
    data = exactly_as_on_L(found.data)
    data = scaled(data, [name for name in data if name.startswith("dimL2")], "clusters", 1.03)
    verdict = found.item.verdicts(found.item.measure(data, found.p), found.p)[2]
    assert verdict.word == "observed"
    assert "All are within 3.0% of 1; 1 of 8 differ" in verdict.why


def exactly_as_on_L(data: Data) -> dict[str, Any]:
    """As many clusters in d dimensions as on L, in every run."""
    return {name: one.assign(alone=one["clusters"]) if "dimL" in name else one for name, one in data.items()}


def test_tokens_that_gather_away_from_L_are_told() -> None:
    found = made("dimension")
    assert found.words(found.data)[3] == "observed"
    assert found.words(scaled(found.data, ["gap0.1-beta64"], "on_L", 0.5))[3] == "not observed"
    assert found.words(scaled(found.data, ["gap2-beta4"], "on_L", 0.4))[3] == "not observed"
    assert found.words(scaled(found.data, ["gap0.1-beta4"], "on_L", 3.0))[3] == "not observed"


def test_random_value_matrices_are_what_their_kind_says() -> None:
    for name, kind in find("dimension").parameters["other_V"].items():
        for V in random_value_matrices(8, 2, kind, 0, 3):
            known = atlas(V)
            assert (known.algebraic, known.kind, round(known.lambda_max, 9)) == (2, "real", 1.0)
            assert known.gap >= kind["gap"] - 1e-9
            assert known.eigenvalues.real.min() >= 1.0 - kind["gap"] - kind["spread"] - 1e-9
            normal = np.abs(V @ V.T - V.T @ V).max() < 1e-12
            assert normal == (name != "oblique")


def test_a_token_put_on_L_is_where_it_would_end_alone() -> None:
    V = random_value_matrices(8, 2, find("dimension").parameters["other_V"]["oblique"], 0, 1)[0]
    known, start = atlas(V), nc.uniform(3, 8, 4)
    put = start @ known.dual @ known.basis.T  # (3, 8)
    put /= np.linalg.norm(put, axis=-1, keepdims=True)
    for k in range(3):
        end = nc.simulate(nc.Attention(5.0, V=V), start[k : k + 1], 60.0, save=[60.0]).x[-1, 0]
        np.testing.assert_allclose(put[k], end, atol=1e-7)  # the gap is at least 0.5: e^-30


def test_a_token_alone_nears_L_at_the_rate_of_the_gap() -> None:
    V = value_matrix(8, 3, 0.7)
    run = nc.simulate(nc.Attention(5.0, V=V), nc.uniform(1, 8, 2), 20.0, save=np.array([15.0, 20.0]))
    off = np.linalg.norm(run.x[:, 0, 3:], axis=-1)
    # the square of what is left at t = 15 is e^-21
    assert np.log(off[0] / off[1]) / 5.0 == pytest.approx(0.7, abs=1e-3)
