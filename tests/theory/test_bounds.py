"""Lemma 5.1's guarantee and Theorem 5.2's conditions: the numbers, the hypotheses, and simulations that must
obey them."""

import numpy as np
import pytest

from nucleate.attention import Attention, Frozen
from nucleate.checks import InputError
from nucleate.integrate.simulate import simulate
from nucleate.observe.centers import renyi_centers
from nucleate.sphere import distance, uniform
from nucleate.theory.bounds import best_guarantee, frozen_conditions, frozen_sufficient, guaranteed_time
from nucleate.theory.interaction import interaction, interaction_slope, strongest_distance

# Lemma 5.1


def test_figure_2_has_the_guarantee_of_the_paper_notes() -> None:
    best = best_guarantee(64.0, 4.0)
    assert best.product == pytest.approx(34.96, abs=5e-3)  # printed digits, here and below
    assert best.c == pytest.approx(3.699, abs=5e-4)
    assert best.eps == pytest.approx(0.041, abs=5e-4)
    assert best.time(1) == best.product
    assert best.time(7) == pytest.approx(best.product / 7.0)
    assert guaranteed_time(7, 64.0, best.c, best.eps) == pytest.approx(best.time(7), rel=1e-12)


def test_the_guarantee_is_the_lemma_turned_round() -> None:
    for beta, c, eps, s in ((64.0, 3.0, 0.1, 5), (9.0, 1.5, 0.2, 1), (1000.0, 6.0, 0.01, 40)):
        T, x = guaranteed_time(s, beta, c, eps), c / np.sqrt(beta)
        assert T * s * float(interaction(x, beta)) == pytest.approx(eps * x, rel=1e-12)


@pytest.mark.parametrize(
    ("beta", "separation"),
    [(64.0, 4.0), (64.0, 3.0), (64.0, 2.0), (64.0, 1.1), (9.0, 5.0), (2.0, 4.0), (1e4, 8.0), (0.5, 2.0)],
)
def test_the_best_guarantee_beats_a_fine_grid_of_others(beta: float, separation: float) -> None:
    best, least = best_guarantee(beta, separation), float(np.sqrt(beta) * strongest_distance(beta))
    others = np.linspace(least, separation, 20_001)[1:-1]
    products = [guaranteed_time(1, beta, c, (separation / c - 1.0) / 2.0) for c in others[::20]]
    x = others / np.sqrt(beta)
    products += ((separation - others) / 2.0 / np.sqrt(beta) / interaction(x, beta)).tolist()
    assert best.c * (1.0 + 2.0 * best.eps) == pytest.approx(separation, rel=1e-12)
    assert best.c > least
    assert best.product >= max(products) * (1.0 - 1e-9)
    assert best.product <= max(products) * 1.001  # it is no better than what the grid comes close to


def test_strong_centers_of_a_simulation_keep_the_promise() -> None:
    beta, separation = 400.0, 5.0
    best = best_guarantee(beta, separation)
    x0 = uniform(60, 2, seed=3)
    centers = renyi_centers(x0, separation / np.sqrt(beta), strong=True)
    assert len(centers) > 5
    for index in centers[1:]:
        run = simulate(Attention(beta), x0[: index + 1], best.time(int(index) + 1), save=9)
        assert float(distance(run.x[:, index], x0[index]).max()) < best.displacement


def test_what_lemma_5_1_does_not_cover_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"c must be greater than beta\^\(1/2\) tau\* = 0.998693, but is 0.9"
    ):
        guaranteed_time(1, 64.0, 0.9, 0.1)
    with pytest.raises(InputError, match="s must be a whole number of at least 1, but is 0"):
        guaranteed_time(0, 64.0, 3.0, 0.1)
    with pytest.raises(InputError, match="eps must be finite and greater than 0"):
        guaranteed_time(1, 64.0, 3.0, 0.0)
    with pytest.raises(InputError, match=r"separation \* beta\^\(-1/2\) must be at most pi"):
        best_guarantee(1.0, 4.0)
    with pytest.raises(InputError, match=r"separation must be greater than beta\^\(1/2\) tau\*"):
        best_guarantee(64.0, 0.5)
    with pytest.raises(InputError, match="beta must be finite and greater than 0, but is nan"):
        best_guarantee(np.nan)


