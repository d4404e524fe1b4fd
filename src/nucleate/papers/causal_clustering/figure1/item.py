"""Figure 1: trajectories on the sphere for one V per row of Table 1, and for dominant eigenvalues that the
table leaves out."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.figure1.data import PANELS, Panel, run
from nucleate.papers.causal_clustering.figure1.figures import draw
from nucleate.papers.causal_clustering.figure1.measures import (
    EQUILIBRIUM_DISTANCE,
    ROUNDING,
    UNIFORM_ANGLE,
    UNIFORM_ANGLE_DEVIATION,
    VISIBLE_DISTANCE,
    panel_end,
)
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, compared, exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = ["ITEM", "PARAMETERS", "TABLE_1", "panels_item"]

CRITERIA = (
    f"Rows 1 to 3: agrees if at the end every token is within {END_DISTANCE:g} of the point, or of one of the"
    " two points, that V predicts. Rows 4 and 5: agrees if at the end the mean angle of the tokens with L is"
    " below that of uniform tokens by more than three of its standard deviations, and in row 5 both sides"
    " have tokens, with either of two tolerances; the paper defines no cloud, and rows 4 and 5 of Table 1 are"
    " judged in the same way. Where L is the whole space every token is on it, and"
    " nothing is claimed; the length of the tokens' mean is compared with that of uniform tokens. V outside"
    " the table: no claim, only described. An end is called unresolved if two tolerances disagree about it,"
    f" or if the force that decides it is below the rounding of a coordinate, {ROUNDING:.1e}. t = 5000 is"
    f" called the end if no token moves more than {VISIBLE_DISTANCE:g} afterwards."
)


def measure_panels(data: Data, p: Parameters, panels: tuple[Panel, ...]) -> dict[str, Number]:
    """The numbers of all panels, each named after its panel."""
    from nucleate.sphere import distance

    numbers: dict[str, Number] = {}
    for panel in panels:
        found, key = panel_end(data, p, panel), panel.name
        what = (
            "distance of a token from where it ought to end"
            if found.points is not None
            else "angle of a token with L"
        )
        wrong = distance(data[key].x[-1], data[f"{key}-careful"].x[-1]).max()
        uniform = UNIFORM_ANGLE[found.atlas.basis.shape[1]]
        numbers |= {
            f"{key}_dim_L": exact(found.atlas.basis.shape[1], f"{panel.words}: dimension of L"),
            f"{key}_row": exact(
                found.atlas.row or 0,
                f"{panel.words}: row of Table 1 by the atlas, 0 if outside",
                "computed from V",
            ),
            f"{key}_error_T": exact(
                wrong, "largest difference at t = 5000 to a run with tolerances a hundred times tighter"
            ),
            f"{key}_off_T": compared(
                found.distance_T,
                found.distance_T + min(wrong, np.pi),
                f"largest {what}, at t = {p['T']:g}",
                "difference to the tighter run",
            ),
            f"{key}_off_end": exact(
                found.distance_end,
                f"the same at the end, t = {found.reached:.3g}",
                expected=0.0 if found.points is not None else None,
            ),
            f"{key}_error_end": exact(
                found.error_end,
                "largest difference at the end to a run with tolerances a hundred times tighter; none if"
                " there is no end",
            ),
            f"{key}_moved": exact(found.moved_after, "farthest that a token goes after t = 5000"),
            f"{key}_at_equilibrium": exact(
                found.at_equilibrium,
                f"1 if no token moves {EQUILIBRIUM_DISTANCE:g} or more in the last decade of time",
            ),
            f"{key}_clusters_T": exact(
                found.clusters_T, f"clusters at t = {p['T']:g}, by steps of 0.1 β^(−1/2)", "counted"
            ),
            f"{key}_clusters_end": exact(found.clusters_end, "clusters at the end", "counted"),
            f"{key}_angle": exact(
                found.angle,
                "mean angle with L at the end, the larger of two tolerances; expected is that of uniform"
                " tokens",
                expected=uniform,
            ),
            f"{key}_least_side": exact(
                found.smaller_side, "tokens on the side of L's first direction that has fewer"
            ),
            f"{key}_mean_length": exact(
                found.mean_length,
                "length of the mean of the tokens at the end; expected is that of uniform tokens, root mean"
                " square",
                expected=p["n"] ** -0.5,
            ),
            f"{key}_resolved": exact(
                found.resolved, "1 if neither the tolerance nor rounding decides where the tokens end"
            ),
        }
        if np.isfinite(found.weakest_force):
            numbers[f"{key}_weakest_force"] = exact(
                found.weakest_force,
                "force that decides where tokens end, e^(−4β)/(4κ), κ the size of V − λ_max on the"
                " generalised eigenspace (docs/conjectures.md)",
            )
    return numbers


def panel_verdicts(
    numbers: Numbers, p: Parameters, panels: tuple[Panel, ...], figure: str, choice: str
) -> tuple[Verdict, ...]:
    """By the criteria: one verdict for points, one for clouds, one for clouds without a place, one for what
    is outside the table."""
    rows = {panel: int(numbers[f"{panel.name}_row"].value) for panel in panels}
    points = [panel for panel in panels if rows[panel] in (1, 2, 3)]
    negative = [panel for panel in panels if rows[panel] in (4, 5)]
    everywhere = [panel for panel in negative if numbers[f"{panel.name}_dim_L"].value == p["d"]]
    clouds = [panel for panel in negative if panel not in everywhere]
    outside = [panel for panel in panels if rows[panel] == 0]
    found = []
    if points:
        bad = [panel for panel in points if not numbers[f"{panel.name}_off_end"].value <= END_DISTANCE]
        worst = max(numbers[f"{panel.name}_off_end"].value for panel in points)
        why = (
            f"in {len(points) - len(bad)} of {len(points)} panels every token ends where V predicts, to"
            f" {worst:.0e} at worst" + _not_yet(numbers, p, points)
        )
        found.append(
            Verdict(
                f"{figure}, {choice}: for λ_max > 0 every token ends where Table 1 says, at x_1(0), at one"
                " point of L or at ±ξ",
                "disagrees" if bad else "agrees",
                why,
            )
        )
    if clouds:
        bad = [panel for panel in clouds if not _is_cloud(numbers, panel, rows[panel], p["n"])]
        why = "; ".join(
            f"{panel.words}: mean angle with L {numbers[f'{panel.name}_angle'].value:.2f} (uniform"
            f" {numbers[f'{panel.name}_angle'].expected:.2f}), farthest token"
            f" {np.degrees(numbers[f'{panel.name}_off_end'].value):.0f}°"
            for panel in clouds
        )
        found.append(
            Verdict(
                f"{figure}, {choice}: for λ_max < 0 tokens end around L, on average nearer to it than"
                " uniform tokens"
                + (", in row 5 on both sides" if any(rows[panel] == 5 for panel in clouds) else ""),
                "disagrees" if bad else "agrees",
                why + _not_yet(numbers, p, clouds) + _never(numbers, clouds) + _unresolved(numbers, clouds),
            )
        )
    if everywhere:
        measured = "; ".join(f"{panel.words}: {_spread(numbers, panel, p['n'])}" for panel in everywhere)
        found.append(
            Verdict(
                f"{figure}: λ_max < 0, d times, where L is the whole space: only described",
                "no claim",
                f"every token is on L wherever it ends, so that Table 1 says nothing here. Measured:"
                f" {measured}{_not_yet(numbers, p, everywhere)}",
            )
        )
    if outside:
        measured = "; ".join(f"{panel.words}: {_described(numbers, panel)}" for panel in outside)
        found.append(
            Verdict(
                f"{figure}: dominant eigenvalues outside Table 1, only described",
                "no claim",
                measured,
            )
        )
    return tuple(found)


def _is_cloud(numbers: Numbers, panel: Panel, row: int, n: int) -> bool:
    angle = numbers[f"{panel.name}_angle"]
    uniform = angle.expected or 0.0
    near = angle.value < uniform - 3.0 * UNIFORM_ANGLE_DEVIATION / n**0.5
    return near and (row == 4 or numbers[f"{panel.name}_least_side"].value > 0)


def _not_yet(numbers: Numbers, p: Parameters, panels: list[Panel]) -> str:
    """Where t = 5000 is not the end, and by how much."""
    late = [panel for panel in panels if numbers[f"{panel.name}_moved"].value > VISIBLE_DISTANCE]
    counts = {
        panel: [int(numbers[f"{panel.name}_clusters_{when}"].value) for when in ("T", "end")]
        for panel in late
    }
    words = [
        f"“{panel.words}”"
        + (f" ({then} clusters then, {last} at the end)" if then != last and then <= p["n"] / 2 else "")
        for panel, (then, last) in counts.items()
    ]
    return (
        f"; t = 5000 is not yet the end for {', '.join(words)}"
        if late
        else "; t = 5000 is the end to the eye"
    )


def _never(numbers: Numbers, panels: list[Panel]) -> str:
    moving = [f"“{panel.words}”" for panel in panels if not numbers[f"{panel.name}_at_equilibrium"].value]
    return f"; not at equilibrium when last seen: {', '.join(moving)}" if moving else ""


def _unresolved(numbers: Numbers, panels: list[Panel]) -> str:
    """Where another tolerance leads to other places; the verdict is that of the worse."""
    found = [f"“{panel.words}”" for panel in panels if not numbers[f"{panel.name}_resolved"].value]
    return (
        f"; at which places the tokens end depends on the tolerance for {', '.join(found)}" if found else ""
    )


def _spread(numbers: Numbers, panel: Panel, n: int) -> str:
    """How evenly tokens lie that may lie anywhere."""
    length = numbers[f"{panel.name}_mean_length"]
    state = "at equilibrium" if numbers[f"{panel.name}_at_equilibrium"].value else "still moving"
    return (
        f"the mean of the tokens has length {length.value:.2g} (root mean square of uniform tokens"
        f" {length.expected:.2f}), {numbers[f'{panel.name}_clusters_end'].value:.0f} clusters of"
        f" {n} tokens, {state}"
    )


def _described(numbers: Numbers, panel: Panel) -> str:
    if not numbers[f"{panel.name}_resolved"].value:
        return (
            "unresolved, for the end depends on the tolerance"
            if numbers[f"{panel.name}_error_end"].value > VISIBLE_DISTANCE
            else "unresolved, for the force that decides the end,"
            f" {numbers[f'{panel.name}_weakest_force'].value:.0e}, is below the rounding of a coordinate near"
            " 1 (docs/conjectures.md)"
        )
    off = numbers[f"{panel.name}_off_end"]
    near = f"{max(off.value, 1e-16):.0e}" if off.value < 0.01 else f"{off.value:.2f}"
    state = "at equilibrium" if numbers[f"{panel.name}_at_equilibrium"].value else "still moving"
    return f"within {near} of {'±ξ or L' if off.expected is not None else 'L'} at the end, {state}"


PARAMETERS = {"Q, K": "I", "n": 32, "d": 3, "beta": 9.0, "T": 5000.0, "seed": 0, "max_steps": 30_000}
CHOICES = (
    "The V of each panel, and the seed of the one uniform start that all panels share.",
    (
        "The end: from t = 5000 on with the causal solver to t = 100 n e^{2β} = 2.1 × 10¹¹, or as far as the"
        " most steps allowed go, where the tokens reach no equilibrium."
    ),
    (
        "Crosses mark where V says that tokens end: the normalised spectral projection of the first token"
        " onto L (rows 1 and 2), both ends of the dominant eigenvector (row 3, λ_max = 0, and the eigenvector"
        " of a defective dominant eigenvalue)."
    ),
)
CAPTION = (
    "Each pair has its V above. Left, the trajectories of 32 tokens from the same start (small dots) to t ="
    " 5000, where they are red; right, the last tenfold of time of the run that goes on from there to the"
    " end. Crosses: where V predicts the end. Dotted: between frames more than 45° apart; where tokens are"
    " too fast to follow, only the first twenty and the last ten units of time are drawn. As before: no"
    " visible change since t = 5000. Spread out: more clusters than half the tokens. Unresolved: tolerance"
    " or rounding decides where tokens end."
)


def panels_item(
    key: str,
    title: str,
    cost: Cost,
    statement: str,
    panels: tuple[Panel, ...],
    choice: str,
    run: Callable[["ItemWorkspace"], Data],
    draw: Callable[[Data, Numbers, Parameters], "Mapping[str, Figure]"],
) -> Item:
    """Where tokens go and end for each V of the panels; `choice` says in the verdicts whose V they are.
    Figure 6 is another one."""
    figure = title.split(":")[0]
    return Item(
        key=key,
        title=title,
        cost=cost,
        source=f"{figure} and Table 1",
        statement=statement,
        parameters=PARAMETERS,
        quick={"max_steps": 3_000},
        choices=CHOICES,
        criteria=CRITERIA,
        captions={key: CAPTION},
        run=run,
        measure=lambda data, p: measure_panels(data, p, panels),
        verdicts=lambda numbers, p: panel_verdicts(numbers, p, panels, figure, choice),
        draw=draw,
    )


TABLE_1 = (
    "Table 1 names the end by λ_max, the largest real part of V's eigenvalues, and its multiplicity."
    " Positive and d-fold: the first token x_1(0). Positive and at least twofold: one point of the dominant"
    " eigenspace L. Positive and simple: the two points ±ξ of the dominant eigenvector. Negative and at least"
    " twofold: a cloud around L. Negative and simple: two clouds around ±ξ. Only the first is a theorem"
    " there; λ_max = 0, and a complex or a defective one, are not in the table."
)
ITEM = panels_item(
    "figure1",
    "Figure 1: where tokens go, by V's dominant eigenvalue",
    Cost(quick=10.6, full=18.4),
    "Trajectories of n = 32 tokens on the unit sphere in d = 3 dimensions from a uniform start, Q = K = I,"
    f" β = 9, until T = 5000, for different value matrices V. {TABLE_1}",
    PANELS,
    "V of our choice, one per row of Table 1",
    run,
    draw,
)
