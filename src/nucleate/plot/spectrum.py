"""The spectrum of a value matrix in the complex plane."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, finite_array
from nucleate.plot.style import SMALL, SQUARE, Look, axes_or_new, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAME = 0.01  # of the width: dots nearer than this are one to the eye
MOST_COUNTED = 64  # eigenvalues among which equal ones are counted
LEAST = 0.01  # of |V|: eigenvalues smaller than this may be rounding, and are not magnified
ROUNDING = 1e-12  # of |V|: a λ_max that is written as 0
ON_TOP = 1e-9  # of the largest modulus: real parts this close to the largest are drawn as the largest


def spectrum(V: Any, ax: "Axes | None" = None) -> "Axes":
    """The eigenvalues of V (d, d) in the complex plane, those with the largest real part λ_max in red.

    V may also be the eigenvalues themselves, (k,), or what nucleate.atlas(V) gives: then its row of Table 1
    stands above. The half-plane Re > 0, where λ_max makes tokens gather, is shaded.
    """
    read = _read(V)
    values, top = read.values, read.top  # (k,)
    ax = axes_or_new(ax, SQUARE)
    here = tidy(ax)
    width = 1.2 * (
        max(float(np.abs(values).max()), LEAST * read.size) or 1.0
    )  # half of the side; zero is in the middle, so that both half-planes show
    ax.axvspan(0.0, width, color=here.grey(0.06), linewidth=0.0, zorder=0)
    for line in (ax.axhline, ax.axvline):
        line(0.0, color=here.grey(0.35), linewidth=0.6, zorder=1)
    ax.axvline(top, color=here.red, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    for some, colour, mark, least in (
        (~read.largest, here.ink, "o", 7.0),
        (read.largest, here.red, "D", 20.0),
    ):  # the shape says the same as the colour
        area = float(np.clip(600.0 / len(values), least, 34.0))
        ax.scatter(
            values[some].real,
            values[some].imag,
            s=area,
            color=colour,
            marker=mark,
            linewidths=0.4,
            edgecolors=here.paper,
            zorder=3,
        )
    if len(values) <= MOST_COUNTED:
        _count_equal(ax, here, values, SAME * width)
    _name_halves(ax, here, top, width)
    told = top if abs(top) > ROUNDING * max(width, read.size) else 0.0
    ax.set_title(
        rf"$\lambda_{{\max}}$ = {told:.4g}".replace("-", "−") + read.words, color=here.red, fontsize=SMALL + 1
    )
    ax.set(
        xlim=(-width, width),
        ylim=(-width, width),
        aspect="equal",
        xlabel="real part",
        ylabel="imaginary part",
    )
    ax.locator_params(nbins=5)
    return ax


@dataclass(frozen=True, eq=False)
class _Read:
    values: NDArray[np.complex128]  # (k,) the eigenvalues
    largest: NDArray[np.bool_]  # (k,) those at the top
    top: float  # λ_max
    size: float = 0.0  # |V|, if known
    words: str = ""  # what the atlas says


def _read(V: Any) -> _Read:
    """The eigenvalues of a matrix, of an atlas, or as given."""
    if hasattr(V, "eigenvalues") and hasattr(V, "lambda_max"):
        values = _finite("eigenvalues", V.eigenvalues)
        largest = np.zeros(len(values), dtype=bool)  # (k,)
        # the atlas knows which belong together, where rounding has parted them
        largest[np.argsort(-values.real)[: V.algebraic]] = True
        words = f"; row {V.row} of Table 1, {V.status}" if V.row else "; outside Table 1"
        return _Read(values, largest, float(V.lambda_max), float(np.linalg.norm(V.V)), words)
    values, size = _finite("V", V), 0.0
    if values.ndim == 2:
        if values.shape[0] != values.shape[1]:
            raise InputError(
                f"V must be square, but has shape {values.shape}. Pass a (d, d) matrix, or its eigenvalues"
                " (k,)."
            )
        size = float(np.linalg.norm(values))
        values = np.linalg.eigvals(values if values.imag.any() else values.real).astype(np.complex128)
    if values.ndim != 1:
        raise InputError(f"V must be a matrix (d, d) or eigenvalues (k,), but has shape {values.shape}.")
    top = float(values.real.max())
    return _Read(values, values.real >= top - ON_TOP * np.abs(values).max(), top, size)


def _name_halves(ax: Any, here: Look, top: float, width: float) -> None:
    """Re < 0 and Re > 0, below every dot, beside the middle or, if λ_max is there, at the edge."""
    for sign, words in ((-1, "Re < 0"), (1, "Re > 0")):
        x, ha = (0.97, ("left", "right")) if 0.0 < sign * top < 0.4 * width else (0.03, ("right", "left"))
        ax.text(
            sign * x * width,
            -0.97 * width,
            words,
            ha=ha[sign > 0],
            va="bottom",
            fontsize=SMALL,
            color=here.grey(0.6),
        )


def _finite(name: str, value: Any) -> NDArray[np.complex128]:
    try:
        array = np.asarray(value, dtype=np.complex128)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be an array of numbers, but is a {type(value).__name__}. Pass a NumPy array."
        ) from None
    if array.size == 0:
        raise InputError(
            f"{name} must not be empty, but has shape {array.shape}. Pass a (d, d) matrix, or its eigenvalues"
            " (k,)."
        )
    finite_array(name, array.real)
    finite_array(name, array.imag)
    return array


def _count_equal(ax: Any, here: Look, values: NDArray[np.complex128], near: float) -> None:
    """×k beside dots that hide k - 1 others."""
    left = values
    while len(left):
        same = np.abs(left - left[0]) <= near  # (left,)
        if same.sum() > 1:
            at = left[same].mean()
            ax.annotate(
                f"×{same.sum()}",
                (at.real, at.imag),
                (6, 4),
                textcoords="offset points",
                fontsize=SMALL,
                color=here.grey(0.85),
            )
        left = left[~same]
