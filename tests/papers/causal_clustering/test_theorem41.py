"""Theorem 4.1: tokens elsewhere and other rates change its verdicts."""

import numpy as np
import xarray
from support.small_items import changed, made, words_with

from nucleate.attention import Attention, Window
from nucleate.papers.causal_clustering.shared.linearisation import attention
from nucleate.sphere import uniform


def test_theorem_41_with_a_token_elsewhere_or_other_rates_disagrees() -> None:
    data = made("theorem4.1").data
    case, decay, spectrum = data["d3_beta9"], data["decay_d3_beta9"], data["spectrum_d2_beta0"]
    apart = case["apart"].values.copy()
    apart[1, -1] = 1e-3
    assert words_with("theorem4.1", d3_beta9=changed(case, apart=apart))[0] == "disagrees"
    assert words_with("theorem4.1", d3_beta9=changed(case, done=np.zeros(2, dtype=np.int8)))[0] == "disagrees"
    rate = decay["rate"].values.copy()
    rate[0, 4] += 0.01

    def second(**data: xarray.Dataset) -> str:
        return words_with("theorem4.1", **data)[1]

    assert second() == "proved"
    assert second(decay_d3_beta9=changed(decay, rate=rate)) == "contradicted"
    faster = np.exp(-0.55 * decay["time"].values)
    assert second(decay_d3_beta9=changed(decay, widest=faster)) == "contradicted"
    wrong = changed(spectrum, formula_rates=1.01 * spectrum["formula_rates"].values)
    assert second(spectrum_d2_beta0=wrong) == "contradicted"
    assert second(spectrum_d2_beta0=changed(spectrum, differences_later=1e-3)) == "contradicted"
    window = data["decay_window4_beta9"]
    assert second(decay_window4_beta9=changed(window, rate=window["rate"].values * 1.01)) == "contradicted"


def test_theorem_41_beyond_its_statement_follows_the_data() -> None:
    data = made("theorem4.1").data
    window, pieces = data["window2"], data["changing"]
    apart = window["apart"].values.copy()
    apart[0, -1] = 0.1
    assert words_with("theorem4.1")[2] == "observed"
    assert words_with("theorem4.1", window2=changed(window, apart=apart))[2] == "not observed"
    late = changed(pieces, apart=pieces["apart"].values + 1e-3)
    assert words_with("theorem4.1", changing=late)[2] == "not observed"


def test_at_one_point_every_weight_is_the_same_whatever_q_and_k() -> None:
    """What the proof of the rates asks for, and what it uses next: means do not change with weights."""
    rng = np.random.default_rng(4)
    Q, K = rng.standard_normal((2, 3, 3))
    x = np.repeat(uniform(1, 3, 2), 7, axis=0)
    for model, size in (
        (Attention(20.0, Q=Q, K=K), np.arange(1, 8)),
        (Attention(20.0, Q=Q, K=K, mask=Window(3)), np.minimum(np.arange(1, 8), 3)),
    ):
        p = attention(model, x)
        np.testing.assert_allclose(p[p > 0], np.repeat(1.0 / size, size), rtol=1e-12)
        np.testing.assert_allclose(p @ x, x, rtol=1e-12)
