"""How the runs of each family of Table 1 end, in numbers."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.conjectures.exact_sinks import FAMILIES as SINKS
from nucleate.papers.causal_clustering.conjectures.exact_sinks import ExactSink, exactly
from nucleate.papers.causal_clustering.shared.classify_end import (
    END_DISTANCE,
    Ends,
    angle_with,
    classify_ends,
)
from nucleate.papers.causal_clustering.table1.data import FAMILIES, Family
from nucleate.papers.core.item import Data, Parameters
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "CLOUD_ANGLES",
    "ELSEWHERE_DISTANCE",
    "SINK",
    "UNIFORM_ANGLE",
    "UNIFORM_ANGLE_WITH_LINE",
    "UNIFORM_FAR",
    "measure",
    "sink_numbers",
]

SINK = next(sink for sink in SINKS if sink.name == "identity")  # Q = K = I, V not normal

# mean angle of uniform tokens with a plane and with a line, d = 3
UNIFORM_ANGLE = {4: float(np.pi / 2 - 1.0), 5: 1.0}
UNIFORM_ANGLE_WITH_LINE = UNIFORM_ANGLE[5]
UNIFORM_FAR = {4: 1.0 - 0.5**0.5, 5: 0.5**0.5}  # share of uniform tokens farther than 45° from these
CLOUD_ANGLES = {"parted": 60.0, "barely_parted": 75.0}  # degrees: within so much of ±ξ all of two clouds lie
ALIGNED_DISTANCE = 1e-4  # from the first token or its opposite
ELSEWHERE_DISTANCE = 0.01  # from ±ξ: a token at equilibrium farther off is not on its way there
ORTHOGONAL_ANGLE = float(np.radians(85.0))  # with L, from which on tokens count as orthogonal to it


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with their intervals, family by family."""
    numbers: dict[str, Number] = {}
    for family in FAMILIES:
        numbers |= _family_numbers(family, data[family.name])
    return numbers | sink_numbers(SINK)


def _family_numbers(family: Family, found: "Dataset") -> dict[str, Number]:
    """One family."""
    ends, runs, name, words = classify_ends(found), int(found.sizes["run"]), family.name, family.words
    numbers = {
        f"{name}_done": share_of(
            int(found["done"].values.sum()), runs, f"{words}: runs that reached t = {family.end:.3g}", 1.0
        ),
        f"{name}_misplaced": exact(
            (ends.row != (family.row or 0)).sum(),
            f"{words}: V that the atlas puts into another row",
            expected=0.0,
        ),
    }
    if family.row in (4, 5):
        numbers |= _cloud_numbers(name, words, ends, family.row, runs)
        if family.oblique == "no":
            numbers |= _lowest_numbers(name, words, found)
        if family.attention == "V":
            on_L, aligned = ends.max_angle <= END_DISTANCE, ends.spread <= ALIGNED_DISTANCE  # (runs,)
            numbers[f"{name}_two_points"] = share_of(
                int((on_L & aligned).sum()),
                runs,
                f"{words}: runs that end with every token on L to {END_DISTANCE:g}, and at the first one or"
                f" its opposite to {ALIGNED_DISTANCE:g}",
            )
        return numbers
    if family.dominant == "complex":
        return numbers | _rotating_numbers(name, words, ends, runs)
    near = END_DISTANCE if family.dominant == "real" else family.n * np.exp(-2.0 * family.beta)
    about = f"{words}: runs that end within {near:.1g} of the point or points V predicts"
    numbers[f"{name}_share"] = share_of(int((ends.distance <= near).sum()), runs, about, 1.0)
    numbers[f"{name}_worst"] = exact(
        np.nanmax(ends.distance), f"{words}: largest distance of any token from these"
    )
    if family.row in (2, 3):
        about = f"{words}: of the V within Conjecture {2 if family.row == 2 else 1}"
        numbers[f"{name}_within"] = share_of(
            int((ends.distance[ends.within] <= END_DISTANCE).sum()), int(ends.within.sum()), about, 1.0
        )
    if family.name == "row3-oblique":
        elsewhere = (ends.distance > ELSEWHERE_DISTANCE) & (ends.moved <= END_DISTANCE)  # (runs,)
        about = (
            f"{words}: runs that reach an equilibrium with a token more than {ELSEWHERE_DISTANCE:g} off ±ξ"
        )
        numbers[f"{name}_elsewhere"] = share_of(int(elsewhere.sum()), runs, about, 0.0)
        numbers[f"{name}_elsewhere_within"] = exact(
            (elsewhere & ends.within).sum(),
            f"{words}: how many of these V meet all that Conjecture 1 asks for",
        )
    if family.multiplicity == 1:
        numbers[f"{name}_both"] = share_of(
            int((ends.smaller_side > 0).sum()), runs, f"{words}: runs that end with tokens at both points"
        )
    if family.dominant == "defective":
        numbers[f"{name}_exact"] = share_of(
            int((ends.distance <= END_DISTANCE).sum()),
            runs,
            f"{words}: runs that end within {END_DISTANCE:g} of these",
        )
        about = f"{words}: power of t with which the first token approaches its limit"
        numbers[f"{name}_slope"] = mean_of(ends.slope[np.isfinite(ends.slope)], about, -1.0)
    return numbers


