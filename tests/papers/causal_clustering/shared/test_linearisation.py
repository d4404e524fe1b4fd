"""Jacobians and equilibria."""

from typing import Any

import numpy as np
import pytest

from nucleate.attention import Attention, Window
from nucleate.papers.causal_clustering.shared.linearisation import (
    causal_eigenvalues,
    find_equilibrium,
    jacobian,
    jacobian_by_differences,
    tangent_bases,
)
from nucleate.sphere import uniform


def random_model(seed: int, d: int, mask: Any = "causal") -> Attention:
    rng = np.random.default_rng(seed)
    Q, K, V = rng.standard_normal((3, d, d))
    return Attention(rng.uniform(0.1, 3.0), Q=Q, K=K, V=V, mask=mask)


@pytest.mark.parametrize("mask", ["causal", "full", Window(3)])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_jacobian_is_what_differences_of_the_velocity_give(d: int, mask: Any) -> None:
    model, x = random_model(d, d, mask), uniform(6, d, 1)
    J = jacobian(model, x)
    # h^2 times third derivatives
    assert np.abs(J - jacobian_by_differences(model, x)).max() < 1e-7 * max(1.0, np.abs(J).max())


def test_the_blocks_on_the_diagonal_have_all_eigenvalues_of_a_causal_jacobian() -> None:
    J = jacobian(random_model(3, 3), uniform(5, 3, 2))
    blocks, whole = (
        np.sort_complex(causal_eigenvalues(J).reshape(-1)),
        np.sort_complex(np.linalg.eigvals(J.reshape(10, 10))),
    )
    assert np.abs(blocks - whole).max() < 1e-9


def test_tangent_bases_are_orthonormal_and_tangent() -> None:
    x = uniform(7, 4, 0)
    B = tangent_bases(x)
    assert np.abs(B.mT @ B - np.eye(3)).max() < 1e-14
    assert np.abs(np.einsum("kax,ka->kx", B, x)).max() < 1e-14


def test_newton_finds_an_equilibrium_to_rounding() -> None:
    model = Attention(10.0, K=np.diag([-1.0, 1.0]), V=np.diag([1.0, 0.1]))
    found = find_equilibrium(model, np.array([[1.0, 0.0], [-0.47, np.sqrt(1.0 - 0.47**2)]]))
    assert found.speed < 1e-15
    assert found.x[1, 0] == pytest.approx(-0.470810, abs=1e-6)
    assert np.sort(found.rates.real.reshape(-1)) == pytest.approx([-6.18695, -0.9], abs=1e-5)
