"""The law β^{(d−1)/2}: strong centers, Rényi centers and the clusters that really form, and the radius at
which centers tell the clusters."""

from typing import Any

import numpy as np

from nucleate.papers.causal_clustering.law.data import C, dataset_name, run
from nucleate.papers.causal_clustering.law.figures import draw
from nucleate.papers.causal_clustering.law.measures import DECADE, KINDS, counts_of_runs, match_curve, means
from nucleate.papers.causal_clustering.shared.cluster_runs import FIGURE_C
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
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

# of an exponent (d−1)/2: curved caps are not yet those of the limit
EXPONENT_RELATIVE_ERROR = 0.04


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Exponents, constants and matching radii for every d; then what other numbers of tokens change."""
    numbers: dict[str, Number] = {}
    for d, betas in p["betas"].items():
        for kind in KINDS:
            numbers |= _power(data, p, int(d), betas, kind)
        upper = [beta for beta in betas if beta >= betas[-1] / DECADE]
        numbers |= _radius(data, p, int(d), upper) | _matches(data, p, int(d), upper)
    for per_cap in p["densities"]:
        found = data[f"density{per_cap:g}"]
        about = (
            f"d = 2, β = {p['density_beta']:g}, {found.attrs['n']} tokens, {per_cap:g} per cap: clusters at t"
            f" = {p['at']:g}"
        )
        numbers[f"density_{per_cap:g}"] = mean_of(counts_of_runs(found, "clusters", p["at"]), about)
    return numbers


def _power(data: Data, p: Parameters, d: int, betas: list[float], kind: str) -> dict[str, Number]:
    """The exponent over all β, by caps, which takes curvature off; over the last decade as it is; and the
    constant at the largest β."""
    from nucleate.theory.counts import cap_share

    mean, error = means(data, p, d, betas, kind, p["at"])
    y, e, half = np.log(mean), error / mean, (d - 1) / 2.0
    # log β, but for curvature and a constant
    caps = -np.log([cap_share(4.0 * beta**-0.5, d) for beta in betas]) / half
    last = np.array(betas) >= betas[-1] / DECADE
    words = KINDS[kind] + (f" at t = {p['at']:g}" if kind == "clusters" else ", c = 4")
    span = f"β = {betas[0]:g} to {betas[-1]:g}"
    scale, name = float(betas[-1] ** half), f"{kind}_d{d}"
    how = "95 % interval of the mean at the largest β"
    return {
        f"{name}_exponent": slope_of(
            fit_line(caps, y, e),
            f"d = {d}: exponent of β in the number of {words}, {span}, curvature taken off",
            half,
        ),
        f"{name}_raw": slope_of(
            fit_line(np.log(betas)[last], y[last], e[last]),
            f"d = {d}: the same over the last decade of β, as it is",
            half,
        ),
        f"{name}_constant": number_with_error(
            mean[-1] / scale,
            error[-1] / scale,
            f"d = {d}: number of {words} over β^{{(d−1)/2}}, β = {betas[-1]:g}",
            how,
        ),
    }


def _radius(data: Data, p: Parameters, d: int, betas: list[float]) -> dict[str, Number]:
    """For each time and kind the c with as many centers as there are clusters, over the last decade of β."""
    numbers = {}
    for kind in ("renyi", "strong"):
        for t in data[dataset_name(d, betas[-1])]["time"].values:
            value, error = radius_at(data, p, d, betas, kind, float(t))
            about = f"d = {d}: c for which there are as many {KINDS[kind]} as clusters at t = {t:g}"
            if np.isfinite(value):
                numbers[f"c_{kind}_d{d}_t{t:g}"] = number_with_error(
                    value, error, about, "95 % interval of the mean over the last decade of β"
                )
    return numbers


def radius_at(
    data: Data, p: Parameters, d: int, betas: list[float], kind: str, t: float
) -> tuple[float, float]:
    """That c and its standard error: between the c that were counted, in the logarithm; NaN if it is not
    among them."""
    clusters, error = means(data, p, d, betas, "clusters", t)
    found, weight = [], []
    for beta, many, spread in zip(betas, clusters, error, strict=True):
        centers = np.log(data[dataset_name(d, beta)][kind].values.mean(0))  # (c,) falling
        if not centers[-1] <= np.log(many) <= centers[0]:
            return np.nan, np.nan
        c = np.exp(np.interp(-np.log(many), -centers, np.log(C)))
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
    centers = [numbers[f"{kind}_d{d}_exponent"] for kind in ("strong", "renyi") for d in dims]
    clusters = [numbers[f"clusters_d{d}_exponent"] for d in dims]
    radii = [numbers.get(f"c_renyi_d{d}_t{p['at']:g}") for d in dims]
    near = all(c is not None and abs(c.value - 4.0) <= 0.5 for c in radii)
    better = all(_surely_more(numbers[f"match_strong_d{d}"], numbers[f"match_renyi_d{d}"]) for d in dims)
    return (
        Verdict(
            "the numbers of strong and of Rényi centers grow like β^{(d−1)/2}",
            "agrees" if all(is_expected_exponent(one) for one in centers) else "disagrees",
            f"exponents {_listed(numbers, 'strong', dims)} (strong) and {_listed(numbers, 'renyi', dims)}"
            f" (Rényi) for d = {_comma_list(dims)}",
        ),
        Verdict(
            "so does the number of clusters that really form",
            "evidence for" if all(is_expected_exponent(one) for one in clusters) else "evidence against",
            (
                f"exponents {_listed(numbers, 'clusters', dims)} at t = {p['at']:g}; the numbers are "
                + ", ".join(f"{numbers[f'clusters_d{d}_constant'].value:.3g} β^({d - 1}/2)" for d in dims)
            ),
        ),
        Verdict(
            "c = 4: there are about as many Rényi centers as clusters (the c of the paper's figures)",
            "evidence for" if near else "evidence against",
            f"the c with equal numbers is {_comma_list([f'{c.value:.2f}' if c else 'none' for c in radii])}"
            f" at t = {p['at']:g}, and grows: {_growth(numbers, dims)}",
        ),
        Verdict(
            "which centers become clusters: strong ones with a smaller c tell it best (ours)",
            "evidence for" if better else "evidence against",
            _described_matches(numbers, dims),
        ),
    )


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


def _listed(numbers: Numbers, kind: str, dims: list[int]) -> str:
    return _comma_list([plus_minus(numbers[f"{kind}_d{d}_exponent"]) for d in dims])


def _comma_list(items: list[Any]) -> str:
    return ", ".join(str(item) for item in items)


def _growth(numbers: Numbers, dims: list[int]) -> str:
    found = []
    for d in dims:
        times = [
            (float(name.rsplit("_t", 1)[1]), number.value)
            for name, number in numbers.items()
            if name.startswith(f"c_renyi_d{d}_t")
        ]
        found.append(
            f"d = {d}: " + ", ".join(f"{c:.2f} at t = {t:g}" for t, c in (times[0], times[-1]))
            if times
            else f"d = {d}: none"
        )
    return "; ".join(found)


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
    source="Section 5",
    statement=(
        "With δ = cβ^(−1/2), Rényi centers and strong Rényi centers both number Θ(β^{(d−1)/2}), and are meant"
        " to tell how many clusters the dynamics with Q = K = V = I forms; the paper's figures take c = 4."
    ),
    parameters={
        "Q, K, V": "I",
        "betas": {
            "2": [16.0, 40.0, 100.0, 250.0, 640.0, 1600.0, 4000.0],
            "3": [16.0, 50.0, 160.0, 500.0, 1600.0],
            "4": [4.0, 12.6, 40.0, 126.0, 400.0],
        },
        "per_cap": 32,
        "times": [5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 150.0],
        "end": {"2": 150.0, "3": 50.0, "4": 20.0},
        "at": 20.0,
        "counted": 1000,
        "min_runs": 2,
        "max_runs": 200,
        "densities": [8, 32, 128, 512, 2048],
        "density_beta": 250.0,
        "density_runs": 16,
        "seed": 0,
    },
    quick={
        "betas": {"2": [16.0, 50.0, 160.0, 500.0], "3": [6.0, 20.0, 63.0, 200.0], "4": [6.3, 20.0, 63.0]},
        "end": {"2": 50.0, "3": 20.0, "4": 20.0},
        "counted": 200,
        "densities": [8, 32, 128],
        "density_runs": 4,
    },
    choices=(
        (
            "A cluster is counted by its leader: a token farther than β^(−1/2) from every earlier one at that"
            " moment, as in the merges of nucleate.merges. Time t = 20, when nearly all tokens have gathered,"
            " is the main one."
        ),
        (
            "n: 32 tokens in a cap of radius 4β^(−1/2), as in Figure 2 (n = 200, β = 64, d = 2). Lengths in"
            " units of β^(−1/2), weights are e^{−|x−y|²/2}, drifts do not know β, and far parts of the sphere"
            " do not feel each other; so at a given time and number of tokens per cap the law must hold for"
            " clusters as β → ∞, and what is left to measure is the constant, and how soon."
        ),
        (
            "Exponents over all β are fitted against the number of caps of radius 4β^(−1/2) that the sphere"
            " has room for, 1/σ, instead of β itself, which takes curvature off where β is small; those over"
            " the last decade of β are fitted as they are."
        ),
        (
            "Centers match clusters: a center of the start belongs to the cluster whose leader is nearest at"
            " t = 20; the share of clusters with exactly one center is taken, or of centers if these are"
            " more, so that only a perfect match gives 100 %."
        ),
        (
            "β up to 4000, 1600 and 400 for d = 2, 3, 4, where runs have 1600, 12800 and 19100 tokens; d = 3"
            " is followed to t = 50, d = 4 to t = 20."
        ),
    ),
    criteria=(
        "First and second: agrees, or evidence for, if every exponent, curvature taken off, is (d−1)/2 to"
        f" {EXPONENT_RELATIVE_ERROR:.0%} and {MAX_STANDARD_ERRORS:g} standard errors. Third: evidence for if"
        " in every dimension the c for which there are as many Rényi centers as clusters at t = 20 is 4 to"
        " 0.5. Fourth: evidence for if in every dimension the share of clusters with exactly one strong"
        " center, at the c best for them, is larger than that with exactly one Rényi center, at the c best"
        " for those, with intervals apart."
    ),
    captions={
        "law": (
            "Number of strong centers (red), Rényi centers (black), both with c = 4, and clusters at t = 20"
            " (blue) against β, with lines of slope (d−1)/2 through the last points. Errors are smaller than"
            " the marks."
        ),
        "law-c": (
            "Left: the c for which there are as many Rényi (full) or strong centers (dashed) as clusters,"
            " over time. Middle and right: the share of clusters that hold exactly one center, against c, for"
            " strong and for Rényi centers; bands are 95 % intervals."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
