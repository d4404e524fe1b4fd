"""Lemma 5.3: gradients by hand, and wrong velocities and energies that change the verdicts."""

from typing import Any

import numpy as np
import pytest
from support.small_items import made, words_changed

from nucleate.attention import Attention, drift
from nucleate.observe.energies import token_energies
from nucleate.papers.causal_clustering.lemma53.data import energy_rates, gradients, three_places
from nucleate.sphere import retract
from nucleate.theory.interaction import interaction


def test_gradients_of_energies_are_differences_of_energies() -> None:
    rng = np.random.default_rng(1)
    for beta in (0.5, 9.0):
        phi, theta, a = rng.uniform(-3, 3, (2, 5)), rng.uniform(-3, 3, (2, 2)), rng.uniform(1, 3, (2, 2))

        def energy(
            run: int, k: int, at: float, beta: float = beta, phi: Any = phi, theta: Any = theta, a: Any = a
        ) -> float:
            total = sum(np.exp(beta * (np.cos(at - phi[run, j]) - 1)) for j in range(k))
            return float(
                -(
                    total
                    + sum(
                        w * np.exp(beta * (np.cos(at - one) - 1))
                        for w, one in zip(a[run], theta[run], strict=True)
                    )
                )
                / beta
            )

        slope, Z = gradients(phi, theta, a, beta, 1.0 / beta)
        for run in range(2):
            for k in range(5):
                step = 1e-5
                by_hand = (energy(run, k, phi[run, k] + step) - energy(run, k, phi[run, k] - step)) / (
                    2 * step
                )
                assert abs(slope[run, k] - by_hand) < 1e-8  # step^2 beta^1.5, and rounding over the step
                # the sum without the self term, which is 1
                assert abs(Z[run, k] - (1.0 - beta * energy(run, k, phi[run, k]))) < 1e-12


@pytest.mark.parametrize(("name", "part"), [("gradient", 0), ("compiled", 0)])
def test_velocities_that_are_no_gradient_disagree(name: str, part: int) -> None:
    found = made("lemma5.3").data["identity"]
    wrong = found[name].values.copy()
    wrong[-1, 0, 3] += 1e-11
    assert words_changed("lemma5.3", "identity", **{name: wrong})[part] == "disagrees"


def test_an_energy_that_rises_though_earlier_tokens_do_not_move_disagrees() -> None:
    E = made("lemma5.3").data["energies"]["energy"].values.copy()
    E[2, 40:, 1] += 0.01
    assert words_changed("lemma5.3", "energies", energy=E)[1] == "disagrees"
    own = made("lemma5.3").data["energies"]["own"].values
    assert words_changed("lemma5.3", "energies", own=-own)[1] == "disagrees"
    assert (
        words_changed("lemma5.3", "energies", rate=1.001 * made("lemma5.3").data["energies"]["rate"].values)[
            1
        ]
        == "disagrees"
    )


def test_a_gradient_or_a_sum_that_falls_would_contradict_the_proof() -> None:
    found = made("lemma5.3").data
    assert words_changed("lemma5.3", "identity", asymmetry=0.0)[2:] == ["contradicted", "proved"]
    rate = found["sums"]["rate"].values.copy()
    rate[1, 0, 4] = -0.1
    assert words_changed("lemma5.3", "sums", rate=rate)[2] == "contradicted"


def test_one_run_that_still_moves_would_contradict_the_lyapunov_function() -> None:
    speed = made("lemma5.3").data["ends"]["speed"].values.copy()
    speed[1, 2] = 1e-6
    assert words_changed("lemma5.3", "ends", speed=speed)[2:] == ["contradicted"] * 2
    assert words_changed("lemma5.3", "ends", done=0)[2:] == ["contradicted"] * 2


def test_in_the_three_places_only_the_second_token_moves() -> None:
    """What the proof that sums rise asks of the configuration."""
    for beta in (1.0, 4.0):
        for n in (3, 6):
            phi = three_places(n, 0.01)
            x = np.stack([np.cos(phi), np.sin(phi)], axis=-1)
            speed = np.linalg.norm(drift(Attention(beta), x), axis=-1)
            assert np.abs(speed[[0, *range(2, n)]]).max() < 1e-15
            assert speed[1] == pytest.approx(
                float(interaction(np.pi - 0.01, beta)) / (1.0 + np.exp(beta * (-np.cos(0.01) - 1.0)))
            )


def test_rates_of_energies_are_differences_along_the_motion() -> None:
    beta, phi, step = 3.0, np.array([0.3, 2.0, -1.0, 0.9]), 1e-5
    x = np.stack([np.cos(phi), np.sin(phi)], axis=-1)
    v = drift(Attention(beta), x)
    E = [token_energies(Attention(beta), retract(x + side * step * v)) for side in (-1.0, 1.0)]
    np.testing.assert_allclose(energy_rates(phi, beta), (E[1] - E[0]) / (2 * step), atol=1e-8)


def test_energies_of_frozen_and_earlier_tokens_are_never_flat() -> None:
    """What the proof of the Lyapunov function asks of E_k: finitely many critical points, as it is analytic
    and not constant, however the tokens before k are placed."""
    rng = np.random.default_rng(3)
    at = np.linspace(0.0, 2.0 * np.pi, 721)
    for beta in (0.5, 4.0, 30.0):
        regular = 2.0 * np.pi * np.arange(6) / 6.0  # the flattest: six evenly spaced tokens
        for places in (regular, rng.uniform(0.0, 2.0 * np.pi, 6)):
            E = -np.exp(beta * (np.cos(at[:, None] - places) - 1.0)).sum(-1) / beta
            assert E.max() - E.min() > 1e-9
