"""The front, read off profiles made up; other modes, speeds, places and masses flip the verdicts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray
from support.docs_scripts import study_script
from support.small_items import made

from nucleate.checks import Array
from nucleate.papers import find
from nucleate.papers.core.numbers import Number, mean_of
from nucleate.papers.open_questions.causal_front.crossings import LEVEL, crossing_times
from nucleate.papers.open_questions.causal_front.data import (
    Case,
    bins_of,
    case_seed,
    cases,
    clusters_of,
    expected_clusters,
    far_places,
    far_times,
    fronts_of,
    mode_values,
    seen_of,
    shares_of,
)
from nucleate.papers.open_questions.causal_front.measures import (
    effective_number,
    joint_speeds,
    logarithms,
    profile_bias,
    profile_distances,
    propagated_share,
    relative_masses,
    same_place,
    slopes,
)
from nucleate.sphere import uniform
from nucleate.theory.causal_front import (
    ContinuedTokens,
    cell_front_speed,
    fastest_degree,
    front_places,
    front_speed,
)

P = find("causal-front").parameters


def front(
    s: Array,
    t: Array,
    beta: float,
    d: int = 2,
    slowness: float = 1.0,
    logarithm: float = 1.5,
    top: float = 1.0,
) -> Array:
    """What is seen behind a front that needs `slowness` times as long as predicted, up to `top`; it reaches
    the level when the front passes, (time, bin)."""
    late = np.linspace(1.2, 60.0, 4000)
    passes = np.interp(slowness * s, front_places(late, beta, d, logarithm), late)  # (bin,)
    return top / (1.0 + (top / LEVEL - 1.0) * np.exp(4.0 * (passes - t[:, None])))


def planted(
    slowness: float = 1.0,
    growth: float = 1.0,
    unmasked: bool = False,
    full: float = 2.0,
    near: float = 0.95,
    other_near: float = 0.3,
    error: float = 0.01,
    same: float = 0.9,
    number: float = 1.0,
    centers: float = 0.8,
    clusters: float = 0.8,
    uneven: float = 0.5,
    spoilt: float = 0.0,
    far: float = 1.0,
    noisy: float = 1.5,
    quiet: float = 3.0,
    passes: float = 1.5,
    early: float = 0.05,
    late: float = 0.05,
    other: float = 0.5,
) -> dict[str, xarray.Dataset]:
    """A front as slow as that, modes that grow so much more, tokens near their places; clusters, and Rényi
    centers, by those shares of the fastest degree, masses as uneven; logarithms far away, and of runs; by how
    much the limit equation has more early and late, and behind another start's first tokens."""
    rng, data = np.random.default_rng(0), {}
    for case in cases(P):
        values = _front_and_modes(rng, case, slowness, growth, unmasked, passes)
        wave = expected_clusters(fastest_degree(case.beta, case.d), case.d)
        mass = _masses(rng, case.starts, round(clusters * wave * (1.0 + (0.5 * uneven) ** 2)), uneven)
        values["mass"] = (("start", "cluster"), mass)
        values["renyi_mass"] = (
            ("start", "cluster"),
            _masses(rng, case.starts, round(centers * wave), 0.2),
        )
        drawn = np.stack([_masses(rng, 30, round(clusters * wave), 1.0) for _ in range(case.starts)])
        values["random_mass"] = (("start", "draw", "cluster"), drawn)
        if case.d == 2:
            values |= _circle(rng, case, near, other_near, error, full, spoilt, mass)
            values |= _limits(rng, values["seen"][1], early, late, other)
        else:
            probe = np.stack([uniform(400, 3, 7 + i) for i in range(case.starts)])  # (start, probes, 3)
            moved = probe.copy()
            moved[:, int(400 * same) :] *= -1.0
            values["probe"] = (("start", "twin", "probe", "coordinate"), np.stack([probe, moved], 1))
        data[case.name] = xarray.Dataset(values)
    data["far"] = _far(number, far, noisy, quiet)
    return data


def _masses(rng: np.random.Generator, rows: int, count: int, uneven: float) -> Array:
    """Shares of clusters, the spread of which is about half of `uneven`, (rows, 64)."""
    mass = np.full((rows, 64), np.nan)
    part = 1.0 + uneven * rng.choice([-0.5, 0.5], (rows, count)) + 0.01 * rng.uniform(-1, 1, (rows, count))
    mass[:, :count] = part / part.sum(1, keepdims=True)
    return mass


