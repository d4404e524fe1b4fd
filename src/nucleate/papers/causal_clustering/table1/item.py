"""Table 1, row by row: where the tokens end for random V, and what happens at dominant eigenvalues that the
table leaves out."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE, Ends, classify_ends
from nucleate.papers.causal_clustering.table1.data import FAMILIES, GAP, SPREAD, Family, run
from nucleate.papers.causal_clustering.table1.figures import draw
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict, Word
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM", "counterexample_numbers", "slips"]

# mean angle of uniform tokens with a plane and with a line, d = 3
UNIFORM_ANGLE = {4: float(np.pi / 2 - 1.0), 5: 1.0}
MIN_TWO_SIDED = 0.9  # share of the runs that must have tokens on both sides, if there are to be two clouds
MAX_CLOUD_ANGLE = 0.9  # as a share of the mean angle of uniform tokens with L
ALIGNED_DISTANCE = 1e-4  # from the first token or its opposite
ELSEWHERE_DISTANCE = 0.01  # from ±ξ: a token at equilibrium farther off is not on its way there
ORTHOGONAL_ANGLE = float(np.radians(85.0))  # with L, from which on tokens count as orthogonal to it


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with their intervals, family by family."""
    numbers: dict[str, Number] = {}
    for family in FAMILIES:
        numbers |= _family_numbers(family, data[family.name])
    return numbers | counterexample_numbers(data["counterexample"])


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
        return numbers | _cloud_numbers(name, words, ends, family.row, runs)
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
        about = (
            f"{words}: runs that reach an equilibrium with a token more than {ELSEWHERE_DISTANCE:g} off ±ξ"
        )
        numbers[f"{name}_elsewhere"] = share_of(
            int(((ends.distance > ELSEWHERE_DISTANCE) & (ends.moved <= END_DISTANCE)).sum()), runs, about, 0.0
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


def counterexample_numbers(found: "Dataset") -> dict[str, Number]:
    """Conjecture 1 with other Q and K."""
    x, speed = found["x"].values, found["speed"].values
    off = np.abs(x[:, 1, 1]) > 0.01  # (b,) token 2 is not at +-xi = (+-1, 0)
    about = "Conjecture 1 with Q = I, K = diag(−1, 1): starts that end off ±ξ"
    return {
        "counterexample_share": share_of(int(off.sum()), len(off), about, 0.0),
        "counterexample_cosine": exact(
            np.abs(x[off, 1, 0]).mean() if off.any() else np.nan,
            "|cos α| of token 2 there; expected is our own earlier value",
            expected=0.47081,
        ),
        "counterexample_speed": exact(
            speed[off].max() if off.any() else np.nan, "largest speed left there", expected=0.0
        ),
    }


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
            int((ends.smaller_side > 0).sum()), runs, f"{words}: runs with tokens on both sides"
        )
        numbers[f"{name}_parted"] = share_of(
            int((ends.angles.max(1) < np.pi / 3).sum()),
            runs,
            f"{words}: runs with two parted clouds, no token farther than 60° from ±ξ",
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    found = [_points_verdict(numbers, row) for row in (1, 2, 3)]
    found += [_non_normal_verdict(numbers)]
    found += [_cloud_verdict(numbers, row) for row in (4, 5)]
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
        *found,
        Verdict(
            "complex, defective and zero dominant eigenvalues",
            "not testable here",
            f"they are outside the table, which says nothing of them. Measured: {outside}",
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
        return Verdict(family.words + " (a theorem)", "agrees" if all_end else "disagrees", why)
    word: Word = "evidence for" if all_end else "evidence against"
    within = numbers[f"row{row}_within"]
    return Verdict(
        f"{family.words} (conjectured)",
        word,
        f"{why}; of the V that meet the conjecture's conditions {within.count[0] if within.count else 0} of "
        f"{within.count[1] if within.count else 0}",
    )


def _non_normal_verdict(numbers: Numbers) -> Verdict:
    """Row 3 for V that is not normal, where runs can speak against it but not for it."""
    family = next(one for one in FAMILIES if one.name == "row3-oblique")
    share, elsewhere = numbers["row3-oblique_share"], numbers["row3-oblique_elsewhere"]
    (hits, runs), away = share.count or (0, 0), (elsewhere.count or (0, 0))[0]
    most = (family.n - 1) / GAP  # m r with λ_1 = 1
    known = (
        "Conjecture 1 (below) has counterexamples with Q = K = I. After m tokens at ξ one has an equilibrium"
        f" off ±ξ where m λ_1/(λ_1 − λ_2) is a little above e^(2β); here that is at most {most:.0f}, too"
        f" little for runs at β = 4 (e^8 = {np.exp(8.0):.0f}), so these are at β = {family.beta:g}"
    )
    why = (
        f"{hits} of {runs} random V and starts end within {END_DISTANCE:g} of ±ξ (n = {family.n}, t ="
        f" {family.end:.2g})"
    )
    part = f"{family.words} (conjectured; see Conjecture 1)"
    if away:
        found = (
            f"{away} ({elsewhere.low or 0.0:.1%} to {elsewhere.high or 0.0:.1%} with 95 % confidence) reach"
            f" an equilibrium more than {ELSEWHERE_DISTANCE:g} off"
        )
        return Verdict(part, "evidence against", f"{why}; {found}. {known}")
    return Verdict(
        part,
        "not testable here",
        f"{why}, and none has its equilibrium elsewhere, but so few runs do not speak for it. {known}",
    )


def _cloud_verdict(numbers: Numbers, row: int) -> Verdict:
    names = [one.name for one in FAMILIES if one.row == row]
    angles = [numbers[f"{name}_angle"] for name in names]
    both = row == 4 or all(numbers[f"{name}_both"].value > MIN_TWO_SIDED for name in names)
    near = both and all(angle.value < MAX_CLOUD_ANGLE * UNIFORM_ANGLE[row] for angle in angles)
    sure = all(angle.high is not None and angle.high < UNIFORM_ANGLE[row] for angle in angles)
    word: Word = "evidence against" if not near else "evidence for" if sure else "not testable here"
    at_4, at_1, at_9 = (numbers[f"row{row}{kind}_angle"].value for kind in ("", "-low-beta", "-high-beta"))
    orthogonal, oblique = (numbers[f"row{row}{kind}_way"].value for kind in ("-low-beta", "-oblique"))
    why = (
        f"mean angle with L {at_1:.2f} at β = 1, {at_4:.2f} at β = 4, {at_9:.2f} at β = 9, against"
        f" {UNIFORM_ANGLE[row]:.2f} for uniform tokens: it gets thinner as β grows;"
        f" {numbers[f'row{row}_at_equilibrium'].value:.0%} of the runs with orthogonal eigenvectors reach an"
        f" equilibrium at β = 4; at β = 1 a token still strays {orthogonal:.2f} in the last decade of time,"
        f" and {oblique:.2f} if eigenvectors are not orthogonal"
    )
    if row == 5:
        why += (
            f"; tokens on both sides in {numbers['row5_both'].value:.0%}, two parted clouds in"
            f" {numbers['row5-low-beta_parted'].value:.0%}, {numbers['row5_parted'].value:.0%},"
            f" {numbers['row5-high-beta_parted'].value:.0%} of runs"
        )
    family = next(one for one in FAMILIES if one.row == row)
    why = f"too few runs to be sure; {why}" if word == "not testable here" else why
    return Verdict(f"{family.words}: {'a cloud' if row == 4 else 'two clouds'} (conjectured)", word, why)


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Conjecture 1 as it reads, for any Q and K."""
    share = numbers["counterexample_share"]
    if not (
        share.low and share.high and share.low > 0.0 and numbers["counterexample_speed"].value < END_DISTANCE
    ):
        return ()
    evidence = (
        f"d = 2, V = diag(1, .1), Q = I, K = diag(−1, 1), β = 10, two tokens: {share.value:.1%}"
        f" [{share.low:.1%}, {share.high:.1%}] of uniform starts end with token 2 at equilibrium (speed"
        f" {numbers['counterexample_speed'].value:.0e}) at |cos α| ="
        f" {numbers['counterexample_cosine'].value:.5f}, away from ±ξ"
    )
    return (
        Slip(
            "Conjecture 1, read for arbitrary Q and K: every limit is ±ξ",
            "it fails for some Q and K; for Q = K = I and symmetric V it holds (docs/conjectures.md)",
            evidence,
        ),
    )


ITEM = Item(
    key="table1",
    title="Table 1: where the tokens end",
    source="Table 1",
    statement=(
        "By the largest real part λ_max of V's eigenvalues and its multiplicity: positive and d-fold, all"
        " tokens end at the first, x_1(0) (a theorem); positive and at least twofold, at one point of the"
        " dominant eigenspace L; positive and simple, at the two points ±ξ; negative and at least twofold, as"
        " a cloud around L; negative and simple, as two clouds around ±ξ. All but the first row are"
        " conjectures."
    ),
    parameters={
        "Q, K": "I",
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
            " decade of time, whether they reach an equilibrium, and for two clouds whether no token is"
            " farther than 60° from ±ξ."
        ),
        (
            "Complex, defective and zero dominant eigenvalues are outside the table, and only described. The"
            " first token of a cluster at −ξ has its equilibrium about m e^{−2β} beside a defective"
            " eigenvalue's eigenvector, m the number of tokens at ξ before it, so n e^{−2β} counts as near."
        ),
    ),
    criteria=(
        f"Row 1, a theorem: agrees if every run ends within {END_DISTANCE:g} of x_1(0). Row 2, and row 3 with"
        f" symmetric V: evidence for if every run ends within {END_DISTANCE:g} of the point or points V"
        " predicts, else evidence against. Row 3 with V not normal: evidence against if a run reaches an"
        f" equilibrium with a token more than {ELSEWHERE_DISTANCE:g} off ±ξ; else not testable here, for such"
        " V are known to fail. Rows 4 and 5: evidence against if in some family the mean angle with L is not"
        f" below {MAX_CLOUD_ANGLE:.0%} of that of uniform tokens or, in row 5, tokens are on both sides in no"
        f" more than {MIN_TWO_SIDED:.0%} of the runs; else evidence for, if in every family the 95 % interval"
        " of the mean angle lies below that of uniform tokens."
    ),
    captions={
        "table1": (
            "Left: shares of runs that end at the points V predicts, with 95 % intervals. Middle and right:"
            " for λ_max < 0, the share of tokens within an angle of L at the end, against uniform tokens;"
            " dashes by β, red for eigenvectors that are not orthogonal."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
