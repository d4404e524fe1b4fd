"""Table 1, row by row: where the tokens end for random V, whether clouds depend on Q and K, and what happens
at dominant eigenvalues that the table leaves out."""

import numpy as np

from nucleate.papers.causal_clustering.conjectures.exact_sinks import POINT
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.causal_clustering.table1.data import ATTENTIONS, FAMILIES, GAP, SPREAD, Family, run
from nucleate.papers.causal_clustering.table1.figures import draw
from nucleate.papers.causal_clustering.table1.measures import (
    CLOUD_ANGLES,
    ELSEWHERE_DISTANCE,
    SINK,
    UNIFORM_ANGLE,
    UNIFORM_ANGLE_WITH_LINE,
    UNIFORM_FAR,
    measure,
)
from nucleate.papers.core.item import Cost, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import plus_minus
from nucleate.papers.core.numbers import Number

__all__ = ["ITEM"]

MOST_RUNS = 0.9  # as a share
MAX_CLOUD_ANGLE = 0.9  # as a share of the mean angle of uniform tokens with L


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    outside = (
        f"complex: {numbers['complex_near_L'].value:.0%} of runs stay on L,"
        f" {numbers['complex_moving'].value:.0%} still rotate, in {numbers['complex_aligned'].value:.0%} all"
        " tokens are at the first one or opposite; defective: the first token approaches the eigenvector like"
        f" t^{numbers['defective_slope'].value:.2f}, {numbers['defective_share'].value:.0%} of runs end"
        f" within n e^(−2β) of ± it, {numbers['defective_exact'].value:.0%} within {END_DISTANCE:g}: where"
        " others hold the first token of the far cluster back, its equilibrium is m e^(−2β) beside the"
        f" eigenvector; zero: {numbers['zero_share'].value:.0%} end at ±ξ"
    )
    return (
        *(_points_verdict(numbers, row) for row in (1, 2, 3)),
        _non_normal_verdict(numbers),
        _plane_verdict(numbers),
        *(_two_clouds_verdict(numbers, family) for family in _with_identity(5)),
        *_other_attention_verdicts(numbers),
        _most_negative_verdict(numbers),
        _no_cloud_verdict(numbers),
        Verdict(
            "complex, defective and zero dominant eigenvalues: outside Table 1, only described",
            "no claim",
            outside,
        ),
    )


def _points_verdict(numbers: Numbers, row: int) -> Verdict:
    family = next(one for one in FAMILIES if one.row == row)
    share, misplaced = numbers[f"row{row}_share"], numbers[f"row{row}_misplaced"].value
    why = (
        f"{share.count[0] if share.count else 0} of {share.count[1] if share.count else 0} (at least"
        f" {share.low or 0.0:.1%} with 95 % confidence) random V and starts end so, within {END_DISTANCE:g}"
        f" (n = {family.n}, β = {family.beta:g}, t = {family.end:.2g}); the worst token is"
        f" {numbers[f'row{row}_worst'].value:.0e} off"
    )
    all_end = share.value == 1.0 and misplaced == 0
    if row == 1:
        return Verdict(
            "row 1 (Theorem 4.1): for λ_max > 0, d times, every token ends at x_1(0)",
            "agrees" if all_end else "disagrees",
            why,
        )
    word: Word = "evidence for" if all_end else "evidence against"
    within = numbers[f"row{row}_within"]
    return Verdict(
        "row 2: for λ_max > 0, at least twice, every token ends at one point of L"
        if row == 2
        else "row 3: for λ_max > 0, once, and symmetric V, every token ends at ξ or −ξ",
        word,
        f"{why}; of the V that meet Conjecture {2 if row == 2 else 1}'s conditions"
        f" {within.count[0] if within.count else 0} of {within.count[1] if within.count else 0}. This case is"
        f" proved: docs/conjectures.md ({'d = dim L + 1' if row == 2 else 'V symmetric, Q = K = I'})",
    )


