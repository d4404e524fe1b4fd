"""Null models of the heads: what each keeps, and planted heads on which the comparison flips."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_checkpoints import Made, make

from nucleate.models.heads import head_spectrum
from nucleate.models.nulls import Share
from nucleate.models.spectra import Spectra, spectra

D, HEADS, WIDTH = 32, 4, 8


def planted(values: list[Any], outputs: list[Any], kv: int = HEADS) -> Made:
    """A model of two layers alike, its heads of these W_V (width, d), one per group, and W_O (d, width)."""
    T: dict[str, Any] = {}
    for i in range(2):
        p = f"model.layers.{i}."
        T |= {
            f"{p}self_attn.q_proj.weight": np.ones((HEADS * WIDTH, D)),
            f"{p}input_layernorm.weight": np.ones(D),
        }
        T |= {f"{p}self_attn.k_proj.weight": np.ones((kv * WIDTH, D))}
        T |= {f"{p}self_attn.v_proj.weight": np.concatenate(values)}
        T |= {f"{p}self_attn.o_proj.weight": np.ascontiguousarray(np.concatenate(outputs, axis=1))}
    sizes = {"num_attention_heads": HEADS, "num_key_value_heads": kv, "num_hidden_layers": 2}
    return Made({"model_type": "llama", **sizes}, T, "llama")


def gaussian(count: int, seed: int = 0) -> list[Any]:
    return list(np.random.default_rng(seed).standard_normal((count, WIDTH, D)))


def outside(found: Spectra, null: str, name: str) -> bool:
    """Whether the trained share is outside the middle 95 % of a null model."""
    share: Share = getattr(getattr(found, null).shares, name)
    return not share.low <= found.shares[name] <= share.high


def test_negative_heads_are_explained_by_pairing_only_if_their_matrices_are_made_for_each_other(
    tmp_path: Path,
) -> None:
    """W_O = -W_V^T makes the small product -W_V W_V^T: all heads are negative.  With W_V of its own for each
    head that is a matter of pairing; with one W_V for all any pairing has it.  At random has it never."""
    own = gaussian(HEADS)
    alike = gaussian(1) * HEADS
    paired, any_pair = (
        spectra(planted(W, [-one.T for one in W]).write(tmp_path / name), draws=64)
        for name, W in (("own", own), ("alike", alike))
    )
    for found in (paired, any_pair):
        assert found.shares == {"negative": 1.0, "real": 1.0, "left": 1.0}
        assert outside(found, "initial", "negative")
        assert outside(found, "initial", "left")
    assert paired.swapped is not None
    assert any_pair.swapped is not None
    assert outside(paired, "swapped", "negative")
    assert outside(paired, "swapped", "left")
    assert paired.swapped.shares.negative.mean == 0.0
    assert not outside(any_pair, "swapped", "negative")
    assert not outside(any_pair, "swapped", "left")
    assert any_pair.swapped.shares.negative == Share(1.0, 1.0, 1.0)


def test_heads_of_independent_matrices_are_within_both_null_models(tmp_path: Path) -> None:
    W = gaussian(2 * HEADS, seed=3)
    found = spectra(planted(W[:HEADS], [one.T for one in W[HEADS:]]).write(tmp_path), draws=64)
    assert not any(outside(found, null, name) for null in ("initial", "swapped") for name in found.shares)


def test_each_value_matrix_is_paired_with_every_output_of_other_groups_and_with_no_other(
    tmp_path: Path,
) -> None:
    W, O = gaussian(2, seed=1), [one.T for one in gaussian(HEADS, seed=2)]  # noqa: E741  # the letter of W_O
    found = spectra(planted(W, O, kv=2).write(tmp_path), draws=1).swapped
    slow = [
        head_spectrum(W[group] @ O[head]) for group in (0, 1) for head in range(HEADS) if head // 2 != group
    ]
    assert found is not None
    assert (found.pairs, found.partners) == (2 * len(slow), 2)
    assert found.lambda_max == pytest.approx(np.mean([one.lambda_max for one in slow]))
    assert found.shares.left.mean == pytest.approx(np.mean([one.left for one in slow]))
    assert found.shares.real.mean == pytest.approx(np.mean([one.kind == "real" for one in slow]))
    assert found.regions == {
        region: 2 * sum(one.region == region for one in slow) for region in found.regions
    }


def test_the_interval_of_a_share_is_that_of_models_with_as_many_heads(tmp_path: Path) -> None:
    """Each head takes one of three partners: a share of 8 heads, two layers of one and the same four, is
    counted in eighths, and its spread is that of independent draws."""
    W = gaussian(2 * HEADS, seed=3)
    O = [one.T for one in W[HEADS:]]  # noqa: E741  # the letter of W_O
    found = spectra(planted(W[:HEADS], O).write(tmp_path), draws=1).swapped
    assert found is not None
    real = np.array(
        [[head_spectrum(W[v] @ O[h]).kind == "real" for h in range(HEADS) if h != v] for v in range(HEADS)]
    )
    p = np.repeat(real.mean(axis=1), 2)  # (8,)
    exact = np.array([1.0])  # how many heads are real: the sum of independent ones
    for one in p:
        exact = np.convolve(exact, [1.0 - one, one])
    low, high = np.searchsorted(np.cumsum(exact), [0.025, 0.975]) / 8
    assert found.shares.real.mean == pytest.approx(p.mean())
    # of 1000 models: a quantile may be the next eighth
    assert found.shares.real.low == pytest.approx(low, abs=0.13)
    assert found.shares.real.high == pytest.approx(high, abs=0.13)


def test_there_is_nothing_to_swap_where_all_heads_share_one_value_matrix_or_none_is_asked_for(
    tmp_path: Path,
) -> None:
    assert spectra(make("smollm, one key-value head").write(tmp_path / "one"), draws=1).swapped is None
    assert spectra(make("llama").write(tmp_path / "none"), draws=1, partners=0).swapped is None


def test_fewer_partners_are_drawn_from_the_seed(tmp_path: Path) -> None:
    path = make("gpt2").write(tmp_path)  # 3 heads: two partners each
    one, again, other = (spectra(path, draws=1, partners=1, seed=seed).swapped for seed in (5, 5, 6))
    assert one is not None
    assert other is not None
    assert one == again
    assert (one.pairs, one.partners) == (6, 1)
    assert one.lambda_max != other.lambda_max


def test_post_norm_models_are_swapped_in_both_states(tmp_path: Path) -> None:
    found = spectra(make("bert").write(tmp_path), draws=1)
    assert found.swapped is not None
    assert found.swapped_stored is not None
    assert found.swapped.pairs == found.swapped_stored.pairs == 2 * 3 * 2
    assert found.swapped.lambda_max != found.swapped_stored.lambda_max
