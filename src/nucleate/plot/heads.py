"""Pictures of the heads of a model: the spectra of one layer as small multiples, and all heads as a map of
the rows of Table 1."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nucleate.checks import InputError
from nucleate.models.spectra import Head, Spectra
from nucleate.models.table import region_words
from nucleate.plot.styles import (
    CLUSTER_COLOURS,
    SMALL_POINTS,
    WIDE_INCHES,
    as_written,
    axes_or_new,
    contrast,
    palette_of,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["REGIONS", "head_map", "head_map_figure", "head_spectrum", "layer_figure"]

# A sign and a colour for each region: a reader who cannot tell the colours apart has the signs.
REGIONS = {
    "1": ("1", CLUSTER_COLOURS[3]),
    "2": ("2", CLUSTER_COLOURS[4]),
    "3": ("3", CLUSTER_COLOURS[0]),
    "4": ("4", CLUSTER_COLOURS[5]),
    "5": ("5", CLUSTER_COLOURS[1]),
    "complex +": ("c+", "#a9bfe8"),
    "complex -": ("c−", "#efe6b5"),
    "defective +": ("d+", CLUSTER_COLOURS[6]),
    "defective -": ("d−", CLUSTER_COLOURS[7]),
    "complex defective +": ("cd+", CLUSTER_COLOURS[6]),
    "complex defective -": ("cd−", CLUSTER_COLOURS[7]),
    "zero": ("0", "#b8b8b8"),
    "unclear +": ("?+", "#b8b8b8"),
    "unclear -": ("?−", "#b8b8b8"),
}
MAX_PANELS_ACROSS = 6  # small multiples in one row
CELL_INCHES, LEGEND_LINE_INCHES = (
    0.34,
    0.2,
)  # the side of a cell of the map, the height of a line of its legend
PANEL_INCHES = 1.6  # the side of a small multiple
TITLE_INCHES, LEFT_INCHES, BOTTOM_INCHES = 0.3, 0.65, 0.5  # the room above, left of and below the panels


def head_spectrum(head: Head, ax: "Axes | None" = None, half_width: float | None = None) -> "Axes":
    """The non-zero eigenvalues of one head's value matrix, the dominant ones red; λ_max and the row of Table
    1 above.  half_width: of the square around 0."""
    ax = axes_or_new(ax, (2.6, 2.8))
    palette, values = tidy(ax), head.eigenvalues  # (d_head,)
    half_width = half_width or _half_width([head])
    dominant = values.real >= head.lambda_max - 1e-9 * max(float(np.abs(values).max()), 1e-300)  # (d_head,)
    ax.axvspan(0.0, half_width, color=palette.grey(0.06), linewidth=0.0, zorder=0)
    for line in (ax.axhline, ax.axvline):
        line(0.0, color=palette.grey(0.35), linewidth=0.6, zorder=1)
    ax.axvline(head.lambda_max, color=palette.red, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    ax.scatter(
        values[~dominant].real, values[~dominant].imag, s=4.0, color=palette.ink, linewidths=0, zorder=3
    )
    ax.scatter(
        values[dominant].real,
        values[dominant].imag,
        s=15.0,
        color=palette.red,
        marker="D",
        linewidths=0,
        zorder=4,
    )
    sign = REGIONS[head.region][0]
    words = f"row {sign}" if head.row else sign
    ax.set_title(
        f"head {head.head}: {head.lambda_max:+.3g}, {words}".replace("-", "−"),
        fontsize=SMALL_POINTS - 1,
        pad=3,
    )
    ax.set(xlim=(-half_width, half_width), ylim=(-half_width, half_width), aspect="equal")
    ax.tick_params(labelsize=SMALL_POINTS - 2)
    ax.locator_params(nbins=3)
    return ax


def layer_figure(found: Spectra, layer: int) -> "Figure":
    """All heads of one layer side by side, on one scale."""
    from matplotlib.figure import Figure

    heads = found.layer(layer)
    down = -(-len(heads) // MAX_PANELS_ACROSS)
    across = -(-len(heads) // down)  # rows as even as they can be
    width, height = (
        max(PANEL_INCHES * across, 3.4) + LEFT_INCHES + 0.1,
        (PANEL_INCHES + TITLE_INCHES) * down + BOTTOM_INCHES + TITLE_INCHES,
    )
    # Axes are placed by hand: a layout engine takes longer than the drawing. The stubs lack "none".
    figure = Figure(figsize=(width, height), layout=cast(Any, "none"))
    edges = {
        "left": LEFT_INCHES / width,
        "right": 1.0 - 0.1 / width,
        "bottom": BOTTOM_INCHES / height,
        "top": 1.0 - 2.0 * TITLE_INCHES / height,
    }
    axes = np.atleast_1d(
        figure.subplots(
            down, across, gridspec_kw={**edges, "wspace": 0.1, "hspace": TITLE_INCHES / PANEL_INCHES * 1.15}
        )
    ).reshape(-1)
    half_width = _half_width(heads)
    for i, ax in enumerate(axes):
        if i < len(heads):
            head_spectrum(heads[i], ax, half_width)
            ax.tick_params(labelleft=i % across == 0, labelbottom=i + across >= len(heads))
        ax.set_visible(i < len(heads))
    figure.supxlabel("real part", fontsize=SMALL_POINTS, y=0.06 / height)
    figure.supylabel("imaginary part", fontsize=SMALL_POINTS, x=0.08 / width)
    figure.suptitle(
        f"{short_name(found.model)}, layer {layer}: eigenvalues of $W_O W_V$ that are not 0",
        fontsize=SMALL_POINTS + 2,
        y=1.0 - 0.08 / height,
    )
    return figure


def head_map(found: Spectra, ax: "Axes | None" = None) -> "Axes":
    """Layer × head, coloured by the row of Table 1 that the head's small product belongs to; a sign in every
    cell says the same."""
    check_spectra("head_map", found)
    there = {
        region: (*REGIONS[region], f"{region_words(region)} ({found.regions[region]})")
        for region in REGIONS
        if region in found.regions
    }
    ax = draw_cells(found, [head.region for head in found.heads], there, ax)
    ax.set_title(
        f"{short_name(found.model)}: {len(found.heads)} heads", fontsize=SMALL_POINTS + 2, loc="left"
    )
    return ax


def draw_cells(
    found: Spectra, kinds: list[str], signs: dict[str, tuple[str, str, str]], ax: "Axes | None"
) -> "Axes":
    """A cell per head with the colour and sign of its kind, and below a legend in words; signs: sign, colour
    and words of each kind."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch
    from matplotlib.transforms import offset_copy

    ax = axes_or_new(ax, WIDE_INCHES)
    palette, figure = palette_of(ax), cast(Any, ax.get_figure(root=True))
    # (layer, head, rgb)
    cells = np.array([to_rgb(signs[kind][1]) for kind in kinds]).reshape(
        found.layers, found.heads_per_layer, 3
    )
    ax.imshow(cells, aspect="equal", interpolation="nearest")
    size = float(np.clip(cell_size(found) * 72 * 0.36, 2.5, SMALL_POINTS))
    for head, kind in zip(found.heads, kinds, strict=True):
        sign, colour, _ = signs[kind]
        ink = max(("black", "white"), key=lambda one: contrast(to_rgb(one), to_rgb(colour)))
        ax.text(head.head, head.layer, sign, ha="center", va="center", fontsize=size, color=ink)
    _cell_borders(ax, found, palette)
    patches = [Patch(color=colour, label=f"{sign}   {words}") for sign, colour, words in signs.values()]
    # below the label of the axis, whatever the height of the map
    below = offset_copy(ax.transAxes, figure, y=-0.55, units="inches")
    ax.legend(
        handles=patches,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=below,
        frameon=False,
        fontsize=SMALL_POINTS,
        borderaxespad=0.0,
        borderpad=0.0,
    )
    return ax


