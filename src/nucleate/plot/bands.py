"""Many runs in one picture: the mean over runs and the range that most of them keep to."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError, finite_array, real_array, shortened
from nucleate.plot.styles import WIDE_INCHES, axes_or_new, legend_above, tidy
from nucleate.plot.time_axis import time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def band(
    t: ArrayLike,
    values: ArrayLike,
    ax: "Axes | None" = None,
    label: str = "",
    colour: Any = "black",
    *,
    quantiles: tuple[float, float] = (0.1, 0.9),
    linestyle: Any = "-",
    log: bool | None = None,
) -> "Axes":
    """The mean of values (runs, m) over times t (m,), and the band between two quantiles of the runs; values
    (m,) are drawn as one line.

    Runs with a NaN have failed: they are left out, and the legend says how many.  colour "black" and "red"
    fit light and dark pictures.
    log   time by powers of ten; unless given, if the times are spaced so
    """
    t, kept, failed = _checked(t, values)
    _check_line(label, linestyle)
    low, high = _quantiles(quantiles)
    ax = axes_or_new(ax, WIDE_INCHES)
    rgb: Any = tidy(ax).colour(colour)
    if kept.shape[0] > 1:
        edges = np.quantile(kept, [low, high], axis=0)  # (2, m)
        ax.fill_between(t, *edges, color=rgb, alpha=0.15, linewidth=0.0)
        for edge in edges:  # a line, for where shades cannot be told apart in print
            ax.plot(t, edge, color=rgb, linewidth=0.6, linestyle=linestyle, alpha=0.7)
    ax.plot(
        t,
        kept.mean(0),
        color=rgb,
        linewidth=1.6,
        linestyle=linestyle,
        marker="o" if len(t) == 1 else "",
        label=_legend_label(label, kept, failed),
    )
    time_axis(ax, np.union1d(t, ax.dataLim.intervalx), log)  # with the times of curves that were there before
    legend_above(ax, f"mean and {low:.0%} to {high:.0%} of runs" if kept.shape[0] > 1 else "")
    return ax


def consumption(
    t: ArrayLike,
    share: ArrayLike,
    ax: "Axes | None" = None,
    *,
    strong: ArrayLike | None = None,
    log: bool | None = None,
) -> "Axes":
    """The share of tokens consumed by Rényi centers over times t (m,), black, and by `strong` centers, red
    and dashed; see `band`.

    share, strong   (runs, m), or (m,) for one run, between 0 and 1
    """
    curves: list[tuple[Array, str, str, Any]] = [(_share("share", share), "Rényi centers", "black", "-")]
    if strong is not None:
        curves.append((_share("strong", strong), "strong Rényi centers", "red", (0, (4, 1.5))))
    for values, _, _, _ in curves:
        _checked(t, values)  # before a new figure is made
    ax = axes_or_new(ax, WIDE_INCHES)
    for values, label, colour, line in curves:
        band(t, values, ax, label, colour, linestyle=line, log=log)
    ax.set(ylim=(0.0, 1.03), ylabel="share of tokens consumed")
    return ax


def _checked(t: ArrayLike, values: ArrayLike) -> tuple[Array, Array, int | None]:
    """The times (m,), the runs to draw (runs, m), and how many others have failed; None if the values are of
    one run."""
    t = finite_array("t", t)
    y = real_array("values", values)
    if t.ndim != 1 or t.size == 0 or (np.diff(t) < 0).any():
        raise InputError(f"t must be increasing times (m,), but has shape {t.shape}. Pass run.t.")
    if y.ndim not in (1, 2) or y.shape[-1] != len(t) or y.size == 0:
        raise InputError(
            f"values must have shape (runs, {len(t)}) or ({len(t)},) for {len(t)} times, but have shape"
            f" {y.shape}."
        )
    rows = y.reshape(-1, len(t))  # (runs, m)
    whole = np.isfinite(rows).all(1)  # (runs,)
    if not whole.any():
        raise InputError(
            f"There is nothing to draw: each of the {len(rows)} runs has a NaN. Look at run.status for the"
            " reason."
        )
    return t, rows[whole], int((~whole).sum()) if y.ndim == 2 else None


def _share(name: str, values: ArrayLike) -> Array:
    share = real_array(name, values)
    if share.size and (np.nanmin(share, initial=1.0) < 0.0 or np.nanmax(share, initial=0.0) > 1.0):
        raise InputError(
            f"{name} must lie between 0 and 1, but goes from {np.nanmin(share):g} to {np.nanmax(share):g}. It"
            " is a share, not a count."
        )
    return share


def _quantiles(quantiles: tuple[float, float]) -> tuple[float, float]:
    pair = finite_array("quantiles", quantiles)
    if pair.shape != (2,) or not 0.0 <= pair[0] < pair[1] <= 1.0:
        raise InputError(
            f"quantiles must be two increasing numbers between 0 and 1, but are {shortened(quantiles)}. The"
            " paper takes 0.1 and 0.9."
        )
    return float(pair[0]), float(pair[1])


def _check_line(label: str, linestyle: Any) -> None:
    from matplotlib.lines import Line2D

    if not isinstance(label, str):
        raise InputError(f"label must be a text, but is {shortened(label)}.")
    try:
        Line2D([], [], linestyle=linestyle)
    except Exception:  # whatever matplotlib says of what is no style
        raise InputError(
            f'linestyle must be one of matplotlib, but is {shortened(linestyle)}. Use "-" or "--", say.'
        ) from None


def _legend_label(label: str, kept: Array, failed: int | None) -> str:
    """The label with the number of runs; no label for a single line without one."""
    if failed is None:
        return label or "_nolegend_"
    count = f"{len(kept)} run{'s' * (len(kept) != 1)}" + (f", {failed} failed" if failed else "")
    return f"{label} ({count})" if label else count
