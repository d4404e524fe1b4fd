"""Modes of the density of tokens on the circle."""

import numpy as np
import pytest

from nucleate.papers.clustering_onset.fourier_modes import modes_of, real_and_imaginary


def test_modes_are_the_means_of_powers_one_by_one() -> None:
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, (2, 3, 50))
    x = np.stack([np.cos(theta), np.sin(theta)], -1)
    slow = np.stack([np.exp(1j * k * theta).mean(-1) for k in (1, 2, 3, 4)], -1)
    assert modes_of(x, 4) == pytest.approx(slow, abs=1e-14)  # rounding of products
    parts = real_and_imaginary(slow)
    assert (parts[..., 0] + 1j * parts[..., 1] == slow).all()
