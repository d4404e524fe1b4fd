"""ALiBi and RoPE: what they do to scores, and what they refuse."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.attention import attend
from nucleate.checks import InputError


def test_the_bias_falls_by_the_slope_per_place_both_ways() -> None:
    bias = nc.ALiBi(0.5).bias(4)
    assert bias.tolist() == [[-0.5 * abs(k - j) for j in range(4)] for k in range(4)]


def test_rotations_keep_lengths_and_depend_on_differences_of_places_alone() -> None:
    rope, d = nc.RoPE(100.0), 6
    q, k = np.random.default_rng(0).standard_normal((2, d))
    turned_q, turned_k = (rope.rotate(np.broadcast_to(one, (9, d))) for one in (q, k))  # (9, d)
    assert np.allclose(np.linalg.norm(turned_q, axis=-1), np.linalg.norm(q), rtol=1e-14)
    scores = turned_q @ turned_k.T  # (9, 9)
    for gap in range(-8, 9):
        along = np.diagonal(scores, gap)
        assert np.allclose(along, along[0], rtol=0, atol=1e-12)
    assert abs(scores[0, 0] - q @ k) < 1e-14


def test_the_first_plane_turns_by_one_radian_a_place() -> None:
    turned = nc.RoPE().rotate(np.broadcast_to([1.0, 0.0], (3, 2)))
    assert np.allclose(turned, [[np.cos(k), np.sin(k)] for k in range(3)], atol=1e-15)


def test_attention_with_positions_is_the_double_loop() -> None:
    x = nc.uniform(5, 4, seed=0)
    Q, K, V = np.random.default_rng(1).standard_normal((3, 4, 4))
    for position in (nc.ALiBi(0.3), nc.RoPE(10.0)):
        model = nc.Attention(1.5, Q, K, V, position=position)
        q, k = x @ Q.T, x @ K.T
        if isinstance(position, nc.RoPE):
            q, k = position.rotate(q), position.rotate(k)
        for i, out in enumerate(attend(model, x)):
            slope = position.slope if isinstance(position, nc.ALiBi) else 0.0
            weights = [np.exp(1.5 * q[i] @ k[j] - slope * (i - j)) for j in range(i + 1)]
            mean = sum(w * V @ x[j] for j, w in enumerate(weights)) / sum(weights)
            assert np.allclose(out, mean, rtol=1e-12)


@pytest.mark.parametrize("slope", [-0.1, np.nan, np.inf, "steep"])
def test_slopes_that_make_no_sense_are_refused(slope: float) -> None:
    with pytest.raises(InputError, match="ALiBi slope must be"):
        nc.ALiBi(slope)


def test_planes_need_an_even_dimension_and_a_positive_base() -> None:
    with pytest.raises(InputError, match="d is 3, which is odd"):
        nc.Attention(1.0, position=nc.RoPE()).check(nc.uniform(4, 3, seed=0))
    with pytest.raises(InputError, match="RoPE base must be"):
        nc.RoPE(0.0)
