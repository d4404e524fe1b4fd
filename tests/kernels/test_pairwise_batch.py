"""Eight runs at a time over pairs: small forces stay accurate, and tokens off the sphere are noticed."""

import math

import numpy as np
import pytest
from support.kernel_models import Mask

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import EPS
from nucleate.kernels import pairwise_batch


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("d", [2, 3])
# up to 354 no weight can underflow, and none is looked at for it
@pytest.mark.parametrize("beta", [60.0, 350.0, 360.0, 480.0, 800.0])
def test_small_forces_keep_their_relative_accuracy_in_batches(beta: float, d: int, mask: Mask) -> None:
    theta = np.array([0.5, 1.0, 2.0, 3.0])  # (b,)
    x = np.zeros((4, 2, d))
    x[:, 0, 0], x[:, 1, 0], x[:, 1, 1] = 1.0, np.cos(theta), np.sin(theta)
    velocity = nc.drift(Attention(beta, mask=mask), x, kernel="pairwise")[:, 1]
    weight = np.exp(-2.0 * beta * np.sin(theta / 2) ** 2)
    weight[2.0 * beta * np.sin(theta / 2) ** 2 > 1021 * math.log(2.0)] = 0.0  # the last normal power
    force = velocity[:, 1] * np.cos(theta) - velocity[:, 0] * np.sin(theta)
    assert force == pytest.approx(-weight / (1.0 + weight) * np.sin(theta), rel=8 * beta * EPS, abs=0.0)
    assert (velocity[:, 2:] == 0.0).all()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1.1, 1e200])
def test_a_batch_with_a_token_off_the_sphere_is_refused_wherever_it_is(bad: float, d: int) -> None:
    x = np.stack([nc.uniform(5, d, seed=run) for run in range(19)])
    for run, k in ((0, 0), (7, 4), (18, 2)):
        broken = x.copy()
        broken[run, k] *= bad
        with pytest.raises(nc.InputError, match=r"x must be finite|x must have rows of length 1"):
            nc.drift(Attention(4.0), broken, kernel="pairwise")


@pytest.mark.parametrize("not_unit", [pairwise_batch.NOT_UNIT, 1e-300], ids=["usual", "even after rounding"])
def test_a_batch_near_the_sphere_is_put_onto_it(not_unit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.stack([nc.uniform(50, 3, seed=run) for run in range(17)])
    near = x * (1.0 + 1e-8)
    # the second: as if rounding left rows farther off than they may be
    monkeypatch.setattr(pairwise_batch, "NOT_UNIT", not_unit)
    assert (
        np.abs(nc.drift(Attention(4.0), near) - nc.drift(Attention(4.0), x, kernel="reference")).max() < 1e-14
    )


def test_a_rounded_start_in_one_run_does_not_touch_the_bits_of_another() -> None:
    x = np.stack([nc.uniform(20, 3, seed=run) for run in range(2)])
    rough = x.copy()
    rough[0] = rough[0].astype(np.float32)  # unit to 1e-7: made unit again
    model = Attention(4.0)
    assert np.array_equal(nc.drift(model, rough)[1], nc.drift(model, x)[1])
