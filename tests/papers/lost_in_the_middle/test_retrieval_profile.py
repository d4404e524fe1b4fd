"""Lost in the middle: profiles of another shape or size change the verdicts; the estimate is the
correlation."""

from collections.abc import Callable

import numpy as np
import pytest
from support.small_items import changed, made, planted, words_changed

from nucleate.papers.lost_in_the_middle.retrieval_profile.data import half_differences
from nucleate.papers.lost_in_the_middle.retrieval_profile.measures import (
    compared_group,
    expected_profile,
    finite_profile,
    grouped,
    judged_ends,
    tolerance,
    u_shaped,
)

KEY = "retrieval-profile"


def test_small_runs_are_judged_as_large_ones_are() -> None:
    found = made(KEY)
    assert found.words(found.data)[:4] == ["agrees", "agrees", "observed", "observed"]


def test_profiles_of_another_size_change_the_first_verdict() -> None:
    response = made(KEY).data["mode1-lambda1"]["response"].values
    for factor in (0.5, 2.0):
        assert words_changed(KEY, "mode1-lambda1", response=factor * response)[0] == "disagrees"


def test_what_vanishes_as_n_grows_agrees_and_what_stays_disagrees() -> None:
    found, rng = made(KEY), np.random.default_rng(5)

    def with_amplitudes(short: Callable[[int], float], noise: float = 0.05) -> str:
        data = dict(found.data)
        for N, runs in found.p["sizes"]:
            law = np.stack([finite_profile(N, at, found.p["size_case"][1], True) for at in found.p["at"]])
            scatter = 1.0 + noise * rng.standard_normal((runs, 1, 1))
            data[f"N{N}"] = changed(found.data[f"N{N}"], response=short(N) * scatter * law)
        return found.words(data)[4]

    assert with_amplitudes(lambda N: np.exp(-5.0 / N)) == "agrees"
    assert with_amplitudes(lambda N: 0.8) == "disagrees"
    assert with_amplitudes(lambda N: N**-0.1) == "disagrees", "falls with N"
    assert with_amplitudes(lambda N: 1.0, noise=1.0) == "not testable here"


def test_runs_without_alibi_show_no_u() -> None:
    found = made(KEY)
    flat = found.data["mode1-lambda0"]
    words = found.words(planted(found.data, "mode1-lambda1", flat))
    assert words[1] == "disagrees"
    assert words[3] == "not observed", "where a U never was it cannot end"


def test_a_u_without_alibi_and_one_that_never_ends_change_the_verdicts() -> None:
    early = made(KEY).data["mode1-lambda1"]["response"].values[:, :1]  # (runs, 1, tokens)
    assert words_changed(KEY, "mode1-lambda0", response=early)[2] == "not observed"
    assert words_changed(KEY, "mode1-lambda1", response=early)[3] == "not observed"


def test_a_profile_turned_around_changes_the_verdicts() -> None:
    response = made(KEY).data["mode1-lambda0"]["response"].values[..., ::-1]
    assert words_changed(KEY, "mode1-lambda0", response=response)[2] == "not observed"


def test_moving_a_token_leaves_the_mean_and_not_the_scatter() -> None:
    # token 2 turns by c sin(theta_1 - theta_2) towards token 1: E cos(theta_2 - theta_1) = c/2 for small c
    theta, c = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, (4000, 2)), 1e-3
    first = theta - theta[:, 1:]  # (starts, 2)
    turn = c * np.sin(first[:, 0])  # (starts,) in the start as it is; with token 1 moved by pi it is -turn
    last = np.stack([-turn, turn], axis=-1)[:, None]  # (starts, 1, 2)
    found = half_differences(last, first)  # (starts, 1, 1)
    assert found.std() < c
    assert found.mean() == pytest.approx(c / 2.0, abs=4.0 * c / np.sqrt(4000))  # four standard errors


def test_the_law_of_many_tokens_is_the_formula_and_the_own_term_matters_less_with_more() -> None:
    at, lam, groups = 0.5, 1.0, 8
    own = []
    for N in (64, 512):
        formula = expected_profile(N, at, lam, groups)
        with_it, without = (grouped(finite_profile(N, at, lam, one), groups) for one in (True, False))
        assert without == pytest.approx(formula, rel=1.5 / N)
        own.append(np.abs(with_it - without).max())
        assert (np.abs(with_it - formula) < tolerance(N, at, lam, groups)).all()
    assert own[1] < own[0] / 4.0


def test_a_u_is_expected_early_with_alibi_alone() -> None:
    assert u_shaped(0.5, 1.0)
    assert u_shaped(2.0, 1.0) is False
    assert u_shaped(1.3, 1.0) is None
    assert u_shaped(0.5, 0.0) is False
    assert compared_group(0.5, 1.0, 16) == 3  # the minimum is at 0.247
    assert compared_group(0.5, 0.0, 16) == 8
    assert judged_ends(64, 0.5, 1.0, 16) == (True, True)
    assert judged_ends(64, 1.0, 1.0, 16) == (True, False), "5 % above the least"
    assert judged_ends(64, 0.5, 0.0, 16) == (False, False)


def test_the_picture_is_drawn() -> None:
    found = made(KEY)
    assert list(found.item.draw(found.data, found.numbers, found.p)) == [KEY]
