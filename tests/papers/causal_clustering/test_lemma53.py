"""Lemma 5.3: gradients by hand, and wrong velocities and energies that change the verdicts."""

from typing import Any

import numpy as np
import pytest
from support.small_items import made, words_changed

from nucleate.papers.causal_clustering.lemma53.data import gradients


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


def test_a_symmetric_flow_would_have_one_energy() -> None:
    assert words_changed("lemma5.3", "identity", asymmetry=0.0)[2] == "disagrees"
