"""Every head of a model simulated alone: what Table 1 says beside what happened, as two maps."""

from typing import TYPE_CHECKING, Any, cast

from nucleate.checks import InputError
from nucleate.models.spectra import Spectra
from nucleate.models.table import region_words
from nucleate.plot.heads import LEFT, LINE, REGIONS, cell_size, check_spectra, paint_cells, short_name
from nucleate.plot.style import CLUSTERS, SMALL, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["OUTCOMES", "lives_figure", "lives_map"]

# One colour and one sign for each; the stronger colours are where the table looks for the tokens.
OUTCOMES = {
    "one point in L": ("1L", CLUSTERS[0]),
    "two opposite points in L": ("2L", CLUSTERS[4]),
    "clusters in L": ("kL", CLUSTERS[2]),
    "spread out in L": ("sL", CLUSTERS[6]),
    "one point": ("1", "#a9bfe8"),
    "two opposite points": ("2", "#bfe6f7"),
    "clusters": ("k", "#b5ddc9"),
    "spread out": ("s", CLUSTERS[1]),
}
ASIDE = 4.4  # inches for one map and the words below it, at least


def lives_map(found: Spectra, ax: "Axes | None" = None) -> "Axes":
    """Layer × head, coloured by where the tokens ended; a red frame where that is not what Table 1 says."""
    from matplotlib.patches import Rectangle

    check_spectra("lives_map", found)
    if found.outcomes is None:
        raise InputError(
            "lives_map needs heads that were simulated, but these were not. Use "
            "nucleate.models.all_heads.simulate_all_heads, or --live."
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
    ax = paint_cells(
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
                    edgecolor=look(ax).red,
                    linewidth=1.5,
                )
            )
    ax.set_title("what happened", fontsize=SMALL + 1, loc="left")
    return ax


def lives_figure(found: Spectra) -> "Figure":
    """Both maps side by side, cells of one size."""
    from matplotlib.figure import Figure

    check_spectra("lives_figure", found)
    cell = cell_size(found)
    wide, high = cell * found.heads_per_layer, cell * found.layers
    lines = max(
        len(found.regions), len({head.ended for head in found.outcomes.heads}) if found.outcomes else 0
    )
    below, aside = 0.75 + LINE * lines, max(LEFT + wide + 0.2, ASIDE)
    width, height = 2.0 * aside, below + high + 0.7
    figure = Figure(figsize=(width, height), layout=cast(Any, "none"))  # the stubs lack it
    said, happened = (
        figure.add_axes(((LEFT + i * aside) / width, below / height, wide / width, high / height))
        for i in (0, 1)
    )
    there = {
        region: (*REGIONS[region], f"{region_words(region)} ({found.regions[region]})")
        for region in REGIONS
        if region in found.regions
    }
    paint_cells(found, [head.region for head in found.heads], there, said)
    said.set_title("what Table 1 says", fontsize=SMALL + 1, loc="left")
    lives_map(found, happened)
    tokens = found.outcomes.tokens if found.outcomes else 0
    figure.text(
        LEFT / width,
        1.0 - 0.12 / height,
        f"{short_name(found.model)}: {tokens} tokens under each head alone",
        fontsize=SMALL + 2,
        va="top",
    )
    return figure
