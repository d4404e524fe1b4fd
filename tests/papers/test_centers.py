"""Centers and frozen tokens held against the paper: Lemmas 5.1, 5.3, A.1, Theorem 5.2, the slips; proofs on
intervals; the closing table."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import xarray
from support.small_items import made

from nucleate.observe.centers import renyi_centers
from nucleate.papers import (
    anchors,
    lemma51,
    lemma53,
    lemmaa1,
    readme,
    report,
    shapes,
    slips,
    stays,
    theorem52,
)
from nucleate.papers.causal_clustering.lemmaA1.interval_arithmetic import Proof, Span, alternating, prove
from nucleate.papers.core.cache import Desk
from nucleate.papers.core.numbers import Number
from nucleate.theory.bounds import frozen_conditions
from nucleate.theory.interaction import interaction, interaction_slope

MINE = ("lemma5.1", "theorem5.2", "lemma5.3", "lemmaA.1", "slips")


def changed(dataset: xarray.Dataset, **arrays: Any) -> xarray.Dataset:
    """`dataset` with other values in some variables."""
    return dataset.assign(
        {
            name: (dataset[name].dims, np.broadcast_to(values, dataset[name].shape).copy())
            for name, values in arrays.items()
        }
    )


def words(key: str, name: str, **arrays: Any) -> list[str]:
    """The verdicts of an item with other values in one of its datasets."""
    found = made(key)
    return found.words({**found.data, name: changed(found.data[name], **arrays)})


# --- arithmetic on pieces


def test_sums_products_and_quotients_of_pieces_hold_every_value() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = np.sort(rng.standard_normal((2, 2)), axis=1)
        x, y = Span(a[:1], a[1:]), Span(b[:1], b[1:])
        # exact: no rounding in the comparison
        at = [(Fraction(p), Fraction(q)) for p in (*a, a.mean()) for q in (*b, b.mean())]
        laws: list[tuple[Span, Callable[[Fraction, Fraction], Fraction]]] = [
            (x + y, lambda p, q: p + q),
            (x - y, lambda p, q: p - q),
            (x * y, lambda p, q: p * q),
            (x.over(7), lambda p, q: p / 7),
        ]
        for found, law in laws:
            values = [law(p, q) for p, q in at]
            assert Fraction(float(found.low[0])) <= min(values)
            assert max(values) <= Fraction(float(found.high[0]))


@pytest.mark.parametrize("first", [3, 4, 5, 6])
def test_the_rest_of_sine_and_cosine_is_enclosed(first: int) -> None:
    y = np.concatenate([np.linspace(0.0, 40.0, 101), np.geomspace(1e-12, 1e-2, 20)])
    found = alternating(Span(y, y), first)
    with mp.workdps(50):
        for at, low, high in zip(y, found.low, found.high, strict=True):
            value = mp.nsum(
                lambda i, at=at: (
                    (-1) ** int(i) * mp.mpf(float(at)) ** int(i) / mp.factorial(first + 2 * int(i))
                ),
                [0, 60],
                method="direct",
            )
            assert low <= value <= high
            # some hundred roundings of terms that are at most 40^3/9! and so below 1
            assert high - low < 1e-13


def test_what_is_false_is_not_proved_and_what_touches_zero_stays_undecided() -> None:
    assert not prove(lambda y: y - 0.5, 0.0, 1.0).holds
    touching = prove(lambda y: (y - 0.3) * (y - 0.3), 0.0, 1.0)
    assert not touching.holds
    assert touching.undecided > 0
    assert prove(lambda y: y * y + 1e-6, -1.0, 1.0).holds
    late = prove(lambda y: y - 0.999, 0.0, 1.0)
    assert (late.holds, late.undecided > 0) == (False, True)


def test_a_proof_covers_its_interval_without_gaps() -> None:
    seen: list[tuple[float, float]] = []

    def watched(y: Span) -> Span:
        found = (y - 0.31) * (y - 0.31) + 1e-7  # needs many halvings
        seen.extend(
            (float(a), float(b)) for a, b, low in zip(y.low, y.high, found.low, strict=True) if low > 0.0
        )
        return found

    assert prove(watched, 0.0, 1.0).holds
    pieces = sorted(seen)
    assert pieces[0][0] == 0.0
    assert pieces[-1][1] == 1.0
    assert all(one[1] == other[0] for one, other in pairwise(pieces))


@pytest.mark.parametrize("name", list(shapes.PROOFS))
def test_what_is_proved_is_what_the_lemma_says(name: str) -> None:
    """Every expression, written out in sine and cosine, at points at which no digits cancel."""
    _, positive, end = shapes.PROOFS[name]
    x = np.linspace(0.4, 0.999 * np.sqrt(end), 60)
    y, s = x * x, np.sin(x) / x
    direct = {
        "sine_below": (x - np.sin(x)) / x**3,
        "sine_above": (np.sin(x) - x + x**3 / 6) / x**5,
        "cosine_above": (np.cos(x) - 1 + y / 2) / y**2,
        "cosine_below": (1 - y / 2 + y**2 / 24 - np.cos(x)) / y**3,
        "tau_above": (np.cos(x) / np.sin(x) ** 2 + 0.5 - 1 / y) * s**2,
        "tau_below": (np.sin(x) ** 2 - y * np.cos(x)) / y**2,
        "slope_far": y * np.exp(y**2 / 24 - y / 2 + 1 - np.cos(x)) - np.sin(x) ** 2 + np.cos(x),
    }[name]
    found = positive(Span(y, y))
    # digits that the direct forms lose near 0.4: five powers of x
    tolerance = 1e-9 * np.maximum(1.0, np.abs(direct))
    assert (found.low - tolerance <= direct).all()
    assert (direct <= found.high + tolerance).all()


def test_the_second_bound_on_g_holds_from_the_threshold_on_and_not_before() -> None:
    false, true = shapes.far_threshold()
    assert 0.0 < true - false <= 1e-5
    x = np.linspace(1e-3, 3 * np.pi, 200_001)

    def margin(beta: float) -> float:
        return float(
            (interaction_slope(x, beta) + beta * x**2 * np.exp(-beta * x**2 / 2 * (1 - x**2 / 12))).min()
        )

    assert margin(false - 1e-6) < 0.0 < margin(true + 1e-6)
    assert margin(1.0) > 0.0


# --- Lemma A.1


def test_the_margins_are_those_of_the_bounds_one_by_one() -> None:
    for beta in (0.05, 1.0, 30.0):
        x = np.linspace(0.01, np.pi, 40)
        held = lemmaa1.margins(x, beta) > 0.0  # (4, x)
        for i, at in enumerate(x):
            h, g = float(interaction(at, beta)), float(interaction_slope(at, beta))
            low, high = np.exp(-beta * at**2 / 2), np.exp(-beta * at**2 / 2 + beta * at**4 / 24)
            one_by_one = [
                h > low * (at - at**3 / 6),
                h < at * high,
                g > low * (1 - at**2 / 2 - beta * at**2),
                g > -beta * at**2 * high,
            ]
            assert held[:, i].tolist() == one_by_one


@pytest.mark.parametrize(("bound", "part"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_one_point_of_the_grid_changes_the_verdict_on_its_bound(bound: int, part: int) -> None:
    fails = made("lemmaA.1").data["grid"]["fails"].values.copy()
    fails[bound, 3] = 1.0
    told = words("lemmaA.1", "grid", fails=fails)
    assert [i for i, word in enumerate(told) if word == "disagrees"] == [part]


@pytest.mark.parametrize(
    ("claim", "parts"),
    [("sine_below", [1, 2]), ("cosine_below", [1, 2]), ("tau_above", [0]), ("slope_far", [3])],
)
def test_a_claim_that_is_not_proved_changes_the_verdict(claim: str, parts: list[int]) -> None:
    holds = made("lemmaA.1").data["proofs"]["holds"].values.copy()
    holds[list(shapes.PROOFS).index(claim)] = 0
    told = words("lemmaA.1", "proofs", holds=holds)
    assert [i for i, word in enumerate(told) if word == "disagrees"] == parts


def test_a_function_that_turns_twice_has_another_shape() -> None:
    assert words("lemmaA.1", "grid", turns=2.0)[0] == "disagrees"


# --- Lemma 5.3


def test_gradients_of_energies_are_differences_of_energies() -> None:
    rng = np.random.default_rng(1)
    for beta in (0.5, 9.0):
        phi, theta, a = rng.uniform(-3, 3, (2, 5)), rng.uniform(-3, 3, (2, 2)), rng.uniform(1, 3, (2, 2))

        def energy(
            run: int, k: int, at: float, beta: float = beta, phi: Any = phi, theta: Any = theta, a: Any = a
        ) -> float:
            total = sum(np.exp(beta * (np.cos(at - phi[run, j]) - 1)) for j in range(k))
            return float(
                -(
                    total
                    + sum(
                        w * np.exp(beta * (np.cos(at - one) - 1))
                        for w, one in zip(a[run], theta[run], strict=True)
                    )
                )
                / beta
            )

        slope, Z = lemma53.gradients(phi, theta, a, beta, 1.0 / beta)
        for run in range(2):
            for k in range(5):
                step = 1e-5
                by_hand = (energy(run, k, phi[run, k] + step) - energy(run, k, phi[run, k] - step)) / (
                    2 * step
                )
                assert abs(slope[run, k] - by_hand) < 1e-8  # step^2 beta^1.5, and rounding over the step
                # the sum without the self term, which is 1
                assert abs(Z[run, k] - (1.0 - beta * energy(run, k, phi[run, k]))) < 1e-12


@pytest.mark.parametrize(("name", "part"), [("gradient", 0), ("compiled", 0)])
def test_velocities_that_are_no_gradient_disagree(name: str, part: int) -> None:
    found = made("lemma5.3").data["identity"]
    wrong = found[name].values.copy()
    wrong[-1, 0, 3] += 1e-11
    assert words("lemma5.3", "identity", **{name: wrong})[part] == "disagrees"


def test_an_energy_that_rises_though_earlier_tokens_rest_disagrees() -> None:
    E = made("lemma5.3").data["falls"]["energy"].values.copy()
    E[2, 40:, 1] += 0.01
    assert words("lemma5.3", "falls", energy=E)[1] == "disagrees"
    own = made("lemma5.3").data["falls"]["own"].values
    assert words("lemma5.3", "falls", own=-own)[1] == "disagrees"
    assert (
        words("lemma5.3", "falls", rate=1.001 * made("lemma5.3").data["falls"]["rate"].values)[1]
        == "disagrees"
    )


def test_a_symmetric_flow_would_have_one_energy() -> None:
    assert words("lemma5.3", "identity", lopsided=0.0)[2] == "disagrees"


# --- Theorem 5.2


@pytest.mark.parametrize("case", anchors.CASES, ids=lambda case: case.name)
def test_the_limits_are_where_the_conditions_change(case: anchors.Case) -> None:
    first, second = (float(one) for one in anchors.limits(case.beta, case.c, case.eps))
    near = 1e-9
    assert (
        frozen_conditions(case.beta, case.c, case.eps, first * (1 - near)).force
        > 0.0
        > frozen_conditions(case.beta, case.c, case.eps, first * (1 + near)).force
    )
    assert (
        frozen_conditions(case.beta, case.c, case.eps, second * (1 - near)).slope
        > 0.0
        > frozen_conditions(case.beta, case.c, case.eps, second * (1 + near)).slope
    )


def test_a_token_rests_where_two_pulls_are_equal_and_is_torn_away_beyond_the_fold() -> None:
    case = anchors.CASES[0]
    s, (y, weight) = case.beta**-0.5, anchors.fold(case)
    at = np.linspace(1e-4, 1.0, 100_001)
    for A in (0.01 * weight, 0.5 * weight, 0.99 * weight):
        pull = interaction(at * s, case.beta) - A * interaction((case.c - at) * s, case.beta)
        first = at[np.argmax(pull > 0.0)]  # by walking outwards
        assert abs(float(anchors.rest(case, np.array([A]))[0]) - first) <= 1e-5  # the step of the walk
    pull = interaction(at * s, case.beta) - 1.001 * weight * interaction((case.c - at) * s, case.beta)
    assert (pull[at < 0.9] < 0.0).all()
    assert np.isnan(anchors.rest(case, np.array([1.001 * weight]))[0])
    assert y > case.eps


def test_frozen_tokens_are_placed_as_the_theorem_asks() -> None:
    for case in anchors.CASES:
        theta, a, x0 = anchors.placements(case, 500.0, 6, 3)
        gaps = np.diff(np.concatenate([theta, theta[:, :1] + 2 * np.pi], axis=1), axis=1)
        assert (gaps > case.c * case.beta**-0.5).all()
        assert (a >= 1.0).all()
        np.testing.assert_allclose(a.sum(1) + x0.shape[1], 500.0, rtol=1e-12)


def test_the_sweep_is_that_of_the_conditions_point_by_point() -> None:
    beta, counted, smallest = 20.0, [0, 0, 0], np.inf
    found = anchors.sweep(np.array([beta]), 4, 25)
    for c in np.linspace(2.0, 12.0, 5)[1:]:
        for eps in np.linspace(0.0, (c - 2.0) / 2.0, 27)[1:-1]:
            most = float(anchors.limits(beta, c, eps)[0])
            if most < 2.0:
                continue
            counted[0] += 1
            conditions = frozen_conditions(beta, c, eps, most)
            small = float(interaction_slope(eps * beta**-0.5, beta)) > 0.0
            counted[1] += small and conditions.slope_as_printed <= 0.0
            counted[2] += small and conditions.slope < 0.0
            smallest = min(smallest, eps) if conditions.slope < 0.0 else smallest
    assert [float(found[name].sum()) for name in ("allowed", "printed_refuses", "sign_refuses")] == counted
    assert float(found["least_eps"].min()) == smallest
    assert counted[2] > 0


def test_one_token_that_ends_elsewhere_or_still_moves_disagrees() -> None:
    case = anchors.CASES[1]
    name = f"{case.name}-0.99"
    away = made("theorem5.2").data[name]["away"].values.copy()
    away[3, 2] = 1.01 * case.eps
    assert words("theorem5.2", name, away=away)[0] == "disagrees"
    assert words("theorem5.2", name, speed=1e-6)[0] == "disagrees"
    assert words("theorem5.2", name, done=0)[0] == "disagrees"


def test_the_edge_must_lie_where_runs_show_it() -> None:
    case = anchors.CASES[0]
    name = f"{case.name}-edge"
    assert words("theorem5.2", name, away=[1.01 * case.eps, 1.05 * case.eps])[1] == "disagrees"
    assert words("theorem5.2", name, away=[0.9 * case.eps, 0.99 * case.eps])[1] == "disagrees"


def test_the_printed_sign_is_called_too_weak_only_if_it_is() -> None:
    refuses = made("theorem5.2").data["sweep"]["printed_refuses"].values.copy()
    refuses[0] = 1.0
    assert words("theorem5.2", "sweep", printed_refuses=refuses)[2] == "disagrees"
    assert words("theorem5.2", "sweep", room=0.9)[2] == "disagrees"
    assert words("theorem5.2", "made", weak_curvature=0.1)[2] == "disagrees"
    assert words("theorem5.2", "made", weak_away=2.0)[2] == "disagrees"


# --- Lemma 5.1


def test_centers_drawn_at_an_index_are_strong_and_the_rest_is_uniform() -> None:
    delta = 0.5
    phi = stays.drawn(delta, 12, 400, 7)
    for row in phi[:20]:
        assert 11 in renyi_centers(np.stack([np.cos(row), np.sin(row)], axis=-1), delta, strong=True)
    others = np.sort(phi[:, :-1].ravel())
    level = (others - delta) / (2 * np.pi - 2 * delta)  # uniform on [0, 1]
    # Kolmogorov, 1 in 100
    assert np.abs(level - (np.arange(len(level)) + 0.5) / len(level)).max() < 1.63 / np.sqrt(len(level))


def test_the_guarantee_is_split_as_the_lemma_says() -> None:
    for sure in stays.splits(64.0, 4.0, [0.25, 0.75]):
        x = sure.c * 64.0**-0.5
        assert abs(sure.c * (1 + 2 * sure.eps) - 4.0) < 1e-12
        assert abs(sure.product * float(interaction(x, 64.0)) - sure.eps * x) < 1e-12


def test_a_power_is_that_of_a_line_through_logarithms() -> None:
    rng = np.random.default_rng(2)
    indices, ratio = np.array([8, 16, 64]), np.exp(rng.standard_normal((3, 21)))
    quartile = np.sort(ratio, axis=1)[:, 5]
    assert float(lemma51._power(indices, ratio)) == pytest.approx(
        np.polyfit(np.log(indices), np.log(quartile / indices), 1)[0], rel=1e-10
    )


@pytest.mark.parametrize("name", ["beta64-c3-8", "beta64-c3-96"])
def test_one_center_beyond_the_bound_disagrees(name: str) -> None:
    moved, ratio = (made("lemma5.1").data[name][key].values.copy() for key in ("moved", "ratio"))
    moved[5], ratio[4] = 1.01, 0.99
    assert words("lemma5.1", name, moved=moved)[0] == "disagrees"
    assert words("lemma5.1", name, ratio=ratio)[0] == "disagrees"


def test_a_strong_center_of_a_start_that_wanders_disagrees() -> None:
    found = made("lemma5.1").data["starts"]
    moved = found["moved"].values.copy()
    moved[1, 1:] = 1.5
    assert words("lemma5.1", "starts", moved=moved)[0] == "disagrees"
    assert words("lemma5.1", "starts", done=0)[0] == "disagrees"


def test_lifetimes_in_the_worst_placement_must_fall_as_the_law_says() -> None:
    found = made("lemma5.1").data["beta64-c3-worst"]
    index = found["index"].values
    assert words("lemma5.1", "beta64-c3-worst", exact=found["exact"].values * index**0.2)[1] == "disagrees"
    assert words("lemma5.1", "beta64-c3-worst", simulated=1.001 * found["simulated"].values)[1] == "disagrees"


def test_the_law_of_random_lifetimes_is_judged_by_what_is_known_of_it() -> None:
    found = made("lemma5.1")
    runs = found.data["beta64-c3-8"].sizes["run"]

    def with_law(power: float, spread: float) -> list[str]:
        rng, data = np.random.default_rng(5), dict(found.data)
        for s in found.p["indices"]:
            ratio = 1e3 * s ** (power + 1.0) * np.exp(spread * rng.standard_normal(runs))
            data[f"beta64-c3-{s}"] = changed(data[f"beta64-c3-{s}"], ratio=ratio)
        return found.words(data)

    assert with_law(-1.0, 0.01)[2] == "evidence against"
    assert with_law(-0.5, 0.01)[2] == "evidence for"
    assert with_law(-1.0, 3.0)[2] == "not testable here"


# --- slips


def corrected(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What the data would be had the print been right."""

    def planted(data: dict[str, Any]) -> dict[str, Any]:
        if name == "2":  # with the sign, the condition refuses a part; and the made case fails it
            refuses = {"printed_refuses": data["sweep"]["sign_refuses"].values}
            return {
                **data,
                "sweep": changed(data["sweep"], **refuses),
                "made": changed(data["made"], weak_as_printed=data["made"]["weak_slope"].values),
            }
        if name == "3":
            return {
                **data,
                "identity": changed(data["identity"], printed=data["identity"]["gradient"].values),
            }
        if name == "4a":  # x <= pi: nothing beyond is claimed
            return {**data, "grid": changed(data["grid"], beyond=0)}
        if name == "4b":  # beta large enough: refuted nowhere
            return {**data, "proofs": changed(data["proofs"], far_false=0.0)}
        return {**data, "counter": changed(data["counter"], x=[1.0, 0.0])}

    return planted


