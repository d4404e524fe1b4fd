"""The transition at beta = gamma log n: another scale, layer or width changes its verdicts."""

import numpy as np
from support.small_items import changed, made, words_changed

from nucleate.papers.long_context.attention_scale.data import transition_width
from nucleate.papers.long_context.equiangular_layer import critical_scale
from nucleate.theory.long_context import layer_cosine


def test_a_beta_that_does_not_grow_with_n_is_not_this_transition() -> None:
    found = made("attention-scale")
    curves = found.data["curves"]
    rho, n, share = (curves[name].values for name in ("rho", "n", "share"))
    beta = (critical_scale(rho)[:, None, None] * share) * np.log(1e3)  # the same for every n
    planted = changed(curves, cosine=layer_cosine(n[:, None], rho[:, None, None], beta))
    assert found.words({**found.data, "curves": planted})[0] == "disagrees"


def test_a_layer_that_differs_from_the_closed_form_changes_the_verdict() -> None:
    found = made("attention-scale")
    name = f"direct-{found.p['direct_n'][0]}"
    for variable in ("least", "largest"):
        value = found.data[name][variable].values + 1e-8
        assert words_changed("attention-scale", name, **{variable: value})[0] == "disagrees"


def test_a_width_that_falls_like_a_power_of_n_is_not_observed() -> None:
    n = made("attention-scale").data["curves"]["n"].values
    assert words_changed("attention-scale", "curves", width=n**-0.05)[1] == "not observed"
    assert words_changed("attention-scale", "curves", width=3.0 / np.log(n)) == ["agrees", "observed"]


def test_the_width_is_between_the_two_places_where_the_cosine_has_the_named_values() -> None:
    width = transition_width(0.3, 1e6)
    share = np.linspace(0.5, 1.5, 200_001)
    cosine = layer_cosine(1e6, 0.3, share * np.log(1e6) / 0.7)
    inside = (cosine < 0.3 + 0.75 * 0.7) & (cosine > 0.3 + 0.25 * 0.7)
    assert abs(width - inside.sum() * 5e-6) < 1e-5  # two steps of the grid
