"""Table 1, row by row: where the tokens end for random V, and what happens at tops of the spectrum that the
table leaves out."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.shared.classify_end import Ends, ends_of
from nucleate.papers.causal_clustering.table1.data import (
    FAMILIES,
    GAP,
    WIDTH,
    Family,
    counter_example,
    family_data,
)
from nucleate.papers.core.figure_layout import sheet
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict, Word
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

NEAR = 1e-6
# mean angle of uniform tokens with a plane and with a line, d = 3
UNIFORM = {4: float(np.pi / 2 - 1.0), 5: 1.0}
ENOUGH = 0.9  # of the runs must have tokens on both sides, if there are to be two clouds
CLOSER = 0.9  # of the mean angle of uniform tokens with L is what a cloud must stay below
ALIGNED = 1e-4
AWAY = 0.01  # from ±ξ: a token that rests farther off is not on its way there
ACROSS = float(np.radians(85.0))


def run(desk: "Desk") -> Data:
    """All families, and the counter-example to Conjecture 1 with other Q and K."""
    data: dict[str, Any] = {}
    weight = {
        family.name: (
            12.0
            if family.top == "complex"
            else 5.0
            if family.oblique == "all" and family.value < 0.0
            else 1.0
        )
        for family in FAMILIES
    }  # about the time each takes
    done = 0.0
    for family in FAMILIES:
        data[family.name] = family_data(desk, family, desk.p["seed"], desk.p["runs"])
        done += weight[family.name]
        desk.at(done / sum(weight.values()))
    data["counter"] = desk.dataset("counter", lambda: counter_example(desk.p["seed"], 2 * desk.p["runs"]))
    return data


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with their intervals, family by family."""
    numbers: dict[str, Number] = {}
    for family in FAMILIES:
        numbers |= _family(family, data[family.name])
    return numbers | _counter(data["counter"])


def _family(family: Family, found: "Dataset") -> dict[str, Number]:
    """One family."""
    ends, runs, name, words = ends_of(found), int(found.sizes["run"]), family.name, family.words
    numbers = {
        f"{name}_done": share_of(
            int(found["done"].values.sum()), runs, f"{words}: runs that reached t = {family.end:.3g}", 1.0
        ),
        f"{name}_meant": exact(
            (ends.row != (family.row or 0)).sum(),
            f"{words}: V that the atlas puts into another row",
            expected=0.0,
        ),
    }
    if family.row in (4, 5):
        return numbers | _cloud(name, words, ends, family.row, runs)
    if family.top == "complex":
        return numbers | _turning(name, words, ends, runs)
    near = NEAR if family.top == "real" else family.n * np.exp(-2.0 * family.beta)
    about = f"{words}: runs that end within {near:.1g} of the point or points V predicts"
    numbers[f"{name}_share"] = share_of(int((ends.off <= near).sum()), runs, about, 1.0)
    numbers[f"{name}_worst"] = exact(
        np.nanmax(ends.off), f"{words}: largest distance of any token from these"
    )
    if family.row in (2, 3):
        about = f"{words}: of the V within Conjecture {2 if family.row == 2 else 1}"
        numbers[f"{name}_within"] = share_of(
            int((ends.off[ends.within] <= NEAR).sum()), int(ends.within.sum()), about, 1.0
        )
    if family.name == "row3-oblique":
        about = f"{words}: runs that come to rest with a token more than {AWAY:g} off ±ξ"
        numbers[f"{name}_elsewhere"] = share_of(
            int(((ends.off > AWAY) & (ends.moved <= NEAR)).sum()), runs, about, 0.0
        )
    if family.multiplicity == 1:
        numbers[f"{name}_both"] = share_of(
            int((ends.lesser_side > 0).sum()), runs, f"{words}: runs that end with tokens at both points"
        )
    if family.top == "defective":
        numbers[f"{name}_exact"] = share_of(
            int((ends.off <= NEAR).sum()), runs, f"{words}: runs that end within {NEAR:g} of these"
        )
        about = f"{words}: power of t with which the first token approaches its limit"
        numbers[f"{name}_slope"] = mean_of(ends.slope[np.isfinite(ends.slope)], about, -1.0)
    return numbers


