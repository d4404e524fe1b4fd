"""Theorem 5.2: its conditions, its placements, and ends that change the verdicts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.small_items import changed, made, words_changed

from nucleate.papers.causal_clustering.theorem52.conditions import (
    CASES,
    Case,
    equilibrium_distance,
    limits,
    tear_off,
)
from nucleate.papers.causal_clustering.theorem52.data import EDGE_SHARE, moving_cases, placements, sweep
from nucleate.theory.bounds import frozen_conditions
from nucleate.theory.interaction import interaction, interaction_slope


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_limits_are_where_the_conditions_change(case: Case) -> None:
    first, second = (float(one) for one in limits(case.beta, case.c, case.eps))
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


def test_the_equilibrium_is_where_two_pulls_are_equal_until_the_token_is_torn_away() -> None:
    case = CASES[0]
    s, (y, weight) = case.beta**-0.5, tear_off(case)
    at = np.linspace(1e-4, 1.0, 100_001)
    for A in (0.01 * weight, 0.5 * weight, 0.99 * weight):
        pull = interaction(at * s, case.beta) - A * interaction((case.c - at) * s, case.beta)
        first = at[np.argmax(pull > 0.0)]  # by walking outwards
        assert (
            abs(float(equilibrium_distance(case, np.array([A]))[0]) - first) <= 1e-5
        )  # the step of the walk
    pull = interaction(at * s, case.beta) - 1.001 * weight * interaction((case.c - at) * s, case.beta)
    assert (pull[at < 0.9] < 0.0).all()
    assert np.isnan(equilibrium_distance(case, np.array([1.001 * weight]))[0])
    assert y > case.eps


def test_frozen_tokens_are_placed_as_the_theorem_asks() -> None:
    for case in CASES:
        theta, a, x0 = placements(case, 500.0, 6, 3)
        gaps = np.diff(np.concatenate([theta, theta[:, :1] + 2 * np.pi], axis=1), axis=1)
        assert (gaps > case.c * case.beta**-0.5).all()
        assert (a >= 1.0).all()
        np.testing.assert_allclose(a.sum(1) + x0.shape[1], 500.0, rtol=1e-12)


def test_the_sweep_is_that_of_the_conditions_point_by_point() -> None:
    beta, counted, smallest = 20.0, [0, 0, 0], np.inf
    found = sweep(np.array([beta]), 4, 25)
    for c in np.linspace(2.0, 12.0, 5)[1:]:
        for eps in np.linspace(0.0, (c - 2.0) / 2.0, 27)[1:-1]:
            most = float(limits(beta, c, eps)[0])
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
    case = CASES[1]
    name = f"{case.name}-0.99"
    away = made("theorem5.2").data[name]["away"].values.copy()
    away[3, 2] = 1.01 * case.eps
    assert words_changed("theorem5.2", name, away=away)[0] == "disagrees"
    assert words_changed("theorem5.2", name, speed=1e-6)[0] == "disagrees"
    assert words_changed("theorem5.2", name, done=0)[0] == "disagrees"


def test_one_run_of_moving_tokens_that_ends_elsewhere_disagrees() -> None:
    for case in moving_cases():
        name = f"{case.name}-moving"
        assert words_changed("theorem5.2", name, away=1.01 * case.eps)[0] == "disagrees"
        assert words_changed("theorem5.2", name, speed=1e-6)[0] == "disagrees"
        assert words_changed("theorem5.2", name, done=0)[0] == "disagrees"


def test_moving_tokens_make_up_the_n_of_the_conditions() -> None:
    found = made("theorem5.2").data
    for case in moving_cases():
        N = float(found[f"{case.name}-moving"]["N"])
        assert 0.98 * case.max_N < N <= EDGE_SHARE * case.max_N
        assert N == int(N)


def test_the_example_agrees_only_if_the_conditions_hold_at_the_printed_values() -> None:
    found = made("theorem5.2")

    def word(limit: float) -> str:
        numbers = {**found.numbers, "example_limit": replace(found.numbers["example_limit"], value=limit)}
        return found.item.verdicts(numbers, found.p)[1].word

    assert word(3762.8) == "agrees"
    assert word(699.0) == "disagrees"
    # as the print has it, by the conditions themselves
    assert frozen_conditions(14.0, 6.5, 0.1, 3762.8).hold
    assert not frozen_conditions(14.0, 6.5, 0.1, 3762.9).hold
    assert found.numbers["example_limit"].value == pytest.approx(3762.8, abs=0.05)


def test_the_edge_must_lie_where_runs_show_it() -> None:
    case = CASES[0]
    name = f"{case.name}-edge"
    assert words_changed("theorem5.2", name, away=[1.01 * case.eps, 1.05 * case.eps])[2] == "not observed"
    assert words_changed("theorem5.2", name, away=[0.9 * case.eps, 0.99 * case.eps])[2] == "not observed"


def test_the_conclusion_follows_without_the_sign_only_if_a_smaller_epsilon_and_runs_say_so() -> None:
    assert words_changed("theorem5.2", "sweep", room=0.9)[3] == "not observed"
    assert words_changed("theorem5.2", "sweep", sign_refuses=0)[3] == "not observed"
    assert words_changed("theorem5.2", "constructed", weak_away=2.0)[3] == "not observed"


def test_the_printed_sign_is_a_slip_only_if_the_condition_is_too_weak() -> None:
    found = made("theorem5.2")
    refuses = found.data["sweep"]["printed_refuses"].values.copy()
    refuses[0] = 1.0

    def slips(name: str, **arrays: Any) -> int:
        data = {**found.data, name: changed(found.data[name], **arrays)}
        return len(found.item.slips(found.item.measure(data, found.p)))

    assert slips("sweep") == 1
    assert slips("sweep", printed_refuses=refuses) == 0
    assert slips("constructed", weak_curvature=0.1) == 0
    assert slips("constructed", weak_force=-0.1) == 0


def test_conditions_that_nothing_fails_outside_of_are_not_shown_to_be_far_from_sharp() -> None:
    found = made("theorem5.2")
    outside = {
        f"{case.name}-100": changed(found.data[f"{case.name}-100"], away=0.0, speed=0.0, done=1)
        for case in CASES
    }
    assert found.words({**found.data, **outside})[2] == "not observed"
