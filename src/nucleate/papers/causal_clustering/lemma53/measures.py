"""Gradients over velocities, and which energies rise along a run."""

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array

__all__ = ["MIN_RISE", "energy_depth", "gradient_ratio", "rising_energies"]

MIN_RISE = 1e-6  # of an energy from one frame to the next, as a share of its depth, that counts


def gradient_ratio(gradient: Array, v: Array) -> float:
    """gradient / v over all velocities (b, n), the strong ones counting most: least squares."""
    return float((gradient * v).sum() / (v * v).sum())


def energy_depth(E: Array, beta: float) -> Array:
    """How low the energy of each token gets, (n,), for E (starts, time, n)."""
    return np.maximum(-E.min((0, 1)), 1.0 / beta)


def rising_energies(E: Array, beta: float) -> NDArray[np.bool_]:
    """Whether the energy of each token rises at some time, (starts, n), for E (starts, time, n)."""
    return np.asarray((np.diff(E, axis=1) > MIN_RISE * energy_depth(E, beta)).any(1))
