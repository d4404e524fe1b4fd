"""Lemma C.1, the number of strong centers, and Rényi's constant and what takes its place in higher
dimensions."""

import numpy as np

from nucleate.papers.causal_clustering.lemmaC1.data import dataset_name, run
from nucleate.papers.causal_clustering.lemmaC1.figures import draw
from nucleate.papers.causal_clustering.lemmaC1.measures import LINE, PARABOLA, jammed
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.line_fits import (
    MAX_STANDARD_ERRORS,
    combined_error,
    fit_line,
    number_with_error,
    plus_minus,
    standard_errors_off,
)
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

MAX_MISSING = 1e-3  # share of the strong centers that may be missing where a mean is held against 1/sigma
# Density at which random sequential addition of equal balls in flat space of d - 1 dimensions ends, by d:
# Rényi's integral, then Zhang and
# Torquato, Physical Review E 88 (2013) 053312, who give the last digits to within 3, 2 and 4.
SATURATION_DENSITIES = {3: 0.5470735, 4: 0.3841307, 5: 0.2600781}


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Means against the lemma; and the share of the sphere that jammed caps of half the radius cover."""
    from nucleate.theory.counts import expected_centers

    numbers: dict[str, Number] = {}
    for d, delta in p["strong_at"]:
        found = data[dataset_name("strong", d, delta)]
        for i, n in enumerate(found["tokens"].values):
            about = f"d = {d}, δ = {delta:.3g}: mean number of strong centers among {n} tokens"
            numbers[f"strong_d{d}_{delta:.3g}_n{n}"] = mean_of(
                found["count"].values[:, i], about, expected_centers(delta, d, int(n), strong=True)
            )
    worst = max(standard_errors_off(number) for number in numbers.values())
    numbers["strong_worst"] = exact(
        worst, "largest distance of these means from (1 − (1 − σ)^{n})/σ, in standard errors"
    )
    for d, delta in p["strong_at"]:
        numbers |= _limit_numbers(data, d, delta)
    limits = [number for name, number in numbers.items() if name.startswith("limit_d")]
    numbers["limit_worst"] = exact(
        max(standard_errors_off(number) for number in limits),
        "largest distance of the means with all centers found from 1/σ, in standard errors",
    )
    for d in sorted({d for d, _ in p["renyi_at"]}):
        numbers |= _constant_numbers(data, p, d)
    return numbers


def _limit_numbers(data: Data, d: int, delta: float) -> dict[str, Number]:
    """The mean among so many tokens that hardly a center is missing, against the lemma; none if there are not
    so many."""
    from nucleate.theory.counts import cap_share

    found, sigma = data[dataset_name("strong", d, delta)], cap_share(delta, d)
    n = int(found["tokens"].values[-1])
    if (1.0 - sigma) ** n > MAX_MISSING:
        return {}
    about = f"d = {d}, δ = {delta:.3g}: mean number of strong centers, all found ({n} tokens)"
    return {f"limit_d{d}_{delta:.3g}": mean_of(found["count"].values[:, -1], about, 1.0 / sigma)}


def _constant_numbers(data: Data, p: Parameters, d: int) -> dict[str, Number]:
    """Rényi centers in one dimension: jammed at each radius, then for radii towards 0."""
    from nucleate.theory.counts import cap_share, expected_centers, renyi_constant

    numbers, rows = {}, []
    for delta in [delta for one, delta in p["renyi_at"] if one == d]:
        found = data[dataset_name("renyi", d, delta)]
        count, tokens, half_cap = found["count"].values, found["tokens"].values, cap_share(delta / 2.0, d)
        ends = jammed(count, tokens, d, *PARABOLA)  # (runs,)
        statistical = ends.std(ddof=1) / np.sqrt(len(ends))
        systematic = (ends.mean() - jammed(count, tokens, d, *LINE).mean()) / 2.0
        error = combined_error(statistical, systematic)
        expected = expected_centers(delta, 2) if d == 2 else None
        about = f"d = {d}, δ = {delta:.3g}: mean number of Rényi centers after infinitely many tokens"
        numbers[f"jammed_d{d}_{delta:.3g}"] = number_with_error(
            float(ends.mean()), error, about, "95 % interval with that of the extrapolation", expected
        )
        about = f"d = {d}, δ = {delta:.3g}: the same among {tokens[-1]} tokens, counted"
        numbers[f"counted_d{d}_{delta:.3g}"] = mean_of(count[:, -1], about)
        rows.append((delta**2, ends.mean() * half_cap, error * half_cap))
    square, share, errors = (np.array(column) for column in zip(*rows, strict=True))  # each (radii,)
    about = f"d = {d}: share of the sphere in caps of radius δ/2 about jammed Rényi centers, as δ → 0"
    if d == 2:  # the circle is flat: every δ has the same share
        weight = errors**-2.0
        mean, error = weight @ share / weight.sum(), weight.sum() ** -0.5
        numbers["constant_d2"] = number_with_error(
            mean, error, about, f"95 % interval of the mean over {len(rows)} radii", renyi_constant()
        )
    else:
        fit = fit_line(square, share, errors)
        how = f"95 % interval of a line in δ² through {len(rows)} radii"
        numbers[f"constant_d{d}"] = number_with_error(
            fit.intercept, fit.intercept_error, about, how, SATURATION_DENSITIES[d]
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    strong = [name for name in numbers if name.startswith("strong_d")]
    worst, limit = numbers["strong_worst"].value, _max_standard_errors(len(strong))
    ends = [name for name in numbers if name.startswith("limit_d")]
    jam = [numbers[name] for name in numbers if name.startswith("jammed_d2")]
    two = [*jam, numbers["constant_d2"]]
    higher = {d: numbers[f"constant_d{d}"] for d in SATURATION_DENSITIES}
    each = ", ".join(
        f"{plus_minus(number, 4)} for d = {d} (known {number.expected_text})" for d, number in higher.items()
    )
    return (
        Verdict(
            "among infinitely many independent uniform tokens the mean number of strong centers is 1/σ(B_δ)",
            "agrees" if numbers["limit_worst"].value <= _max_standard_errors(len(ends)) else "disagrees",
            f"{len(ends)} means over {p['strong_runs']} starts, d = {_listed_dimensions(ends)}, with so many"
            f" tokens that hardly a center is missing, differ from it by at most"
            f" {numbers['limit_worst'].value:.1f} standard errors",
        ),
        Verdict(
            "among n tokens the mean number of strong centers is (1 − (1 − σ)^{n})/σ",
            "proved" if worst <= limit else "contradicted",
            f"{len(strong)} means over {p['strong_runs']} starts, d = 2 to 5, n = {p['sizes'][0]} to"
            f" {p['sizes'][-1]}, differ from it by at most {worst:.1f} standard errors",
            proof="proofs.md#strong-centers-among-n-tokens",
        ),
        Verdict(
            "on the circle the mean number of Rényi centers is 1 + M(2π/δ − 1) when jammed, and tends to"
            " c_R·2π/δ, with Rényi's function M and his constant c_R",
            "proved"
            if all(standard_errors_off(number) <= MAX_STANDARD_ERRORS for number in two)
            else "contradicted",
            f"c_R = {two[-1].expected or 0.0:.7f} is measured as {plus_minus(two[-1], 5)};"
            f" {_jammed_counts(jam)}. That M(x)/x tends to c_R is Rényi's theorem (1958)",
            proof="proofs.md#rényi-centers-on-the-circle",
        ),
        Verdict(
            "for d = 3, 4, 5 Rényi centers jam like balls in flat space: as δ → 0 they number"
            " c_d/σ(B_{δ/2}), c_d the saturation density of balls in d − 1 dimensions",
            (
                "observed"
                if all(standard_errors_off(number) <= MAX_STANDARD_ERRORS for number in higher.values())
                else "not observed"
            ),
            f"the share of the sphere covered by their caps tends to {each}",
        ),
    )


def _listed_dimensions(names: list[str]) -> str:
    """The d of numbers named limit_d..., each once."""
    return ", ".join(sorted({name.split("_")[1].removeprefix("d") for name in names}))


def _max_standard_errors(means: int) -> float:
    """Standard errors that the worst of so many means exceeds less than once in a thousand times, if all are
    right."""
    from scipy.stats import norm

    return float(norm.isf(0.0005 / means))


def _jammed_counts(jam: list[Number]) -> str:
    return "jammed counts are " + ", ".join(
        f"{plus_minus(number)} for {number.expected:.3f}" for number in jam
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The factor 3 in the example d = 3."""
    found = [(name, number) for name, number in numbers.items() if name.startswith("strong_d3_1.33")]
    if not found:
        return ()
    _, number = max(found, key=lambda pair: int(pair[0].rsplit("n", 1)[1]))
    printed = 1.0 / (3.0 * np.sin(2.0 / 3.0) ** 2)
    if number.low is None or number.low <= printed or standard_errors_off(number) > MAX_STANDARD_ERRORS:
        return ()
    evidence = (
        f"δ = 4/3: {number!s} strong centers are counted; 1/sin²(δ/2) is {1 / np.sin(2 / 3) ** 2:.4f}, the"
        f" print gives {printed:.4f}"
    )
    return (Slip("Strong centers for d = 3: (3 sin²(δ/2))^(−1)", "1/sin²(δ/2)", evidence),)


