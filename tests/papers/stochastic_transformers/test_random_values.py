"""Random value matrices: other rates, other shares and exchanged masks change the verdicts."""

import numpy as np
from support.small_items import made, words_changed

from nucleate.papers.core.line_fits import STANDARD_ERRORS_95, half_width

KEY = "random-values"


def test_small_runs_are_judged_as_large_ones_are() -> None:
    found = made(KEY)
    assert found.words(found.data) == ["agrees", "observed", "observed", "observed", "agrees"]


def test_rates_of_another_sign_or_size_change_the_verdicts() -> None:
    rate = made(KEY).data["close"]["rate"].values
    assert words_changed(KEY, "close", rate=-rate)[:2] == ["disagrees", "not observed"]
    assert words_changed(KEY, "close", rate=rate + 1.0)[1] == "not observed"
    mean = rate.mean(-1, keepdims=True)
    assert words_changed(KEY, "close", rate=mean + 30.0 * (rate - mean))[0] == "not testable here"


def test_runs_that_never_end_opposite_change_the_verdicts() -> None:
    overlap = made(KEY).data["ends-full"]["overlap"].values
    assert words_changed(KEY, "ends-full", overlap=np.abs(overlap))[0] == "disagrees"
    assert words_changed(KEY, "ends-full", overlap=np.abs(overlap))[2] == "not observed"
    assert words_changed(KEY, "ends-full", overlap=0.5 * overlap)[2] == "not observed", "nobody has decided"


def test_masks_that_are_exchanged_change_the_verdict() -> None:
    rate = made(KEY).data["leaving"]["rate"].values  # (mask, beta, run)
    assert words_changed(KEY, "leaving", rate=rate[::-1])[3] == "not observed"
    assert words_changed(KEY, "leaving", rate=1.5 * rate)[3] == "not observed"


def test_several_tokens_that_all_meet_change_the_verdict() -> None:
    assert words_changed(KEY, "several", least=1.0)[4] == "disagrees"
    assert words_changed(KEY, "several", aligned=0.1)[4] == "disagrees"


def test_the_picture_is_drawn() -> None:
    found = made(KEY)
    assert list(found.item.draw(found.data, found.numbers, found.p)) == [KEY]


def test_the_farthest_of_all_rates_may_be_as_far_as_chance_has_it_once_in_a_thousand_times() -> None:
    found = made(KEY)
    rate = found.data["close"]["rate"].values  # (betas, runs)
    first = found.numbers[f"rate_{found.p['betas'][0]:g}"]
    assert first.expected is not None
    for errors, word in ((3.4, "observed"), (3.8, "not observed")):  # 3.6 are allowed among three rates
        moved = rate.copy()
        moved[0] += first.expected + errors * half_width(first) / STANDARD_ERRORS_95 - first.value
        assert words_changed(KEY, "close", rate=moved)[1] == word