@pytest.mark.parametrize(("name", "part"), [("2", 1), ("3", 2), ("4a", 3), ("4b", 4), ("6", 6)])
def test_evidence_of_a_slip_vanishes_with_the_corrected_value(name: str, part: int) -> None:
    found = made("slips")
    before = found.item.verdicts(found.numbers, found.p)
    numbers = found.item.measure(corrected(name)(dict(found.data)), found.p)
    assert [verdict.word for verdict in before] == ["disagrees"] * 7
    assert [
        i for i, verdict in enumerate(found.item.verdicts(numbers, found.p)) if verdict.word == "agrees"
    ] == [part]
    assert len(found.item.slips(numbers)) == 6


@pytest.mark.parametrize(("starts", "part"), [("sphere_", 0), ("example_", 5)])
def test_evidence_of_a_printed_value_vanishes_where_the_right_one_is_printed(starts: str, part: int) -> None:
    found = made("slips")
    right = {
        "sphere_0.8": 1 / np.sin(0.4) ** 2,
        "sphere_1.333": 1 / np.sin(2 / 3) ** 2,
        "example_beta": 14.045,
        "example_N": 682.0,
    }
    numbers = {
        name: replace(number, expected=right[name]) if name in right and name.startswith(starts) else number
        for name, number in found.numbers.items()
    }
    assert [
        i for i, verdict in enumerate(found.item.verdicts(numbers, found.p)) if verdict.word == "agrees"
    ] == [part]