ITEM = Item(
    key="lemmaC.1",
    title="Lemma C.1: how many centers",
    cost=Cost(quick=4.9, full=105.5),
    source="Lemma C.1",
    statement=(
        "Tokens are independent and uniform on the sphere; a strong Rényi center is farther than δ from every"
        " earlier token, a Rényi center from every earlier center. Among infinitely many tokens the mean"
        " number of strong centers is 1/σ(B_δ), with σ(B_δ) the share of the sphere in a cap of radius δ. The"
        " number of Rényi centers is left open for d > 2."
    ),
    ours=(
        "The number of strong centers among n tokens; that of Rényi centers on the circle, by Rényi's M with"
        " M(x) = 0 for x ≤ 1 and M(x) = 1 + (2/(x−1)) ∫_0^{x−1} M for x > 1, and c_R, the limit of M(x)/x;"
        " and what takes the place of c_R for d > 2."
    ),
    parameters={
        "strong_at": [[2, 0.5], [2, 0.1], [3, 4.0 / 3.0], [3, 0.3], [4, 1.0], [4, 0.5], [5, 1.2], [5, 0.8]],
        "sizes": [10, 100, 1000, 10000],
        "strong_runs": 1000,
        "renyi_at": [
            [2, 0.4],
            [2, 0.2],
            [2, 0.1],
            [3, 0.28],
            [3, 0.2],
            [3, 0.14],
            [4, 0.5],
            [4, 0.36],
            [4, 0.26],
            [5, 0.6],
            [5, 0.45],
            [5, 0.35],
        ],
        "per_cap": [125, 250, 500, 1000, 2000, 4000],
        "renyi_counted": 12000,
        "seed": 0,
    },
    quick={
        "strong_runs": 100,
        "sizes": [10, 100, 1000],
        "renyi_at": [
            [2, 0.4],
            [2, 0.2],
            [2, 0.1],
            [3, 0.4],
            [3, 0.28],
            [3, 0.2],
            [4, 0.7],
            [4, 0.5],
            [4, 0.36],
            [5, 0.9],
            [5, 0.6],
            [5, 0.45],
        ],
        "renyi_counted": 1500,
        "per_cap": [31, 62, 125, 250, 500, 1000],
    },
    choices=(
        (
            "The dimensions 2 to 5 and the radii; d = 3 has δ = 4/3, where the printed number and the right"
            " one are far apart."
        ),
        (
            "Jammed counts: one start serves every number of tokens, up to 4000 per cap of radius δ, in as"
            " many starts as have 12000 centers in all. A parabola in n^(−1/(d − 1)) through six numbers of"
            " tokens gives infinitely many; half of the difference from a line through the last four is added"
            " to the error."
        ),
        (
            "For d > 2 the caps of radius δ/2 about Rényi centers are balls that are added one after the"
            " other and never overlap. As δ → 0 the sphere is flat to them, so that the share they cover"
            " ought to be the known saturation density of discs and balls: .5470735, .3841307, .2600781"
            " (Zhang and Torquato 2013)."
        ),
    ),
    criteria=(
        "First: agrees if no mean among tokens that leave less than"
        f" {MAX_MISSING:g} of the centers missing is farther from 1/σ than the worst of so many right means"
        " is once in a thousand times. Second: proved; contradicted if a mean is farther than that from its"
        " formula. Third: proved; contradicted unless every jammed count on the circle and c_R are within"
        f" {MAX_STANDARD_ERRORS:g} standard errors of the known values. Fourth: observed if the constants for"
        f" d = 3, 4 and 5 are within {MAX_STANDARD_ERRORS:g} standard errors of the known saturation"
        " densities."
    ),
    captions={
        "lemmac1": (
            "Left: mean number of strong centers over tokens for two δ in each dimension, on the lines of"
            " Lemma C.1. Middle: the share of Rényi centers still missing, on lines that fall like"
            " n^{−1/(d − 1)}; for d = 2 shares below 5e-4 are left out. Right: the share of the sphere in"
            " caps of radius δ/2 about jammed centers, as δ → 0, against Rényi's constant and the saturation"
            " densities of discs and balls, with 95 % intervals."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
