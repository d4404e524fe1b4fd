"""From beta = 0 to beta = 10,000: no NaN, no overflow, and velocities to a bound that grows with beta as
rounding does."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest
from support.exact_systems import drift_to_50_digits

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import EPS
from nucleate.kernels.circle import TOLERANCE, roundoff, usual_ratio

# around the overflow of exp in single and double precision
BETAS = [0.0, 1e-3, 1.0, 10.0, 88.0, 89.0, 709.0, 710.0, 1e3, 1e4]
Mask = Literal["causal", "full"] | Window


@pytest.fixture(autouse=True)
def floating_point_errors_are_errors() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield


def starts(d: int) -> dict[str, np.ndarray]:
    """Where exponentials are hardest: spread, close together, coincident and antipodal tokens."""
    rng = np.random.default_rng(d)
    spread = nc.uniform(9, d, seed=d)
    close = nc.retract(spread[0] + 1e-2 * rng.standard_normal((9, d)))
    pairs = nc.retract(
        np.concatenate([spread[:3], -spread[:3], spread[:3] + 1e-9 * rng.standard_normal((3, d))])
    )
    return {"spread": spread, "close": close, "coincident and antipodal": pairs}


def models(beta: float, d: int) -> dict[str, Attention]:
    """Identity, and everything at once."""
    rng = np.random.default_rng(d + 7)
    Q, K, V = rng.standard_normal((3, d, d))
    frozen = Frozen(nc.uniform(3, d, seed=8), [1.0, 3.0, 50.0])
    masks: list[Mask] = ["causal", "full", Window(3)]
    found = {f"identity {mask}": Attention(beta, mask=mask) for mask in masks}
    return {
        **found,
        "repulsion": Attention(beta, V=-np.eye(d)),
        "frozen": Attention(beta, frozen=frozen),
        "Q, K, V": Attention(beta, Q=Q, K=K, V=V),
        "everything": Attention(beta, Q=Q, K=K, V=V, mask=Window(4), frozen=frozen),
    }


def scale(model: Attention, d: int) -> tuple[float, float]:
    _, Q, K, V = model.parameters(d)
    return float(model.beta) * float(np.linalg.norm(K.T @ Q, 2)), float(np.linalg.norm(V, 2))


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("d", [2, 3, 7])
def test_reference_and_pairwise_velocities_are_within_the_stated_bound_of_50_digits(
    beta: float, d: int
) -> None:
    for where, x in starts(d).items():
        for name, model in models(beta, d).items():
            exact = drift_to_50_digits(model, x)
            z, v = scale(model, d)
            # Rounding of a score is some units of beta |K^T Q| eps, and its weight moves by as much of
            # itself; a mean of vectors of length |V| then moves by as much of |V|.
            bound = 16 * max(1.0, z) * v * EPS
            for kernel in ("reference", "pairwise"):
                velocity = nc.drift(model, x, kernel=kernel)
                assert np.isfinite(velocity).all()
                error = np.abs(velocity - exact).max()
                assert error <= bound, (where, name, kernel, error / bound)


@pytest.mark.parametrize("beta", BETAS)
def test_circle_velocities_are_within_the_circle_kernels_own_bound(beta: float) -> None:
    for where, x in starts(2).items():
        for name, model in models(beta, 2).items():
            z, v = scale(model, 2)
            # circle.py: |error| <= max(tolerance, usual_ratio roundoff) |V|; what it hands to the pairwise
            # kernel keeps that kernel's bound
            bound = max(TOLERANCE, usual_ratio(z) * roundoff(z), 16 * z * EPS) * v
            velocity = nc.drift(model, x, kernel="circle")
            assert np.isfinite(velocity).all()
            error = np.abs(velocity - drift_to_50_digits(model, x)).max()
            assert error <= bound, (where, name, error / bound)


@pytest.mark.parametrize(("d", "beta"), [(16, beta) for beta in BETAS] + [(64, 1.0), (64, 1e4)])
def test_tiles_are_within_the_stated_bound_of_50_digits(d: int, beta: float) -> None:
    x = nc.uniform(66, d, seed=1)
    x[40:] = nc.retract(x[:26] + 1e-2 * np.random.default_rng(0).standard_normal((26, d)) / np.sqrt(d))
    rows = [0, 1, 40, 65]  # 50 digits are slow at d = 64
    rng = np.random.default_rng(d)
    for model in (Attention(beta), Attention(beta, V=rng.standard_normal((d, d)) / np.sqrt(d))):
        z, v = scale(model, d)
        velocities = {kernel: nc.drift(model, x, kernel=kernel) for kernel in ("reference", "pairwise")}
        for k in rows:  # token k of the causal run is the last token of its prefix
            exact = drift_to_50_digits(Attention(beta, V=model.V, mask="full"), x[: k + 1], only=k)[0]
            for kernel, velocity in velocities.items():
                error = np.abs(velocity[k] - exact).max()
                assert error <= 16 * max(1.0, z) * v * EPS, (kernel, k, error)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("d", [2, 3])
def test_simulations_at_any_beta_finish_with_finite_unit_tokens(beta: float, d: int) -> None:
    for model in (
        Attention(beta),
        Attention(beta, V=-np.eye(d)),
        Attention(beta, Q=np.diag([1.0, -1.0, 0.5][:d])),
    ):
        run = nc.simulate(model, nc.uniform(12, d, seed=3), t=2.0, save=5, rtol=1e-5, atol=1e-7)
        assert run.status == "done"
        assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() <= 1e-15


@pytest.mark.parametrize("beta", [1e6, 1e12, 1e100, 1e300])
def test_absurd_beta_is_hardmax_and_finite(beta: float) -> None:
    # Beyond the table: each token attends to the best match alone, here itself, so nothing moves.
    for d in (2, 3, 16):
        x = nc.uniform(70, d, seed=0)
        for kernel in ("reference", "pairwise", "auto"):
            velocity = nc.drift(Attention(beta), x, kernel=kernel)
            assert np.isfinite(velocity).all()
            if beta >= 1e12:
                assert np.abs(velocity).max() <= 4 * EPS, (kernel, d)