def _front_and_modes(
    rng: np.random.Generator, case: Case, slowness: float, growth: float, unmasked: bool, passes: float
) -> dict[str, Any]:
    s, t = bins_of(P["first"], case.n).s, np.array(P["times"])
    seen = np.stack([front(s, t + 0.02 * i, case.beta, case.d, slowness, passes) for i in range(case.starts)])
    begin = rng.standard_normal((case.starts, 9, 2))
    grown = 3.0 * begin + (0.05 if unmasked else 2.0) * rng.standard_normal((case.starts, 9, 2))
    # if unmasked, one factor explains as much as the law
    later = 3.0 * begin if unmasked else growth * grown
    modes = np.stack([begin, grown, later + 0.05 * rng.standard_normal(begin.shape)], 1)
    return {
        "seen": (("start", "time", "bin"), seen),
        "modes": (("start", "kind", "mode", "part"), modes),
    }


def _circle(
    rng: np.random.Generator,
    case: Case,
    near: float,
    other_near: float,
    error: float,
    full: float,
    spoilt: float,
    mass: Array,
) -> dict[str, Any]:
    s, t, starts = bins_of(P["first"], case.n).s, np.array(P["times"]), case.starts
    values: dict[str, Any] = {"own_error": (("start",), np.full(starts, error))}
    wave = int(np.isfinite(mass[0]).sum())
    other = np.stack([rng.permutation(row[:wave]) for row in mass])
    for kind, share, mixed in (("own", near, spoilt), ("other", other_near, 1.0)):
        noise = 0.01 * rng.standard_normal((starts, len(s)))
        values[f"{kind}_near"] = (("start", "bin"), share + noise)
        predicted = mass.copy()
        predicted[:, :wave] = (1.0 - mixed) * mass[:, :wave] + mixed * other
        values[f"{kind}_mass"] = (("start", "cluster"), predicted)
    passed = full * np.log(P["full_n"])[:, None] / front_speed(case.beta)
    unmasked = [1.0 / (1.0 + np.exp(4.0 * (passed - t + 0.01 * i))) for i in range(starts)]
    values["full"] = (("start", "size", "time"), np.stack(unmasked))
    return values


def _limits(rng: np.random.Generator, seen: Array, early: float, late: float, other: float) -> dict[str, Any]:
    """Profiles of the limit equation by those shares higher than the runs', (start, time, bin): while the
    front passes, behind it, and behind another start's first tokens."""
    more = np.where(np.array(P["times"]) < 5.0, early, late)[:, None]
    noise = 0.02 * rng.standard_normal((2, len(seen), 1, 1))
    dims = ("start", "time", "bin")
    return {
        "own_seen": (dims, seen * (1.0 + more + noise[0])),
        "other_seen": (dims, seen * (1.0 + other + noise[1])),
    }


def _far(number: float, slowness: float, noisy: float, quiet: float) -> xarray.Dataset:
    """Fronts with these logarithms, behind which are `number` times the fastest degree."""
    from scipy.special import ive

    far, times = P["far"], far_times(P)
    s = far_places(P, round(4 * (far["end"] - np.log(P["first"]))))
    # as slow as in cells
    slow = cell_front_speed(far["beta"], float(s[1] - s[0])) / front_speed(far["beta"])
    plateau = 1.0 / (ive(0, far["beta"]) * number * fastest_degree(far["beta"])) - 1.0
    rng, rows = np.random.default_rng(1), []
    for _ in range(far["starts"]):
        found = []
        for logarithm, tilt in zip((noisy, quiet), rng.normal(1.0, 0.02, 2), strict=True):
            seen = front(s * tilt, times * slow, far["beta"], 2, slowness, logarithm, plateau)
            found.append(ContinuedTokens(times, s, s, s, np.repeat(seen, 2, axis=1), seen, np.inf))
        rows.append(fronts_of(found))
    dims = {"crossing": ("noise", "halving", "cell"), "settled": ("noise", "cell")}
    return xarray.Dataset(
        {name: (("start", *dims[name]), np.stack([row[name] for row in rows])) for name in dims}
    )


