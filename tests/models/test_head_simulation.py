"""One head as a system of tokens: the few dimensions it takes, and what it comes to."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_checkpoints import make, slow_heads
from support.made_heads import DOWN, TURNING, UP, one_head

from nucleate.attention import Window
from nucleate.checks import InputError
from nucleate.integrate.simulate import simulate
from nucleate.models.head_simulation import (
    HeadOutcome,
    _dominant_basis,
    head_attention,
    head_outcome,
    head_system,
    simulate_head,
)
from nucleate.models.heads import head_spectrum
from nucleate.sphere import uniform


@pytest.mark.parametrize("kind", ["gpt2 by layer", "qwen2", "gemma2", "albert"])
def test_a_head_scores_and_moves_tokens_as_its_explicit_matrices_do(kind: str, tmp_path: Path) -> None:
    made = make(kind)
    path = made.write(tmp_path)
    for layer, head, A, V in slow_heads(made):
        model = head_attention(path, layer, head)
        beta, Q, K, ours = model.parameters(len(A))
        np.testing.assert_allclose(float(beta.squeeze()) * K.T @ Q, A, atol=1e-12 * np.abs(A).max())
        np.testing.assert_allclose(ours, V, atol=1e-12 * np.abs(V).max())
        assert np.linalg.norm(K.T @ Q, 2) == pytest.approx(1.0)


@pytest.mark.parametrize("mask", ["causal", "full", Window(2)])
def test_the_few_dimensions_that_tokens_reach_give_the_run_in_all_of_them(mask: Any, tmp_path: Path) -> None:
    system = head_system(make("qwen2").write(tmp_path), 1, 3)
    x0 = uniform(5, system.d, seed=1)
    reduced = system.reduced(x0, mask)
    assert reduced.x0.shape == (5, 3 + 5)  # d_head + n, of 12
    few = simulate(reduced.model, reduced.x0, 2.0, save=9, rtol=1e-10, atol=1e-12)
    whole = simulate(system.attention(mask), x0, 2.0, save=9, rtol=1e-10, atol=1e-12)
    lifted = reduced.in_all_dimensions(few, system.attention(mask))
    # both are 1e-10 from the truth, per step and grown by e^2
    np.testing.assert_allclose(lifted.x, whole.x, atol=1e-8)
    assert np.abs(np.linalg.norm(lifted.x, axis=-1) - 1.0).max() <= 1e-15
    one = head_outcome(system, reduced, few)
    two = head_outcome(system, replace(reduced, basis=None), whole)
    assert (one.clusters, one.near, one.ended) == (two.clusters, two.near, two.ended)
    assert one.speed == pytest.approx(two.speed, rel=1e-6)


def test_where_tokens_reach_every_dimension_nothing_is_changed(tmp_path: Path) -> None:
    system = head_system(make("llama").write(tmp_path), 0, 0)
    x0 = uniform(9, system.d, seed=1)
    reduced = system.reduced(x0)
    assert reduced.basis is None
    np.testing.assert_array_equal(reduced.x0, x0)
    with pytest.raises(InputError, match=r"must have shape \(n, 12\)"):
        system.reduced(uniform(9, 5, seed=1))


def test_a_head_of_row_3_takes_its_tokens_to_two_points_and_one_of_row_5_does_not(tmp_path: Path) -> None:
    two, clouds = (
        simulate_head(one_head(S).write(tmp_path / name), 0, 0, tokens=24).outcome
        for name, S in (("up", UP), ("down", DOWN))
    )
    assert (two.region, clouds.region) == ("3", "5")
    assert (two.near, two.resting, two.as_said) == (1.0, True, True)
    assert two.ended in ("one point in L", "two opposite points in L")
    assert (clouds.ended, clouds.as_said) == ("spread out", None)
    assert clouds.near < 0.5
    assert "as the table says" in str(two)
    assert "row 3" in str(two)
    assert "as it has λ_max = 0" in str(clouds)


def test_tokens_under_a_complex_dominant_eigenvalue_keep_turning_in_its_plane(tmp_path: Path) -> None:
    outcome = simulate_head(one_head(TURNING).write(tmp_path), 0, 0, tokens=8).outcome
    assert (outcome.region, outcome.near, outcome.resting, outcome.as_said) == ("complex +", 1.0, False, None)
    assert outcome.speed == pytest.approx(2.0, rel=1e-3)  # the imaginary part


def test_a_head_that_ends_elsewhere_is_told_so(tmp_path: Path) -> None:
    """V = diag(1, .1), K^T Q = diag(-1, 1), beta = 10: a second token may rest at an angle, so Conjecture 1
    is false for general Q, K."""
    made = one_head(np.diag([1.0, 0.1]), 10.0 * 2**0.5 / 12 * np.diag([-1.0, 1.0]))
    system = head_system(made.write(tmp_path), 0, 0)
    assert system.beta == pytest.approx(10.0)
    x0 = np.eye(2, 12)  # (2, d): the second token starts on the other side of the dominant eigenvector
    x0[1, :2] = np.cos(2.0), np.sin(2.0)
    reduced = system.reduced(x0)
    run = simulate(reduced.model, reduced.x0, 60.0, save=2)
    off = head_outcome(system, reduced, run)
    assert abs(float(reduced.in_all_dimensions(run, system.attention()).x[-1, 1, 0])) == pytest.approx(
        0.47081, abs=1e-5
    )
    assert (off.region, off.resting, off.near, off.ended, off.as_said) == (
        "3",
        True,
        0.5,
        "spread out",
        False,
    )
    assert "not what the table says" in str(off)


def test_a_run_that_is_cut_short_says_nothing_against_the_table(tmp_path: Path) -> None:
    outcome = simulate_head(one_head(UP).write(tmp_path), 0, 0, tokens=24, t=0.1).outcome
    assert (outcome.ended, outcome.resting, outcome.as_said) == ("spread out", False, None)


@pytest.mark.parametrize(
    ("mask", "spoken"),
    [("causal", True), (Window(9), True), ("full", False), (Window(1), False), (Window(2), False)],
    ids=str,
)
def test_the_table_is_held_against_causal_runs_only(mask: Any, spoken: bool, tmp_path: Path) -> None:
    system = head_system(one_head(UP).write(tmp_path), 0, 0)
    # all at one place: they end at one point of L under any mask
    reduced = system.reduced(np.tile(uniform(1, system.d, 0), (9, 1)), mask)
    outcome = head_outcome(
        system, reduced, simulate(reduced.model, reduced.x0, system.span, save=2, method="explicit")
    )
    assert outcome.ended == "one point in L"
    assert outcome.as_said is (True if spoken else None)
    assert ("as the table says" in str(outcome)) == spoken
    assert ("outside the table, which is about causal attention" in str(outcome)) == (not spoken)


def test_what_happened_is_named_by_clusters_and_place() -> None:
    outcome = HeadOutcome(0, 0, 1.0, 1.0, "3", 1.0, 3, 8, 1.0, 1.0, 1, False, 0.0, True, "done")
    cases = [
        (1, False, 1.0, "one point in L", True),
        (2, True, 1.0, "two opposite points in L", True),
        (2, False, 1.0, "clusters in L", False),
    ]
    cases += [
        (4, False, 0.5, "clusters", False),
        (5, False, 0.0, "spread out", False),
        (1, False, 0.9, "one point", False),
    ]
    for count, opposite, near, ended, said in cases:
        one = replace(outcome, clusters=count, opposite=opposite, near=near)
        assert (one.ended, one.as_said) == (ended, said)
    assert replace(outcome, region="2", clusters=2, opposite=True).as_said is False
    assert replace(outcome, region="complex +").as_said is None
    assert replace(outcome, near=0.5, status="max steps").as_said is None


def test_where_the_atlas_cannot_tell_blocks_l_is_the_span_of_the_dominant_eigenvectors() -> None:
    found = head_spectrum(TURNING)
    for kind in ("complex", "unclear"):
        L = _dominant_basis(TURNING, replace(found, kind=kind))
        assert L.shape == (3, 2)
        np.testing.assert_allclose(L[2], 0.0, atol=1e-12)  # the plane of the first two coordinates
        np.testing.assert_allclose(L.T @ L, np.eye(2), atol=1e-12)


def test_a_head_of_zeros_rests_and_one_that_overflows_is_refused(tmp_path: Path) -> None:
    outcome = simulate_head(
        one_head(np.zeros((3, 3)), np.zeros((3, 3))).write(tmp_path / "zero"), 0, 0, tokens=4
    ).outcome
    assert (outcome.region, outcome.beta, outcome.ended, outcome.resting, outcome.speed) == (
        "zero",
        0.0,
        "spread out",
        True,
        0.0,
    )
    with pytest.raises(InputError, match="Head 0 of layer 0 must have finite products"):
        head_system(one_head(UP, 1e308 * np.eye(3)).write(tmp_path / "huge"), 0, 0)