# Theorem 5.2


def test_the_example_of_theorem_5_2_needs_beta_14_045_and_allows_682_tokens() -> None:
    beta, N = frozen_sufficient(6.5, 0.1)
    assert beta == pytest.approx(14.045, abs=1e-12)
    assert int(N) == 682


def test_the_sufficient_values_are_sufficient() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        eps = rng.uniform(0.01, 0.5)
        c = 2.0 + 2.0 * eps + rng.uniform(1.0, 8.0)
        beta, N = frozen_sufficient(c, eps)
        if N >= 1.0 and c / np.sqrt(beta) <= np.pi:
            for factor in (1.0, 1.5, 10.0):
                assert frozen_conditions(factor * beta, c, eps, N).hold


def test_the_conditions_are_the_two_inequalities() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        beta, eps = rng.uniform(20.0, 200.0), rng.uniform(0.05, 1.0)
        c, N = 2.0 + 2.0 * eps + rng.uniform(0.1, 4.0), np.exp(rng.uniform(0.0, 8.0))
        near, far, farther = np.array([eps, c - 1.0 - 2.0 * eps, c - 2.0 * eps]) / np.sqrt(beta)
        found = frozen_conditions(beta, c, eps, N)
        force = bool(N * interaction(far, beta) < interaction(near, beta))
        slope = bool(-N * interaction_slope(farther, beta) < interaction_slope(near, beta))
        assert found.hold == (force and slope)
        assert found.hold_as_printed == (
            force and bool(N * interaction_slope(farther, beta) < interaction_slope(near, beta))
        )
        seen.add((force, slope))
    assert len(seen) >= 3  # both sides of both were met


def test_the_condition_as_printed_asks_for_nothing_where_the_right_one_fails() -> None:
    failing = frozen_conditions(200.0, 5.0, 0.98, 2.0)  # eps so near 1 that g(eps) is all but 0
    assert failing.force > 0.0
    assert failing.slope < 0.0 < failing.slope_as_printed
    assert failing.hold_as_printed
    assert not failing.hold


def test_tokens_converge_to_frozen_ones_where_the_conditions_hold() -> None:
    beta, c, eps = 100.0, 6.5, 0.1
    # at least 0.7 > 6.5 / 10 apart
    frozen = Frozen(np.stack([np.cos(a := np.array([0.0, 0.7, 1.5, 3.0, 4.5])), np.sin(a)], axis=1), 2.0)
    n = 30
    assert frozen_conditions(beta, c, eps, n + 2.0 * 5).hold
    run = simulate(Attention(beta, frozen=frozen), uniform(n, 2, seed=4), 1e25, save=3)
    assert run.status == "done"
    assert (distance(run.x[-1][:, None], frozen.x[None]).min(1) < eps / np.sqrt(beta)).all()


def test_what_theorem_5_2_does_not_cover_is_refused() -> None:
    with pytest.raises(InputError, match=r"c must be greater than 2 \+ 2 eps = 2.2, but is 2"):
        frozen_conditions(64.0, 2.0, 0.1, 10.0)
    with pytest.raises(InputError, match=r"must be at most pi"):
        frozen_conditions(1.0, 6.5, 0.1, 10.0)
    with pytest.raises(InputError, match="N must be finite and greater than 0"):
        frozen_conditions(64.0, 6.5, 0.1, 0.0)
    with pytest.raises(InputError, match=r"c must be greater than 2 \+ 2 eps"):
        frozen_sufficient(2.0, 0.1)