@pytest.mark.parametrize(
    ("changes", "flips"),
    [
        ({}, [10]),
        ({"growth": 1.3}, [0, 10]),
        ({"unmasked": True}, [0, 10]),
        ({"slowness": 1.6}, [1, 10]),
        ({"full": 0.9}, [1, 10]),
        ({"far": 1.1}, [2, 3, 10]),
        ({"noisy": 1.0}, [3, 10]),
        ({"noisy": 2.2, "quiet": 3.7}, [3, 10]),
        ({"near": 0.5}, [4, 10]),
        ({"other_near": 0.95}, [4, 10]),
        ({"error": 0.06}, [4, 10]),
        ({"same": 0.4}, [5, 10]),
        ({"number": 0.75}, [6, 10]),
        ({"centers": 1.1}, [7, 10]),
        ({"clusters": 1.0}, [7, 10]),
        ({"uneven": 1.2}, [8, 10]),
        ({"uneven": 0.1}, [8, 10]),
        ({"spoilt": 0.9}, [9, 10]),
        ({"passes": 0.0}, [1]),
        ({"slowness": 0.8}, [1]),
        ({"far": 1.25}, [2, 3, 10, 11]),
        ({"early": 0.4}, [10, 12]),
        ({"late": -0.4}, [10, 13]),
        ({"other": 0.0}, [10, 12, 13]),
    ],
)
def test_other_modes_speeds_places_masses_or_profiles_flip_their_verdict_alone(
    changes: dict[str, Any], flips: list[int]
) -> None:
    item = find("causal-front")
    words = [verdict.word for verdict in item.verdicts(item.measure(planted(**changes), P), P)]
    assert [i for i, word in enumerate(words) if word != "observed"] == flips


@pytest.mark.parametrize(
    ("key", "spread", "number"),
    [
        ("speed", 0.5, 1),
        ("far_quiet_ratio", 0.1, 2),
        ("far_quiet_logarithm", 4.0, 3),
        ("d2_beta49_near", 0.4, 4),
        ("far_noisy_joint_speed", 0.3, 11),
        ("d2_beta49_shape_2", 0.5, 12),
        ("d2_beta196_shape_8_gain", 1.5, 13),
    ],
)
def test_an_interval_with_the_bound_in_it_leaves_its_verdict_undecided(
    key: str, spread: float, number: int
) -> None:
    item = find("causal-front")
    found = dict(item.measure(planted(), P))
    value = found[key].value
    found[key] = Number(value, found[key].about, value - spread, value + spread)
    words = [verdict.word for verdict in item.verdicts(found, P)]
    assert words[number] == "undecided"
    assert [i for i, word in enumerate(words) if word != "observed"] == sorted([number, 10])


def test_a_front_is_found_between_frames_and_where_it_never_comes_there_is_none() -> None:
    times = np.array([0.0, 1.0, 2.0])
    seen = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.1], [0.6, 0.5, 0.2]])  # (time, bin)
    found = crossing_times(seen, times, 0.4)
    np.testing.assert_allclose(found, [1.5, 1.8, np.nan])
    assert slopes(np.array([[1.0, 3.0, 5.0]]), np.array([0.0, 1.0, 2.0]), -0.5) == pytest.approx([2.0])


def test_the_coefficient_of_the_logarithm_is_that_of_the_front() -> None:
    s, t = np.linspace(20.0, 50.0, 60), np.linspace(1.2, 60.0, 40_000)
    passes = {c: np.interp(s, front_places(t, 25.0, 2, c), t)[None] for c in (1.0, 2.5)}
    for c, crossing in passes.items():
        assert logarithms(crossing, s, front_speed(25.0), least=20.0) == pytest.approx([c], abs=1e-3)


def test_the_joint_fit_finds_speed_and_logarithm_whatever_they_are_and_bad_times_do_not_bias_it() -> None:
    s, t = np.linspace(15.0, 40.0, 101), np.linspace(1.2, 60.0, 40_000)
    speed, rng = front_speed(12.0), np.random.default_rng(0)
    for factor, c in ((1.0, 1.5), (0.9, 0.0), (1.1, 3.0)):
        passes = np.interp(s, factor * speed * t - c * np.log(t), t)
        moved = joint_speeds([(np.stack([passes, passes + 0.3]), s, speed)], least=15.0)
        # a constant added to t is taken for a little of both; without it they are exact
        alone = joint_speeds([(np.stack([passes, passes]), s, speed)], least=15.0)
        np.testing.assert_allclose(alone.mean(0), [factor, c], atol=2e-3)
        assert abs(moved.mean(0)[0] - factor) < 0.05
        noisy = passes + 0.05 * rng.standard_normal((200, len(s)))
        found = joint_speeds([(noisy, s, speed)], least=15.0)
        for one, true in zip(found.T, (factor, c), strict=True):
            interval = mean_of(one, "")
            assert interval.low is not None
            assert interval.high is not None
            # three half widths: a true value is outside of that once in 10^8 times
            assert abs(interval.value - true) < 1.5 * (interval.high - interval.low)
        assert np.corrcoef(found[:, 0], found[:, 1])[0, 1] > 0.9  # both are one parameter, nearly


