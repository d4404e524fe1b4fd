"""The matrices of a head and the rows of Table 1, against the large matrix itself."""

from pathlib import Path

import numpy as np
import pytest
from support.made_checkpoints import Made, make, spectra_of

from nucleate.checks import InputError
from nucleate.models.heads import fold, fold_stored, full_row, head_spectrum
from nucleate.models.spectra import spectra
from nucleate.theory.atlas import atlas


def test_weights_whose_products_overflow_are_refused(tmp_path: Path) -> None:
    made = make("llama")
    for name, tensor in made.tensors.items():
        if "v_proj" in name or "o_proj" in name:
            tensor *= 1e200
    with pytest.raises(InputError, match="overflow"):
        spectra(made.write(tmp_path), draws=1)


def test_the_row_is_that_of_the_small_product_and_both_largest_real_parts_are_told(tmp_path: Path) -> None:
    """The weights are built so that head h of the small product is what we want: W_V takes three coordinates,
    W_O puts S in their place."""
    S = [
        -np.diag([1.0, 2.0, 3.0]),
        2.0 * np.eye(3),
        np.diag([1.0, 1.0, -4.0]),
        np.array([[0.5, -1, 0], [1, 0.5, 0], [0, 0, -2.0]]),
    ]
    S += [-np.eye(3), np.zeros((3, 3)), np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, -1]])]
    made = make("llama")
    T, n = dict(made.tensors), len(S)
    T |= {f"model.layers.{i}.input_layernorm.weight": np.ones(12) for i in range(2)}
    for i in range(2):
        p = f"model.layers.{i}.self_attn."
        T[p + "q_proj.weight"], T[p + "k_proj.weight"] = np.ones((3 * n, 12)), np.ones((3 * n, 12))
        T[p + "v_proj.weight"] = np.tile(np.eye(3, 12), (n, 1))
        T[p + "o_proj.weight"] = np.concatenate([np.eye(12, 3) @ M for M in S], axis=1)
    config = {**made.config, "num_attention_heads": n, "num_key_value_heads": n}
    heads = spectra_of(Made(config, T, "llama"), tmp_path).layer(1)
    assert [head.region for head in heads] == ["5", "1", "2", "complex +", "4", "zero", "defective +"]
    assert [head.row for head in heads] == [5, 1, 2, None, 4, None, None]
    assert [head.full_row for head in heads] == [None, 2, 2, None, None, None, None]
    assert [head.full_lambda_max for head in heads] == pytest.approx([0, 2, 1, 0.5, 0, 0, 1])
    assert [head.left for head in heads] == pytest.approx([1, 0, 1 / 3, 1 / 3, 1, 0, 1 / 3])
    for head, M in zip(heads, S, strict=True):
        whole = atlas(np.eye(12, 3) @ M @ np.eye(3, 12))  # (d, d)
        assert head.full_row == whole.row
        assert head.full_lambda_max == pytest.approx(whole.lambda_max)


@pytest.mark.parametrize("seed", range(20))
def test_the_row_of_the_large_matrix_is_what_its_own_atlas_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, U = rng.standard_normal((3, 7)), rng.standard_normal((7, 3))
    whole = atlas(U @ W)
    lambda_max, row = full_row(head_spectrum(W @ U), 7)
    assert row == whole.row
    assert lambda_max == pytest.approx(max(whole.lambda_max, 0.0), abs=1e-12)


def test_the_stored_state_leaves_out_what_a_normalisation_does_not_see() -> None:
    """W Pi is blind to 1, and sees gamma x, x of mean 0, as it is; a gain of 0 is the limit of small ones."""
    rng = np.random.default_rng(0)
    W, gain, x = rng.standard_normal((3, 7)), rng.uniform(0.2, 2.0, 7), rng.standard_normal(7)
    x -= x.mean()
    np.testing.assert_allclose(fold_stored(W, gain, True) @ np.ones(7), 0.0, atol=1e-13)
    np.testing.assert_allclose(fold_stored(W, gain, True) @ (gain * x), W @ (gain * x), atol=1e-13)
    np.testing.assert_allclose(fold_stored(W, np.ones(7), True), fold(W, np.ones(7), True), atol=1e-14)
    np.testing.assert_array_equal(fold_stored(W, gain, False), W)
    zero, tiny = gain.copy(), gain.copy()
    zero[2], tiny[2] = 0.0, 1e-12
    np.testing.assert_allclose(fold_stored(W, zero, True), fold_stored(W, tiny, True), atol=1e-10)