def _turning(name: str, words: str, ends: Ends, runs: int) -> dict[str, Number]:
    """Complex tops, over the last decade of time."""
    near, turns, aligned = ends.most_angle <= NEAR, ends.moved > 0.1, ends.spread <= ALIGNED  # (runs,)
    return {
        f"{name}_near_L": share_of(
            int(near.sum()),
            runs,
            f"{words}: runs whose tokens stay within {NEAR:g} of L over the last decade",
        ),
        f"{name}_moving": share_of(int(turns.sum()), runs, f"{words}: runs that still turn"),
        f"{name}_aligned": share_of(
            int(aligned.sum()),
            runs,
            f"{words}: runs whose tokens are all within {ALIGNED:g} of the first one or its opposite",
        ),
    }


def _counter(found: "Dataset") -> dict[str, Number]:
    """Conjecture 1 with other Q and K."""
    x, speed = found["x"].values, found["speed"].values
    off = np.abs(x[:, 1, 1]) > 0.01  # (b,) token 2 is not at +-xi = (+-1, 0)
    about = "Conjecture 1 with Q = I, K = diag(−1, 1): starts that end off ±ξ"
    return {
        "counter_share": share_of(int(off.sum()), len(off), about, 0.0),
        "counter_cosine": exact(
            np.abs(x[off, 1, 0]).mean() if off.any() else np.nan,
            "|cos α| of token 2 there; expected is our own earlier value",
            expected=0.47081,
        ),
        "counter_speed": exact(
            speed[off].max() if off.any() else np.nan, "largest speed left there", expected=0.0
        ),
    }


