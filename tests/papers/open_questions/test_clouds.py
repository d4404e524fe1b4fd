"""Clouds: exponents planted in the data change the verdicts, and one kind of model is what it says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import SMALL, made

from nucleate.papers import find
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.item import Numbers
from nucleate.papers.core.numbers import Number, share_of
from nucleate.papers.open_questions.clouds.data import again_seeds, picked, table
from nucleate.papers.open_questions.clouds.drawn import KINDS, Draw, dominant_space, drawn_model
from nucleate.papers.open_questions.clouds.item import LARGE
from nucleate.papers.open_questions.clouds.kind_figures import draw_kinds
from nucleate.papers.open_questions.clouds.kind_runs import KIND_SETS, late_speed, run_kinds
from nucleate.papers.open_questions.clouds.kinds import (
    MAX_CHAOTIC,
    kind_numbers,
    kind_verdicts,
    none_of_enough,
)
from nucleate.papers.open_questions.clouds.late import chance_of_no_difference, uniform_distances
from nucleate.papers.open_questions.clouds.late_runs import (
    BINS,
    cannot_be_chaotic,
    chaotic,
    late_again_seeds,
    late_picked,
    late_table,
    limit_above,
    one_late,
    overlap_distance,
    overlap_ranks,
)
from nucleate.papers.open_questions.clouds.measures import held_out, rule_hits, seed_share
from nucleate.sphere import uniform

SPHERES = {"kinds": ["general", "all", "symmetric", "scores"], "betas": [4.0], "draws": 8}
P: dict[str, Any] = {
    **find("clouds").parameters,
    "sets": {
        "circle": {"kinds": ["general"], "d_n": [[2, 64]], "betas": [4.0], "draws": 8},
        "gradient": {"kinds": ["gradient"], "d_n": [[3, 64]], "betas": [4.0], "draws": 4},
        "spheres": {**SPHERES, "d_n": [[3, 64]]},
        "eight": {**SPHERES, "d_n": [[8, 64]]},
        "long": {"kinds": ["general"], "d_n": [[4, 64]], "betas": [16.0], "draws": 4},
    },
    "again": {"picked": 1, "n": 64, "starts": 6},
}
N = P["late"]["n"]


def late_planted(
    chaotic_cells: dict[tuple[str, int, float], float] | None = None,
    since: int = 0,
    again: float = -0.02,
    apart: float = 0.01,
) -> dict[str, xarray.Dataset]:
    """Exponents of -0.02 with errors, of 0 with V = -I; in some cells, in every second V, others from the
    token `since` on; distances from the uniform law."""
    rng, draws = np.random.default_rng(3), late_table(P)
    mean = np.array([0.0 if one.kind == "gradient" else -0.02 for one in draws])
    value = np.repeat(mean[:, None], N[-1], 1)  # (runs, n)
    for i, one in enumerate(draws):
        if one.seed % 2:
            exponent = (chaotic_cells or {}).get((one.kind, one.d, one.beta), mean[i])
            value[i, since:] = exponent

    def dataset(value: np.ndarray, dim: np.ndarray) -> xarray.Dataset:
        two = [value + 1e-3 * rng.standard_normal(value.shape) for _ in range(2)]
        flat = {"apart": apart, "two_times_apart": apart}
        return xarray.Dataset(
            {
                "first": (("run", "token"), two[0]),
                "second": (("run", "token"), two[1]),
                "one_time": (("run", "bin"), np.full((len(value), BINS), 1.0 / BINS)),
                "dim_L": ("run", dim),
                **{
                    key: ("run", number + 1e-3 * rng.standard_normal(len(value)))
                    for key, number in flat.items()
                },
            }
        )

    dims = np.array([one.d if one.kind == "gradient" else 2 for one in draws], dtype=float)
    starts = P["late"]["again"]["starts"]
    return {
        "late": dataset(value, dims),
        "late_again": dataset(np.full((starts, N[-1]), again), np.full(starts, 2.0)),
    }


def planted(scatter: float = 0.0, **exponents: float) -> dict[str, xarray.Dataset]:
    """Largest exponents by kind, -0.01 where none is given, in the last token; -0.1 in all others.  Those
    given are so much larger for every second V, and smaller for the others."""
    rng, data = np.random.default_rng(0), {}
    for name in P["sets"]:
        draws = table(P, name)
        kinds = [one.kind if name != "circle" else "circle" for one in draws]
        value = np.array([exponents.get(kind, -0.01) for kind in kinds])
        odd = np.array([one.seed % 2 for one in draws])
        value += scatter * np.array([kind in exponents for kind in kinds]) * (2.0 * odd - 1.0)
        runs, n = len(draws), 64
        two = []
        for _ in range(2):
            half = -0.1 + 1e-3 * rng.standard_normal((runs, n))
            half[:, n // 2 :] += 0.05
            half[:, -1] = value + 1e-4 * rng.standard_normal(runs)
            two.append(half)
        flat = {"in_L": 1.0, "dim_L": 3.0, "mean_square": 0.1, "spread": 0.1}
        data[name] = xarray.Dataset(
            {
                "first": (("run", "token"), two[0]),
                "second": (("run", "token"), two[1]),
                "sum": (("run", "token"), np.full((runs, n), -0.2)),
                "moving": (("run", "token"), np.zeros((runs, n))),
                "complex": ("run", np.arange(runs) % 2.0),
                **{key: ("run", np.full(runs, number)) for key, number in flat.items()},
            }
        )
    data["again0"] = data["long"].isel(run=[0, 1, 2, 3])
    growth = np.tile(np.linspace(0.1, 2.0, 5), (2, 1))
    data["partings"] = xarray.Dataset(dict.fromkeys(("simulated", "tangent"), (("run", "time"), growth)))
    return data | late_planted()


def words(data: dict[str, xarray.Dataset]) -> list[str]:
    item = find("clouds")
    return [verdict.word for verdict in item.verdicts(item.measure(data, P), P)]


def test_planted_exponents_change_the_verdicts() -> None:
    # 0 of 16 V have the interval [0 %, 21 %]: too few to say that at most 5 % are chaotic
    quiet = ["proved", "observed", "not observed", "not observed", "undecided", "undecided", "not observed"]
    rest = ["observed", "not observed", "observed"]
    assert words(planted())[:10] == quiet + rest
    chaotic = words(planted(general=0.02, all=0.02))
    assert chaotic[2:4] == ["observed", "observed"]
    assert chaotic[6] == "observed"
    assert words(planted(symmetric=0.02, scores=0.02))[4:6] == ["not observed", "not observed"]
    # what a run without chaos shows by chance is no chaos elsewhere
    assert words(planted(general=0.02, all=0.02, gradient=0.05))[2:4] == ["not observed", "not observed"]
    assert words(planted(circle=0.02))[0] == "contradicted"
    data = planted()
    data["partings"]["simulated"] = data["partings"]["simulated"] + 0.2
    data["gradient"]["spread"] += 2.0
    assert [words(data)[i] for i in (1, 9)] == ["not observed", "not observed"]


def test_planted_exponents_that_differ_between_v_leave_verdicts_undecided() -> None:
    scattered = words(planted(scatter=0.05, general=0.004, all=0.004, symmetric=-0.004))
    assert scattered[2:7] == ["undecided", "undecided", "not observed", "undecided", "undecided"]
    few = planted(symmetric=-0.01)
    few["spheres"]["second"][2, -1] = few["eight"]["first"][2, -1] = 0.4
    assert table(P, "spheres")[2].kind == "symmetric"
    assert words(few)[4] == "undecided"  # by two runs of 16, whose mean reaches above as well
    data = planted()
    for name in P["sets"]:  # early tokens of every second V as high as the second half
        for half in ("first", "second"):
            data[name][half][np.array([one.seed % 2 == 0 for one in table(P, name)]), :8] += 0.1
    data["gradient"]["spread"][0] += 2.0
    assert [words(data)[i] for i in (7, 9)] == ["undecided", "undecided"]


def test_a_kind_is_not_chaotic_only_if_so_many_runs_were_tried_that_its_whole_interval_says_so() -> None:
    item, numbers = find("clouds"), {**find("clouds").measure(planted(), P)}
    for share, word in (((0, 20), OPEN), ((0, 72), YES), ((2, 60), OPEN), ((20, 60), NO)):
        numbers["symmetric_share"] = share_of(*share, "")
        assert item.verdicts(numbers, P)[4].word == word
    numbers["symmetric_share"] = share_of(0, 72, "")
    numbers["symmetric"] = Number(0.1, "", 0.05, 0.15)  # on average above the resolution
    assert item.verdicts(numbers, P)[4].word == NO


def test_planted_orders_of_tokens_and_kinds_of_eigenvalues_change_their_verdicts() -> None:
    assert words(planted())[7:9] == ["observed", "not observed"]
    data = planted()
    for name in P["sets"]:  # the first eighth as high as the second half
        for half in ("first", "second"):
            data[name][half][:, :8] += 0.1
        draws = table(P, name)
        complex_ones = np.array([one.seed // 2 % 2 == 0 for one in draws])
        data[name]["complex"] = ("run", complex_ones.astype(float))
        if name in ("spheres", "eight"):
            loud = complex_ones & np.array([one.kind in ("general", "all") for one in draws])
            for half in ("first", "second"):
                data[name][half][loud, -1] = 0.02
    assert words(data)[7:9] == ["not observed", "observed"]


def test_a_rule_that_heeds_nothing_fails_only_where_most_runs_go_the_same_way_for_certain() -> None:
    item, numbers = find("clouds"), {**find("clouds").measure(planted(), P)}

    def word(differs: float, shares: tuple[Number, Number], rule: Number) -> str:
        some = dict(
            zip(
                ("rule_differs", "complex_share", "real_share", "rule"),
                (Number(differs, ""), *shares, rule),
                strict=True,
            )
        )
        return item.verdicts({**numbers, **some, "rule_null": Number(0.8, "", 0.6, 0.9)}, P)[8].word

    few, many, any_ = Number(0.1, "", 0.0, 0.3), Number(0.8, "", 0.6, 1.0), Number(0.0, "", 0.0, 0.6)
    same, better, worse = Number(0.8, "", 0.6, 0.9), Number(0.95, "", 0.85, 1.0), Number(0.5, "", 0.3, 0.7)
    assert word(0.0, (few, few), same) == "not observed"
    assert word(0.0, (many, many), same) == "not observed"
    assert word(0.0, (few, any_), same) == "undecided"
    assert word(0.0, (few, many), same) == "undecided"
    assert word(1.0, (few, many), better) == "observed"
    assert word(1.0, (few, many), same) == "undecided"
    assert word(1.0, (few, many), worse) == "not observed"


def late_words(late: dict[str, xarray.Dataset]) -> list[str]:
    return words(planted() | late)[10:]


NO, OPEN, YES = "not observed", "undecided", "observed"


def test_planted_late_exponents_change_the_verdicts() -> None:
    # ten V without chaos are too few to say that no more are chaotic than might seem so by chance
    assert late_words(late_planted()) == [OPEN, NO, OPEN, OPEN, OPEN, NO, YES]
    main = ("general", 8, 16.0)
    assert late_words(late_planted({main: 0.02}, again=0.02))[:2] == [YES, YES]
    # not from other starts
    assert late_words(late_planted({main: 0.02}))[:2] == [YES, NO]
    # what runs without chaos show too, on the circle or with V = -I, is no chaos
    for null in (("general", 2, 4.0), ("gradient", 8, 16.0)):
        assert late_words(late_planted({main: 0.02, null: 0.02}, again=0.02))[:2] == [OPEN, NO]
    # nor is the growth of a tangent vector like t
    assert late_words(late_planted({main: 0.002}, again=0.002))[:2] == [OPEN, NO]
    # from some starts, not from others
    some = late_planted({main: 0.02}, again=0.02)
    for half in ("first", "second"):
        some["late_again"][half][0] -= 0.03
    assert late_words(some)[:2] == [YES, OPEN]


def test_planted_shares_fail_by_their_whole_interval_alone() -> None:
    item, numbers = find("clouds"), {**find("clouds").measure(planted(), P)}
    key = "late_d8_beta16_n128"
    for share, word in (((0, 1000), NO), ((0, 10), OPEN), ((2, 10), OPEN), ((5, 24), YES)):
        numbers[key] = share_of(*share, "")
        assert item.verdicts(numbers, P)[10].word == word


def test_planted_numbers_of_tokens_and_beta_and_d_change_their_verdicts() -> None:
    main, beta, d = ("general", 8, 16.0), ("general", 8, 4.0), ("general", 4, 16.0)
    assert late_words(late_planted({main: 0.02}))[2:5] == [OPEN, YES, YES]
    assert late_words(late_planted({main: 0.02}, since=48))[2:5] == [YES, YES, YES]
    everywhere = {main: 0.02, beta: 0.02, d: 0.02}
    assert late_words(late_planted(everywhere, since=48))[2:5] == [YES, OPEN, OPEN]
    assert late_words(late_planted({beta: 0.02, d: 0.02}))[2:5] == [OPEN, NO, NO]
    fewer = late_planted({main: 0.02})
    for half in ("first", "second"):
        fewer["late"][half][:, N[0] :] = -0.02  # chaos of the first tokens alone
    assert late_words(fewer)[2] == NO


def test_planted_distances_from_the_uniform_law_change_their_verdicts() -> None:
    assert late_words(late_planted(apart=0.01))[5:] == [NO, YES]
    assert late_words(late_planted(apart=0.3))[5:] == [YES, NO]
    data = late_planted(apart=0.3)
    data["late"]["two_times_apart"][:] = 0.02
    assert late_words(data)[5:] == [NO, NO]
    for two_times, expected in ((0.3, [OPEN, NO]), (0.01, [NO, OPEN])):
        data = late_planted(apart=two_times)
        data["late"]["apart"][:] = 0.02
        data["late"]["apart"][::2] += 0.04  # of every second V, beyond what uniform tokens may have
        assert late_words(data)[5:] == expected


def test_the_null_is_hardly_ever_above_the_limit_that_the_others_make() -> None:
    rng, hits = np.random.default_rng(5), 0
    for _ in range(200):
        # half at 0, half below, with errors as large as the margin of linear growth
        nulls = np.where(np.arange(30) % 2, 0.0, -0.01)[:, None] + 0.002 * rng.standard_normal((30, 2))
        hits += int(nulls[0].min() > limit_above(nulls[1:], 300.0, 300.0))
    assert hits == 0
    still = np.zeros((4, 2))
    assert limit_above(still, 300.0, 300.0) == pytest.approx(np.log(2.0) / 300.0)
    assert limit_above(still - 1.0, 300.0, 300.0) == limit_above(still, 300.0, 300.0)
    assert limit_above(still + np.array([0.0, 0.1]), 300.0, 300.0) == pytest.approx(0.1)
    assert limit_above(still + 0.05, 300.0, 300.0) == pytest.approx(0.05 + np.log(2.0) / 300.0)


def test_the_v_from_other_starts_is_the_first_that_is_chaotic_or_the_nearest_to_it() -> None:
    data = late_planted({("general", 8, 16.0): 0.02})["late"]
    seeds = [one.seed for one, hit in zip(late_table(P), chaotic(P, data, N[-1]), strict=True) if hit]
    assert seeds == [101, 103, 105, 107, 109]
    assert late_picked(P, data).seed == 101
    data["first"][0] = -0.02
    assert late_picked(P, data).seed == 103
    quiet = late_planted()["late"]
    for half in ("first", "second"):
        quiet[half][3] = -0.001
    assert late_picked(P, quiet) == Draw("general", 8, 16.0, N[-1], 104)
    assert cannot_be_chaotic(Draw("general", 2, 4.0, 8, 0))
    assert not cannot_be_chaotic(Draw("symmetric", 4, 4.0, 8, 0))


def test_a_bound_of_exactly_zero_is_a_bound() -> None:
    item = find("clouds")
    numbers = {**item.measure(planted(), P)}
    numbers["early"] = Number(-0.1, "", -0.2, 0.0)
    numbers["late"] = Number(0.2, "", 0.1, 0.3)
    assert item.verdicts(numbers, P)[7].word == "observed"
    numbers["gradient_spread"] = Number(-0.1, "", -0.2, 0.0)
    assert item.verdicts(numbers, P)[9].word == "observed"


def test_chances_are_those_of_the_sign_test_and_fisher_s() -> None:
    yes, no = np.ones(5, dtype=bool), np.zeros(5, dtype=bool)
    assert chance_of_no_difference(yes, no, True) == pytest.approx(2.0**-5)
    assert chance_of_no_difference(no, yes, True) == 1.0
    assert chance_of_no_difference(yes, yes, True) == 1.0
    assert chance_of_no_difference(yes, no, False) == pytest.approx(1.0 / 252.0)  # 10 over 5
    assert chance_of_no_difference(no, yes, False) == pytest.approx(1.0)


@pytest.mark.parametrize("dim", [2, 3, 8])
def test_inner_products_of_uniform_tokens_have_uniform_ranks(dim: int) -> None:
    rng = np.random.default_rng(dim)
    x = rng.standard_normal((2, 4000, dim))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    ranks = overlap_ranks((x[0] * x[1]).sum(-1), dim)
    assert np.abs(np.quantile(ranks, (0.1, 0.5, 0.9)) - (0.1, 0.5, 0.9)).max() < 0.03  # 4 deviations
    null = uniform_distances(64, dim)
    assert 0.0 < null.mean() < 0.1
    assert overlap_distance(np.abs(x[0, :64])) > null.max()  # tokens that lean to one side


def test_the_first_tokens_of_a_run_have_the_exponents_of_a_run_of_so_many() -> None:
    from nucleate.attention import Attention
    from nucleate.integrate.lyapunov import lyapunov

    draw = Draw("general", 3, 4.0, 12, 201)
    found = one_late(60.0, 20.0, 1e-8, draw)
    x = uniform(12, 3, 201)[:6]
    few = lyapunov(Attention(4.0, *drawn_model("general", 3, 201)), x, 60.0, since=20.0, tol=1e-8)
    vectors = (found["first"][:6] + found["second"][:6]) / 2.0
    assert few.growth[-len(few.growth) * 2 // 3 :, :, 0].mean(0) / few.t[0] == pytest.approx(
        vectors, abs=2e-3
    )


def test_the_held_out_exponent_is_that_of_the_token_that_was_largest_before() -> None:
    first, second = np.array([[0.1, 0.3, 0.2]]), np.array([[9.0, 0.5, 8.0]])
    assert held_out(first, second).tolist() == [0.5]
    told = np.array([True, False] * 4)
    differs, right, plain = rule_hits(told, told.copy(), np.arange(8) < 4)
    assert differs
    assert right.all()
    assert plain.sum() == 2


def test_no_seed_of_the_item_is_one_of_the_larger_runs_or_of_a_first_look() -> None:
    item = find("clouds")
    seeds = []
    for p in (item.parameters, {**item.parameters, **LARGE}, {**item.parameters, **item.quick}):
        starts = {draw.seed for name in p["sets"] for draw in table(p, name)}
        assert starts.isdisjoint(again_seeds(p))
        seeds.append(starts | set(again_seeds(p)))
    assert seeds[0].isdisjoint(seeds[1] | seeds[2])
    late = [
        {draw.seed for draw in late_table(p)} | set(late_again_seeds(p))
        for p in (item.parameters, LARGE, item.quick)
    ]
    assert set(range(101, 111)) < late[0]
    for i, some in enumerate(late):
        for others in (*late[i + 1 :], *seeds):
            assert some.isdisjoint(others)


def test_runs_of_one_seed_at_several_beta_count_as_one_in_the_interval_of_a_share() -> None:
    draws = [Draw("general", 3, beta, 16, seed) for seed in range(8) for beta in (1.0, 4.0, 16.0)]
    none = seed_share(draws, np.zeros(24, dtype=bool), "")
    assert (none.value, none.low, none.count) == (0.0, 0.0, (0, 24))
    assert none.high == pytest.approx(1.0 - 0.025 ** (1.0 / 8.0))  # of 0 of 8
    half = seed_share(draws, np.arange(24) % 2 == 0, "")
    assert half.value == 0.5
    assert (half.low or 0.0) + (half.high or 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_negative_largest_real_part_and_a_space_to_it(kind: str) -> None:
    Q, K, V = drawn_model(kind, 4, 3)
    top = np.linalg.eigvals(V).real.max()
    assert top < 0.0
    assert (kind in ("scores", "all")) == bool((Q != np.eye(4)).any() and (K != np.eye(4)).any())
    L = dominant_space(V)  # (d, dim L)
    assert L.T @ L == pytest.approx(np.eye(L.shape[1]), abs=1e-12)
    inside = L.T @ V @ L  # V keeps L
    assert V @ L == pytest.approx(L @ inside, abs=1e-10)
    assert np.linalg.eigvals(inside).real == pytest.approx(top, abs=1e-10)


def test_runs_of_the_small_item_say_which_v_they_pick() -> None:
    found = made("clouds")
    (one,) = picked({**find("clouds").parameters, **SMALL["clouds"]}, found.data)
    assert one.kind == "general"
    assert found.numbers["parting"].value < 1e-2


def kinds_planted(
    name: str,
    chaotic_shares: dict[tuple[str, float], float],
    null: float = -0.01,
    null_beta: float = 16.0,
    nulls: float = -0.01,
    speed: float = 0.2,
) -> Numbers:
    """Late exponents of -0.02 with errors; of 0.02 in so many of the V of some kinds at some β; others in
    every run that cannot be chaotic at `null_beta`, and in one of these. Speeds at β = 16 are 0.2 ± 0.1."""
    one, rng = KIND_SETS[name], np.random.default_rng(4)
    draws = late_table(one.parameters)
    value = np.full(len(draws), -0.02)
    fast = 0.1 * (-1.0) ** np.arange(len(draws)) + [0.2 if draw.beta == 16.0 else speed for draw in draws]
    for i, draw in enumerate(draws):
        number = draw.seed - one.first_seed
        share = chaotic_shares.get((draw.kind, draw.beta), 0.0)
        if draw.d == one.d and number < round(24 * share):
            value[i] = 0.02
        if cannot_be_chaotic(draw) and draw.beta == null_beta:
            value[i] = null if (draw.kind, number) == ("gradient", 0) else nulls
    halves = [value[:, None] + 1e-3 * rng.standard_normal((len(draws), 128)) for _ in range(2)]
    rows = {half: (("run", "token"), own) for half, own in zip(("first", "second"), halves, strict=True)}
    found = xarray.Dataset({**rows, "speed": ("run", fast)})
    assert draw_kinds({one: found}).axes[0].get_title() == f"d = {one.d}, β = {one.beta:g}"
    return dict(kind_numbers(found, one))


def kind_words(name: str, chaotic_shares: dict[tuple[str, float], float], **others: float) -> list[str]:
    """At β = 16: the control; symmetric V, drawn Q and K with V = -I and with general V; each against
    general V.  At β = 1: the control at β = 16; the speed; general V and these three; general V at β = 1
    against 16."""
    numbers = kinds_planted(name, chaotic_shares, **others)
    return [verdict.word for verdict in kind_verdicts(numbers, KIND_SETS[name])]


@pytest.mark.parametrize("name", ["d8", "d3", "d4"])
def test_planted_kinds_of_v_change_their_verdicts(name: str) -> None:
    some = {("general", 16.0): 0.25}
    assert kind_words(name, some) == [YES] * 7
    # where the measure finds no chaos in general V, it tells nothing of others
    assert kind_words(name, {}) == [OPEN] * 7
    # nor where it finds chaos in runs that have none
    assert kind_words(name, some, null=0.015)[:4] == [OPEN] * 4
    # two of 24 general V are chaos, and no more than chance has beside none
    assert kind_words(name, {("general", 16.0): 2 / 24}) == [YES] * 4 + [OPEN] * 3
    assert kind_words(name, {**some, ("symmetric", 16.0): 1 / 24})[1] == OPEN
    assert kind_words(name, {**some, ("symmetric", 16.0): 0.5})[1] == NO
    more = kind_words(name, {("general", 16.0): 1 / 24, ("all", 16.0): 0.5})
    assert [more[3], more[6]] == [NO, NO]
    assert kind_words(name, {**some, ("scores", 16.0): 0.25})[5] == OPEN


@pytest.mark.parametrize("name", ["beta1-d8", "beta1-d4"])
def test_planted_v_at_beta_1_change_their_verdicts(name: str) -> None:
    some = {("general", 16.0): 0.25}
    assert kind_words(name, some) == [YES] * 7
    assert kind_words(name, {}) == [OPEN, YES] + [OPEN] * 5
    # at either β, chaos in a run that has none takes the meaning from all that is called not chaotic
    for beta in (1.0, 16.0):
        words = kind_words(name, some, null=0.015, null_beta=beta)
        assert words[:6] == [OPEN, YES] + [OPEN] * 4
    # so does a speed that is too small, which takes that of fewer at β = 1 too
    assert kind_words(name, some, speed=0.11) == [YES] + [OPEN] * 6
    assert kind_words(name, some, speed=-0.3)[1] == NO
    # four of 24 are no more than chance has beside none, five are
    assert [kind_words(name, {("general", 16.0): hits / 24})[6] for hits in (4, 5)] == [OPEN, YES]
    chance = kinds_planted(name, {("general", 16.0): 5 / 24})["general_fewer"]
    assert chance.value == pytest.approx(0.5**5)  # of pairs, by the sign test
    assert kind_words(name, {**some, ("general", 1.0): 1 / 24})[2] == OPEN
    loud = kind_words(name, {("general", 16.0): 1 / 24, ("general", 1.0): 0.5})
    assert [loud[2], loud[6]] == [NO, NO]
    for place, kind in ((3, "symmetric"), (4, "scores"), (5, "all")):
        assert kind_words(name, {**some, (kind, 1.0): 1 / 24})[place] == OPEN
        assert kind_words(name, {**some, (kind, 1.0): 0.5})[place] == NO


def test_the_limit_at_a_beta_is_that_of_runs_at_this_beta() -> None:
    least = np.log(2.0) / 300.0  # of half the window
    for beta, other in ((1.0, 16.0), (16.0, 1.0)):
        numbers = kinds_planted("beta1-d8", {}, null=0.005, null_beta=beta, nulls=0.005)
        assert numbers[f"limit_beta{beta:g}"].value == pytest.approx(0.005 + least, abs=5e-4)
        assert numbers[f"limit_beta{other:g}"].value == pytest.approx(least)
    both = {("general", 1.0): 0.25, ("general", 16.0): 0.25}  # late exponents of 0.02
    numbers = kinds_planted("beta1-d8", both, null=0.03, null_beta=1.0, nulls=0.03)
    assert [numbers[key].count for key in ("general", "control")] == [(0, 24), (6, 24)]
    assert numbers["control_above_both"].count == (0, 24)
    assert kinds_planted("beta1-d8", both)["control_above_both"].count == (6, 24)


def test_none_of_24_has_an_interval_below_the_bound_and_none_of_20_has_not() -> None:
    assert (share_of(0, 24, "").high or 0.0) < MAX_CHAOTIC < (share_of(1, 24, "").high or 0.0)
    assert (share_of(0, 20, "").high or 0.0) > MAX_CHAOTIC
    assert none_of_enough(0.1, 24) == pytest.approx(0.0798, abs=1e-4)


def test_v_and_start_of_a_seed_are_the_same_with_drawn_q_and_k_and_at_both_beta() -> None:
    for one in KIND_SETS.values():
        draws = [draw for draw in late_table(one.parameters) if draw.d == one.d]
        own = {(draw.kind, draw.beta, draw.seed): draw for draw in draws}
        assert len(own) == len(draws)
        seeds = range(one.first_seed, one.first_seed + 24)
        for kind, beta in {("general", 16.0), ("general", one.beta), ("all", one.beta)}:
            assert {seed for *cell, seed in own if cell == [kind, beta]} == set(seeds)
        for seed in seeds:
            same = [drawn_model(kind, one.d, seed)[2] for kind in ("general", "all")]
            assert (same[0] == same[1]).all()


def test_sets_at_beta_1_have_runs_that_cannot_be_chaotic_at_both_beta() -> None:
    for one in KIND_SETS.values():
        nulls = [draw for draw in late_table(one.parameters) if cannot_be_chaotic(draw)]
        assert sorted({draw.beta for draw in nulls}) == one.betas
        assert len(nulls) == 12 * len(one.betas)


def test_no_seed_of_the_kinds_was_seen_before() -> None:
    item, seen = find("clouds"), {9001, *range(7001, 7101)}  # and trials
    for p in (item.parameters, {**item.parameters, **LARGE}, {**item.parameters, **item.quick}):
        seen |= {draw.seed for name in p["sets"] for draw in table(p, name)} | set(again_seeds(p))
        seen |= {draw.seed for draw in late_table(p)} | set(late_again_seeds(p))
    for one in KIND_SETS.values():
        own = {draw.seed for draw in late_table(one.parameters)}
        assert own.isdisjoint(seen)
        seen |= own


def test_runs_of_a_set_are_those_of_its_table_and_are_read_again(tmp_path: Path) -> None:
    cells = [["general", 3, 1.0, 2], ["gradient", 3, 16.0, 1]]
    late = {"cells": cells, "n": [4, 8], "t": 6.0, "since": 2.0, "tol": 1e-4, "first_seed": 7001}
    workspace = ItemWorkspace("clouds", tmp_path, {"late": late})
    shares: list[float] = []
    found = run_kinds(workspace, "small", lambda done, total: shares.append(done / total))
    draws = late_table({"late": late})
    assert shares == [1.0]
    for i, draw in enumerate(draws):
        alone = one_late(6.0, 2.0, 1e-4, draw)
        assert found["first"].values[i] == pytest.approx(alone["first"])
        assert found["second"].values[i] == pytest.approx(alone["second"])
    assert found["speed"].values == pytest.approx([late_speed(draw, 2.0) for draw in draws])
    run_kinds(workspace, "small", lambda done, total: None)
    assert workspace.computed == ["kinds-small-0000"]


def test_the_speed_of_late_tokens_is_how_far_they_come_in_a_short_time() -> None:
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate

    draw, model = Draw("general", 3, 4.0, 8, 7002), Attention(4.0, *drawn_model("general", 3, 7002))
    x = simulate(model, uniform(8, 3, 7002), 2.001, save=np.array([1.999, 2.001])).x  # (2, n, d)
    far = np.linalg.norm(x[1, 4:] - x[0, 4:], axis=-1).mean()
    assert late_speed(draw, 2.0) == pytest.approx(far / 0.002, rel=1e-4)
