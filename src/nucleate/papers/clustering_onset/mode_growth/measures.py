"""Rates of growth, with errors that leave out one run at a time."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["growth_rates"]


def growth_rates(found: "Dataset") -> tuple[Array, Array]:
    """The rate of every mode and its standard error, (k,) each.

    G_k = sum over runs of conj(c_k(0)) c_k(t) / sum of |c_k(0)|^2, and the rate is log Re G_k / t at the last
    time: what other modes add to c_k(t) has a phase that does not know c_k(0), and cancels over runs.
    """
    c = found["modes"].values[..., 0] + 1j * found["modes"].values[..., 1]  # (run, time, k)
    t = float(found["time"].values[-1] - found["time"].values[0])
    along = (np.conj(c[:, 0]) * c[:, -1]).real  # (run, k)
    size = np.abs(c[:, 0]) ** 2  # (run, k)

    def rate(along: Array, size: Array) -> Array:
        return np.asarray(np.log(np.maximum(along / size, 1e-300)) / t)

    runs = len(c)
    without = rate(along.sum(0) - along, size.sum(0) - size)  # (run, k) each with one run left out
    error = np.sqrt((runs - 1.0) / runs * np.square(without - without.mean(0)).sum(0))  # (k,)
    return rate(along.sum(0), size.sum(0)), np.asarray(error)
