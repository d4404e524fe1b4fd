"""Every head of a model simulated alone: what Table 1 says beside what happened, as two maps."""

from typing import TYPE_CHECKING, Any, cast

from nucleate.checks import InputError
from nucleate.models.spectra import Spectra
from nucleate.models.table import region_words
from nucleate.plot.heads import (
    LEFT_INCHES,
    LEGEND_LINE_INCHES,
    REGIONS,
    cell_size,
    check_spectra,
    draw_cells,
    short_name,
)
from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, palette_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["OUTCOMES", "outcome_figure", "outcome_map"]

# A sign and a colour for each outcome; strong colours for tokens in L, where rows 1 to 3 of Table 1 put them.
OUTCOMES = {
    "one point in L": ("1L", CLUSTER_COLOURS[0]),
    "two opposite points in L": ("2L", CLUSTER_COLOURS[4]),
    "clusters in L": ("kL", CLUSTER_COLOURS[2]),
    "spread out in L": ("sL", CLUSTER_COLOURS[6]),
    "one point": ("1", "#a9bfe8"),
    "two opposite points": ("2", "#bfe6f7"),
    "clusters": ("k", "#b5ddc9"),
    "spread out": ("s", CLUSTER_COLOURS[1]),
}
MIN_MAP_INCHES = 4.4  # the least width of one map with the words below it


def outcome_map(found: Spectra, ax: "Axes | None" = None) -> "Axes":
    """Layer × head, coloured by where the tokens ended; a red frame where that is not what Table 1 says."""
    from matplotlib.patches import Rectangle

    check_spectra("outcome_map", found)
    if found.outcomes is None:
        raise InputError(
            "outcome_map needs heads that were simulated, but these were not. Use"
            " nucleate.models.all_heads.simulate_all_heads, or --simulate-heads."
        )
    kinds = [head.ended for head in found.outcomes.heads]
    moving = [head.ended for head in found.outcomes.heads if not head.resting]
    words = {
        kind: (
            f"{kind} ({kinds.count(kind)}"
            + (f", {moving.count(kind)} still moving)" if kind in moving else ")")
        )
        for kind in OUTCOMES
    }
    ax = draw_cells(
        found, kinds, {kind: (*OUTCOMES[kind], words[kind]) for kind in OUTCOMES if kind in kinds}, ax
    )
    for head in found.outcomes.heads:
        if head.as_said is False:
            ax.add_patch(
                Rectangle(
                    (head.head - 0.45, head.layer - 0.45),
                    0.9,
                    0.9,
                    fill=False,
                    edgecolor=palette_of(ax).red,
                    linewidth=1.5,
                )
            )
    ax.set_title("what happened", fontsize=SMALL_POINTS + 1, loc="left")
    return ax


def outcome_figure(found: Spectra) -> "Figure":
    """Both maps side by side, cells of one size."""
    from matplotlib.figure import Figure

    check_spectra("outcome_figure", found)
    cell = cell_size(found)
    wide, high = cell * found.heads_per_layer, cell * found.layers
    lines = max(
        len(found.regions), len({head.ended for head in found.outcomes.heads}) if found.outcomes else 0
    )
    below, map_width = 0.75 + LEGEND_LINE_INCHES * lines, max(LEFT_INCHES + wide + 0.2, MIN_MAP_INCHES)
    width, height = 2.0 * map_width, below + high + 0.7
    figure = Figure(figsize=(width, height), layout=cast(Any, "none"))  # the stubs lack it
    said, happened = (
        figure.add_axes(((LEFT_INCHES + i * map_width) / width, below / height, wide / width, high / height))
        for i in (0, 1)
    )
    there = {
        region: (*REGIONS[region], f"{region_words(region)} ({found.regions[region]})")
        for region in REGIONS
        if region in found.regions
    }
    draw_cells(found, [head.region for head in found.heads], there, said)
    said.set_title("what Table 1 says", fontsize=SMALL_POINTS + 1, loc="left")
    outcome_map(found, happened)
    tokens = found.outcomes.tokens if found.outcomes else 0
    figure.text(
        LEFT_INCHES / width,
        1.0 - 0.12 / height,
        f"{short_name(found.model)}: {tokens} tokens under each head alone",
        fontsize=SMALL_POINTS + 2,
        va="top",
    )
    return figure