def _rotating_numbers(name: str, words: str, ends: Ends, runs: int) -> dict[str, Number]:
    """Complex dominant eigenvalues, over the last decade of time."""
    near, aligned = ends.max_angle <= END_DISTANCE, ends.spread <= ALIGNED_DISTANCE  # (runs,)
    rotating = ends.moved > 0.1  # (runs,)
    return {
        f"{name}_near_L": share_of(
            int(near.sum()),
            runs,
            f"{words}: runs whose tokens stay within {END_DISTANCE:g} of L over the last decade",
        ),
        f"{name}_moving": share_of(int(rotating.sum()), runs, f"{words}: runs that still rotate"),
        f"{name}_aligned": share_of(
            int(aligned.sum()),
            runs,
            f"{words}: runs whose tokens are all within {ALIGNED_DISTANCE:g} of the first one or its"
            " opposite",
        ),
    }


def sink_numbers(sink: ExactSink) -> dict[str, Number]:
    """Row 3 with V not normal: an attracting equilibrium elsewhere, checked in rational numbers."""
    about = f"row 3: 1 if two tokens have an attracting equilibrium off ±ξ with {sink.words}"
    return {"row3_sink": exact(all(exactly(sink).values()), about, "checked in rational numbers")}


def _cloud_numbers(name: str, words: str, ends: Ends, row: int, runs: int) -> dict[str, Number]:
    """The clouds of lambda_max < 0, over the last decade of time."""
    numbers = {
        f"{name}_angle": mean_of(
            ends.angle[np.isfinite(ends.angle)],
            f"{words}: mean angle with L over tokens and the last decade; expected is that of uniform tokens",
            UNIFORM_ANGLE[row],
        ),
        f"{name}_far": mean_of(
            (ends.angles > np.pi / 4).mean(1), f"{words}: share of tokens farther than 45° from L at the end"
        ),
        f"{name}_across": mean_of(
            (ends.angles > ORTHOGONAL_ANGLE).mean(1),
            f"{words}: share of tokens at right angles to L at the end, to 5°",
        ),
        f"{name}_at_equilibrium": share_of(
            int((ends.moved <= END_DISTANCE).sum()),
            runs,
            f"{words}: runs at equilibrium, no token moving more than {END_DISTANCE:g} in the last decade",
        ),
        f"{name}_way": mean_of(
            ends.moved[np.isfinite(ends.moved)],
            f"{words}: farthest a token is from its last place during the last decade, mean over runs",
        ),
    }
    if row == 5:
        numbers[f"{name}_both"] = share_of(
            int((ends.smaller_side > 0).sum()), runs, f"{words}: runs that end with tokens on both sides"
        )
        numbers |= {
            f"{name}_{kind}": share_of(
                int(((ends.smaller_side > 0) & (ends.angles.max(1) < np.radians(angle))).sum()),
                runs,
                f"{words}: runs that end as two clouds, tokens on both sides and none farther than"
                f" {angle:g}° from ±ξ",
            )
            for kind, angle in CLOUD_ANGLES.items()
        }
    return numbers


def _lowest_numbers(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    """How near tokens are to the most negative direction of a symmetric V, over the last decade of time."""
    lowest = np.linalg.eigh(found["V"].values)[1][..., :1]  # (runs, d, 1)
    angle = np.array(
        [angle_with(x, one).mean() for x, one in zip(found["x"].values, lowest, strict=True)]
    )  # (runs,)
    return {
        f"{name}_lowest": mean_of(
            angle[np.isfinite(angle)],
            f"{words}: mean angle with V's most negative direction; expected is that of uniform tokens",
            UNIFORM_ANGLE_WITH_LINE,
        )
    }
