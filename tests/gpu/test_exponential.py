"""2^x on the card is as exact as the documentation says."""

import numpy as np
import pytest

from nucleate.gpu.exponential import DEGREE, LOW_DEGREE, coefficients


@pytest.mark.parametrize(("degree", "most"), [(DEGREE, 2e-15), (LOW_DEGREE, 3e-9)])
def test_the_polynomial_errs_by_as_much_as_is_said(degree: int, most: float) -> None:
    r = np.linspace(-0.5, 0.5, 20_001)
    error = np.abs(np.polynomial.polynomial.polyval(r, coefficients(degree)) / 2.0**r - 1.0).max()
    assert most / 4.0 < error < most
