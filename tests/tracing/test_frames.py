"""Centers in three frames."""

from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import tiny_llama

from nucleate.models.forward import open_model
from nucleate.observe.centers import center_mask
from nucleate.sphere import uniform
from nucleate.tracing.frames import dominant_eigenspace, eigenspace_centers, gain_centers, head_centers


def test_the_frame_of_gains_forgets_lengths_and_has_the_centers_of_the_sphere() -> None:
    x = uniform(30, 3, seed=0, runs=2)
    found = gain_centers(x * np.arange(1, 31)[:, None], 0.5)
    np.testing.assert_array_equal(found.renyi, center_mask(x, 0.5))
    np.testing.assert_array_equal(found.strong, center_mask(x, 0.5, strong=True))
    assert found.kept.tolist() == [1.0, 1.0]


def test_heads_tell_their_centers_by_weights_alone() -> None:
    weights = np.array([[1.0, 0.0, 0.0], [0.45, 0.55, 0.0], [0.02, 0.18, 0.8]])
    assert head_centers(weights).renyi.tolist() == [True, False, True]
    assert head_centers(weights, reach=4.0).renyi.tolist() == [True, False, False]
    assert head_centers(weights, first=False).words(["a", "b", "c"]) == ["a", "b", "c"]


def test_the_dominant_eigenspace_is_kept_by_the_value_matrix(tmp_path: Path) -> None:
    model = open_model(tiny_llama(tmp_path))
    layer = model.layer(1)
    assert layer.before_attention is not None
    for h in range(4):
        V = layer.o[h].astype(float) @ (layer.v[h // 2] * layer.before_attention.gain)  # (d, d)
        B = dominant_eigenspace(layer, h)
        assert V @ B == pytest.approx(B @ (B.T @ V @ B), abs=1e-5)  # float32
        top = np.linalg.eigvals(V[:, :]).real.max()
        assert (
            np.linalg.eigvals(B.T @ V @ B).real.max() == pytest.approx(max(top, 0.0), abs=1e-4) or top <= 1e-5
        )
    line = np.eye(5)[:, :1]
    x = uniform(20, 5, seed=0)
    found = eigenspace_centers(x, line, 0.2)
    assert found.renyi.sum() == 2
    assert found.kept == pytest.approx((x[:, 0] ** 2).mean())
