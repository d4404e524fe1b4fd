"""Memory of earlier tokens: against the linear equations of finitely many tokens, and the U."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import iv

from nucleate.attention import Attention, drift
from nucleate.checks import Array, InputError
from nucleate.positions import ALiBi
from nucleate.theory.lost_in_the_middle import growth_rate, least_remembered, memory, u_shaped_until


def linear_tokens(N: int, at: float, lam: float) -> Array:
    """N times what the last of N tokens keeps of each earlier one, (N - 1,), by the matrix exponential of

    h_j' = a sum_{k < j} e^{-lambda (j - k)/N} h_k / Z_j.
    """
    j = np.arange(1, N + 1)
    decays = np.tril(np.exp(-lam * (j[:, None] - j) / N), -1)  # (N, N)
    Z = decays.sum(1, keepdims=True)
    M = np.divide(decays, Z, out=np.zeros_like(decays), where=Z > 0.0)
    return N * expm(at * M)[-1, :-1]


@pytest.mark.parametrize("lam", [0.0, 1e-9, 1.0, 4.0])
@pytest.mark.parametrize("at", [0.2, 1.5, 6.0])
def test_finitely_many_tokens_come_to_the_formula_like_one_over_n(at: float, lam: float) -> None:
    errors = []
    for N in (100, 200, 400):
        places = (np.arange(1, N) + 0.0) / N
        found, formula = linear_tokens(N, at, lam), memory(places, at, lam)
        middle = (places >= 0.1) & (places <= 0.9)
        errors.append(np.abs(found / formula - 1.0)[middle].max())
    assert errors[2] < 0.04
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.08)
    assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.05)


def test_without_alibi_it_is_the_limit_of_small_slopes() -> None:
    places = np.array([0.01, 0.3, 0.999])
    assert memory(places, 2.0, 0.0) == pytest.approx(memory(places, 2.0, 1e-7), rel=1e-6)
    Y = -np.log(places)  # with sigma = 1
    assert memory(places, 2.0, 0.0) == pytest.approx(
        np.sqrt(2.0 / Y) * iv(1, 2.0 * np.sqrt(2.0 * Y)), rel=1e-12
    )


def test_the_letters_are_those_of_the_paper() -> None:
    lam, at, s, s0 = 3.0, 0.7, 0.9, np.array([0.05, 0.4, 0.8])
    k = lam * np.exp(lam * s0) / (np.exp(lam * s) - 1.0)
    Y = np.log((np.exp(lam * s) - 1.0) / (np.exp(lam * s0) - 1.0))
    assert memory(s0, at, lam, s) == pytest.approx(
        k * np.sqrt(at / Y) * iv(1, 2.0 * np.sqrt(at * Y)), rel=1e-12
    )


def test_tokens_of_the_equation_grow_their_harmonics_at_the_rate_a() -> None:
    """One token more, of uniform law, sees many others whose law is almost uniform."""
    beta, n, small, m = 1.5, 2, 1e-5, 300
    seen = 2.0 * np.pi * np.arange(m) / m
    seen = seen - small * np.sin(n * seen)  # (m,) so that <e^{i n theta}> = small n / 2
    h = np.exp(1j * n * seen).mean()
    pull = []
    for angle in 2.0 * np.pi * np.arange(24) / 24:  # the last token, uniform
        x = np.stack([np.cos([*seen, angle]), np.sin([*seen, angle])], axis=1)  # (m + 1, 2)
        v = drift(Attention(beta, weights="exponential"), x)[-1] @ [-np.sin(angle), np.cos(angle)]
        pull.append(1j * n * np.exp(1j * n * angle) * v)
    # the sum holds the token itself, which counts but does not pull; and w' is beta times the drift
    rate = beta * np.mean(pull) * (m + 1) / m / h
    assert rate == pytest.approx(growth_rate(beta, n), rel=1e-4)


def test_alibi_decays_in_the_equation_as_here() -> None:
    angle = np.array([0.3, 2.0, -1.0, 1.2])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    slope, beta = 0.7, 1.3
    v = drift(Attention(beta, weights="exponential", position=ALiBi(slope)), x)[3] @ [
        -np.sin(angle[3]),
        np.cos(angle[3]),
    ]
    decays = np.exp(-slope * np.arange(3, -1, -1))  # of tokens 0 .. 3
    gap = angle[3] - angle[:3]
    paper = (decays[:3] * -beta * np.sin(gap) * np.exp(beta * np.cos(gap))).sum() / decays[:3].sum()
    assert v == pytest.approx(paper / beta * decays[:3].sum() / decays.sum(), rel=1e-12)


# The U


@pytest.mark.parametrize("lam", [0.5, 2.0, 8.0])
def test_memory_has_the_shape_of_a_u_until_the_time_given_and_not_afterwards(lam: float) -> None:
    places = np.linspace(1e-4, 1.0 - 1e-4, 4001)
    for factor in (0.02, 0.5, 0.95, 1.05, 3.0):
        at = factor * u_shaped_until(lam)
        rising = np.diff(memory(places, at, lam)) > 0.0
        turns = int((np.diff(rising.astype(int)) != 0).sum())
        least = least_remembered(at, lam)
        assert abs(places[memory(places, at, lam).argmin()] - least) < 1e-3
        if factor < 1.0:
            assert (rising[0], rising[-1], turns) == (False, True, 1)
            assert 0.0 < least < 1.0
        else:
            assert (rising[0], rising[-1]) == (False, False)
            assert turns in (0, 2)  # a hump before the end


def test_without_alibi_there_is_no_u() -> None:
    assert u_shaped_until(0.0) == 0.0
    assert (np.diff(memory(np.linspace(0.01, 0.99, 99), 1e-6, 0.0)) < 0.0).all()
    assert least_remembered(0.1, 0.0) == 1.0


def test_the_linear_tokens_have_the_u_as_well() -> None:
    kept = linear_tokens(400, 0.5, 3.0)
    least = int(kept.argmin())
    assert abs(least / 400 - least_remembered(0.5, 3.0)) < 0.02
    assert kept[0] > kept[least] < kept[-1]


def test_impossible_places_are_refused() -> None:
    with pytest.raises(InputError, match="sigma0 must lie between 0 and sigma = 1, but is between 0 and"):
        memory([0.0, 0.5], 1.0, 1.0)
    with pytest.raises(InputError, match="lam must be finite and at least 0, but is -1"):
        u_shaped_until(-1.0)
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        growth_rate(1.0, 0)
    with pytest.raises(InputError, match="beta must be at most 700"):
        growth_rate(701.0)
    with pytest.raises(InputError, match="at must be positive, but is 0"):
        least_remembered(0.0, 1.0)
