"""LayerNorm and RMSNorm against the formula, number by number."""

import math
from typing import Any

import numpy as np
import pytest

from nucleate.models.forward.norms import Norm, normalise


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_normalisation_is_its_formula(centred: bool, dtype: type[Any]) -> None:
    rng = np.random.default_rng(0)
    x, gain, bias = (rng.standard_normal(shape).astype(dtype) for shape in ((2, 3, 5), (5,), (5,)))
    found = normalise(Norm(gain, bias, centred, 0.1), x)
    assert found.dtype == dtype
    for row, made in zip(x.reshape(-1, 5), found.reshape(-1, 5), strict=True):
        mean = sum(map(float, row)) / 5 if centred else 0.0
        size = math.sqrt(sum((float(one) - mean) ** 2 for one in row) / 5 + 0.1)
        exact = [
            float(g) * (float(one) - mean) / size + float(b)
            for one, g, b in zip(row, gain, bias, strict=True)
        ]
        np.testing.assert_allclose(made, exact, rtol=1e-12 if dtype is np.float64 else 1e-5)


def test_what_is_too_large_to_be_squared_is_nan_and_not_zero() -> None:
    norm = Norm(np.ones(2, np.float32), None, False, 1e-6)
    with np.errstate(over="ignore"):
        assert np.isnan(normalise(norm, np.full((1, 2), 1e30, np.float32))).all()
