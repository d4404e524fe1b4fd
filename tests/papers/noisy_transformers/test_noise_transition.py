"""The noise transition: other rates, other orders and equal directions change the verdicts."""

import numpy as np
import xarray
from support.small_items import made, words_changed

from nucleate.papers.noisy_transformers.noise_transition.data import quiet_start
from nucleate.papers.noisy_transformers.noise_transition.measures import threshold

KEY = "noise-transition"


def test_small_runs_are_judged_as_large_ones_are() -> None:
    found = made(KEY)
    assert found.words(found.data) == ["agrees", "agrees", "agrees", "observed", "observed"]


def test_a_quiet_start_has_one_harmonic_and_no_other() -> None:
    x = quiet_start(400, 0.05)
    z = x[:, 0] + 1j * x[:, 1]
    harmonics = [(z**k).mean() for k in range(1, 5)]
    # the rule of midpoints over a period is exact for these to rounding
    np.testing.assert_allclose(harmonics, [0.05, 0.0, 0.0, 0.0], atol=1e-12)


def test_the_threshold_is_where_planted_rates_are_zero() -> None:
    p = {"growth_ratios": [0.6, 1.0, 1.4], "growth_T": 1.5, "first_harmonic": 0.01}
    ratio, noise = np.array(p["growth_ratios"])[:, None], np.array([-1e-6, 1e-6])
    first = 0.01 * np.exp((ratio / 1.1 - 1.0) * 1.5) + noise  # (ratios, runs)
    data = {"growth-2": xarray.Dataset({"first": (("ratio", "run"), first)})}
    kappa, error = threshold(data, p, "2", critical=3.0)
    assert abs(kappa - 3.3) < 1e-6
    assert 0.0 < error < 1e-2


def test_rates_with_another_zero_change_the_verdict_and_wide_intervals_decide_nothing() -> None:
    found = made(KEY)
    first = found.data["growth-6"]["first"].values  # (ratios, runs)
    later = np.exp(-0.2 * found.p["growth_T"])
    assert words_changed(KEY, "growth-6", first=later * first)[0] == "disagrees"
    mean = first.mean(-1, keepdims=True)
    assert words_changed(KEY, "growth-6", first=mean + 6.0 * (first - mean))[0] == "not testable here"


def test_hysteresis_or_order_below_the_lower_beta_changes_the_verdict() -> None:
    order = made(KEY).data["sweep-1.5"]["order"].values.copy()  # (direction, ratio, run, frame)
    order[1, 1] = 0.6
    assert words_changed(KEY, "sweep-1.5", order=order)[1] == "disagrees"
    order[0, 1] = 0.6  # the same in both directions, but too early
    assert words_changed(KEY, "sweep-1.5", order=order)[1] == "disagrees"


def test_equal_directions_are_no_hysteresis() -> None:
    order = made(KEY).data["sweep-6"]["order"].values  # (direction, ratio, run, frame)
    for one in (0, 1):
        assert words_changed(KEY, "sweep-6", order=order[[one, one]])[3] == "not observed"


def test_directions_that_differ_everywhere_are_no_hysteresis_of_the_fold() -> None:
    order = made(KEY).data["sweep-6"]["order"].values.copy()
    order[0], order[1] = 0.1, 0.9
    assert words_changed(KEY, "sweep-6", order=order)[3] == "not observed"


def test_a_transition_at_kappa_c_is_not_discontinuous_before_it() -> None:
    order = made(KEY).data["sweep-6"]["order"].values  # (direction, ratio, run, frame)
    assert words_changed(KEY, "sweep-6", order=order[[0, 0]])[2] == "disagrees"


def test_orders_off_the_branch_change_the_verdict() -> None:
    order = made(KEY).data["sweep-6"]["order"].values
    assert words_changed(KEY, "sweep-6", order=0.9 * order)[4] == "not observed"


def test_the_picture_is_drawn() -> None:
    found = made(KEY)
    assert list(found.item.draw(found.data, found.numbers, found.p)) == [KEY]
