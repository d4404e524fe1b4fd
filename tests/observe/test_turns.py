"""Shares of a turn, and how one field predicts another."""

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.observe.turns import field_agreement, turn_shares


def test_shares_of_a_pre_norm_layer_add_up_and_the_angle_is_that_of_the_directions() -> None:
    rng = np.random.default_rng(0)
    h, a, m = rng.standard_normal((3, 4, 5, 6))  # (layers, n, d) each
    found = turn_shares(h, a, m, h + a + m)
    assert found.attention + found.mlp == pytest.approx(np.ones((4, 5)))
    x, y = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (h, h + a + m))
    assert found.angle == pytest.approx(np.arccos((x * y).sum(-1)), abs=1e-7)
    attention, mlp = found.of_layer(first=False)
    w = found.angle[:, 1:]
    assert attention == pytest.approx((w * found.attention[:, 1:]).sum(-1) / w.sum(-1))
    assert attention + mlp == pytest.approx(np.ones(4))


def test_what_goes_along_the_token_turns_nothing_and_is_nobodys_share() -> None:
    h = np.array([[2.0, 0.0], [2.0, 0.0]])
    a = np.array([[5.0, 0.0], [0.0, 1.0]])  # along, across
    m = np.array([[0.0, 3.0], [0.0, 3.0]])
    found = turn_shares(h, a, m, h + a + m)
    assert found.attention == pytest.approx([0.0, 0.25])
    assert found.mlp == pytest.approx([1.0, 0.75])
    assert np.isnan(turn_shares(h, a * [1, 0], 0 * m, h + a * [1, 0]).attention).all()


def test_agreement_is_perfect_up_to_the_slope_and_of_no_use_at_right_angles() -> None:
    rng = np.random.default_rng(1)
    p = rng.standard_normal((3, 7, 4))
    found = field_agreement(p, 2.5 * p)
    assert found.cosine == pytest.approx(np.ones((3, 7)))
    assert found.slope == pytest.approx([2.5] * 3)
    assert found.r_squared == pytest.approx([1.0] * 3)
    noisy = 2.5 * p + rng.standard_normal(p.shape)
    found = field_agreement(p, noisy)
    rest = ((noisy - found.slope[:, None, None] * p) ** 2).sum((1, 2))
    assert found.r_squared == pytest.approx(1.0 - rest / (noisy**2).sum((1, 2)))
    with pytest.raises(InputError, match=r"predicted \(3, 7, 4\)"):
        field_agreement(p, p[:2])
