"""Axes of time: even, or by powers of ten."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array, true_or_false

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_AXIS_START = 1e-2  # time at which an axis of powers of ten begins; t = 0 is drawn there


def time_axis(ax: "Axes", t: Array, log: bool | None = None) -> None:
    """Time from left to right: evenly, or by powers of ten where the times t (m,) were saved so, or as `log`
    says."""
    later = t[t > 0]
    ax.set_xlabel("time")
    # before the scale is set, which would otherwise compute margins beyond 1e308
    ax.set_xlim(t[0], t[-1] if t[-1] > t[0] else t[0] + 1.0)
    if true_or_false("log", log) if log is not None else spaced_by_powers(t):
        start = max(later[0], min(LOG_AXIS_START, later[-1] / 100)) if len(later) else 1.0
        ax.set_xscale("symlog", linthresh=start, linscale=0.5)
        low, high = (
            np.ceil(np.log10(start) - 1e-9),
            np.floor(np.log10(max(later[-1], start) if len(later) else 1.0) + 1e-9),
        )
        step = max(1.0, np.ceil((high - low) / 8))
        # where labels are sparse, the first one leaves room for the label of 0
        powers = np.arange(low if step < 3 else low + step / 2 + (-low - step / 2) % step, high + 1, step)
        ticks = {10.0**power: rf"$\mathdefault{{10^{{{power:.0f}}}}}$" for power in powers.tolist()}
        ticks = {0.0: "0", **ticks} if t[0] == 0 else ticks
        ax.set_xticks(list(ticks), list(ticks.values()))
        ax.minorticks_off()


def spaced_by_powers(t: Array) -> bool:
    """Whether an even axis would squeeze half of the frames into its first fiftieth."""
    later = t[t > 0]
    return len(later) > 2 and later[-1] > 100 * later[0] and float(np.median(later)) < 0.02 * later[-1]


def log_time_axis(ax: "Axes", end: float, begin: float = LOG_AXIS_START) -> None:
    """Time by powers of ten from `begin`, with about eight labels."""
    from matplotlib.ticker import NullLocator

    ax.set_xlim(begin, end)  # before the scale is set, which would otherwise compute margins beyond 1e308
    ax.set_xscale("log")
    powers = np.log10(end) - np.log10(begin)
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100) if powers <= 8 * step)
    first = int(np.ceil(np.log10(begin) / every - 1e-9)) * every
    ax.set_xticks(10.0 ** np.arange(first, np.log10(end), every))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("time")


def time_label(t: float) -> str:
    """A time in few digits: 84.2, 1.2 × 10⁶."""
    if t < 1e4:
        return f"{t:.3g}"
    digits, power = f"{t:.1e}".split("e")
    return rf"${digits} \times 10^{{{int(power)}}}$"
