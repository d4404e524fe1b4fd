"""Centers, the law β^{(d−1)/2}, effective dimension and capture: wrong results change verdicts, and what the
items are built from is right."""

import math
from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import made

import nucleate as nc
from nucleate.papers import crowds, fits, gathering, lawruns, parking, reductions
from nucleate.papers.core.numbers import Number
from nucleate.theory.counts import cap_share


def scaled(data: Any, names: list[str], variable: str, factor: Any) -> dict[str, Any]:
    """`data` with one variable of some datasets multiplied."""
    return {**data, **{name: data[name].assign({variable: data[name][variable] * factor}) for name in names}}


def by_beta(data: Any, prefix: str, variable: str, power: float) -> dict[str, Any]:
    """`data` with one variable of all datasets of a family multiplied by a power of beta."""
    found = dict(data)
    for name in data:
        if name.startswith(prefix) and "-beta" in name:
            found = scaled(found, [name], variable, float(name.split("-beta")[1]) ** power)
    return found


@pytest.mark.parametrize("key", ["lemmaC.1", "law", "dimension", "capture"])
def test_verdicts_on_right_data_are_those_of_the_long_runs(key: str) -> None:
    found = made(key)
    assert (
        found.words(found.data)
        == {
            "lemmaC.1": ["agrees", "agrees", "evidence for"],
            "law": ["agrees", "evidence for", "evidence for", "evidence for"],
            "dimension": ["evidence for", "evidence for", "evidence for"],
            "capture": ["evidence for", "evidence against", "evidence for"],
        }[key]
    )


# Lemma C.1


def test_other_numbers_of_strong_centers_disagree_with_the_lemma() -> None:
    found = made("lemmaC.1")
    assert found.words(scaled(found.data, ["strong_4_0.500"], "count", 1.2))[0] == "disagrees"


def test_other_numbers_of_parked_cars_disagree_with_renyi() -> None:
    found = made("lemmaC.1")
    names = [name for name in found.data if name.startswith("renyi_2")]
    assert found.words(scaled(found.data, names, "count", 1.15))[1] == "disagrees"


@pytest.mark.parametrize("d", [3, 4, 5])
def test_other_densities_are_evidence_against_flat_balls(d: int) -> None:
    found = made("lemmaC.1")
    names = [name for name in found.data if name.startswith(f"renyi_{d}")]
    assert found.words(scaled(found.data, names, "count", 1.6))[2] == "evidence against"


def test_the_misprinted_number_is_a_slip_only_if_counts_say_so() -> None:
    found = made("lemmaC.1")
    assert len(found.item.slips(found.numbers)) == 1
    printed = scaled(found.data, ["strong_3_1.333"], "count", 1.0 / 3.0)
    assert found.item.slips(found.item.measure(printed, found.p)) == ()


def test_a_parabola_in_the_right_power_is_followed_to_infinitely_many_tokens() -> None:
    tokens = np.array([100, 200, 400, 800, 1600, 3200])
    for d in (2, 3, 5):
        x = tokens ** (-1.0 / (d - 1))
        count = np.stack([50.0 - 3.0 * x + 2.0 * x**2, 40.0 + x])
        np.testing.assert_allclose(
            parking.jammed(count, tokens, d, 6, 2), [50.0, 40.0], rtol=1e-10
        )  # exact but for rounding, times the extrapolation
        np.testing.assert_allclose(parking.jammed(count[1:], tokens, d, 4, 1), [40.0], rtol=1e-10)


def test_one_start_serves_every_number_of_tokens() -> None:
    sizes = np.array([1, 10, 100, 400])
    for strong in (False, True):
        counts = parking._one(3, 0.4, sizes, 5, strong, 2)
        x = nc.uniform(400, 3, np.random.SeedSequence(5, spawn_key=(3, 400_000, 2)))
        assert counts.tolist() == [len(nc.renyi_centers(x[:n], 0.4, strong=strong)) for n in sizes]


# The law


@pytest.mark.parametrize(
    ("variable", "part", "word"),
    [("strong", 0, "disagrees"), ("renyi", 0, "disagrees"), ("clusters", 1, "evidence against")],
)
def test_another_power_of_beta_changes_the_verdict(variable: str, part: int, word: str) -> None:
    found = made("law")
    assert found.words(by_beta(found.data, "d3", variable, 0.4))[part] == word
    assert found.words(by_beta(found.data, "d4", variable, -0.5))[part] == word


def test_many_more_clusters_than_centers_are_evidence_against_the_radius_of_the_figures() -> None:
    found = made("law")
    names = [name for name in found.data if name.startswith("d2-")]
    assert found.words(scaled(found.data, names, "clusters", 1.5))[2] == "evidence against"
    assert found.words(scaled(found.data, names, "clusters", 50.0))[2] == "evidence against"


