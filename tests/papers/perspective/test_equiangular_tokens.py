"""Equiangular tokens: causal runs, other rates and other slopes change the verdicts."""

import numpy as np
import pytest
from support.small_items import made, planted, words_changed

from nucleate.papers.perspective.equiangular_tokens.data import equiangular_start


@pytest.mark.parametrize("rho", [-0.03, 0.0, 0.7])
def test_the_start_has_the_overlap_it_is_asked_for(rho: float) -> None:
    x = equiangular_start(32, rho)
    assert x @ x.T == pytest.approx(np.where(np.eye(32), 1.0, rho), abs=1e-14)  # rounding of square roots


def test_causal_runs_in_the_place_of_full_ones_change_the_verdict() -> None:
    found = made("equiangular-tokens")
    words = found.words(planted(found.data, "full", found.data["causal"]))
    assert words[0] == "disagrees"
    assert found.words(planted(found.data, "causal", found.data["full"]))[0] == "disagrees", (
        "an instrument that sees no difference"
    )


def test_rates_of_other_weights_change_the_verdict() -> None:
    rates = made("equiangular-tokens").data["rates"]
    swapped = rates["formula"].values[::-1]
    assert words_changed("equiangular-tokens", "rates", formula=swapped)[1] == "disagrees"


def test_another_exponent_changes_the_verdict() -> None:
    full = made("equiangular-tokens").data["full"]
    assert words_changed("equiangular-tokens", "full", gap=full["gap"].values ** 1.01)[2] == "disagrees"
    t = full["time"].values
    assert words_changed("equiangular-tokens", "full", gap=np.exp(-2.0 * t))[2] == "agrees"
    assert words_changed("equiangular-tokens", "full", gap=1.0 / (1.0 + t) ** 2)[2] == "disagrees", "too slow"
