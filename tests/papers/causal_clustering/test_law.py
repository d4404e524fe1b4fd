"""The law β^{(d−1)/2}: other powers, radii and matches change its verdicts."""

import numpy as np
import pytest
from support.small_items import made, scaled, scaled_by_beta

from nucleate.papers.causal_clustering.law.data import dataset_name
from nucleate.papers.causal_clustering.law.item import ITEM
from nucleate.papers.causal_clustering.law.measures import means
from nucleate.theory.counts import cap_share


@pytest.mark.parametrize(
    ("variable", "part", "word"),
    [("strong", 0, "disagrees"), ("renyi", 0, "disagrees"), ("clusters", 1, "evidence against")],
)
def test_another_power_of_beta_changes_the_verdict(variable: str, part: int, word: str) -> None:
    found = made("law")
    assert found.words(scaled_by_beta(found.data, "d3", variable, 0.4))[part] == word
    assert found.words(scaled_by_beta(found.data, "d4", variable, -0.5))[part] == word


@pytest.mark.parametrize("power", [0.45, 0.5, 0.6])
def test_a_planted_power_comes_out_of_both_fits(power: float) -> None:
    found = made("law")
    p = found.p
    rng = np.random.default_rng(0)
    data = dict(found.data)
    for beta in p["betas"]["2"]:
        name = dataset_name(2, beta)
        spread = rng.normal(1.0, 0.01, data[name]["strong"].shape)
        data[name] = data[name].assign(strong=(data[name]["strong"].dims, 3.0 * beta**power * spread))
    numbers = found.item.measure(data, p)
    for span in ("all", "decade"):
        number = numbers[f"strong_d2_{span}"]
        assert number.low is not None
        assert number.high is not None
        assert number.low - 0.01 <= power <= number.high + 0.01
    assert found.words(data)[0] == ("agrees" if power == 0.5 else "disagrees")


def test_the_slack_of_the_exponents_is_what_curvature_needs_and_little_more() -> None:
    # at the β of the full item the exponent of 1/σ itself is up to 4.2 % from (d−1)/2
    for d, betas in ITEM.parameters["betas"].items():
        some = [beta for beta in betas if beta >= betas[-1] / 10.0]
        caps = [-np.log(cap_share(4.0 * beta**-0.5, int(d))) for beta in some]
        half = (int(d) - 1) / 2.0
        assert abs(np.polyfit(np.log(some), caps, 1)[0] / half - 1.0) < 0.043


def test_more_clusters_at_any_judged_time_make_equal_numbers_not_observed() -> None:
    found = made("law")
    # as many clusters at all times as there are Rényi centers with c = 4
    data = dict(found.data)
    for d, betas in found.p["betas"].items():
        for beta in betas:
            one = data[dataset_name(int(d), beta)]
            centers = one["renyi"].sel(c=4.0).values.mean()
            data[dataset_name(int(d), beta)] = one.assign(clusters=0.0 * one["clusters"] + centers)
    assert found.words(data)[2] == "observed"
    names = [name for name in data if name.startswith("d2-")]
    for factor in (1.5, 50.0):
        assert found.words(scaled(data, names, "clusters", factor))[2] == "not observed"
    late = {name: data[name].copy(deep=True) for name in names}
    for one in late.values():
        one["clusters"].loc[{"time": 75.0}] *= 0.6
    assert found.words({**data, **late})[2] == "not observed"


def test_strong_centers_are_the_better_tellers_only_while_the_data_say_so() -> None:
    found = made("law")
    names = [name for name in found.data if name.startswith("d4-")]
    assert found.words(scaled(found.data, names, "strong_match", 0.5))[3] == "not observed"


def test_errors_of_mean_counts_are_those_of_their_spread_over_runs() -> None:
    found = made("law")
    counts = found.data["d3-beta12"]["clusters"].sel(time=20.0).values
    mean, error = means(found.data, 3, [12.0], "clusters", 20.0)
    assert mean[0] == counts.mean()
    assert error[0] == pytest.approx(counts.std(ddof=1) / np.sqrt(len(counts)))


def test_what_other_numbers_of_tokens_change_is_told_with_the_exponents() -> None:
    found = made("law")
    why = found.item.verdicts(found.numbers, found.p)[1].why
    assert "scaling alone gives this exponent" in why
    least = min(found.numbers[f"density_{one}"].value for one in found.p["densities"])
    assert f"hardly matters: {least:.1f} ±" in why