def test_strong_centers_are_the_better_tellers_only_while_the_data_say_so() -> None:
    found = made("law")
    names = [name for name in found.data if name.startswith("d4-")]
    assert found.words(scaled(found.data, names, "strong_match", 0.5))[3] == "evidence against"


def test_clusters_hold_one_center_each_as_counted_pair_by_pair() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = nc.uniform(60, 3, rng)
        lead, centers = np.sort(rng.choice(60, 7, replace=False)), np.sort(rng.choice(60, 9, replace=False))
        held = [0] * 7
        for center in centers:
            held[min(range(7), key=lambda i: float(np.linalg.norm(x[lead[i]] - x[center])))] += 1
        assert gathering.matched(x, lead, centers) == held.count(1) / 9
    assert gathering.matched(x, lead, lead) == 1.0


def test_leaders_are_the_first_tokens_of_clusters() -> None:
    angle = 0.075 * np.arange(5)  # 1.5 beta^(-1/2) apart: clusters of their own, if only just
    at = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    x = np.repeat(at, 4, axis=0)[np.random.default_rng(0).permutation(20)]
    lead = gathering.leaders(x, 400.0)
    assert lead.tolist() == sorted(int(np.flatnonzero((x == place).all(1))[0]) for place in at)


def test_tokens_per_cap_are_those_of_figure_2() -> None:
    assert abs(lawruns.tokens(2, 64.0, 200 * 0.5 / np.pi) - 200) <= 1
    for d in (2, 3, 4):
        n = lawruns.tokens(d, 100.0, 32)
        assert abs(n * cap_share(0.4, d) - 32) < cap_share(0.4, d)  # n is rounded


# Effective dimension


def test_another_exponent_is_evidence_against_the_effective_dimension() -> None:
    found = made("dimension")
    assert found.words(by_beta(found.data, "top2", "clusters", 0.6))[0] == "evidence against"
    assert found.words(by_beta(found.data, "top1", "clusters", 0.5))[0] == "evidence against"


def test_other_numbers_than_on_L_alone_are_evidence_against_the_reduction() -> None:
    found = made("dimension")
    names = [name for name in found.data if name.startswith("top3")]
    assert found.words(scaled(found.data, names, "alone", 1.5))[1] == "evidence against"
    assert found.words(scaled(found.data, names, "near", 0.5))[1] == "evidence against"


def test_tokens_that_gather_away_from_L_are_evidence_against_its_winning() -> None:
    found = made("dimension")
    assert found.words(scaled(found.data, ["gap0.1-beta64"], "on_L", 0.5))[2] == "evidence against"
    assert found.words(scaled(found.data, ["gap2-beta4"], "on_L", 0.4))[2] == "evidence against"
    assert found.words(scaled(found.data, ["gap0.1-beta4"], "on_L", 3.0))[2] == "evidence against"


def test_a_token_alone_nears_L_at_the_rate_of_the_gap() -> None:
    V = reductions.value_matrix(8, 3, 0.7)
    run = nc.simulate(nc.Attention(5.0, V=V), nc.uniform(1, 8, 2), 20.0, save=np.array([15.0, 20.0]))
    off = np.linalg.norm(run.x[:, 0, 3:], axis=-1)
    # the square of what is left at t = 15 is e^-21
    assert np.log(off[0] / off[1]) / 5.0 == pytest.approx(0.7, abs=1e-3)


# Capture


def test_shares_that_fall_with_n_to_the_end_are_evidence_against_capture() -> None:
    found = made("capture")
    long = found.data["long"]
    falling = long["held"] * (long["tokens"] / 100.0) ** -0.3
    assert found.words({**found.data, "long": long.assign(held=falling)})[0] == "evidence against"


def test_equal_times_and_shares_for_all_n_are_evidence_for_a_time_of_order_one() -> None:
    found = made("capture")
    many = found.data["many"]
    equal = many["mode"].isel(tokens=2) * xarray.ones_like(many["mode"])
    mode = equal.transpose(*many["mode"].dims)
    share = many["held"] * 0.0 + 0.1 * many["tokens"]
    assert (
        found.words({**found.data, "many": many.assign(mode=mode, held=share.transpose(*many["held"].dims))})[
            1
        ]
        == "evidence for"
    )
    assert found.words({**found.data, "many": many.assign(mode=mode)})[1] == "not testable here"


def test_modes_that_grow_otherwise_are_evidence_against_the_linear_solution() -> None:
    found = made("capture")
    many = found.data["many"]
    assert (
        found.words({**found.data, "many": many.assign(linear=1.5 * many["linear"])})[2] == "evidence against"
    )


