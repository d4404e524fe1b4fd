"""Theorem 4.1: tokens elsewhere and other rates change its verdicts."""

import numpy as np
from support.small_items import changed, made, words_with


def test_theorem_41_with_a_token_elsewhere_or_other_rates_disagrees() -> None:
    data = made("theorem4.1").data
    case, decay, spectrum = data["d3_beta9"], data["decay3"], data["spectrum2"]
    apart = case["apart"].values.copy()
    apart[1, -1] = 1e-3
    assert words_with("theorem4.1", d3_beta9=changed(case, apart=apart))[0] == "disagrees"
    assert words_with("theorem4.1", d3_beta9=changed(case, done=np.zeros(2, dtype=np.int8)))[0] == "disagrees"
    rate = decay["rate"].values.copy()
    rate[4] += 0.01
    assert words_with("theorem4.1", decay3=changed(decay, rate=rate))[1] == "disagrees"
    assert (
        words_with("theorem4.1", decay3=changed(decay, widest=np.exp(-0.55 * decay["time"].values)))[1]
        == "disagrees"
    )
    assert (
        words_with(
            "theorem4.1", spectrum2=changed(spectrum, formula_rates=1.01 * spectrum["formula_rates"].values)
        )[1]
        == "disagrees"
    )
    assert words_with("theorem4.1", spectrum2=changed(spectrum, differences_later=1e-3))[1] == "disagrees"


def test_theorem_41_beyond_its_statement_follows_the_data() -> None:
    data = made("theorem4.1").data
    window, pieces, decay = data["window2"], data["changing"], data["decay_window"]
    apart = window["apart"].values.copy()
    apart[0, -1] = 0.1
    assert words_with("theorem4.1", window2=changed(window, apart=apart))[2] == "evidence against"
    assert (
        words_with("theorem4.1", changing=changed(pieces, apart=pieces["apart"].values + 1e-3))[2]
        == "evidence against"
    )
    assert (
        words_with("theorem4.1", decay_window=changed(decay, rate=decay["rate"].values * 1.01))[2]
        == "evidence against"
    )