def test_profiles_are_compared_by_their_root_mean_square_and_their_mean() -> None:
    seen = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]])  # (start, bin)
    np.testing.assert_allclose(profile_distances(seen, 1.1 * seen), 0.1)
    np.testing.assert_allclose(profile_bias(seen, 0.8 * seen), -0.2)
    crossed = np.array([[3.0, 2.0, 1.0], [2.0, 2.0, 2.0]])
    np.testing.assert_allclose(profile_distances(seen, crossed), [np.sqrt(8.0 / 14.0), 0.0])
    np.testing.assert_allclose(profile_bias(seen, crossed), 0.0, atol=1e-15)


def test_no_two_starts_share_a_seed_nor_any_those_of_the_larger_runs() -> None:
    from nucleate.papers.open_questions.causal_front.item import (
        LARGE,
        MILLION,
        MILLION_SPHERE,
        NEW_SEEDS,
        TEN_MILLION,
    )

    seeds = []
    larger = (LARGE, MILLION, MILLION_SPHERE, NEW_SEEDS, TEN_MILLION)
    for p in (P, *({**P, **some} for some in larger)):
        counts = [case.starts for case in cases(p)] + [p["far"]["starts"]]
        own = [case_seed(p, number, i) for number, count in enumerate(counts) for i in range(count)]
        seeds += own + [seed + 500 for seed in own]
    assert len(set(seeds)) == len(seeds)


def test_tokens_belong_to_the_nearest_center() -> None:
    x = uniform(300, 3, 0)
    center = x[:4]
    expected = [np.mean([np.linalg.norm(one - center, axis=1).argmin() == i for one in x]) for i in range(4)]
    np.testing.assert_allclose(shares_of(x, center), expected)