def _non_normal_verdict(numbers: Numbers) -> Verdict:
    """Row 3 for V that is not normal: an exact sink refutes it, and runs tell how often."""
    family = next(one for one in FAMILIES if one.name == "row3-oblique")
    share, elsewhere = numbers["row3-oblique_share"], numbers["row3-oblique_elsewhere"]
    (hits, runs), away = share.count or (0, 0), (elsewhere.count or (0, 0))[0]
    sink = numbers["row3_sink"].value == 1.0
    most = (family.n - 1) / GAP  # m r with λ_1 = 1
    refuted = (
        f"{SINK.words}: two tokens on the circle have an attracting equilibrium, the second not at ±ξ but at"
        f" ({', '.join(map(str, POINT))}), checked in rational numbers (docs/conjectures.md). "
    ).replace("-", "−")
    why = (
        f"{refuted if sink else ''}How often: of {runs} random V and starts {hits} end within"
        f" {END_DISTANCE:g} of ±ξ, {away} ({elsewhere.low or 0.0:.1%} to {elsewhere.high or 0.0:.1%} with"
        f" 95 % confidence) reach an equilibrium more than {ELSEWHERE_DISTANCE:g} off,"
        f" {numbers['row3-oblique_elsewhere_within'].value:.0f} of them with a V that meets Conjecture 1's"
        f" conditions (n = {family.n}, t = {family.end:.2g}). After m tokens at ξ one has an equilibrium off"
        f" ±ξ where m λ_1/(λ_1 − λ_2) is a little above e^(2β); here that is at most {most:.0f}, too little"
        f" for runs at β = 4 (e^8 = {np.exp(8.0):.0f}), so these are at β = {family.beta:g}"
    )
    word: Word = "disagrees" if sink else "evidence against" if away else "not testable here"
    return Verdict(
        "row 3: for λ_max > 0, once, and V that is not normal, every token ends at ξ or −ξ", word, why
    )


def _with_identity(row: int) -> list[Family]:
    """The families of a row with Q = K = I, β rising, oblique ones last."""
    found = [family for family in FAMILIES if family.row == row and family.attention == "I"]
    return sorted(found, key=lambda family: (family.oblique != "no", family.beta))


def _above(number: Number, level: float) -> bool | None:
    """Whether the interval of a number lies above a level; None if it lies on both sides."""
    if number.low is None or number.high is None:
        return None
    return True if number.low > level else False if number.high < level else None


def _near_word(above: list[bool | None], parted: list[bool | None]) -> Word:
    """Whether all mean angles are below their level and all shares above theirs."""
    if True in above or False in parted:
        return "evidence against"
    return "not testable here" if None in (*above, *parted) else "evidence for"


def _plane_verdict(numbers: Numbers) -> Verdict:
    """Row 4, from how near tokens are to L."""
    families = _with_identity(4)
    return Verdict(
        "row 4: for λ_max < 0, at least twice, tokens end as a cloud around L, on average nearer to it than"
        " uniform tokens",
        _near_word([_above(numbers[f"{one.name}_angle"], _cloud_level(one)) for one in families], []),
        f"the paper does not say what a cloud is. {_angles(numbers, 4)}",
    )


def _angles(numbers: Numbers, row: int) -> str:
    """How near tokens are to L with Q = K = I, by β."""
    listed = "; ".join(
        f"{_where(family)}: {plus_minus(numbers[f'{family.name}_angle'], 2)}, with"
        f" {numbers[f'{family.name}_far'].value:.0%} of the tokens farther than 45°"
        f" ({numbers[f'{family.name}_at_equilibrium'].value:.0%} of runs at equilibrium)"
        for family in _with_identity(row)
    )
    return (
        f"Mean angle with L, against {UNIFORM_ANGLE[row]:.2f} for uniform tokens, of which"
        f" {UNIFORM_FAR[row]:.0%} are farther than 45°: {listed}"
    )


