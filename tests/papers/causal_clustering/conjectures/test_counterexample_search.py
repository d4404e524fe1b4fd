"""The search for counterexamples: its linearisation, and what it finds again."""

import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.papers.causal_clustering.conjectures.counterexample_search import (
    REGIMES,
    Setting,
    _linearised,
    other_equilibria,
    search,
)
from nucleate.papers.causal_clustering.shared.linearisation import causal_eigenvalues, jacobian
from nucleate.sphere import uniform
from nucleate.theory.atlas import atlas


def test_the_searchs_last_token_is_the_last_token_of_the_equation() -> None:
    rng = np.random.default_rng(4)
    A, V = rng.standard_normal((2, 3, 3))
    seen, x = uniform(2, 3, 1), uniform(4, 3, 2)
    f, J, B = _linearised(Setting(V, A, 0.7, seen, np.array([1.0, 2.0]), seen), x)
    for i in range(4):
        tokens = np.concatenate([seen[:1], seen[1:], seen[1:], x[i : i + 1]])
        model = Attention(0.7, Q=A, V=V)
        assert B[i] @ f[i] == pytest.approx(drift(model, tokens)[-1], abs=1e-13)
        assert np.sort_complex(np.linalg.eigvals(J[i])) == pytest.approx(
            np.sort_complex(causal_eigenvalues(jacobian(model, tokens))[-1]), abs=1e-11
        )


def test_the_search_finds_the_counterexample_that_is_known_and_repeats_itself() -> None:
    first_found = Setting(
        np.diag([1.0, 0.1]),
        np.diag([-1.0, 1.0]),
        10.0,
        np.eye(2)[:1],
        np.ones(1),
        np.array([[1.0, 0.0], [-1.0, 0.0]]),
    )
    x, growth, speed = other_equilibria(first_found, uniform(40, 2, 0))
    assert growth.min() == pytest.approx(-6.18695, abs=1e-4)
    assert np.abs(x[growth.argmin(), 0]) == pytest.approx(0.47081, abs=1e-5)
    assert speed.max() < 1e-12
    non_normal = next(regime for regime in REGIMES if regime.name == "non_normal")
    one, two = (search(non_normal, 3, 1) for _ in range(2))
    assert one.growth == two.growth
    assert np.array_equal(one.x, two.x)


def test_every_model_of_the_last_regime_is_within_conjecture_2() -> None:
    several = next(regime for regime in REGIMES if regime.conjecture == 2)
    for u in np.random.default_rng(0).random((20, several.size)):
        assert atlas(several.make(u).V).within_conjecture
