"""Lost in the middle: what the last token remembers of each earlier one, and when that has the shape of a
U."""

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import (
    CHANCE,
    MAX_STANDARD_ERRORS,
    fit_line,
    half_width,
    most_standard_errors,
    number_with_error,
    plus_minus,
    slope_of,
    standard_errors_off,
)
from nucleate.papers.core.numbers import Number, exact, mean_of
from nucleate.papers.lost_in_the_middle.retrieval_profile.data import case_name, run, size_name
from nucleate.papers.lost_in_the_middle.retrieval_profile.figures import draw
from nucleate.papers.lost_in_the_middle.retrieval_profile.measures import (
    CLEARLY_AFTER,
    CLEARLY_BEFORE,
    LATEST_JUDGED,
    LEAST_EXCESS,
    amplitudes,
    compared_group,
    expected_profile,
    grouped,
    judged_ends,
    tolerance,
    u_shaped,
)

__all__ = ["ITEM"]

JUDGED = 1  # the mode whose shape is judged: the ends of mode 2 are too noisy at N = 64
WIDEST = 0.1  # half of an interval of an amplitude for N to infinity: a wider one decides nothing


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """The distance to the formula in units of what is allowed; first and last tokens against the middle."""
    numbers = {}
    N, groups = p["N"], p["groups"]
    for mode, lam in p["cases"]:
        found = grouped(data[case_name(mode, lam)]["response"].values, groups)  # (runs, times, groups)
        for i, at in enumerate(p["at"]):
            one, name = found[:, i], f"{mode}_{lam:g}_{at:g}"  # (runs, groups)
            where = f"mode {mode}, λ = {lam:g}, at = {at:g}"
            formula, error = expected_profile(N, at, lam, groups), one.std(0, ddof=1) / np.sqrt(len(one))
            allowed = MAX_STANDARD_ERRORS * error + tolerance(N, at, lam, groups)  # (groups,)
            numbers[f"off_{name}"] = exact(
                float((np.abs(one.mean(0) - formula) / allowed).max()),
                f"{where}: largest distance to the formula over what N = {N} and chance allow",
            )
            least = compared_group(at, lam, groups)
            at_place = "the least remembered" if u_shaped(at, lam) else "one half"
            numbers[f"first_{name}"] = mean_of(
                one[:, 0] - one[:, least],
                f"{where}: N × correlation, first group less {at_place}",
                float(formula[0] - formula[least]),
            )
            numbers[f"last_{name}"] = mean_of(
                one[:, -1] - one[:, least],
                f"{where}: N × correlation, last group less {at_place}",
                float(formula[-1] - formula[least]),
            )
    return numbers | _over_sizes(data, p)