def test_counts_near_centers_are_those_of_a_plain_loop() -> None:
    x = nc.uniform(300, 2, 4)
    centers, sizes, radii = nc.renyi_centers(x, 0.5), np.array([10, 50, 300]), [0.05, 0.3]
    found = crowds.measured(x, centers, sizes, radii)
    for j, radius in enumerate(radii):
        for s, n in enumerate(sizes):
            for i, center in enumerate(centers):
                count = (
                    sum(float(nc.distance(x[k], x[center])) <= radius for k in range(n))
                    if center < n
                    else np.nan
                )
                assert found["held"][j, s, i] == count or (
                    np.isnan(count) and np.isnan(found["held"][j, s, i])
                )
    angle = np.arctan2(x[:, 1], x[:, 0])
    for s, n in enumerate(sizes):
        expected = [abs(np.exp(-1j * m * angle[:n]).mean()) for m in crowds.MODES]
        np.testing.assert_allclose(found["mode"][s], expected, atol=1e-13)  # sums of 300 numbers of size 1
        assert found["histogram"][s].sum() == n


@pytest.mark.parametrize(("beta", "m"), [(64.0, 11), (9.0, 4), (1.0, 1)])
def test_small_modes_grow_at_the_rate_of_the_formula_if_all_see_all(beta: float, m: int) -> None:
    n, small = 1000, 1e-6
    phi = 2.0 * np.pi * np.arange(n) / n
    phi = phi - 2.0 * small / m * np.sin(m * phi)  # density 1 + 2 small cos(m phi): a_m = small
    x = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    v = nc.drift(nc.Attention(beta, mask="full"), x, kernel="pairwise")
    speed = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]  # (n,)
    change = (-m * np.sin(m * phi) * speed).mean() / small
    # second order in `small`, and sums round to 1e-16 / small
    assert change == pytest.approx(crowds.growth(beta, np.array([m]))[0], rel=1e-4)


def test_the_fastest_mode_tends_to_two_over_e() -> None:
    # the next term is of order 1/beta
    assert crowds.growth(4000.0, np.arange(1, 300)).max() == pytest.approx(2.0 / math.e, rel=1e-3)


def test_linear_modes_start_as_they_are_and_grow_by_the_crowd_before() -> None:
    rng = np.random.default_rng(0)
    start, m = rng.uniform(-np.pi, np.pi, 4000), np.array([11])
    first = crowds.linear_modes(start, 64.0, m, 0.0)[0]
    turn = np.exp(-11j * start)
    assert first == pytest.approx(turn.mean(), abs=1e-14)
    change = (crowds.linear_modes(start, 64.0, m, 1e-5)[0] - first) / 1e-5
    before = np.cumsum(turn) / np.arange(1, 4001)  # (n,) the crowd of the first k tokens
    # a sum over k stands for an integral: ln(n/j) differs from the sum of 1/k by 1/(2j), 1e-3 of the whole
    assert change == pytest.approx(crowds.growth(64.0, m)[0] * before.mean(), abs=2e-3)


# Fits


def test_a_weighted_line_is_that_of_polyfit() -> None:
    rng = np.random.default_rng(1)
    x, error = np.sort(rng.random(9)), rng.uniform(0.5, 2.0, 9)
    y = 2.0 + 3.0 * x + error * rng.standard_normal(9)
    fit = fits.line(x, y, error)
    slope, at0 = np.polyfit(x, y, 1, w=1.0 / error)
    cov = np.polyfit(x, y, 1, w=1.0 / error, cov="unscaled")[1]
    scatter = max(1.0, float((((y - at0 - slope * x) / error) ** 2).sum() / 7))
    np.testing.assert_allclose([fit.slope, fit.at0], [slope, at0], rtol=1e-10)  # the same normal equations
    np.testing.assert_allclose([fit.slope_error**2, fit.at0_error**2], np.diag(cov) * scatter, rtol=1e-10)


def test_sigmas_count_standard_errors() -> None:
    number = fits.value_of(5.0, 0.5, "five", "", 4.0)
    assert fits.sigmas(number) == pytest.approx(2.0)
    assert fits.sigmas(Number(1.0, "one", expected=1.0)) == 0.0
    assert fits.sigmas(Number(1.0, "one", expected=2.0)) == np.inf


def test_work_in_threads_keeps_its_order_and_tells_when_it_is_over() -> None:
    assert fits.in_threads(lambda i: i * i, range(10)) == [i * i for i in range(10)]
    stop = [False]

    def broken(i: int) -> int:
        raise KeyError(i)

    with pytest.raises(KeyError):
        fits.in_threads(broken, range(3), stop)
    assert stop == [True]
