"""Effective dimension: with dim L = d_1 below d, do clusters number β^{(d_1−1)/2}, and do tokens reach L
before they gather?"""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.dimension.data import run
from nucleate.papers.causal_clustering.dimension.figures import draw
from nucleate.papers.causal_clustering.dimension.measures import means, reduction_level
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.line_fits import (
    MAX_STANDARD_ERRORS,
    STANDARD_ERRORS_95,
    fit_line,
    half_width,
    plus_minus,
    slope_of,
)
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

EXPONENT_ERROR = 0.05  # absolute: curved caps are not yet those of the limit
RATIO_ERROR = 0.2  # by which the number of clusters may differ from that on L alone
GATHERED_CLUSTERS_PER_TOKEN = 0.1  # clusters per token from which on tokens count as gathered
MIN_SHARE_NEAR_L = 0.9  # of the tokens, at the end
MIN_DENSE_CAP = 30.0  # tokens in a cap of the whole sphere with which they gather there
MAX_SPARSE_CAP = 1.0  # and with which they do not


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Exponents, ratios to L alone, and where tokens are when they gather."""
    numbers: dict[str, Number] = {}
    for dim_L, betas in p["betas"].items():
        mean, error = means(data, int(dim_L), betas)
        expected = (int(dim_L) - 1) / 2.0
        words = f"dim L = {dim_L}, d = {p['d']}"
        numbers[f"exponent_{dim_L}"] = slope_of(
            fit_line(np.log(betas), np.log(mean), error / mean),
            f"{words}: exponent of β in the number of clusters at t = {p['at']:g}",
            expected,
        )
        ratio = np.concatenate(
            [
                data[f"dimL{dim_L}-beta{beta:g}"]["clusters"].values
                / data[f"dimL{dim_L}-beta{beta:g}"]["alone"].values
                for beta in betas
            ]
        )
        numbers[f"ratio_{dim_L}"] = mean_of(
            ratio, f"{words}: clusters over those of the same tokens put on L at once", 1.0
        )
        near = [data[f"dimL{dim_L}-beta{beta:g}"]["near"].values.mean() for beta in betas]
        numbers[f"near_{dim_L}"] = exact(
            min(near), f"{words}: least share of tokens within β^(−1/2) of L, over β", expected=1.0
        )
    return numbers | _scan_numbers(data, p)


def _scan_numbers(data: Data, p: Parameters) -> dict[str, Number]:
    """Where tokens are at the moment they have gathered, by β and gap; and the gap at which they just reach L
    first."""
    from nucleate.theory.counts import cap_share

    numbers: dict[str, Number] = {}
    for beta in p["gap_betas"]:
        in_cap = p["n"] * cap_share(min(4.0 * beta**-0.5, np.pi), p["d"])
        numbers[f"cap_beta{beta:g}"] = exact(
            in_cap, f"β = {beta:g}: tokens in a cap of radius 4β^(−1/2) of the whole sphere, n = {p['n']}"
        )
        levels = [on_L(data, p, beta, gap) for gap in p["gaps"]]
        for gap, level in zip(p["gaps"], levels, strict=True):
            numbers[f"on_L_beta{beta:g}_gap{gap:g}"] = mean_of(
                level, f"β = {beta:g}, gap {gap:g}: mean square of the part in L when tokens have gathered"
            )
        mean = np.array([level.mean() for level in levels])
        if mean[0] < reduction_level(p) <= mean[-1]:
            after = int((mean >= reduction_level(p)).argmax())
            gap = np.exp(
                np.interp(
                    reduction_level(p), mean[after - 1 : after + 1], np.log(p["gaps"][after - 1 : after + 1])
                )
            )
            numbers[f"critical_beta{beta:g}"] = exact(
                gap, f"β = {beta:g}: gap from which on tokens are on L before they gather", "interpolated"
            )
    return numbers


def on_L(data: Data, p: Parameters, beta: float, gap: float) -> Array:
    """Mean square of the part of tokens in L at the first frame with few clusters, run by run, (runs,)."""
    found = data[f"gap{gap:g}-beta{beta:g}"]
    few = found["clusters"].values <= GATHERED_CLUSTERS_PER_TOKEN * p["n"]  # (run, time)
    first = np.where(few.any(1), few.argmax(1), few.shape[1] - 1)
    return np.asarray(found["on_L"].values[np.arange(len(first)), first])


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    dimensions = list(p["betas"])
    exponents = {dim_L: numbers[f"exponent_{dim_L}"] for dim_L in dimensions}
    right = all(
        abs(one.value - (one.expected or 0.0))
        <= EXPONENT_ERROR + MAX_STANDARD_ERRORS / STANDARD_ERRORS_95 * half_width(one)
        for one in exponents.values()
    )
    ratios = {dim_L: numbers[f"ratio_{dim_L}"] for dim_L in dimensions}
    same_as_on_L = all(abs(one.value - 1.0) <= RATIO_ERROR for one in ratios.values()) and all(
        numbers[f"near_{dim_L}"].value >= MIN_SHARE_NEAR_L for dim_L in dimensions
    )
    dense = [beta for beta in p["gap_betas"] if numbers[f"cap_beta{beta:g}"].value >= MIN_DENSE_CAP]
    sparse = [beta for beta in p["gap_betas"] if numbers[f"cap_beta{beta:g}"].value <= MAX_SPARSE_CAP]
    low, high, level = p["gaps"][0], p["gaps"][-1], reduction_level(p)
    crossing = all(
        numbers[f"on_L_beta{beta:g}_gap{low:g}"].value
        < level
        <= numbers[f"on_L_beta{beta:g}_gap{high:g}"].value
        for beta in dense
    )
    always = all(
        numbers[f"on_L_beta{beta:g}_gap{gap:g}"].value >= level for beta in sparse for gap in p["gaps"]
    )
    critical = ", ".join(
        f"{numbers[f'critical_beta{beta:g}'].value:.2g} at β = {beta:g}"
        f" ({numbers[f'cap_beta{beta:g}'].value:.0f} tokens in a cap)"
        for beta in p["gap_betas"]
        if f"critical_beta{beta:g}" in numbers
    )
    return (
        Verdict(
            f"clusters number β^{{(d₁−1)/2}} with d₁ = dim L, inside d = {p['d']} (conjectured)",
            "evidence for" if right else "evidence against",
            "exponents "
            + ", ".join(f"{plus_minus(one)} for d₁ = {dim_L}" for dim_L, one in exponents.items()),
        ),
        Verdict(
            "with a large gap it is as if the tokens had been on L from the start (ours)",
            "evidence for" if same_as_on_L else "evidence against",
            "clusters over those on L alone: "
            + ", ".join(f"{plus_minus(one)} for d₁ = {dim_L}" for dim_L, one in ratios.items()),
        ),
        Verdict(
            "the reduction wins against clustering at any gap if caps of the whole sphere are empty, else"
            " from a certain gap on (ours)",
            (
                "not testable here"
                if not (dense and sparse)
                else "evidence for"
                if crossing and always
                else "evidence against"
            ),
            f"tokens reach L first for gaps above {critical or 'none'}; with at most {MAX_SPARSE_CAP:g} token"
            f" in a cap, at every gap from {low:g} on",
        ),
    )


ITEM = Item(
    key="dimension",
    title="Effective dimension",
    source="Section 5, conjectured",
    statement=(
        "For a general value matrix V the paper conjectures that the number of clusters goes like"
        " β^{(d₁−1)/2}, with d₁ the number of principal directions of V: the dimension of L, to which tokens"
        " are drawn."
    ),
    parameters={
        "Q, K": "I",
        "V": "diag(1, …, 1, 1 − gap, …, 1 − gap), dim L ones",
        "d": 8,
        "betas": {
            "1": [16.0, 50.0, 160.0, 500.0],
            "2": [16.0, 50.0, 160.0, 500.0, 1600.0],
            "3": [16.0, 50.0, 160.0, 500.0],
        },
        "gap": 1.0,
        "at": 20.0,
        "per_cap": 32,
        "counted": 600,
        "max_runs": 40,
        "dim_L": 2,
        "n": 600,
        "gap_runs": 3,
        "gap_betas": [4.0, 8.0, 16.0, 32.0, 64.0],
        "gaps": [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0],
        "seed": 0,
    },
    quick={
        "betas": {"1": [16.0, 50.0], "2": [16.0, 50.0, 160.0], "3": [16.0, 50.0, 100.0]},
        "counted": 150,
        "gap_betas": [4.0, 64.0],
        "gaps": [0.1, 0.5, 2.0],
        "n": 300,
        "gap_runs": 2,
    },
    choices=(
        (
            "V = diag(1, …, 1, 1 − gap, …), so that one token alone nears L like e^{−gap·t}; d = 8, uniform"
            " starts, 32 tokens in a cap of radius 4β^(−1/2) of the sphere of L (200 tokens where L is a"
            " line)."
        ),
        (
            "Clusters are counted by their leaders at t = 20, as for the law β^{(d−1)/2}, and compared with"
            " those of the same tokens put on L at t = 0."
        ),
        (
            f"Tokens have gathered when there are {GATHERED_CLUSTERS_PER_TOKEN:g} clusters per token. The"
            " reduction has won if by then the mean part of |x|² in L has gone more than half of the way from"
            " that of uniform tokens, d₁/d, to 1. Whether they gather in the whole sphere goes with the"
            " number of tokens in one of its caps."
        ),
    ),
    criteria=(
        f"First: evidence for if every exponent is (d₁−1)/2 to {EXPONENT_ERROR:g} and {MAX_STANDARD_ERRORS:g}"
        f" standard errors. Second: evidence for if every mean ratio is 1 to {RATIO_ERROR:g}, and at least"
        f" {MIN_SHARE_NEAR_L:.0%} of the tokens are within β^(−1/2) of L. Third: evidence for if with at"
        f" least {MIN_DENSE_CAP:g} tokens in a cap of the whole sphere the reduction has won at the largest"
        f" gap but not at the smallest, and with at most {MAX_SPARSE_CAP:g} at every gap; not testable here"
        " without both kinds of β."
    ),
    captions={
        "dimension": (
            "Left: number of clusters against β for dim L = 1, 2, 3 inside d = 8, on lines of slope (d₁−1)/2;"
            " rings are those of the same tokens put on L at once. Right: the part of |x|² in L at the moment"
            " tokens have gathered, against the spectral gap, for several β, with the number of tokens in a"
            " cap of the whole sphere; above the grey line the reduction has won."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
