"""Linear stability at consensus and at two poles, against Jacobians of the equation taken by differences."""

import numpy as np
import pytest

from nucleate.attention import Attention, Window, drift
from nucleate.checks import Array, InputError
from nucleate.sphere import retract
from nucleate.theory.consensus import consensus_spectrum, two_poles

STEP = 1e-5  # central differences: rounding 1e-16 / 1e-5, and terms of the order (beta |K^T Q| STEP)^2
ERROR = 1e-7


def jacobian(model: Attention, x: Array) -> Array:
    """d(drift)/dx in orthonormal tangent coordinates of each token: (n (d-1), n (d-1))."""
    n, d = x.shape
    B = np.stack([np.linalg.svd(token[None])[2][1:].T for token in x])  # (n, d, d-1)
    columns = []
    for k in range(n):
        for i in range(d - 1):
            perturbation = np.zeros_like(x)
            perturbation[k] = STEP * B[k, :, i]
            change = drift(model, retract(x + perturbation)) - drift(
                model, retract(x - perturbation)
            )  # (n, d)
            columns.append(np.einsum("ndi,nd->ni", B, change).ravel() / (2.0 * STEP))  # (n (d-1),)
    return np.stack(columns, axis=1)


def blocks(J: Array, n: int) -> list[Array]:
    """The diagonal blocks, token by token; J must be lower triangular in tokens."""
    m = len(J) // n
    assert np.abs(J[np.kron(np.triu(np.ones((n, n)), 1), np.ones((m, m))) > 0.0]).max(initial=0.0) < ERROR
    return [J[k * m : (k + 1) * m, k * m : (k + 1) * m] for k in range(n)]


# Consensus


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("beta", [0.0, 1.0, 4.0])
def test_the_spectrum_at_consensus_is_the_same_for_any_q_and_k(d: int, beta: float) -> None:
    rng, n = np.random.default_rng(d), 6
    model = Attention(beta, Q=rng.standard_normal((d, d)), K=rng.standard_normal((d, d)))
    x = np.repeat(retract(rng.standard_normal((1, d))), n, axis=0)  # (n, d) all at one point
    J = jacobian(model, x)
    found = np.sort(np.linalg.eigvals(J).real)
    # d - 1 equal ones, parted by ERROR times the condition
    assert found == pytest.approx(np.sort(consensus_spectrum(n, d).ravel()), abs=1e-5)
    for row, block in zip(consensus_spectrum(n, d), blocks(J, n), strict=True):
        assert block == pytest.approx(np.diag(row), abs=ERROR)


@pytest.mark.parametrize("w", [1, 2, 3, 10])
def test_a_window_stops_the_spectrum_at_its_width(w: int) -> None:
    rng, n, d = np.random.default_rng(w), 6, 3
    model = Attention(2.0, Q=rng.standard_normal((d, d)), K=rng.standard_normal((d, d)), mask=Window(w))
    x = np.repeat(retract(rng.standard_normal((1, d))), n, axis=0)
    spectrum = consensus_spectrum(n, d, window=w)
    # blocks, for equal eigenvalues are defective
    for row, block in zip(spectrum, blocks(jacobian(model, x), n), strict=True):
        assert block == pytest.approx(np.diag(row), abs=ERROR)
    assert spectrum[:, 0] == pytest.approx([-(1.0 - 1.0 / min(k, w)) for k in range(1, n + 1)])


def test_a_window_of_two_makes_one_long_jordan_block_per_direction() -> None:
    rng, n, d = np.random.default_rng(8), 5, 3
    model = Attention(2.0, Q=rng.standard_normal((d, d)), K=rng.standard_normal((d, d)), mask=Window(2))
    # without the first token
    J = jacobian(model, np.repeat(retract(rng.standard_normal((1, d))), n, axis=0))[d - 1 :, d - 1 :]
    N = J + np.eye(len(J)) / 2.0
    # hence t^{n-2} e^{-t/2}
    assert np.linalg.matrix_rank(np.linalg.matrix_power(N, n - 2), tol=1e-3) == d - 1
    assert np.abs(np.linalg.matrix_power(N, n - 1)).max() < ERROR