def check_spectra(name: str, found: Any) -> None:
    """Refuse what is not the answer of nucleate.spectra."""
    if not isinstance(found, Spectra):
        raise InputError(f"{name} needs what nucleate.spectra gives, but got {type(found).__name__}.")


def head_map_figure(found: Spectra) -> "Figure":
    """The map in a figure that suits the model: cells of one size, shrunk if there are very many, and the
    legend below."""
    from matplotlib.figure import Figure

    cell = cell_size(found)
    wide, high = cell * found.heads_per_layer, cell * found.layers
    below = 0.75 + LEGEND_LINE_INCHES * len(found.regions)
    width, height = max(LEFT_INCHES + wide + 0.2, 5.2), below + high + 0.4
    figure = Figure(figsize=(width, height), layout=cast(Any, "none"))  # the stubs lack it
    head_map(found, figure.add_axes((LEFT_INCHES / width, below / height, wide / width, high / height)))
    return figure


def cell_size(found: Spectra) -> float:
    return float(min(CELL_INCHES, 24.0 / max(found.layers, found.heads_per_layer)))


def _cell_borders(ax: Any, found: Spectra, palette: Any) -> None:
    """Thin lines in the colour of the paper between the cells; whole numbers along the axes."""
    ax.set(xlabel="head", ylabel="layer")
    for axis, count in ((ax.xaxis, found.heads_per_layer), (ax.yaxis, found.layers)):
        axis.set_ticks(np.arange(0, count, max(1, -(-count // 16))))
        axis.set_ticks(np.arange(-0.5, count), minor=True)
    ax.grid(which="minor", color=palette.paper, linewidth=1.0)
    ax.tick_params(which="both", length=0.0)
    ax.spines[:].set_visible(False)


def _half_width(heads: Any) -> float:
    return 1.12 * max(1e-300, *(float(np.abs(head.eigenvalues).max()) for head in heads))


def short_name(name: str) -> str:
    """The name of a model for a title: not too long."""
    return as_written(name if len(name) <= 44 else f"{name[:41]}...")
