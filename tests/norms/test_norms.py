"""Each norm's rates, against the table of its scales written out by hand."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.norms import NORMS, has_radius, rates

X = nc.uniform(6, 3, seed=0)
A = np.random.default_rng(1).standard_normal((6, 3))
R = np.linspace(0.5, 3.0, 6)[:, None]


@pytest.mark.parametrize("t", [0.0, 3.0])
@pytest.mark.parametrize("norm", NORMS)
def test_the_rates_are_those_of_the_table(norm: str, t: float) -> None:
    tau, alpha = 2.0, 0.7
    free = norm in ("pre", "peri") or (norm == "mix" and t >= tau)
    for k in range(6):
        r, a, theta = R[k, 0], A[k], X[k]
        length = np.linalg.norm(a)
        s = {
            "post": 1.0,
            "pre": r,
            "mix": r if t >= tau else 1.0,
            "peri": r * length,
            "ngpt": length / alpha,
            "sqrt": np.sqrt(t + 1.0),
        }[norm]
        turn, growth = rates(norm, X, R, A, t, tau, alpha)
        assert np.allclose(turn[k], (a - (theta @ a) * theta) / s, rtol=1e-13)
        assert np.isclose(growth[k, 0], r * (theta @ a) / s if free else 0.0)
    assert has_radius(norm, t, tau) == free


def test_a_free_token_moves_along_what_is_added() -> None:
    """y = r theta: y' = A under "pre", A / |A| under "peri"."""
    for norm, target in (("pre", A), ("peri", A / np.linalg.norm(A, axis=-1, keepdims=True))):
        turn, growth = rates(norm, X, R, A)
        assert np.allclose(R * turn + growth * X, target, rtol=1e-12, atol=1e-14)


def test_a_token_to_which_nothing_is_added_stays() -> None:
    for norm in NORMS:
        turn, growth = rates(norm, X, R, np.zeros_like(A))
        assert not turn.any()
        assert not growth.any()
