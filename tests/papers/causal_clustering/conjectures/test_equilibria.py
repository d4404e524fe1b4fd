"""The criterion of docs/conjectures.md."""

import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.checks import Array, InputError
from nucleate.papers.causal_clustering.conjectures.equilibria import (
    Plane,
    equilibria_in_plane,
    log_F,
    plane_of,
)
from nucleate.papers.causal_clustering.shared.linearisation import find_equilibrium


def real_spectrum(rng: np.random.Generator, d: int, non_normality: float) -> Array:
    """V with distinct positive eigenvalues, the largest 1."""
    B = np.linalg.qr(rng.standard_normal((d, d)))[0] @ (
        np.eye(d) + non_normality * rng.standard_normal((d, d))
    )
    return np.asarray(B @ np.diag([1.0, *rng.uniform(0.1, 0.9, d - 1)]) @ np.linalg.inv(B))


@pytest.mark.parametrize("seed", range(8))
def test_the_equation_in_the_plane_is_the_drift_of_a_token_after_m_at_xi(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, m, beta = int(rng.integers(2, 6)), int(rng.integers(1, 5)), rng.uniform(0.0, 4.0)
    V, (Q, K) = real_spectrum(rng, d, 0.2), rng.standard_normal((2, d, d))
    plane, model = plane_of(V, K, Q, beta), Attention(beta, Q=Q, K=K, V=V)
    for alpha in rng.uniform(-np.pi, np.pi, 5):
        f = drift(model, np.stack([plane.basis[:, 0]] * m + [plane.point(alpha)]))[-1]  # (d,)
        along = plane.basis @ [-np.sin(alpha), np.cos(alpha)]
        assert f == pytest.approx(plane.velocity(alpha, m) * along, abs=1e-12)
        h = 1e-6
        assert plane.slope(alpha, m) == pytest.approx(
            (plane.H(alpha + h, m) - plane.H(alpha - h, m)) / (2 * h), rel=1e-5, abs=1e-4
        )


@pytest.mark.parametrize("seed", range(6))
def test_the_criterion_gives_equilibria_with_their_rates_which_attract_where_F_rises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    V, (Q, K) = real_spectrum(rng, 3, 0.2), rng.standard_normal((2, 3, 3))
    plane, model = plane_of(V, K, Q, 2.0), Attention(2.0, Q=Q, K=K, V=V)
    for equilibrium in equilibria_in_plane(plane):
        found = find_equilibrium(model, np.stack([plane.basis[:, 0], plane.point(equilibrium.alpha)]))
        assert found.moved < 1e-10
        assert np.abs(found.rates[1] - equilibrium.rate).min() < 1e-8 * max(1.0, abs(equilibrium.rate))
        assert (found.growth < 0.0) == (equilibrium.rate < 0.0)
        phi = (equilibrium.alpha + 2.0 * np.pi) % (2.0 * np.pi) - np.pi
        rise = np.sign(phi) * (log_F(plane, phi + 1e-6) - log_F(plane, phi - 1e-6))
        assert (rise > 0.0) == (equilibrium.rate < 0.0)


def test_symmetric_V_with_the_identity_has_no_attracting_equilibrium_off_the_poles() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        V = np.diag([1.0, rng.uniform(0.01, 0.999), 0.005])
        rates = [
            equilibrium.rate
            for equilibrium in equilibria_in_plane(
                plane_of(V, None, None, rng.uniform(0.01, 8.0)), float(rng.integers(1, 50))
            )
        ]
        assert all(rate > 0.0 for rate in rates)


@pytest.mark.parametrize("delta", [0.3, 0.03, 0.003])
@pytest.mark.parametrize("beta", [0.1, 1.0, 5.0])
def test_off_diagonal_scores_however_small_make_an_attracting_equilibrium_at_every_beta(
    beta: float, delta: float
) -> None:
    A = np.array([[1.0, delta], [delta, 1.0]])
    phi = 0.5 * 3.0 * beta * delta / (1.0 + beta)  # half way to the top of F
    ratio = float(np.exp(log_F(Plane(1.0, 0.0, 1.0, A, beta, np.eye(2)), phi)))
    assert any(
        equilibrium.rate < 0.0
        for equilibrium in equilibria_in_plane(plane_of(np.diag([1.0, 1.0 - 1.0 / ratio]), A.T, None, beta))
    )


@pytest.mark.parametrize("beta", [0.0, 1.0, 5.0])
def test_any_non_normal_V_has_an_attracting_equilibrium_at_every_beta(beta: float) -> None:
    non_normality = 0.2
    ratio = float(
        np.exp(
            log_F(
                Plane(1.0, non_normality, 1.0, np.eye(2), beta, np.eye(2)), 0.5 * non_normality / (1.0 + beta)
            )
        )
    )
    gap = 1.0 / ratio
    assert any(
        equilibrium.rate < 0.0
        for equilibrium in equilibria_in_plane(
            plane_of(np.array([[1.0, non_normality * gap], [0.0, 1.0 - gap]]), None, None, beta)
        )
    )


def test_an_equilibrium_at_a_right_angle_is_found_though_H_is_exactly_zero_there() -> None:
    found = equilibria_in_plane(plane_of(np.array([[4.0, -4.0], [0.0, 1.0]]), None, None, 0.0))
    assert sorted((round(np.cos(one.alpha), 12), round(one.rate, 12)) for one in found) == [
        (-0.96, -0.42),
        (0.0, 1.5),  # <e_1, V e_1>/2 - 1/2
    ]


def test_complex_eigenvalues_have_no_such_plane() -> None:
    with pytest.raises(InputError, match="real eigenvalues"):
        plane_of(np.array([[1.0, -1.0], [1.0, 1.0]]), None, None, 1.0)