def _two_clouds_verdict(numbers: Numbers, family: Family) -> Verdict:
    """Row 5 at one β."""
    name = family.name
    parted, barely, both = (numbers[f"{name}_{kind}"] for kind in (*CLOUD_ANGLES, "both"))
    return Verdict(
        f"row 5, {_where(family)}: for λ_max < 0, once, tokens end as two clouds around ±ξ, none farther than"
        f" {CLOUD_ANGLES['parted']:g}° from them",
        _near_word([_above(numbers[f"{name}_angle"], _cloud_level(family))], [_above(parted, MOST_RUNS)]),
        f"{_percent(parted)} of the runs end so, {_percent(barely)} if {CLOUD_ANGLES['barely_parted']:g}° are"
        f" allowed (the paper names no angle), {both.value:.0%} with tokens on both sides; mean angle with ±ξ"
        f" {plus_minus(numbers[f'{name}_angle'], 2)}, of uniform tokens {UNIFORM_ANGLE[5]:.2f};"
        f" {numbers[f'{name}_across'].value:.1%} of the tokens end at right angles to ±ξ, to 5°;"
        f" {numbers[f'{name}_at_equilibrium'].value:.0%} of runs at equilibrium (n = {family.n}, t ="
        f" {family.end:.2g})",
    )


def _other_attention_verdicts(numbers: Numbers) -> tuple[Verdict, Verdict]:
    """Rows 4 and 5 with other Q and K: near L? As often two clouds?"""
    families = [one for one in FAMILIES if one.row in (4, 5) and one.beta == 4.0 and not one.again]
    near = all(_above(numbers[f"{one.name}_angle"], _cloud_level(one)) is False for one in families)
    worst = max((one for one in families if one.row == 5), key=lambda one: numbers[f"{one.name}_angle"].value)
    angles = "; ".join(
        f"row {row} (uniform {UNIFORM_ANGLE[row]:.2f}): "
        + ", ".join(
            f"{_attention(one)} {plus_minus(numbers[f'{one.name}_angle'], 2)}"
            for one in families
            if one.row == row
        )
        for row in (4, 5)
    )
    shares = {one: numbers[f"{one.name}_parted"] for one in families if one.row == 5}
    with_identity = numbers["row5_parted"].low or 0.0
    fewer = [one for one, share in shares.items() if (share.high or 0.0) < with_identity]
    return (
        Verdict(
            "rows 4 and 5: with all Q and K tried, tokens end on average nearer to L than uniform tokens",
            "observed" if near else "not observed",
            f"mean angle with L at β = 4, {angles}. Least near in row 5 with {_attention(worst)}:"
            f" {numbers[f'{worst.name}_far'].value:.0%} of the tokens are farther than 45° from ±ξ (of"
            f" uniform ones {UNIFORM_FAR[5]:.0%}), and {numbers[f'{worst.name}_across'].value:.0%} at right"
            " angles to ±ξ, to 5°",
        ),
        Verdict(
            "row 5: with some Q and K fewer runs end as two clouds (no token farther than"
            f" {CLOUD_ANGLES['parted']:g}° from ±ξ) than with Q = K = I",
            "observed" if fewer else "not observed",
            "share of such runs at β = 4: "
            + ", ".join(
                f"{_attention(one)} {_percent(share)},"
                f" {numbers[f'{one.name}_barely_parted'].value:.0%} if"
                f" {CLOUD_ANGLES['barely_parted']:g}° are allowed"
                for one, share in shares.items()
            ),
        ),
    )


def _attention(family: Family) -> str:
    return ATTENTIONS.get(family.attention, "Q = K = I")


def _most_negative_verdict(numbers: Numbers) -> Verdict:
    """Rows 4 and 5 with K^T Q = V: around the opposite end of the spectrum?"""
    lowest = {row: numbers[f"row{row}-V_lowest"] for row in (4, 5)}
    there = all(_above(one, MAX_CLOUD_ANGLE * UNIFORM_ANGLE_WITH_LINE) is False for one in lowest.values())
    listed = "; ".join(
        f"row {row}: {plus_minus(one, 2)}, with Q = K = I {plus_minus(numbers[f'row{row}_lowest'], 2)}"
        for row, one in lowest.items()
    )
    return Verdict(
        "rows 4 and 5 with KᵀQ = V: tokens end around V's most negative direction, as is reported for full"
        " attention (arXiv 2604.26085)",
        "observed" if there else "not observed",
        f"mean angle with that direction at β = 4, against {UNIFORM_ANGLE_WITH_LINE:.2f} for uniform tokens,"
        f" {listed}",
    )