def test_the_slowest_rate_at_consensus_is_one_half() -> None:
    spectrum = consensus_spectrum(50, 4)
    assert spectrum.shape == (50, 3)
    assert (spectrum[0] == 0.0).all()  # the first token stays
    assert spectrum[1:].max() == -0.5
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        consensus_spectrum(0, 2)
    with pytest.raises(InputError, match="window must be a whole number of at least 1"):
        consensus_spectrum(3, 2, window=0)


# Two poles


@pytest.mark.parametrize("d", [2, 3, 5])
def test_two_poles_have_the_growth_that_the_jacobian_has(d: int) -> None:
    rng = np.random.default_rng(20 + d)
    seen = set()
    for _ in range(40):
        n, beta = int(rng.integers(1, 8)), float(rng.choice([0.0, 0.1, 0.5, 1.0, 2.0]))
        eigenvalues = np.sort(rng.uniform(-1.0, 2.0, size=d))[::-1]
        eigenvalues[0] = rng.uniform(max(0.1, eigenvalues[1] + 0.05), 3.0)
        S = (
            np.linalg.qr(rng.standard_normal((d, d)))[0]
            @ np.diag(rng.uniform(1.0, 3.0, size=d))
            @ np.linalg.qr(rng.standard_normal((d, d)))[0]
        )
        V, xi = S @ np.diag(eigenvalues) @ np.linalg.inv(S), retract(S[:, 0])
        signs = rng.choice([-1.0, 1.0], size=n)
        model, x = Attention(beta, V=V), signs[:, None] * xi  # (n, d)
        assert np.abs(drift(model, x)).max() < 1e-13  # an equilibrium
        found = two_poles(signs, beta, float(eigenvalues[0]), float(eigenvalues[1]))
        growth = [np.linalg.eigvals(block).real.max() for block in blocks(jacobian(model, x), n)]
        assert found.growth == pytest.approx(growth, abs=1e-5)  # ERROR times conditions up to 9
        seen |= set(found.stable.tolist())
    assert seen == {True, False}


def test_stability_is_being_beyond_the_boundary() -> None:
    rng = np.random.default_rng(30)
    seen = set()
    for _ in range(500):
        lam = rng.uniform(0.1, 3.0)
        found = two_poles(
            rng.choice([-1, 1], size=rng.integers(1, 30)),
            rng.uniform(0.0, 2.0),
            lam,
            lam - rng.uniform(0.01, 3.0),
        )
        assert np.array_equal(found.stable, found.weight > found.boundary)
        assert found.all_stable == found.stable.all()
        seen |= set(found.stable.tolist())
    assert seen == {True, False}


def test_weights_count_the_tokens_at_either_pole_up_to_each() -> None:
    signs, beta = [1, -1, -1, 1, 1], 0.7
    away = np.exp(-2.0 * beta)
    own, other = np.array([1, 1, 2, 2, 3]), np.array([0, 1, 1, 2, 2])
    found = two_poles(signs, beta, 1.0, 0.5)
    assert found.weight == pytest.approx(own / (own + other * away))
    assert found.boundary == pytest.approx(1.0 / (2.0 - 0.5 / own))
    assert two_poles([-1] * 4, 0.0, 1.0, 0.99).all_stable  # all at one pole
    assert two_poles([1, -1], 1e300, 1.0, 0.99).all_stable  # tokens that do not see the other pole


@pytest.mark.parametrize(
    ("signs", "beta", "lam", "mu2", "words"),
    [
        ([1.0, 0.5], 1.0, 1.0, 0.5, "signs must be a sequence of 1 and -1"),
        ([], 1.0, 1.0, 0.5, "signs must be a sequence of 1 and -1"),
        ([[1.0]], 1.0, 1.0, 0.5, "signs must be a sequence of 1 and -1"),
        ([1.0], -1.0, 1.0, 0.5, "beta must be finite and at least 0"),
        ([1.0], 1.0, 0.0, -0.5, "lambda_max must be finite and greater than 0"),
        ([1.0], 1.0, 1.0, 1.0, "mu2 must be less than lambda_max = 1, but is 1"),
        ([1.0], 1.0, 1.0, np.nan, "mu2 must be finite"),
    ],
)
def test_poles_that_make_no_sense_are_refused(
    signs: list[float], beta: float, lam: float, mu2: float, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        two_poles(signs, beta, lam, mu2)
