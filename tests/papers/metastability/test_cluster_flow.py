"""Clusters as points: against the equation, two tokens solved by hand, and what a merge must keep."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from nucleate.attention import Attention, drift
from nucleate.observe.energies import interaction_energy
from nucleate.papers.metastability import cluster_flow
from nucleate.papers.metastability.cluster_flow import (
    TOUCHING,
    cluster_energy,
    cluster_velocity,
    follow_clusters,
)


@pytest.mark.parametrize("weights", ["softmax", "exponential"])
def test_a_cluster_moves_as_its_tokens_do(weights: str) -> None:
    phi, m, beta = np.array([0.1, 0.5, 0.9]), np.array([3, 1, 2]), 40.0
    x = np.repeat(np.stack([np.cos(phi), np.sin(phi)], -1), m, axis=0)
    model = Attention(beta=beta, mask="full", weights=weights)  # type: ignore[arg-type]  # plain texts
    v = drift(model, x)
    along = (v * np.stack([-x[:, 1], x[:, 0]], -1)).sum(-1)
    unit = 1.0 if weights == "softmax" else np.exp(-beta)
    found = cluster_velocity(phi, m.astype(float), beta, weights)  # type: ignore[arg-type]  # plain texts
    assert np.repeat(found, m) == pytest.approx(unit * along, rel=1e-10)  # e^40 times rounding of a cosine
    energy = cluster_energy(phi, m.astype(float), beta)
    assert energy == pytest.approx(float(interaction_energy(Attention(beta=beta, mask="full"), x)), rel=1e-12)


def test_two_tokens_meet_when_the_integral_says() -> None:
    # delta' = -e^{beta (cos delta - 1)} sin delta for two tokens of exponential weights, n = 2
    beta, delta = 200.0, 0.5
    end = TOUCHING * beta**-0.5
    time = quad(
        lambda q: np.exp(q + beta * (1.0 - np.cos(np.exp(q)))) / np.sin(np.exp(q)), np.log(end), np.log(delta)
    )
    flow = follow_clusters([0.0, delta], beta)
    assert flow.merge_time == pytest.approx([time[0]], rel=1e-6)
    assert flow.merge_length == pytest.approx([delta / np.sqrt(2.0)], rel=1e-6)  # each goes half of it
    assert flow.merged == (((0,), (1,)),)


def test_the_centre_of_mass_stays_the_energy_rises_and_all_end_as_one() -> None:
    phi = np.array([0.0, 0.06, 0.2, 0.33])
    flow = follow_clusters(phi, 3000.0)
    assert flow.angles.mean(-1) == pytest.approx(phi.mean(), abs=1e-9)
    assert (np.diff(flow.energy) >= -1e-12).all()
    assert flow.energy[-1] == pytest.approx(1.0, abs=1e-9)
    assert (np.diff(flow.merge_time) > 0.0).all()


def test_two_clusters_close_to_each_other_on_a_long_way_take_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 480 000 velocities when distances were differences of angles, whose rounding the solver took for motion
    calls, velocity = [], cluster_flow._velocity

    def counted(*given: Any) -> np.ndarray:
        calls.append(1)
        return velocity(*given)

    monkeypatch.setattr(cluster_flow, "_velocity", counted)
    gaps = [0.08068813, 0.10582907, 0.0535144, 0.10702603, 0.01463266]
    follow_clusters(np.cumsum([0.0, *gaps]), 250.0)
    assert len(calls) < 5000
