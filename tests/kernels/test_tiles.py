"""Tiles through BLAS: they equal the equation at any size."""

import numpy as np
import pytest
from support.kernel_models import MASKS, Mask, models, pairwise_bound, velocities_of

import nucleate as nc
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.tiles import tiles_system


@pytest.mark.parametrize("n", [1, 2, 9, 300, 700])
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [16, 64])
def test_tiles_equal_the_equation_at_any_size(d: int, mask: Mask, n: int) -> None:
    # Below n = 64 `drift` would not take tiles; 700 tokens are three tiles of columns, eleven of rows.
    x = nc.uniform(n, d, seed=n)
    for name, model in models(d, mask).items():
        if n == 700 and name not in ("plain", "everything"):
            continue
        velocity = velocities_of(tiles_system(model_shape(model, n, d)), x)
        error = np.abs(velocity - nc.drift(model, x, kernel="reference")).max()
        assert error <= pairwise_bound(model, d), (name, error)