def _cloud(name: str, words: str, ends: Ends, row: int, runs: int) -> dict[str, Number]:
    """The clouds of lambda_max < 0, over the last decade of time."""
    numbers = {
        f"{name}_angle": mean_of(
            ends.angle[np.isfinite(ends.angle)],
            f"{words}: mean angle with L over tokens and the last decade; expected is that of uniform tokens",
            UNIFORM[row],
        ),
        f"{name}_far": mean_of(
            (ends.angles > np.pi / 4).mean(1), f"{words}: share of tokens farther than 45° from L at the end"
        ),
        f"{name}_across": mean_of(
            (ends.angles > ACROSS).mean(1), f"{words}: share of tokens at right angles to L at the end, to 5°"
        ),
        f"{name}_rest": share_of(
            int((ends.moved <= NEAR).sum()),
            runs,
            f"{words}: runs at rest, no token moving more than {NEAR:g} in the last decade",
        ),
        f"{name}_way": mean_of(
            ends.moved[np.isfinite(ends.moved)],
            f"{words}: farthest a token is from its last place during the last decade, mean over runs",
        ),
    }
    if row == 5:
        numbers[f"{name}_both"] = share_of(
            int((ends.lesser_side > 0).sum()), runs, f"{words}: runs with tokens on both sides"
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
    found += [_leaning_verdict(numbers)]
    found += [_cloud_verdict(numbers, row) for row in (4, 5)]
    outside = (
        f"complex: {numbers['complex_near_L'].value:.0%} of runs stay on L,"
        f" {numbers['complex_moving'].value:.0%} still turn, in {numbers['complex_aligned'].value:.0%} all"
        " tokens are at the first one or opposite; defective: the first token approaches the eigenvector"
        f" like t^{numbers['defective_slope'].value:.2f}, {numbers['defective_share'].value:.0%} of runs end"
        f" within n e^(−2β) of ± it, {numbers['defective_exact'].value:.0%} within {NEAR:g}: where others"
        " hold the first token of the far cluster back, it rests m e^(−2β) beside the eigenvector; zero:"
        f" {numbers['zero_share'].value:.0%} end at ±ξ"
    )
    return (
        *found,
        Verdict(
            "complex, defective and zero tops",
            "not testable here",
            f"they are outside the table, which says nothing of them. Measured: {outside}",
        ),
    )


def _points_verdict(numbers: Numbers, row: int) -> Verdict:
    family = next(one for one in FAMILIES if one.row == row)
    share, strays = numbers[f"row{row}_share"], numbers[f"row{row}_meant"].value
    told = (
        f"{share.count[0] if share.count else 0} of {share.count[1] if share.count else 0} (at least"
        f" {share.low or 0.0:.1%} with 95 % confidence) random V and starts end so, within {NEAR:g} (n ="
        f" {family.n}, β = {family.beta:g}, t = {family.end:.2g}); the worst token is"
        f" {numbers[f'row{row}_worst'].value:.0e} off"
    )
    all_end = share.value == 1.0 and strays == 0
    if row == 1:
        return Verdict(family.words + " (a theorem)", "agrees" if all_end else "disagrees", told)
    word: Word = "evidence for" if all_end else "evidence against"
    within = numbers[f"row{row}_within"]
    return Verdict(
        f"{family.words} (conjectured)",
        word,
        f"{told}; of the V that meet the conjecture's conditions {within.count[0] if within.count else 0} of "
        f"{within.count[1] if within.count else 0}",
    )


def _leaning_verdict(numbers: Numbers) -> Verdict:
    """Row 3 for V that is not normal, where runs can speak against it but not for it."""
    family = next(one for one in FAMILIES if one.name == "row3-oblique")
    share, elsewhere = numbers["row3-oblique_share"], numbers["row3-oblique_elsewhere"]
    (hits, runs), resting = share.count or (0, 0), (elsewhere.count or (0, 0))[0]
    most = (family.n - 1) / GAP  # m r with λ_1 = 1
    known = (
        "Conjecture 1 (below) has counter-examples with Q = K = I. After m tokens at ξ one rests off ±ξ"
        f" where m λ_1/(λ_1 − λ_2) is a little above e^(2β); here that is at most {most:.0f}, too little for"
        f" runs at β = 4 (e^8 = {np.exp(8.0):.0f}), so these are at β = {family.beta:g}"
    )
    told = (
        f"{hits} of {runs} random V and starts end within {NEAR:g} of ±ξ (n = {family.n}, t ="
        f" {family.end:.2g})"
    )
    part = f"{family.words} (conjectured; see Conjecture 1)"
    if resting:
        found = (
            f"{resting} ({elsewhere.low or 0.0:.1%} to {elsewhere.high or 0.0:.1%} with 95 % confidence) come"
            f" to rest more than {AWAY:g} off"
        )
        return Verdict(part, "evidence against", f"{told}; {found}. {known}")
    return Verdict(
        part,
        "not testable here",
        f"{told}, and none rests elsewhere, but so few runs do not speak for it. {known}",
    )


def _cloud_verdict(numbers: Numbers, row: int) -> Verdict:
    names = [one.name for one in FAMILIES if one.row == row]
    angles = [numbers[f"{name}_angle"] for name in names]
    both = row == 4 or all(numbers[f"{name}_both"].value > ENOUGH for name in names)
    near = both and all(angle.value < CLOSER * UNIFORM[row] for angle in angles)
    sure = all(angle.high is not None and angle.high < UNIFORM[row] for angle in angles)
    word: Word = "evidence against" if not near else "evidence for" if sure else "not testable here"
    hard, soft, sharp = (numbers[f"row{row}{kind}_angle"].value for kind in ("", "-soft", "-sharp"))
    straight, leaning = (numbers[f"row{row}{kind}_way"].value for kind in ("-soft", "-oblique"))
    told = (
        f"mean angle with L {soft:.2f} at β = 1, {hard:.2f} at β = 4, {sharp:.2f} at β = 9, against"
        f" {UNIFORM[row]:.2f} for uniform tokens: it gets thinner as β grows;"
        f" {numbers[f'row{row}_rest'].value:.0%} of the runs with orthogonal eigenvectors come to rest at β ="
        f" 4; at β = 1 a token still strays {straight:.2f} in the last decade of time, and {leaning:.2f} if"
        " eigenvectors are not orthogonal"
    )
    if row == 5:
        told += (
            f"; tokens on both sides in {numbers['row5_both'].value:.0%}, two parted clouds in"
            f" {numbers['row5-soft_parted'].value:.0%}, {numbers['row5_parted'].value:.0%},"
            f" {numbers['row5-sharp_parted'].value:.0%} of runs"
        )
    family = next(one for one in FAMILIES if one.row == row)
    told = f"too few runs to be sure; {told}" if word == "not testable here" else told
    return Verdict(f"{family.words}: {'a cloud' if row == 4 else 'two clouds'} (conjectured)", word, told)


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Conjecture 1 as it reads, for any Q and K."""
    share = numbers["counter_share"]
    if not (share.low and share.high and share.low > 0.0 and numbers["counter_speed"].value < NEAR):
        return ()
    evidence = (
        f"d = 2, V = diag(1, .1), Q = I, K = diag(−1, 1), β = 10, two tokens: {share.value:.1%}"
        f" [{share.low:.1%}, {share.high:.1%}] of uniform starts end with token 2 at rest (speed"
        f" {numbers['counter_speed'].value:.0e}) at |cos α| = {numbers['counter_cosine'].value:.5f}, away"
        " from ±ξ"
    )
    return (
        Slip(
            "Conjecture 1, read for arbitrary Q and K: every limit is ±ξ",
            "it fails for some Q and K; for Q = K = I and symmetric V it holds (docs/conjectures.md)",
            evidence,
        ),
    )


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares with intervals on the left, clouds by their angles with L on the right."""
    figure = sheet(11.0, 4.6, w_pad=0.12)
    shares, plane, line = figure.subplots(1, 3, width_ratios=[1.15, 1.0, 1.0])
    _draw_shares(shares, numbers)
    for ax, row in ((plane, 4), (line, 5)):
        _draw_cloud(ax, data, row)
    return {"table1": figure}


def _draw_shares(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    named = {
        "row1": "row 1: at the first token",
        "row2": "row 2: at one point of L",
        "row3": "row 3: at ±ξ",
        "row3-oblique": "row 3, V not normal: at ±ξ",
        "defective": "defective: at ± eigenvector",
        "zero": "zero: at ±ξ",
    }
    for i, (name, words) in enumerate(named.items()):
        share = numbers[f"{name}_share"]
        low, high = share.low or 0.0, share.high if share.high is not None else 1.0
        inside = name.startswith("row")
        colour = palette.red if inside else palette.grey(0.6)
        ax.plot([low, high], [i, i], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot([share.value], [i], "D" if inside else "o", color=colour, markersize=6)
        ax.text(
            0.0, i - 0.22, words, fontsize=SMALL_POINTS, color=palette.ink, transform=ax.get_yaxis_transform()
        )
    least = min(numbers[f"{name}_share"].low or 0.0 for name in named)
    ax.set(
        ylim=(len(named) - 0.6, -0.7),
        xlim=(min(0.97, least - 0.005), 1.0015),
        xlabel="share of runs that end so",
    )
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.spines["left"].set_visible(False)
    ax.set_title("ends at points, with 95 % intervals", fontsize=SMALL_POINTS + 1)


def _draw_cloud(ax: Any, data: Data, row: int) -> None:
    """How far tokens are from L at the end: the share within an angle."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    lines = {
        "-sharp": ("β = 9", "-", palette.ink),
        "": ("β = 4", (0, (5, 2)), palette.ink),
        "-soft": ("β = 1", (0, (1, 1.5)), palette.ink),
        "-oblique": ("β = 1, oblique", "-", palette.red),
    }
    for kind, (words, style, colour) in lines.items():
        angles = np.sort(ends_of(data[f"row{row}{kind}"]).angles.reshape(-1))
        angles = angles[np.isfinite(angles)]
        ax.plot(
            angles,
            np.arange(1, len(angles) + 1) / len(angles),
            linestyle=style,
            color=colour,
            linewidth=1.5,
            label=words,
        )
    at = np.linspace(0.0, np.pi / 2, 200)
    ax.plot(
        at,
        np.sin(at) if row == 4 else 1.0 - np.cos(at),
        color=palette.grey(0.45),
        linewidth=1.0,
        label="uniform",
    )
    ax.set(
        xlim=(0.0, np.pi / 2),
        ylim=(0.0, 1.01),
        xlabel="angle with L",
        ylabel="share of tokens within" if row == 4 else "",
    )
    ax.set_xticks([0.0, np.pi / 4, np.pi / 2], ["0", "π/4", "π/2"])
    ax.set_title(
        f"row {row}: {'a cloud around a plane' if row == 4 else 'two clouds around a line'}",
        fontsize=SMALL_POINTS + 1,
    )
    if row == 5:
        ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


ITEM = Item(
    key="table1",
    title="Table 1: where the tokens end",
    statement=(
        "By the largest real part λ_max of V's eigenvalues and its multiplicity: positive and d-fold, all"
        " tokens end at the first, x_1(0) (a theorem); positive and at least twofold, at one point of the top"
        " eigenspace L; positive and simple, at the two points ±ξ; negative and at least twofold, as a cloud"
        " around L; negative and simple, as two clouds around ±ξ. All but the first row are conjectures."
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
            "n = 16 (8 for complex tops) and β = 4 where tokens come to rest; β = 1 where they may move for"
            " ever, which takes explicit steps to the end; β = ½ for row 3 with V not normal, for the"
            " counter-examples of docs/conjectures.md need more tokens at β = 4. The end is t = 100 n e^{2β},"
            " there 10^4."
        ),
        (
            f"Random V in three dimensions: λ_max = 1, −½ or 0, other eigenvalues uniform between {GAP:g} and"
            f" {GAP + WIDTH:g} below it, eigenvectors uniformly random and orthogonal, or not, for half of"
            " the runs or all. Every run has its own V and its own uniform start."
        ),
        (
            "Row 1 means V = λI. The point of row 2 is the normalised spectral projection of x_1(0) onto L,"
            " oblique where L is not orthogonal to the rest."
        ),
        (
            "What a cloud is: the paper does not say. Measured are the angles of tokens with L over the last"
            " decade of time, whether they come to rest, and for two clouds whether no token is farther than"
            " 60° from ±ξ."
        ),
        (
            "Complex, defective and zero tops are outside the table, and only described. The first token of a"
            " cluster at −ξ rests about m e^{−2β} beside a defective top's eigenvector, m the number of"
            " tokens at ξ before it, so n e^{−2β} counts as near."
        ),
    ),
    criteria=(
        f"Row 1, a theorem: agrees if every run ends within {NEAR:g} of x_1(0). Row 2, and row 3 with"
        f" symmetric V: evidence for if every run ends within {NEAR:g} of the point or points V predicts,"
        " else evidence against. Row 3 with V not normal: evidence against if a run comes to rest with a"
        f" token more than {AWAY:g} off ±ξ; else not testable here, for such V are known to fail. Rows 4 and"
        f" 5: evidence against if in some family the mean angle with L is not below {CLOSER:.0%} of that of"
        f" uniform tokens or, in row 5, tokens are on both sides in no more than {ENOUGH:.0%} of the runs;"
        " else evidence for, if in every family the 95 % interval of the mean angle lies below that of"
        " uniform tokens."
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
