"""RoPE: frequencies of every scaling, and what turning by them keeps."""

import math
from typing import Any

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.models.forward.rotary import Rotary, angles, frequencies, layer_rotary, rotate

PLAIN = np.array([1.0, 500.0**-0.25, 500.0**-0.5, 500.0**-0.75])  # (dim / 2,) of base 500, dim 8


def made(config: dict[str, Any], dim: int = 8, layer: int = 0) -> Rotary:
    found = layer_rotary({"max_position_embeddings": 64, "rope_theta": 500.0, **config}, layer, dim, 1.0)
    assert found is not None
    return found


def scaled(kind: str, **more: Any) -> Rotary:
    return made({"rope_scaling": {"rope_type": kind, "factor": 4.0, **more}})


def test_frequencies_are_powers_of_the_base_and_scalings_change_them_as_their_papers_say() -> None:
    np.testing.assert_allclose(frequencies(made({}), 10), PLAIN)
    np.testing.assert_allclose(frequencies(scaled("linear"), 10), PLAIN / 4)
    np.testing.assert_allclose(frequencies(scaled("dynamic"), 64), PLAIN)
    base = 500.0 * (4 * 96 / 64 - 3) ** (8 / 6)
    np.testing.assert_allclose(frequencies(scaled("dynamic"), 96), base ** -np.array([0, 0.25, 0.5, 0.75]))
    # llama3: a pair that turns at least 4 times in 1000 positions is left alone, one that turns less than
    # once is slowed down
    llama = scaled("llama3", low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=1000)
    turns = 1000 * PLAIN[3] / (2 * math.pi)
    share = (turns - 1) / 3
    assert 0.0 < share < 1.0
    exact = [*PLAIN[:3], PLAIN[3] * share + PLAIN[3] / 4 * (1 - share)]
    np.testing.assert_allclose(frequencies(llama, 10), exact)
    # yarn: the ramp goes from the pair that turns 32 times in 1000 positions to that which turns once
    yarn = scaled("yarn", original_max_position_embeddings=1000)
    ends = [8 * math.log(1000 / (turns * 2 * math.pi)) / (2 * math.log(500.0)) for turns in (32, 1)]
    first, last = math.floor(ends[0]), math.ceil(ends[1])
    ramp = np.clip((np.arange(4) - first) / (last - first), 0, 1)
    assert 0.0 < ramp[2] < 1.0
    np.testing.assert_allclose(frequencies(yarn, 10), PLAIN * (1 - ramp) + PLAIN / 4 * ramp)
    lists = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "original_max_position_embeddings": 16}
    np.testing.assert_allclose(frequencies(scaled("longrope", **lists), 16), PLAIN)
    np.testing.assert_allclose(frequencies(scaled("longrope", **lists), 17), PLAIN / 2)


def test_stored_divisors_divide() -> None:
    found = layer_rotary({"rope_theta": 500.0}, 0, 8, 1.0, (1.0, 2.0, 4.0, 8.0))
    assert found is not None
    np.testing.assert_allclose(frequencies(found, 10), PLAIN / [1.0, 2.0, 4.0, 8.0])


def test_scores_depend_on_the_distance_of_two_tokens_and_places_beyond_dim_are_kept() -> None:
    rng = np.random.default_rng(0)
    table = angles(made({}), 6, np.float64)
    q, k = (rotate(np.broadcast_to(rng.standard_normal(10), (1, 6, 10)), *table) for _ in range(2))
    scores = q[0] @ k[0].T
    np.testing.assert_allclose(scores[1:, 1:], scores[:-1, :-1], rtol=1e-12)
    assert np.array_equal(q[0, :, 8:], np.broadcast_to(q[0, 0, 8:], (6, 2)))
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), np.linalg.norm(q[0, 0]))


def test_layers_may_have_no_rope_or_settings_of_their_own() -> None:
    by_kind = {
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"sliding_attention": {"rope_theta": 7.0}, "full_attention": {"rope_theta": 9.0}},
    }
    assert [made(by_kind, layer=i).base for i in range(2)] == [7.0, 9.0]
    assert layer_rotary({"no_rope_layers": [1, 0]}, 1, 8, 1.0) is None
    assert made({"rotary_emb_base": 500}).base == 500.0


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"rope_scaling": {"type": "odd"}}, "stretches RoPE by 'odd'"),
        ({"rope_theta": 0}, "rope_theta must be finite and greater than 1"),
        ({"rope_scaling": {"type": "linear"}}, "factor must be a number"),
        ({"rope_scaling": {"type": "longrope", "factor": 2.0, "short_factor": [1.0]}}, "for each of 4 pairs"),
        (
            {"rope_scaling": {"type": "yarn", "factor": 2.0}, "max_position_embeddings": None},
            "must be a number",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(config)


def test_an_odd_number_of_places_cannot_be_turned() -> None:
    with pytest.raises(InputError, match="RoPE turns pairs"):
        made({}, dim=5)