def _over_sizes(data: Data, p: Parameters) -> dict[str, Number]:
    """The amplitude of one profile at every larger N, and for N to infinity: by a line of its logarithm in
    1/N."""
    numbers = {}
    (mode, lam), sizes = p["size_case"], [N for N, _ in p["sizes"]]
    for i, at in enumerate(p["at"]):
        if at > LATEST_JUDGED:
            continue
        found = [amplitudes(data[size_name(N)]["response"].values, p["at"], lam)[:, i] for N in sizes]
        for N, one in zip(sizes, found, strict=True):
            numbers[f"amplitude_{N}_{at:g}"] = mean_of(
                one,
                f"mode {mode}, λ = {lam:g}, at = {at:g}, N = {N}: profile over the linear law of N tokens",
            )
        mean = np.maximum([one.mean() for one in found], 1e-9)  # (sizes,)
        error = np.array([one.std(ddof=1) / np.sqrt(len(one)) for one in found])
        line = fit_line(1.0 / np.array(sizes), np.log(mean), error / mean)
        limit = float(np.exp(line.intercept))
        numbers[f"amplitude_{at:g}"] = number_with_error(
            limit,
            limit * line.intercept_error,
            f"mode {mode}, λ = {lam:g}, at = {at:g}: the same for N → ∞",
            f"95 % interval, logarithms on a line in 1/N through {len(sizes)} N",
            1.0,
        )
        numbers[f"slope_{at:g}"] = slope_of(
            line, f"mode {mode}, λ = {lam:g}, at = {at:g}: slope of the logarithm of the same in 1/N"
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    every = [(mode, lam, at) for mode, lam in p["cases"] for at in p["at"]]
    offs = {
        one: numbers[f"off_{one[0]}_{one[1]:g}_{one[2]:g}"].value for one in every if one[2] <= LATEST_JUDGED
    }
    off = max(value for one, value in offs.items() if one[0] == JUDGED)
    every = [one for one in every if one[0] == JUDGED]
    firsts, lasts = (
        [one for one in every if judged_ends(p["N"], one[2], one[1], p["groups"])[end]] for end in (0, 1)
    )
    late = [one for one in every if u_shaped(one[2], one[1]) is False and one[1] > 0.0]
    none = [one for one in every if one[1] == 0.0]

    def ends(case: tuple[int, float, float], which: str) -> Number:
        return numbers[f"{which}_{case[0]}_{case[1]:g}_{case[2]:g}"]

    def falls(cases: list[tuple[int, float, float]]) -> bool:
        return bool(cases) and all(_end(ends(one, "last"), high=True) < 0.0 for one in cases)

    def told(cases: list[tuple[int, float, float]], which: str) -> str:
        return ", ".join(
            f"{plus_minus(ends(one, which))} (mode {one[0]}, λ = {one[1]:g}, at = {one[2]:g})"
            for one in cases
        )

    high_ends = bool(firsts and lasts) and all(
        _end(ends(one, which)) > 0.0 for which, cases in (("first", firsts), ("last", lasts)) for one in cases
    )
    return (
        Verdict(
            "the correlation of the last token with token σ₀N at the start is k_λ√(at/Y) I₁(2√(atY))/N, in"
            " mode 1",
            "agrees" if off <= 1.0 else "disagrees",
            f"up to at = {LATEST_JUDGED:g} no group of tokens is farther from it than {off:.2f} times what N"
            f" = {p['N']} and chance allow",
        ),
        Verdict(
            "with ALiBi and for small times the profile has the shape of a U: first and last tokens count"
            " more than those in the middle",
            "agrees" if high_ends else "disagrees",
            f"last less least: {told(lasts, 'last')}; first less least: {told(firsts, 'first')}",
        ),
        Verdict(
            "without ALiBi (λ = 0) there is no U: the last tokens count less than those in the middle",
            "observed" if falls(none) else "not observed",
            f"last less one half: {told(none, 'last')}",
        ),
        Verdict(
            "the U ends at at = 2(1 − e^{−λ}): later the last tokens count less than those in the middle",
            "observed" if falls(late) and high_ends else "not observed",
            f"last less one half: {told(late, 'last')}",
        ),
        Verdict(
            f"the same formula holds in mode {p['size_case'][0]} to first order in 1/N: what N tokens fall"
            " short of it by vanishes as N grows",
            *_judged_sizes(numbers, p),
        ),
    )


def _judged_sizes(numbers: Numbers, p: Parameters) -> tuple[Word, str]:
    """The word on N to infinity, and why."""
    times = [at for at in p["at"] if at <= LATEST_JUDGED]
    limits = [numbers[f"amplitude_{at:g}"] for at in times]
    far = max(standard_errors_off(one) for one in limits)
    word: Word = "agrees" if far <= most_standard_errors(len(limits)) else "disagrees"
    narrow = all(half_width(one) <= WIDEST for one in limits)
    told = "; ".join(
        f"at = {at:g}: "
        + ", ".join(f"{plus_minus(numbers[f'amplitude_{N}_{at:g}'])} (N = {N})" for N, _ in p["sizes"])
        + f", {plus_minus(limit)} (N → ∞)"
        for at, limit in zip(times, limits, strict=True)
    )
    return (
        word if narrow or word == "disagrees" else "not testable here",
        f"λ = {p['size_case'][1]:g}, size of the profile over the linear law of N tokens, {told}",
    )


def _end(number: Number, high: bool = False) -> float:
    end = number.high if high else number.low
    return number.value if end is None else end


ITEM = Item(
    key="retrieval-profile",
    title="Lost in the middle",
    cost=Cost(quick=30.0, full=110.0),
    source="the retrieval profile of independent uniform tokens",
    statement=(
        "Causal attention with exponential weights and ALiBi on the circle, N tokens independent and uniform."
        " To first order in 1/N the correlation of token N at the time t with token σ₀N at the time 0, in"
        " mode n, is k_λ√(at/Y) I₁(2√(atY)), k_λ = λe^{λσ₀}/(e^λ − 1), a = n²I_n(β), Y = log((e^λ −"
        " 1)/(e^{λσ₀} − 1)). For small t it has the shape of a U in σ₀: the middle is lost."
    ),
    ours=(
        "The U lasts up to at = 2(1 − e^{−λ}), and without ALiBi there is none (derived in"
        " `nucleate.theory.lost_in_the_middle`)."
    ),
    parameters={
        "N": 64,
        "beta": 1.0,
        "cases": [[1, 0.0], [1, 1.0], [1, 2.0], [2, 1.0]],
        "at": [0.5, 1.0, 2.0],
        "runs": 500,
        "groups": 16,
        "size_case": [2, 1.0],
        "sizes": [[128, 256], [256, 128], [512, 64]],
        "rtol": 1e-5,
        "seed": 18,
    },
    quick={"runs": 200, "cases": [[1, 0.0], [1, 1.0]], "groups": 8, "sizes": [[128, 128], [256, 64]]},
    choices=(
        "N = 64 and β = 1 are those of the authors' code; λ, the times and the starts are ours.",
        (
            "Their T = 10 is at = 5.7, where tokens have clustered and the linear law is over; we stop at at"
            " = 2, t = 3.5. Steps are adaptive, not dt = 0.0025."
        ),
        (
            "Each start is run N times, once as it is and once with each token moved by π/n: half the"
            " difference of cos n(θ_N(t) − θ_j(0)) has the correlation as its mean and scatters N times less."
        ),
        (
            "The paper leaves the token itself out of Z_j, `Attention` does not: a change of order 1/N, which"
            " counts most for the first tokens. The tolerance is what this changes, plus what sums for"
            " integrals change, both from e^{atM} of N tokens, plus e^{2at}/N for fluctuations."
        ),
        "Neighbouring tokens are grouped, 4 at a time.",
        (
            "The U and its absence were to be judged in mode 2 too; after the first full run, in which its"
            " ends were too noisy, they are judged in mode 1 alone. In that run the profile of mode 2 was 13"
            " to 29 % below the formula at at = 1, N = 64, which the criterion of mode 1 does not allow."
            " Phases nθ scatter n² times more, and the statement is of first order in 1/N: so mode 2 is now"
            " followed to larger N, with runs such that errors are about the same."
        ),
        (
            "Two criteria were changed after quick runs, in which intervals were wider than what the formula"
            " expects: where no U is expected the last group is compared with one half instead of three"
            " quarters, and ends that hardly exceed the least are not judged. All these runs had the authors'"
            " seed, 17; the numbers here are of the seed 18, written down with the criteria before runs with"
            " it."
        ),
    ),
    criteria=(
        f"First: agrees if at every at up to {LATEST_JUDGED:g} the mean of every group is within"
        f" {MAX_STANDARD_ERRORS:g} standard errors and the tolerance of the formula. Second: agrees if"
        f" wherever at ≤ {CLEARLY_BEFORE:g} × 2(1 − e^{{−λ}}) the first and the last group exceed that where"
        " the formula has its minimum, by 95 % intervals; an end that exceeds it by less than"
        f" {LEAST_EXCESS:.0%} in the linear law of N tokens, own terms in it, is not judged. Third: observed"
        " if for λ = 0 and all times the last group is below that at one half, by 95 % intervals. Fourth:"
        f" observed if the same holds for λ > 0 wherever at ≥ {CLEARLY_AFTER:g} × 2(1 − e^{{−λ}}), and the"
        f" second does. All of these for mode 1. Fifth: agrees if, at every at up to {LATEST_JUDGED:g}, the"
        " mean of the profile of mode 2 over that of the linear law of N tokens, own terms in it, tends to 1"
        " as N → ∞, by a line of its logarithm in 1/N; with as many standard errors as chance passes with"
        f" probability {CHANCE:g} at one of the times. Undecided if half of an interval is more than"
        f" {WIDEST:g}."
    ),
    captions={
        "retrieval-profile": (
            "N times the correlation of the last token with token σ₀N at the start, mode 1, at three times:"
            " groups of tokens with 95 % intervals (dots), the formula (lines) and what N = 64 allows"
            " (bands). Without ALiBi it falls; with it, early, it has the shape of a U. At at = 2"
            " fluctuations have grown and the formula (dotted) is not judged. Right: the size of the profile"
            " of mode 2 over the linear law of N tokens, against 1/N, with the line that leads to N = ∞; the"
            " open dots, N = 64, are not in its fit."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