def test_what_tokens_see_on_the_sphere_is_a_sum_over_pairs() -> None:
    x, beta = uniform(90, 3, 0), 5.0
    bins = bins_of(40, 90)
    weight = np.exp(beta * x @ x.T) / (np.sinh(beta) / beta)  # (n, n)
    zeta = np.array([weight[k, :k].mean() for k in range(1, 90)])  # of token 1 on
    expected = [
        zeta[a - 1 : b - 1].mean() - 1.0 for a, b in zip(bins.edges[:-1], bins.edges[1:], strict=True)
    ]
    np.testing.assert_allclose(seen_of(x, beta, bins), expected, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_modes_of_one_degree_have_squares_that_add_up_to_1(d: int) -> None:
    values = mode_values(uniform(50, d, 1), 4)
    np.testing.assert_allclose((np.abs(values) ** 2).sum(-1), 1.0, rtol=1e-12)


def test_clusters_are_counted_largest_first_and_even_ones_count_fully() -> None:
    angle = np.array([*np.full(5, 0.0), *np.full(3, 2.0), 2.05, -3.0])
    center, mass = clusters_of(np.column_stack([np.cos(angle), np.sin(angle)]), 0.1)
    np.testing.assert_allclose(mass, [0.5, 0.4, 0.1])
    np.testing.assert_allclose(center[0], [1.0, 0.0])
    assert effective_number(np.array([[0.25, 0.25, 0.25, 0.25, np.nan]])) == pytest.approx([4.0])
    assert effective_number(np.array([[0.5, 0.5, 0.0]])) == pytest.approx([2.0])


def test_modes_that_are_propagated_are_explained_and_probes_that_agree_are_counted() -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal((1, 40, 2))
    grown = start + rng.standard_normal((1, 40, 2))
    modes = np.stack([start, grown, 1.1 * grown], 1)
    factor, share = propagated_share(modes, 1)
    assert factor == pytest.approx([1.1])
    assert share == pytest.approx([1.0 - (0.1 / 1.1) ** 2])
    assert propagated_share(modes, 0)[1][0] < 0.8
    probe = np.stack([uniform(50, 3, 0), uniform(50, 3, 1)])  # (start, probes, 3)
    same, other = same_place(np.stack([probe, probe], 1), 100.0)
    assert same.tolist() == [1.0, 1.0]
    assert max(other) < 0.2


def test_a_small_run_has_what_is_measured() -> None:
    found = made("causal-front")
    assert found.data["d2_beta16"]["seen"].shape == found.data["d2_beta16"]["own_seen"].shape
    assert 0.8 < found.numbers["d2_beta16_growth"].value < 1.2
    assert np.nansum(found.data["d3_beta6"]["mass"].values[0]) == pytest.approx(1.0)


def test_nine_of_ten_masses_are_relative_to_their_starts_mean() -> None:
    mass = np.array([[0.5, 0.3, 0.2, 0.001], [0.6, 0.4, np.nan, np.nan]])
    assert relative_masses(mass, 5.0) == pytest.approx([1.5, 0.9, 0.6, 1.2, 0.8])
    numbers = made("causal-front").numbers
    assert numbers["mass_low"].value < 1.0 < numbers["mass_high"].value


def test_a_gamma_law_of_masses_is_observed_where_it_holds_and_other_laws_are_not() -> None:
    study, rng = study_script("front_masses"), np.random.default_rng(5)

    def starts(draw: Callable[[int], Array]) -> list[Array]:
        every = [draw(int(m)) for m in rng.integers(6, 10, 400)]
        return [one / one.mean() for one in every]

    cuts = starts(lambda m: rng.exponential(size=m))  # random places, roughly
    gamma = starts(lambda m: rng.gamma(12.0, size=m))
    word, shape, off, farther = study.judged(gamma, cuts)
    assert (word, shape) == ("observed", pytest.approx(12.0, rel=0.25))
    assert max(abs(one.value) for one in off) < 0.03
    assert min(one.value for one in farther.values()) > 0.0
    # of the same spread, but in two heights: a third of the clusters light
    two = starts(lambda m: np.where(rng.random(m) < 0.35, 0.2, 1.0))
    assert study.judged(two, cuts)[0] == "not observed"
    assert study.judged(cuts, cuts)[0] != "observed"  # the nulls are as near
    few = study.judged(gamma[:20], cuts[:20])
    assert few[0] == "undecided"


def test_the_nearer_of_two_laws_of_masses_is_told_either_way() -> None:
    study, rng = study_script("front_masses_laws"), np.random.default_rng(3)

    def starts(count: int, draw: Callable[[int], Array]) -> list[Array]:
        every = [draw(int(m)) for m in rng.integers(5, 15, count)]
        return [one / one.mean() for one in every]

    def log_normal(m: int) -> Array:
        return rng.lognormal(sigma=0.6, size=m)

    def gamma(m: int) -> Array:
        return rng.gamma(2.5, size=m)

    for draw, expected, nearest in ((log_normal, "observed", "log-normal"), (gamma, "not observed", "Gamma")):
        word, off, nearer = study.judged(starts(1500, draw), starts(2000, draw))
        assert word == expected, nearer
        worst = {name.split()[0]: max(abs(one.value) for one in found) for name, found in off.items()}
        assert min(worst, key=lambda name: worst[name]) == nearest
        assert worst[nearest] < 0.015
    few = starts(20, lambda m: rng.gamma(9.0, size=m))
    assert study.judged(few, few)[0] == "undecided"


def test_a_log_normal_law_has_the_spread_that_it_was_fitted_to() -> None:
    study, rng = study_script("front_masses_laws"), np.random.default_rng(4)
    every = [rng.lognormal(sigma=0.3, size=9) for _ in range(2000)]
    assert study.log_normal_width([one / one.mean() for one in every]) == pytest.approx(0.3, rel=0.03)


def test_the_starts_of_the_two_laws_are_no_others() -> None:
    earlier, laws = study_script("front_masses"), study_script("front_masses_laws")
    assert laws.FITTED <= earlier.STARTS // 2  # the half that was fitted there, too
    assert earlier.STARTS + laws.STARTS <= 1000  # from one beta's seeds to the next one's