def _no_cloud_verdict(numbers: Numbers) -> Verdict:
    """Rows 4 and 5 with K^T Q = V: points instead of clouds?"""
    shares = {row: numbers[f"row{row}-V-again_two_points"] for row in (4, 5)}
    listed = ", ".join(
        f"{share.count[0] if share.count else 0} of {share.count[1] if share.count else 0} new runs (at least"
        f" {share.low or 0.0:.1%} with 95 % confidence) in row {row}"
        for row, share in shares.items()
    )
    return Verdict(
        "rows 4 and 5 with KᵀQ = V: there are no clouds, for every token ends where the first does, in L, or"
        " opposite to it",
        "observed" if all(share.value == 1.0 for share in shares.values()) else "not observed",
        f"so end {listed} (β = 4); seen first in other runs",
    )


def _cloud_level(family: Family) -> float:
    return MAX_CLOUD_ANGLE * UNIFORM_ANGLE[family.row or 0]


def _where(family: Family) -> str:
    return f"at β = {family.beta:g}" + (", eigenvectors not orthogonal" if family.oblique == "all" else "")


def _percent(share: Number) -> str:
    return f"{share.value:.0%} ({share.low or 0.0:.1%} to {share.high or 0.0:.1%})"


ITEM = Item(
    key="table1",
    title="Table 1: where the tokens end",
    cost=Cost(quick=6.8, full=100.0),
    source="Table 1",
    statement=(
        "Where tokens end, by λ_max, the largest real part of V's eigenvalues, and its multiplicity. Row 1,"
        " positive and d-fold: the first token x_1(0); this is Theorem 4.1, for V = I, any Q, K and β ≥ 0, d"
        " ≥ 2, from almost every start. Row 2, positive and at least twofold: one point of the dominant"
        " eigenspace L; Conjecture 2, for λ_max real and semisimple, V that keeps L^⊥ and ⟨Vz, z⟩ <"
        " λ_max|z|² there, says that every token goes to the normalised L-component of x_1(0). Row 3,"
        " positive and simple: the two points ±ξ of the dominant eigenvector; Conjecture 1, for"
        " diagonalisable V with d distinct positive real eigenvalues, says that every token goes to one of"
        " them. Row 4, negative and at least twofold: a cloud around L. Row 5, negative and simple: two"
        " clouds around ±ξ. Only row 1 is a theorem. What a cloud is, and what Q and K are in rows 4 and 5,"
        " the table does not say; λ_max = 0, and a complex or defective one, are not in it."
    ),
    ours=(
        "Do the clouds of rows 4 and 5 depend on Q and K? Full attention with QᵀK = V < 0 is reported to"
        " polarise tokens towards the most negative direction of V (arXiv 2604.26085), not towards ±ξ. Tried"
        " for symmetric V: KᵀQ = −V, KᵀQ = V, the eigenvalues of −V in reverse order, Gaussian Q and K."
        " Hypothesis: with KᵀQ = V tokens end around the most negative direction also under the causal mask,"
        " so that where the clouds are depends on Q and K. A further one came from what was seen: with KᵀQ ="
        " V there are no clouds, but two points."
    ),
    parameters={
        "Q, K": "I; others for rows 4 and 5",
        "d": 3,
        "runs": 500,
        "seed": 0,
        "families": {
            family.name: f"n {family.n}, β {family.beta:g}, t {family.end:.4g}" for family in FAMILIES
        },
    },
    quick={"runs": 10},
    choices=(
        (
            "n = 16 (8 for complex dominant eigenvalues) and β = 4 where tokens reach an equilibrium; β = 1"
            " where they may move for ever, which takes explicit steps to the end; β = ½ for row 3 with V not"
            " normal, for the counterexamples of docs/conjectures.md need more tokens at β = 4. The end is t"
            " = 100 n e^{2β}, there 10^4."
        ),
        (
            f"Random V in three dimensions: λ_max = 1, −½ or 0, other eigenvalues uniform between {GAP:g} and"
            f" {GAP + SPREAD:g} below it, eigenvectors uniformly random and orthogonal, or not, for half of"
            " the runs or all. Every run has its own V and its own uniform start."
        ),
        (
            "Row 1 means V = λI. The point of row 2 is the normalised spectral projection of x_1(0) onto L,"
            " oblique where L is not orthogonal to the rest."
        ),
        (
            "What a cloud is: the paper does not say. Measured are the angles of tokens with L over the last"
            " decade of time and whether they reach an equilibrium. Two clouds have tokens on both sides and"
            " none farther than 60° from ±ξ at the end; the share with 75° for 60° is told too."
        ),
        (
            "Other Q and K: K = I and Q = A, for only A = KᵀQ counts. Gaussian Q and K have entries of"
            " variance 1/d. V is symmetric, its eigenvalues as in rows 4 and 5, β = 4, t = 10^4."
        ),
        (
            "Complex, defective and zero dominant eigenvalues are outside the table, and only described. The"
            " first token of a cluster at −ξ has its equilibrium about m e^{−2β} beside a defective"
            " eigenvalue's eigenvector, m the number of tokens at ξ before it, so n e^{−2β} counts as near."
        ),
    ),
    criteria=(
        f"Row 1, a theorem: agrees if every run ends within {END_DISTANCE:g} of x_1(0). Row 2, and row 3"
        f" with symmetric V: evidence for if every run ends within {END_DISTANCE:g} of the point or points V"
        " predicts, else evidence against. Row 3 with V not normal: disagrees if the sink of"
        " docs/conjectures.md passes its check in rational numbers; else evidence against if a run reaches"
        f" an equilibrium with a token more than {ELSEWHERE_DISTANCE:g} off ±ξ; else not testable here. Row"
        " 4: evidence for if in every family with Q = K = I the 95 % interval of the mean angle with L lies"
        f" below {MAX_CLOUD_ANGLE:.0%} of that of uniform tokens, evidence against if in one it lies above."
        " Row 5, at each β: evidence against if that interval lies above, or that of the share of runs that"
        f" end as two clouds below {MOST_RUNS:.0%}; evidence for if both lie on the other side. Else rows 4"
        " and 5 are not testable here. (Of Figures 1 and 6 only the mean angle is asked, in one run each.)"
        " Other Q and K: the first is observed if for all of them the interval of the mean angle with L"
        f" lies below {MAX_CLOUD_ANGLE:.0%} of that of uniform tokens in both rows; the second, if for some"
        " the interval of the share of runs with two clouds lies below that with Q = K = I (asked after"
        " these runs had been seen); the third, if with KᵀQ = V the interval of the mean angle with the"
        f" most negative direction lies below {MAX_CLOUD_ANGLE:.0%} of that of uniform tokens in both rows."
        " The fourth was asked after those runs had been seen and is judged on new ones: observed if in"
        " each of them all tokens end on L, at the first token or its opposite. Outside the table: no"
        " claim."
    ),
    captions={
        "table1": (
            "Left: shares of runs that end at the points V predicts (grey: outside the table), and, for row"
            " 5, with tokens on both sides and all of them within 60° of ±ξ, with 95 % intervals; with KᵀQ ="
            " V these are two points, no clouds. Middle and right: for λ_max < 0, the share of tokens within"
            " an angle of L at the end, against uniform tokens; above with Q = K = I, dashes by β, red for"
            " eigenvectors that are not orthogonal; below with other Q and K at β = 4, where with KᵀQ = V"
            " all tokens are on L; reversed −V has the eigenvectors of −V, and its eigenvalues in reverse"
            " order."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