def test_items_and_the_gathering_item_tell_the_same_slips() -> None:
    gathered = {slip.printed for slip in made("slips").item.slips(made("slips").numbers)}
    own = {
        slip.printed
        for key in ("theorem5.2", "lemma5.3", "lemmaA.1", "figure4", "table1")
        for slip in made(key).item.slips(made(key).numbers)
    }
    assert own <= gathered
    assert len(gathered) == 7


def test_centers_on_the_sphere_are_counted_until_none_is_missing() -> None:
    counts = slips.sphere([2.0, 3.0], 50, 1)["count"].values
    assert counts.min() >= 1
    assert abs(counts[0].mean() - 1 / np.sin(1.0) ** 2) < 4 * counts[0].std() / np.sqrt(50)


# --- all of them


@pytest.mark.parametrize("key", MINE)
def test_an_item_run_again_has_the_same_numbers(key: str, tmp_path: Path) -> None:
    found = made(key)
    assert found.item.measure(found.item.run(Desk(key, tmp_path, found.p)), found.p) == found.numbers


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return {
        key: made(key).item.told(made(key).numbers, made(key).p, quick=False) for key in ("figure4", *MINE)
    }


def test_the_closing_table_has_every_statement_with_verdict_figure_and_command(
    results: dict[str, Any],
) -> None:
    table = report._verdict_table(results)
    assert table.index("<th>statement<th>verdict<th>figure<th>command") > 0
    for key, told in results.items():
        assert f"<code>nucleate reproduce --only {key}</code>" in table
        assert all(f'href="#{name}-picture"' in table for name in told["figures"])
        for verdict in told["verdicts"]:
            row = next(row for row in table.split("<tr>") if report.typeset(verdict["part"]) in row)
            assert f">{verdict['word']}</span>" in row
    assert table.count("<tr>") == 1 + sum(len(told["verdicts"]) for told in results.values())


