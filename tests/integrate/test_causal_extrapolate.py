"""One causal step in every layout: columns one by one or side by side, increments as numbers or vectors."""

from typing import Any

import numpy as np
import pytest
from support.places import apart

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.integrate import causal_state
from nucleate.integrate.causal import causal_step
from nucleate.integrate.causal_state import columns_for, new_causal_state
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import pairwise_system


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5, 1e-8, 1e-12])  # 5 to 8 columns
@pytest.mark.parametrize("around", ["plain", "window", "frozen", "both", "grouped", "repelled"])
def test_columns_side_by_side_make_the_step_that_columns_one_by_one_make(
    tolerance: float, around: str
) -> None:
    # A V that is c I but for one bit takes the general way, on the circle too.
    n, beta, h = 21, 9.0, 0.7
    x = nc.uniform(n, 2, seed=5)
    if around == "grouped":
        x = x[[0, 1, 1, 2, 0, 0, 3, 1, 4, 4, 5, 0, 6, 2, 7, 8, 9, 10, 3, 1, 0]]
    sign = -1.0 if around == "repelled" else 1.0
    setting: dict[str, Any] = {
        "mask": Window(4) if around in ("window", "both") else "causal",
        "frozen": Frozen(nc.uniform(3, 2, seed=9), [0.5, 1.0, 2.0]) if around in ("frozen", "both") else None,
    }
    ends, errors = [], []
    for V in (sign * np.eye(2), sign * np.diag([1.0, np.nextafter(1.0, 2.0)])):
        system = pairwise_system(model_shape(Attention(beta, V=V, **setting), n, 2))
        system.x[:, system.m : system.m + n] = x.T
        s = new_causal_state(system, tolerance)
        errors.append(causal_step(s, h, np.zeros(1, dtype=np.uint8)))
        ends.append(s.ends.copy())
    assert s.columns == columns_for(tolerance)
    # Rounding, times the sum of the extrapolation's factors (1e3 with 8 columns), which the general way, by V
    # (x + D), meets from 1e-16 on.
    assert np.abs(ends[0] - ends[1]).max() < 1e-11
    assert errors[0] == pytest.approx(errors[1], rel=1e-3, abs=1e-11)


@pytest.mark.parametrize("around", ["plain", "window", "frozen"])
@pytest.mark.parametrize("d", [3, 6, 17])
def test_increments_as_vectors_make_the_step_that_blocks_make(
    d: int, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, h = 21, 0.7
    Q, K, V = np.random.default_rng(d).standard_normal((3, d, d)) / np.sqrt(d)
    model = Attention(
        9.0,
        Q=Q,
        K=K,
        V=V,
        mask=Window(4) if around == "window" else "causal",
        frozen=Frozen(nc.uniform(3, d, seed=9), [0.5, 1.0, 2.0]) if around == "frozen" else None,
    )
    ends = []
    for as_vectors in (False, True):
        monkeypatch.setattr(causal_state, "VECTORS_FROM", 2 if as_vectors else 99)
        system = pairwise_system(model_shape(model, n, d))
        s = new_causal_state(system, 1e-8)
        assert (s.vectors is not None) == as_vectors
        system.x[:, system.m : system.m + n] = nc.uniform(n, d, seed=5).T
        causal_step(s, h, np.zeros(1, dtype=np.uint8))
        ends.append(s.ends.copy())
    assert np.abs(ends[0]).max() > 0.1
    assert np.abs(ends[0] - ends[1]).max() < 1e-11  # rounding, times the sum of the extrapolation's factors


@pytest.mark.parametrize("d", [3, 4])
def test_coincident_tokens_stay_together_wherever_they_go(d: int) -> None:
    # They turn through all signs of all coordinates, the charts' basis with them.
    V = np.zeros((d, d))
    V[-2, -1], V[-1, -2] = -1.0, 1.0
    x = nc.uniform(1, d, seed=3)
    for x0 in (np.repeat(x, 4, axis=0), np.concatenate([x, nc.uniform(2, d, seed=4), x, x])):
        run = nc.simulate(Attention(1.0, V=V), x0, 20.0, method="causal", save="steps")
        other = nc.simulate(Attention(1.0, V=V), x0, 20.0, method="explicit", save=run.t, rtol=1e-11)
        assert apart(run.x, other.x) < 1e-6
