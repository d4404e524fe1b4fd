"""The staircase: other levels, less flatness, other rates and other solvers change its verdicts."""

import numpy as np
from support.small_items import changed, made, planted, words_changed

from nucleate.papers.metastability.staircase.measures import flat_share, levels


def test_levels_are_the_sums_of_squared_masses() -> None:
    member = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert (25 * levels(member)).round(9).tolist() == [5, 7, 9, 13, 25]


def test_an_energy_that_never_rests_is_no_staircase() -> None:
    found = made("staircase")
    name = f"beta{found.p['betas'][-1]:g}"
    one = found.data[name]
    ramp = changed(one, energy=np.linspace(0.2, 1.0, one.sizes["frame"]))
    assert flat_share(ramp) < flat_share(one)
    assert found.words(planted(found.data, name, ramp))[0] == "disagrees"
    assert found.words(found.data) == ["agrees", "agrees"]


def test_other_times_change_their_verdicts() -> None:
    found = made("staircase")
    slower = {
        f"beta{beta:g}": changed(
            found.data[f"beta{beta:g}"],
            merge_time=found.data[f"beta{beta:g}"]["merge_time"].values * np.exp(0.01 * beta),
        )
        for beta in found.p["betas"]
    }
    assert found.words({**found.data, **slower})[1] == "disagrees"
    direct = found.data["twin"]["direct"].values
    assert words_changed("staircase", "twin", direct=1.02 * direct)[0] == "disagrees"
