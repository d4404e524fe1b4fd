"""The law β^{(d−1)/2}: strong centers, Rényi centers and the clusters that really form, and the radius at
which centers tell the clusters."""

from typing import Any

import numpy as np

from nucleate.papers.causal_clustering.law.data import C, dataset_name, run
from nucleate.papers.causal_clustering.law.figures import draw
from nucleate.papers.causal_clustering.law.measures import (
    DECADE,
    KINDS,
    MIN_VARIANCE_PER_COUNT,
    counts_of_runs,
    match_curve,
    means,
)
from nucleate.papers.causal_clustering.shared.cluster_runs import FIGURE_C
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import (
    MAX_STANDARD_ERRORS,
    STANDARD_ERRORS_95,
    fit_line,
    half_width,
    number_with_error,
    plus_minus,
    slope_of,
)
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

# of an exponent (d−1)/2, which is that of the limit: over the last decade of β in d = 4 the number of caps,
# 1/σ, itself has an exponent 4.2 % below it, as is known exactly
EXPONENT_RELATIVE_ERROR = 0.05
RADIUS_ERROR = 0.5  # of c = 4


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Exponents, constants and matching radii for every d; then what other numbers of tokens change."""
    numbers: dict[str, Number] = {}
    for d, betas in p["betas"].items():
        upper = [beta for beta in betas if beta >= betas[-1] / DECADE]
        numbers |= _caps(int(d), betas, upper)
        for kind in KINDS:
            numbers |= _powers(data, p, int(d), betas, upper, kind)
        numbers |= _radius(data, int(d), upper) | _matches(data, p, int(d), upper)
    for per_cap in p["densities"]:
        found = data[f"density{per_cap:g}"]
        about = (
            f"d = 2, β = {p['density_beta']:g}, {found.attrs['n']} tokens, {per_cap:g} per cap: clusters at t"
            f" = {p['at']:g}"
        )
        numbers[f"density_{per_cap:g}"] = mean_of(counts_of_runs(found, "clusters", p["at"]), about)
    return numbers


def _caps(d: int, betas: list[float], upper: list[float]) -> dict[str, Number]:
    """What the sphere's curvature leaves of the exponent (d−1)/2 at these β: the exponent of 1/σ, the mean
    number of strong centers by Lemma C.1."""
    from nucleate.theory.counts import cap_share

    numbers = {}
    for name, some in (("all", betas), ("decade", upper)):
        caps = [-np.log(cap_share(min(FIGURE_C * beta**-0.5, np.pi), d)) for beta in some]
        numbers[f"caps_d{d}_{name}"] = exact(
            np.polyfit(np.log(some), caps, 1)[0],
            f"d = {d}: exponent of β in 1/σ, the mean number of strong centers by Lemma C.1, {_span(some)}",
            expected=(d - 1) / 2.0,
        )
    return numbers


def _span(betas: list[float]) -> str:
    return f"β = {betas[0]:g} to {betas[-1]:g}"


def _powers(
    data: Data, p: Parameters, d: int, betas: list[float], upper: list[float], kind: str
) -> dict[str, Number]:
    """The exponent in ln β over all β and over the last decade; and the constant at the largest β."""
    words = KINDS[kind] + (f" at t = {p['at']:g}" if kind == "clusters" else ", c = 4")
    half, name = (d - 1) / 2.0, f"{kind}_d{d}"
    numbers = {}
    for end, some in (("all", betas), ("decade", upper)):
        mean, error = means(data, d, some, kind, p["at"])
        about = f"d = {d}: exponent of β in the number of {words}, {_span(some)}"
        numbers[f"{name}_{end}"] = slope_of(fit_line(np.log(some), np.log(mean), error / mean), about, half)
    counts = counts_of_runs(data[dataset_name(d, betas[-1])], kind, p["at"])
    about = f"d = {d}: number of {words} over β^{{(d−1)/2}}, β = {betas[-1]:g}"
    numbers[f"{name}_constant"] = mean_of(counts / betas[-1] ** half, about)
    return numbers


def _radius(data: Data, d: int, betas: list[float]) -> dict[str, Number]:
    """For each time and kind the c with as many centers as there are clusters, over the last decade of β."""
    numbers = {}
    for kind in ("renyi", "strong"):
        for t in data[dataset_name(d, betas[-1])]["time"].values:
            value, error = radius_at(data, d, betas, kind, float(t))
            about = f"d = {d}: c for which there are as many {KINDS[kind]} as clusters at t = {t:g}"
            if np.isfinite(value):
                numbers[f"c_{kind}_d{d}_t{t:g}"] = number_with_error(
                    value, error, about, "95 % interval of the mean over the last decade of β"
                )
    return numbers


def radius_at(data: Data, d: int, betas: list[float], kind: str, t: float) -> tuple[float, float]:
    """That c and its standard error: between the c that were counted, in the logarithm; NaN if it is not
    among them."""
    found, weight = [], []
    for beta in betas:
        one = data[dataset_name(d, beta)]
        clusters = counts_of_runs(one, "clusters", t)  # (runs,)
        many, centers = clusters.mean(), np.log(one[kind].values.mean(0))  # (c,) falling
        if not centers[-1] <= np.log(many) <= centers[0]:
            return np.nan, np.nan
        c = np.exp(np.interp(-np.log(many), -centers, np.log(C)))
        near = one[kind].values[:, int(np.abs(C - c).argmin())]  # (runs,) centers of the same starts
        spread = np.sqrt(max((clusters - near).var(ddof=1), MIN_VARIANCE_PER_COUNT * many) / len(near))
        found.append(c)
        weight.append(((d - 1.0) * many / (c * spread)) ** 2)  # the number goes like c^{-(d-1)}
    return float(np.average(found, weights=weight)), float(np.sum(weight) ** -0.5)


def _matches(data: Data, p: Parameters, d: int, betas: list[float]) -> dict[str, Number]:
    """How well centers tell the clusters: at c = 4, and at the c that is best."""
    numbers = {}
    for kind in ("renyi", "strong"):
        share, error = match_curve(data, d, betas, kind)
        best, figure_c = int(share.argmax()), int(np.searchsorted(C, FIGURE_C))
        words, how = KINDS[kind], "95 % interval over runs, the last decade of β"
        about = f"d = {d}: share of clusters at t = {p['at']:g} that hold exactly one of the {words}"
        numbers[f"match_{kind}_d{d}"] = number_with_error(
            share[best], error[best], f"{about}, at the best c", how
        )
        numbers[f"match4_{kind}_d{d}"] = number_with_error(
            share[figure_c], error[figure_c], f"{about}, at c = 4", how
        )
        numbers[f"best_{kind}_d{d}"] = exact(C[best], f"d = {d}: that c for {words}", "by steps of 0.25")
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    dims = [int(d) for d in p["betas"]]
    centers = [numbers[f"{kind}_d{d}_decade"] for kind in ("strong", "renyi") for d in dims]
    clusters = [numbers[f"clusters_d{d}_decade"] for d in dims]
    radii = _judged_radii(numbers, p, dims)
    near = all(c is not None and abs(c.value - FIGURE_C) <= RADIUS_ERROR for _, _, c in radii)
    better = all(_surely_more(numbers[f"match_strong_d{d}"], numbers[f"match_renyi_d{d}"]) for d in dims)
    caps = _comma_list([f"{numbers[f'caps_d{d}_decade'].value:.3f}" for d in dims])
    largest = _comma_list([f"{betas[-1]:g}" for betas in p["betas"].values()])
    return (
        Verdict(
            "strong and Rényi centers of uniform tokens both number Θ(β^{(d−1)/2})",
            "agrees" if all(is_expected_exponent(one) for one in centers) else "disagrees",
            f"for d = {_comma_list(dims)} the exponents of β in the last decade up to β = {largest} are"
            f" {_listed(numbers, 'strong', dims, 'decade')} (strong) and"
            f" {_listed(numbers, 'renyi', dims, 'decade')} (Rényi), over all β"
            f" {_listed(numbers, 'strong', dims, 'all')} and {_listed(numbers, 'renyi', dims, 'all')}. For"
            " strong centers the law is a consequence of Lemma C.1, whose 1/σ has the exponents"
            f" {caps} in these decades:"
            " caps are still curved there",
        ),
        Verdict(
            "the conjectured β^{(d₁−1)/2}, read as the number of clusters, holds for V = I, where d₁ = d",
            "evidence for" if all(is_expected_exponent(one) for one in clusters) else "evidence against",
            (
                f"exponents {_listed(numbers, 'clusters', dims, 'decade')} in the last decade of β,"
                f" {_listed(numbers, 'clusters', dims, 'all')} over all, at t = {p['at']:g} for d ="
                f" {_comma_list(dims)}; at the largest β the numbers are "
                + ", ".join(f"({plus_minus(numbers[f'clusters_d{d}_constant'])}) β^({d - 1}/2)" for d in dims)
                + _scaling(numbers, p)
            ),
        ),
        Verdict(
            f"with c = {FIGURE_C:g} there are as many Rényi centers as clusters, at t = 20, 75 and 150 alike",
            "observed" if near else "not observed",
            "the c with equal numbers depends on when one looks: "
            + "; ".join(f"d = {d}: {_radii_of(radii, d)}" for d in dims)
            + f". It begins with {_first_radii(numbers, dims)}",
        ),
        Verdict(
            "strong centers with a smaller c tell better than Rényi centers where clusters form",
            "observed" if better else "not observed",
            _described_matches(numbers, dims),
        ),
    )


def _scaling(numbers: Numbers, p: Parameters) -> str:
    """What the choice of n alone brings about, and what other n change."""
    counts = [numbers[f"density_{per_cap:g}"] for per_cap in p["densities"]]
    least, most = (end(counts, key=lambda one: one.value) for end in (min, max))
    return (
        f". n goes like β^{{(d−1)/2}} too ({p['per_cap']} tokens per cap), so that scaling alone gives this"
        f" exponent for large β. How many tokens there are hardly matters: {plus_minus(least, 1)} to"
        f" {plus_minus(most, 1)} clusters with {p['densities'][0]:g} to {p['densities'][-1]:g} per cap (d ="
        f" 2, β = {p['density_beta']:g})"
    )


def _judged_radii(numbers: Numbers, p: Parameters, dims: list[int]) -> list[tuple[int, float, Number | None]]:
    """d, time and the c of equal numbers, at the times for which c = 4 is judged, as far as d is followed."""
    return [
        (d, t, numbers.get(f"c_renyi_d{d}_t{t:g}"))
        for d in dims
        for t in p["judged_times"]
        if t <= p["end"][str(d)]
    ]


def _radii_of(radii: list[tuple[int, float, Number | None]], d: int) -> str:
    return _comma_list(
        [f"{plus_minus(c, 2) if c else 'none'} at t = {t:g}" for one, t, c in radii if one == d]
    )


def _first_radii(numbers: Numbers, dims: list[int]) -> str:
    found = []
    for d in dims:
        name = next((name for name in numbers if name.startswith(f"c_renyi_d{d}_t")), None)
        found.append(f"{numbers[name].value:.2f} at t = {name.rsplit('_t', 1)[1]}" if name else "none")
    return f"{_comma_list(found)} for d = {_comma_list(dims)}"


def is_expected_exponent(number: Number) -> bool:
    """Whether an exponent is the expected one, but for the slack and chance."""
    assert number.expected is not None
    return abs(
        number.value - number.expected
    ) <= EXPONENT_RELATIVE_ERROR * number.expected + MAX_STANDARD_ERRORS / STANDARD_ERRORS_95 * half_width(
        number
    )


def _surely_more(one: Number, other: Number) -> bool:
    return one.low is not None and other.high is not None and one.low > other.high


def _listed(numbers: Numbers, kind: str, dims: list[int], span: str) -> str:
    return _comma_list([plus_minus(numbers[f"{kind}_d{d}_{span}"]) for d in dims])


def _comma_list(items: list[Any]) -> str:
    return ", ".join(str(item) for item in items)


def _described_matches(numbers: Numbers, dims: list[int]) -> str:
    found = [
        f"d = {d}: strong {numbers[f'match_strong_d{d}'].value:.0%} at c ="
        f" {numbers[f'best_strong_d{d}'].value:.3g}, Rényi {numbers[f'match_renyi_d{d}'].value:.0%} at c ="
        f" {numbers[f'best_renyi_d{d}'].value:.3g} (at c = 4: {numbers[f'match4_renyi_d{d}'].value:.0%})"
        for d in dims
    ]
    return f"clusters that hold exactly one center: {'; '.join(found)}"


ITEM = Item(
    key="law",
    title="The law β^{(d−1)/2}",
    cost=Cost(quick=9.4, full=135.0),
    source="Section 5",
    statement=(
        "Q = K = V = I, δ = cβ^(−1/2), uniform tokens: Rényi centers and strong Rényi centers both number"
        " Θ(β^{(d−1)/2}). For a general value matrix V the paper conjectures β^{(d₁−1)/2}, with d₁ the number"
        " of principal directions of V. The paper's figures take c = 4 and show"
        " t = 75 and t = 150; it does not say for which c centers and clusters are equal in number."
    ),
    ours=(
        "The conjecture is read as one on the number of clusters, with V = I, where d₁ = d. What is a"
        " theorem of this: infinitely many uniform tokens have 1/σ(B_δ) strong centers on average (Lemma"
        " C.1), and σ(B_δ) goes like δ^{d−1} as δ → 0, so that for strong centers the law is exact and its"
        " constant known. Rényi centers among infinitely many tokens are between 1/σ(B_δ) and 1/σ(B_{δ/2})"
        " in number, for every token is within δ of one, and caps of radius δ/2 about them are disjoint: the"
        " law again, with no constant. What is measured: the constants of Rényi centers at 32 tokens per"
        " cap, and all about clusters. Beyond the paper we ask for which c there are as many centers as"
        " clusters, and which centers become clusters."
    ),
    parameters={
        "Q, K, V": "I",
        "betas": {
            "2": [16.0, 40.0, 100.0, 250.0, 640.0, 1600.0, 4000.0],
            "3": [16.0, 50.0, 160.0, 500.0],
            "4": [10.0, 20.0, 50.0, 100.0, 200.0],
        },
        "per_cap": 32,
        "times": [5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 150.0],
        "end": {"2": 150.0, "3": 150.0, "4": 20.0},
        "at": 20.0,
        "judged_times": [20.0, 75.0, 150.0],
        "counted": 1000,
        "min_runs": 10,
        "max_runs": 200,
        "densities": [8, 32, 128, 512, 2048],
        "density_beta": 250.0,
        "density_runs": 16,
        "seed": 0,
    },
    quick={
        "betas": {"2": [16.0, 50.0, 160.0, 500.0], "3": [6.0, 20.0, 63.0, 200.0], "4": [6.3, 20.0, 63.0]},
        "end": {"2": 150.0, "3": 20.0, "4": 20.0},
        "counted": 200,
        "min_runs": 4,
        "densities": [8, 32, 128],
        "density_runs": 4,
    },
    choices=(
        (
            "A cluster is counted by its leader: a token farther than β^(−1/2) from every earlier one at that"
            " moment, as in the merges of nucleate.merges. Time t = 20, when nearly all tokens have gathered,"
            " is that of the exponents."
        ),
        (
            "n: 32 tokens in a cap of radius 4β^(−1/2), as in Figure 2 (n = 200, β = 64, d = 2). Lengths in"
            " units of β^(−1/2), weights are e^{−|x−y|²/2}, drifts do not know β, and far parts of the sphere"
            " do not feel each other; so at a given time and number of tokens per cap the law is to be"
            " expected for clusters as β → ∞, and what is left to measure is the constant, and how soon."
        ),
        (
            "Exponents are slopes in ln β of the logarithm of mean counts, over all β and over the last"
            " decade of β. At small β caps of radius 4β^(−1/2) are curved, which lowers all of them; by how"
            " much is known exactly for 1/σ and given beside them."
        ),
        (
            "Centers match clusters: a center of the start belongs to the cluster whose leader is nearest at"
            " t = 20; the share of clusters with exactly one center is taken, or of centers if these are"
            " more, so that only a perfect match gives 100 %."
        ),
        (
            "β up to 4000, 500 and 200 for d = 2, 3, 4, where runs have 1600, 4000 and 6800 tokens; at least"
            " ten runs at every β, whose spread gives the errors. d = 4 is followed to t = 20 only, for a"
            " drift takes n² operations there."
        ),
    ),
    criteria=(
        "First and second: agrees, or evidence for, if every exponent over the last decade of β is (d−1)/2 to"
        f" {EXPONENT_RELATIVE_ERROR:.0%} and {MAX_STANDARD_ERRORS:g} standard errors (so wide because"
        " the exponent of 1/σ itself is up to 4.2 % from its limit there). Third: observed if at t ="
        " 20, 75 and 150, as far as a dimension is followed, the c for which there are as many Rényi centers"
        f" as clusters is 4 to {RADIUS_ERROR:g}. Fourth: observed if in every dimension the share of clusters"
        " with exactly one strong center, at the c best for them, is larger than that with exactly one Rényi"
        " center, at the c best for those, with intervals apart."
    ),
    captions={
        "law": (
            "Number of strong centers (red), Rényi centers (black), both with c = 4, and clusters at t = 20"
            " (blue) against β, with lines of slope (d−1)/2 through the last points; dotted: 1/σ, the mean"
            " number of strong centers by Lemma C.1. Errors are smaller than the marks. Exponents are those"
            " of the last decade of β."
        ),
        "law-c": (
            "Left: the c for which there are as many Rényi (full) or strong centers (dashed) as clusters,"
            " over time; the grey line is c = 4. Middle and right: the share of clusters that hold exactly"
            " one center, against c, for strong and for Rényi centers, at the time of the law and over the"
            " last decade of β; bands are 95 % intervals."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
