"""What numbers and picture rest on: where the rate of the first harmonic is 0, and the orders."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Parameters
from nucleate.papers.core.line_fits import combined_error, fit_line

__all__ = ["Threshold", "growth_rates", "sweep_orders", "threshold"]

# kappa and its standard error
Threshold = tuple[float, float]


def growth_rates(data: Data, p: Parameters, beta: str) -> tuple[Array, Array]:
    """kappa times the rate of the first harmonic, and its standard error, (ratios,) each."""
    first = data[f"growth-{beta}"]["first"].values  # (ratios, runs)
    mean, error = first.mean(-1), first.std(-1, ddof=1) / np.sqrt(first.shape[-1])
    T, start = p["growth_T"], p["first_harmonic"]
    rate = np.log(np.maximum(mean, 1e-9) / start) / T
    # of third order in the harmonic: relative to the pull, which is `ratio` in units of 1 / kappa
    third = start**2 * np.asarray(p["growth_ratios"])
    return rate, np.hypot(error / (np.maximum(mean, 1e-9) * T), third)


def threshold(data: Data, p: Parameters, beta: str, critical: float) -> Threshold:
    """The kappa at which a line through the rates is 0, and its standard error."""
    rate, error = growth_rates(data, p, beta)
    kappa = critical * np.asarray(p["growth_ratios"])  # (ratios,)
    w = 1.0 / error**2
    middle = float((w @ kappa) / w.sum())  # about it slope and intercept are independent
    line = fit_line(kappa - middle, rate, error)
    off = line.intercept / line.slope
    spread = combined_error(line.intercept_error / line.slope, off * line.slope_error / line.slope)
    return middle - off, abs(spread)


def sweep_orders(data: Data, p: Parameters, beta: str) -> Array:
    """The mean order over the second half of the time, (direction, ratio, run)."""
    order = data[f"sweep-{beta}"]["order"].values  # (direction, ratio, run, frame)
    return np.asarray(order[..., order.shape[-1] // 2 :].mean(-1))
