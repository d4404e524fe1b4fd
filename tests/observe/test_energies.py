"""Energies: the gradients they must have, and which of them may fall."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import many_runs
from support.places import on_circle

from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array, InputError
from nucleate.integrate.simulate import simulate
from nucleate.observe.energies import interaction_energy, token_energies
from nucleate.parse.mask import Mask
from nucleate.sphere import retract, tangent, uniform

STEP = 1e-5  # of a central difference: the error is STEP^2 beta^2 = 1e-7 at beta = 36, rounding 1e-11


def slow_token_energies(phi: Array, theta: Array, a: Array, beta: float) -> list[float]:
    """Lemma 5.3 as it stands, on the circle."""
    return [
        -(
            sum(np.exp(beta * (np.cos(phi[k] - phi[j]) - 1)) for j in range(k))
            + sum(a[j] * np.exp(beta * (np.cos(phi[k] - theta[j]) - 1)) for j in range(len(a)))
        )
        / beta
        for k in range(len(phi))
    ]


@given(n=st.integers(1, 8), m=st.integers(0, 3), beta=st.floats(0.1, 80.0), seed=st.integers(0, 2**32))
def test_token_energies_are_those_of_lemma_5_3(n: int, m: int, beta: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi, theta, a = rng.uniform(-np.pi, np.pi, n), rng.uniform(-np.pi, np.pi, m), rng.uniform(1.0, 3.0, m)
    model = Attention(beta, frozen=Frozen(on_circle(theta), a) if m else None)
    # Rounding of <x, y> is 2e-16, times beta in the weights and divided by it outside.
    np.testing.assert_allclose(
        token_energies(model, on_circle(phi)),
        slow_token_energies(phi, theta, a, beta),
        rtol=1e-12,
        atol=1e-13,
    )


@pytest.mark.parametrize("mask", ["causal", Window(3), "full"])
@pytest.mark.parametrize(("d", "beta", "m"), [(2, 4.0, 0), (2, 36.0, 2), (3, 9.0, 0), (5, 2.0, 3)])
def test_a_token_runs_down_its_own_energy(d: int, beta: float, m: int, mask: Mask) -> None:
    # phi_k' = -(1/Z_k) dE_k/dphi_k, and in any dimension the same for every direction tangent at x_k.
    rng = np.random.default_rng(d)
    frozen = Frozen(uniform(m, d, 1), rng.uniform(1.0, 2.0, m)) if m else None
    model = Attention(beta, mask=mask, frozen=frozen)
    x = uniform(6, d, 2)
    y, a, sees = model.context(x)
    Z = (sees * a * np.exp(beta * (x @ y.T - 1.0))).sum(-1)  # (n,)
    for k in range(6):
        # (d,) once more, for the first may cancel
        u = retract(tangent(x[k], retract(tangent(x[k], rng.standard_normal(d)))))
        moved = [np.array(x), np.array(x)]
        for one, sign in zip(moved, (1.0, -1.0), strict=True):
            one[k] = np.cos(STEP) * x[k] + sign * np.sin(STEP) * u
        slope = (token_energies(model, moved[0])[k] - token_energies(model, moved[1])[k]) / (2 * STEP)
        assert drift(model, x)[k] @ u == pytest.approx(-slope / Z[k], abs=1e-6)


def test_without_the_factor_1_over_beta_the_lemma_would_fail() -> None:
    beta, x = 9.0, uniform(2, 2, 0)
    phi = np.arctan2(x[:, 1], x[:, 0])
    printed = [
        beta * slow_token_energies(phi + np.array([0.0, s]), phi[:0], phi[:0], beta)[1] for s in (STEP, -STEP)
    ]
    speed = drift(Attention(beta), x)[1] @ [-x[1, 1], x[1, 0]]
    Z = 1.0 + np.exp(beta * (x[0] @ x[1] - 1.0))
    assert speed == pytest.approx(-(printed[0] - printed[1]) / (2 * STEP) / Z / beta, rel=1e-6)
    assert speed != pytest.approx(-(printed[0] - printed[1]) / (2 * STEP) / Z, rel=0.5)


# One energy for all


@given(n=st.integers(1, 12), d=st.integers(2, 6), beta=st.floats(0.0, 100.0), seed=st.integers(0, 2**32))
def test_interaction_energy_equals_the_double_sum(n: int, d: int, beta: float, seed: int) -> None:
    x = uniform(n, d, seed)
    slow = sum(np.exp(beta * (a @ b - 1.0)) for a in x for b in x) / n**2
    energy = float(interaction_energy(Attention(beta), x))
    assert energy == pytest.approx(slow, rel=1e-12)
    assert 0.0 < energy <= 1.0 + 1e-13


def test_gathered_tokens_have_the_energy_of_their_masses() -> None:
    x = np.repeat([[1.0, 0.0], [-1.0, 0.0]], [3, 1], axis=0)
    # the two are e^-1000 apart
    assert interaction_energy(Attention(500.0), x) == pytest.approx((3 / 4) ** 2 + (1 / 4) ** 2)
    assert interaction_energy(Attention(9.0), x[:3]) == pytest.approx(1.0)


@pytest.mark.parametrize("d", [2, 3, 8])
@pytest.mark.parametrize("beta", [0.5, 4.0, 25.0])
def test_full_attention_never_lowers_the_energy(beta: float, d: int) -> None:
    for seed in range(4):
        run = simulate(Attention(beta, mask="full"), uniform(16, d, seed), 40.0, save=400)
        energy = interaction_energy(run.model, run.x)
        # the solver's tolerance is 1e-8 radians, and near a balance the energy is flat
        assert np.diff(energy).min() > -1e-10
        assert energy[-1] > energy[0]


def test_causal_attention_may_lower_it() -> None:
    run = simulate(Attention(1.0), uniform(12, 2, 0), 50.0, save=200)
    energy = interaction_energy(run.model, run.x)
    assert np.diff(energy).min() < -1e-4  # a million times what rounding and the solver could do


# Runs and times


def test_runs_and_times_go_one_by_one_and_missing_frames_are_nan() -> None:
    run = many_runs(3)
    # (3,) betas
    model = Attention(run.model.beta, frozen=Frozen(uniform(2, 3, seed=0, runs=3)))
    tokens, total = token_energies(model, run.x), interaction_energy(Attention(run.model.beta), run.x)
    assert (tokens.shape, total.shape) == ((3, 6, 5), (3, 6))
    for one, frame in np.ndindex(3, 6):
        if (one, frame) in ((1, 4), (1, 5)):
            assert np.isnan(tokens[one, frame]).all()
            assert np.isnan(total[one, frame])
        else:
            assert model.frozen is not None
            alone = Attention(float(model.beta[one]), frozen=Frozen(model.frozen.x[one]))
            np.testing.assert_array_equal(tokens[one, frame], token_energies(alone, run.x[one, frame]))
            assert total[one, frame] == interaction_energy(
                Attention(float(model.beta[one])), run.x[one, frame]
            )


def test_many_tokens_are_summed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x, model = uniform(50, 3, 0), Attention(5.0)
    whole = token_energies(model, x), interaction_energy(model, x)
    monkeypatch.setattr("nucleate.observe.energies.WEIGHTS_AT_ONCE", 120)  # two rows at a time
    np.testing.assert_allclose(token_energies(model, x), whole[0], rtol=1e-14)
    np.testing.assert_allclose(interaction_energy(model, x), whole[1], rtol=1e-14)


# What cannot be


@pytest.mark.parametrize("energy", [token_energies, interaction_energy])
@pytest.mark.parametrize(
    ("model", "x", "reason"),
    [
        (Attention(1.0, V=-np.eye(2)), uniform(3, 2, 0), "V must be the identity"),
        (Attention(1.0, Q=np.eye(3)), uniform(3, 2, 0), "Q must be the identity"),
        (Attention([1.0, 2.0]), uniform(3, 2, 0), "parameters for 2 runs"),
        (Attention(1.0), np.empty((0, 2)), "at least one token"),
        (Attention(1.0), [[np.nan, 1.0], [1.0, 0.0]], "x must be finite"),
        (Attention(1.0), np.full((3, 2), np.nan), "x must be finite"),
        (Attention(1.0), np.ones((3, 2)), "rows of length 1"),
        (Attention(1.0), "tokens", "array of numbers"),
        ("model", uniform(3, 2, 0), "model must be an Attention"),
    ],
)
def test_bad_input_is_refused(energy: object, model: Attention, x: Array, reason: str) -> None:
    assert callable(energy)
    with pytest.raises(InputError, match=reason):
        energy(model, x)


def test_each_energy_refuses_what_it_has_no_room_for() -> None:
    with pytest.raises(InputError, match="beta must be above 0"):
        token_energies(Attention(0.0), uniform(3, 2, 0))
    with pytest.raises(InputError, match="no place for frozen"):
        interaction_energy(Attention(1.0, frozen=Frozen(uniform(1, 2, 0))), uniform(3, 2, 0))
    with pytest.raises(InputError, match=r"frozen\.x has dimension 3"):
        token_energies(Attention(1.0, frozen=Frozen(uniform(1, 3, 0))), uniform(3, 2, 0))
    assert interaction_energy(Attention(0.0), uniform(3, 2, 0)) == 1.0
