"""The spectrum of a value matrix in the complex plane."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, finite_array, refuse_masked
from nucleate.plot.styles import SMALL_POINTS, SQUARE_INCHES, Palette, axes_or_new, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAME_DOT_SHARE = 0.01  # of half the width: eigenvalues nearer than this look like one dot
MAX_EIGENVALUES_COUNTED = 64  # beyond that many, dots that cover each other are not counted
MIN_HALF_WIDTH_PER_NORM = 0.01  # of |V|: smaller eigenvalues may be rounding, and are not magnified
ZERO_PER_NORM = 1e-12  # of |V|: a smaller λ_max is written as 0
EQUAL_REAL_PARTS_SHARE = 1e-9  # of the largest modulus: real parts this close to λ_max count as λ_max


def spectrum(V: Any, ax: "Axes | None" = None) -> "Axes":
    """The eigenvalues of V (d, d) in the complex plane, those with the largest real part λ_max in red.

    V may also be the eigenvalues themselves, (k,), or what nucleate.atlas(V) gives: then its row of Table 1
    stands above. The half-plane Re > 0, where λ_max makes tokens gather, is shaded.
    """
    read = _read(V)
    values, lambda_max = read.values, read.lambda_max  # (k,)
    ax = axes_or_new(ax, SQUARE_INCHES)
    palette = tidy(ax)
    # half of the side; zero is in the center, so that both half-planes show
    half_width = 1.2 * (max(float(np.abs(values).max()), MIN_HALF_WIDTH_PER_NORM * read.norm) or 1.0)
    ax.axvspan(0.0, half_width, color=palette.grey(0.06), linewidth=0.0, zorder=0)
    for line in (ax.axhline, ax.axvline):
        line(0.0, color=palette.grey(0.35), linewidth=0.6, zorder=1)
    ax.axvline(lambda_max, color=palette.red, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    for some, colour, marker, min_area in (
        (~read.dominant, palette.ink, "o", 7.0),
        (read.dominant, palette.red, "D", 20.0),
    ):  # shapes as well as colours, for the colour-blind
        area = float(np.clip(600.0 / len(values), min_area, 34.0))
        ax.scatter(
            values[some].real,
            values[some].imag,
            s=area,
            color=colour,
            marker=marker,
            linewidths=0.4,
            edgecolors=palette.paper,
            zorder=3,
        )
    if len(values) <= MAX_EIGENVALUES_COUNTED:
        _count_equal(ax, palette, values, SAME_DOT_SHARE * half_width)
    _name_half_planes(ax, palette, lambda_max, half_width)
    told = lambda_max if abs(lambda_max) > ZERO_PER_NORM * max(half_width, read.norm) else 0.0
    ax.set_title(
        rf"$\lambda_{{\max}}$ = {told:.4g}".replace("-", "−") + read.words,
        color=palette.red,
        fontsize=SMALL_POINTS + 1,
    )
    ax.set(
        xlim=(-half_width, half_width),
        ylim=(-half_width, half_width),
        aspect="equal",
        xlabel="real part",
        ylabel="imaginary part",
    )
    ax.locator_params(nbins=5)
    return ax


@dataclass(frozen=True, eq=False)
class _Spectrum:
    values: NDArray[np.complex128]  # (k,) the eigenvalues
    dominant: NDArray[np.bool_]  # (k,) those with the real part λ_max
    lambda_max: float
    norm: float = 0.0  # |V|, if known
    words: str = ""  # what the atlas says


def _read(V: Any) -> _Spectrum:
    """The eigenvalues of a matrix, of an atlas, or as given."""
    if hasattr(V, "eigenvalues") and hasattr(V, "lambda_max"):
        values = _finite("eigenvalues", V.eigenvalues)
        dominant = np.zeros(len(values), dtype=bool)  # (k,)
        # the atlas knows which belong together, where rounding has parted them
        dominant[np.argsort(-values.real)[: V.algebraic]] = True
        words = f"; row {V.row} of Table 1, there a {V.status}" if V.row else "; outside Table 1"
        return _Spectrum(values, dominant, float(V.lambda_max), float(np.linalg.norm(V.V)), words)
    values, norm = _finite("V", V), 0.0
    if values.ndim == 2:
        if values.shape[0] != values.shape[1]:
            raise InputError(
                f"V must be square, but has shape {values.shape}. Pass a (d, d) matrix, or its eigenvalues"
                " (k,)."
            )
        norm = float(np.linalg.norm(values))
        values = np.linalg.eigvals(values if values.imag.any() else values.real).astype(np.complex128)
    if values.ndim != 1:
        raise InputError(f"V must be a matrix (d, d) or eigenvalues (k,), but has shape {values.shape}.")
    lambda_max = float(values.real.max())
    dominant = values.real >= lambda_max - EQUAL_REAL_PARTS_SHARE * np.abs(values).max()  # (k,)
    return _Spectrum(values, dominant, lambda_max, norm)


def _name_half_planes(ax: Any, palette: Palette, lambda_max: float, half_width: float) -> None:
    """Re < 0 and Re > 0, below every dot, beside the imaginary axis or, if λ_max is there, at the edge."""
    for sign, words in ((-1, "Re < 0"), (1, "Re > 0")):
        x, ha = (
            (0.97, ("left", "right"))
            if 0.0 < sign * lambda_max < 0.4 * half_width
            else (0.03, ("right", "left"))
        )
        ax.text(
            sign * x * half_width,
            -0.97 * half_width,
            words,
            ha=ha[sign > 0],
            va="bottom",
            fontsize=SMALL_POINTS,
            color=palette.grey(0.6),
        )


def _finite(name: str, value: Any) -> NDArray[np.complex128]:
    refuse_masked(name, value)
    try:
        array = np.asarray(value, dtype=np.complex128)
    except Exception:  # objects may raise anything when asked to be an array
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


def _count_equal(ax: Any, palette: Palette, values: NDArray[np.complex128], near: float) -> None:
    """×k beside dots that hide k - 1 others."""
    rest = values
    while len(rest):
        same = np.abs(rest - rest[0]) <= near  # (rest,)
        if same.sum() > 1:
            at = rest[same].mean()
            ax.annotate(
                f"×{same.sum()}",
                (at.real, at.imag),
                (6, 4),
                textcoords="offset points",
                fontsize=SMALL_POINTS,
                color=palette.grey(0.85),
            )
        rest = rest[~same]
