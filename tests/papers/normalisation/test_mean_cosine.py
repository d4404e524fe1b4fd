"""Mean cosines under every norm: exchanged norms and another clock change the verdicts."""

import numpy as np
import pytest
from support.small_items import made, planted, words_changed

from nucleate.papers.normalisation.mean_cosine.data import clock_of_sqrt, mean_gap

KEY = "mean-cosine"


def test_small_runs_are_judged_as_large_ones_are() -> None:
    found = made(KEY)
    assert found.words(found.data) == ["agrees", "agrees", "observed"]


def test_the_gap_is_one_minus_the_mean_cosine_of_all_pairs() -> None:
    x = np.random.default_rng(0).standard_normal((3, 5, 4))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    pairs = [x[:, i] @ x[:, j].T for i in range(5) for j in range(5) if i != j]  # (3, 3) each
    cosines = np.mean([np.diag(one) for one in pairs], axis=0)  # (3,)
    assert mean_gap(x) == pytest.approx(1.0 - cosines, abs=1e-14)  # rounding of sums of 5


def test_the_clock_of_sqrt_runs_at_the_speed_of_sqrt() -> None:
    t, h = np.linspace(0.5, 9.0, 7), 1e-6
    speed = (clock_of_sqrt(t + h) - clock_of_sqrt(t - h)) / (2.0 * h)
    assert speed == pytest.approx(1.0 / np.sqrt(t + 1.0), abs=1e-8)  # differences of doubles over 1e-6
    assert clock_of_sqrt(np.zeros(1)) == 0.0


def test_tokens_that_are_as_slow_as_under_post_change_the_first_verdict() -> None:
    found = made(KEY)
    for norm in ("peri", "ngpt"):
        assert found.words(planted(found.data, norm, found.data["post"]))[0] == "disagrees"


@pytest.mark.parametrize("norm", ["pre", "mix", "peri"])
def test_a_norm_that_collapses_like_ngpt_changes_the_second_verdict(norm: str) -> None:
    found = made(KEY)
    assert found.words(planted(found.data, norm, found.data["ngpt"]))[1] == "disagrees"


def test_sqrt_in_the_clock_of_post_changes_the_third_verdict() -> None:
    found = made(KEY)
    gap = found.data["post"]["gap"].values
    assert words_changed(KEY, "sqrt", gap=gap)[2] == "not observed"
    assert words_changed(KEY, "post", in_clock=gap)[2] == "not observed"


def test_the_picture_is_drawn() -> None:
    found = made(KEY)
    assert list(found.item.draw(found.data, found.numbers, found.p)) == [KEY]
