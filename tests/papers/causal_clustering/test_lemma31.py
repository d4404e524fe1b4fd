"""Lemma 3.1: dominant eigenvalues are what they are meant to be, and other rates change the verdicts."""

from itertools import pairwise

import numpy as np
import pytest
from support.small_items import changed, made, words_with

from nucleate.papers.causal_clustering.lemma31.data import KINDS, Dominant, value_matrix
from nucleate.theory.atlas import atlas


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_atlas_takes_every_dominant_eigenvalue_for_what_it_is(kind: Dominant) -> None:
    V, gap, speed = value_matrix(kind, np.random.default_rng(5))
    found = atlas(V)
    assert (found.algebraic, found.basis.shape[1], found.block) == (
        kind.generalised_dimension,
        kind.dimension,
        kind.block,
    )
    assert found.gap == pytest.approx(gap, abs=1e-6)
    assert found.dominant[0].imag == pytest.approx(speed, abs=1e-6)
    assert np.abs(found.basis[kind.dimension :]).max() < 1e-8  # L is spanned by the first unit vectors


def test_jordan_blocks_are_those_asked_for() -> None:
    """By ranks of powers of V - 1: the slow way, for real eigenvalues."""
    for kind in KINDS:
        if kind.is_complex:
            continue
        V, _, _ = value_matrix(kind, np.random.default_rng(2))
        N = V - np.eye(len(V))
        ranks = [np.linalg.matrix_rank(np.linalg.matrix_power(N, k), tol=1e-6) for k in range(5)]
        # blocks of at least k = rank(N^(k-1)) - rank(N^k)
        at_least = [int(a - b) for a, b in pairwise(ranks)]
        assert at_least == [sum(block >= k for block in kind.blocks) for k in range(1, 5)]


def test_a_complex_pair_in_smaller_blocks_does_not_keep_a_token_from_converging() -> None:
    """A real block of 2 at 1, and 1 +- 2i in blocks of 1: L is the line of the first unit vector."""
    from scipy.linalg import block_diag, expm

    V = block_diag(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, -2.0], [2.0, 1.0]]))
    start = np.random.default_rng(4).standard_normal(4)
    ends = np.array([expm(t * (V - np.eye(4))) @ start for t in (1e3, 1e5, 1e5 + 1.0)])
    ends /= np.linalg.norm(ends, axis=1, keepdims=True)
    off = np.abs(np.abs(ends) - np.eye(4)[0]).max(1)
    assert (off[1:] < 0.02 * off[0]).all()  # like 1/t
    assert atlas(V).basis.shape[1] == 1


def test_lemma_31_with_other_rates_powers_or_speeds_disagrees() -> None:
    data = made("lemma3.1").data
    simple, defective, turning = data["simple"], data["defective"], data["complex"]
    slower = simple["long"].values.copy()
    slower[0, :, 1:] *= np.exp(0.05 * np.linspace(200.0, 600.0, slower.shape[1]))[:, None]
    told = words_with("lemma3.1", simple=changed(simple, long=slower))
    assert told == ["disagrees", "agrees", "contradicted", "proved"]
    assert words_with("lemma3.1", simple=changed(simple, wrong=np.full(3, 1e-6)))[0] == "disagrees"
    late = defective["late"].values.copy()
    late[1, :, 1:] *= np.geomspace(1.0, 3.0, late.shape[1])[:, None]
    assert words_with("lemma3.1", defective=changed(defective, late=late))[1:3] == [
        "disagrees",
        "contradicted",
    ]
    assert (
        words_with("lemma3.1", complex=changed(turning, speed=1.01 * turning["speed"].values))[3]
        == "contradicted"
    )
    assert (
        words_with("lemma3.1", simple=changed(simple, V=np.broadcast_to(np.eye(8), simple["V"].shape)))[0]
        == "disagrees"
    )