def test_the_contents_name_every_item_and_its_verdicts(results: dict[str, Any]) -> None:
    contents = report._contents(results)
    for key, told in results.items():
        row = next(row for row in contents.split("<li>") if f'href="#{key}"' in row)
        assert all(f">{verdict['word']}</span>" in row for verdict in told["verdicts"])
    assert "disagrees</span> × 7" in contents


def test_every_slip_is_told_once_with_the_evidence_of_those_who_found_it(results: dict[str, Any]) -> None:
    found = report.gathered_slips(results)
    assert len(found) == len({slip["printed"] for slip, _ in found}) == 7
    finders = {slip["printed"]: [key for key, _, _ in each] for slip, each in found}
    assert finders["Lemma A.1: the lower bound on h without a limit on x"] == ["figure4", "lemmaA.1"]
    assert finders["Strong centers for d = 3: (3 sin²(δ/2))^(−1)"] == ["slips"]
    assert report._slips({}) == ""


def test_the_table_of_the_readme_links_pictures_and_names_commands(results: dict[str, Any]) -> None:
    lines = readme._verdicts(results, "docs/images")
    assert lines[0] == "| item | statement | verdict | figure | command |"
    assert all(line.count(" | ") == 4 for line in lines[2:])
    assert "[lemma5.1](docs/images/reproduced-lemma5.1.png)" in "\n".join(lines)
    assert "`nucleate reproduce --only theorem5.2`" in "\n".join(lines)


def test_indices_of_letters_are_lowered_and_words_are_left_alone() -> None:
    assert (
        report.typeset("E_k, φ_k', s_j − 1, Σ_{j<k}, some_name")
        == "E<sub>k</sub>, φ<sub>k</sub>&#x27;, s<sub>j</sub> − 1, Σ<sub>j&lt;k</sub>, some_name"
    )


def test_a_number_that_is_proved_says_on_how_many_pieces() -> None:
    number: Number = made("lemmaA.1").numbers["sine_below"]
    assert number.how.startswith("on 64 pieces, 0 undecided")
    assert Proof(True, 0.1, 64, 0).holds
    assert theorem52.ITEM.key == "theorem5.2"
