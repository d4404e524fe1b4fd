"""Figure 4: other curves change its verdicts and slips."""

import numpy as np
from support.small_items import changed, made


def test_figure_4_with_another_curve_disagrees() -> None:
    found = made("figure4")
    h = found.data["h"]
    assert (
        found.words({"h": changed(h, h=h["h"].values * (1 + 0.5 * np.cos(20 * h["x"].values)))})[0]
        == "disagrees"
    )
    assert found.words({"h": changed(h, searched=h["searched"].values + 1e-5)})[0] == "disagrees"
    assert found.words({"h": changed(h, h=0.9 * h["h"].values)})[1] == "disagrees"
    assert found.words({"h": changed(h, h=1.1 * h["h"].values)})[1] == "disagrees"


def test_the_slips_of_lemma_a1_are_told_only_where_the_data_show_them() -> None:
    found = made("figure4")
    h = found.data["h"]
    assert len(found.item.slips(found.numbers)) == 2
    fine = changed(h, beyond_margin=np.ones(h.sizes["beyond"]), small_margin=np.ones(h.sizes["small"]))
    assert found.item.slips(found.item.measure({"h": fine}, found.p)) == ()
