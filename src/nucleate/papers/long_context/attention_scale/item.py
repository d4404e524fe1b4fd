"""The transition of one layer at beta = gamma log n: 1, 4 rho / (1 + 3 rho) or rho."""

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact
from nucleate.papers.long_context.attention_scale.data import run
from nucleate.papers.long_context.attention_scale.figures import draw

__all__ = ["ITEM"]

LIMIT_ERROR = 0.01  # at the largest n
DIRECT_ERROR = 1e-10  # sums of n terms of the size of 1, n up to a few thousand, in doubles
EXPONENT_ERROR = 0.02  # of the width's −1 in log n, over the upper half of the n


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Distances to the limits, the layer against the formula, and the exponent of the width."""
    curves = data["curves"]
    off = np.abs(curves["cosine"] - curves["limit"])  # (rho, n, share)
    n = curves["n"].values
    numbers = {}
    for rho in curves["rho"].values:
        one = off.sel(rho=rho)
        numbers[f"off_{rho:g}"] = exact(
            float(one.sel(n=n[-1]).max()),
            f"ρ = {rho:g}: largest distance of the cosine to its limit at n = {n[-1]:.0e}",
            expected=0.0,
        )
        numbers[f"rises_{rho:g}"] = exact(
            int((np.diff(one.values, axis=0) > 1e-12).sum()),
            f"ρ = {rho:g}: how often a larger n is farther from the limit",
            expected=0.0,
        )
        upper = slice(len(n) // 2, None)
        log_n, width = np.log(n[upper]), curves["width"].sel(rho=rho).values[upper]
        numbers[f"exponent_{rho:g}"] = exact(
            np.polyfit(np.log(log_n), np.log(width), 1)[0],
            f"ρ = {rho:g}: exponent of log n in the width of the transition, n ≥ {n[upper][0]:.0e}",
            expected=-1.0,
        )
    for m in p["critical_n"]:
        at = curves["cosine"].sel(rho=p["direct_rho"], n=m, share=1.0)
        rho = p["direct_rho"]
        numbers[f"critical_{m:.0e}"] = exact(
            float(at),
            f"ρ = {rho:g}, γ = 1/(1−ρ): the cosine at n = {m:.0e}",
            "closed form",
            4.0 * rho / (1.0 + 3.0 * rho),
        )
    for m in p["direct_n"]:
        found = data[f"direct-{m}"]
        apart = np.maximum(
            np.abs(found["least"] - found["formula"]), np.abs(found["largest"] - found["formula"])
        )
        numbers[f"direct_{m}"] = exact(
            float(apart.max()),
            f"n = {m}: largest difference of a cosine of the layer's outputs and the formula, all pairs",
            expected=0.0,
        )
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    rhos = [f"{rho:g}" for rho in p["rhos"]]
    limits = all(
        numbers[f"off_{rho}"].value <= LIMIT_ERROR and numbers[f"rises_{rho}"].value == 0 for rho in rhos
    )
    direct = max(numbers[f"direct_{m}"].value for m in p["direct_n"])
    exponents = [numbers[f"exponent_{rho}"].value for rho in rhos]
    sharp = all(abs(one + 1.0) <= EXPONENT_ERROR for one in exponents)
    worst = max(numbers[f"off_{rho}"].value for rho in rhos)
    return (
        Verdict(
            "with β = γ log n the outputs of one layer on equiangular tokens have a cosine that tends to 1"
            " for γ < 1/(1−ρ), to 4ρ/(1+3ρ) at equality and to ρ above",
            "agrees" if limits and direct <= DIRECT_ERROR else "disagrees",
            f"at n = {max(map(float, p['n'])):.0e} the cosine is within {worst:.1e} of its limit for ρ ="
            f" {', '.join(rhos)} and every γ(1−ρ) tried, and nearer at every larger n; the layer itself, n ="
            f" {', '.join(map(str, p['direct_n']))}, agrees with the closed form to {direct:.0e}",
        ),
        Verdict(
            "the transition sharpens slowly: its width in γ falls like 1/log n",
            "observed" if sharp else "not observed",
            f"exponents of log n: {', '.join(f'{one:.4f}'.replace('-', '−') for one in exponents)} for ρ ="
            f" {', '.join(rhos)}",
        ),
    )


ITEM = Item(
    key="attention-scale",
    title="The transition at β = γ log n",
    cost=Cost(quick=6.0, full=45.0),
    source="Theorem 2.1",
    statement=(
        "n unit vectors with all overlaps ρ in (0, 1) go through one layer of softmax attention without mask"
        " and residual, Q = K = V = I, with β = γ log n. As n → ∞ the cosine of two outputs tends to 1 if γ <"
        " 1/(1−ρ) (all tokens collapse onto one direction), to 4ρ/(1+3ρ) if γ = 1/(1−ρ), and to ρ if γ >"
        " 1/(1−ρ) (the layer does nothing)."
    ),
    ours=(
        "By symmetry the cosine is known in closed form for every n (a token's weights are e^β for itself and"
        " e^{βρ} for each other one), so that the limit is tried far beyond what can be computed token by"
        " token; up to a few thousand tokens the layer itself is compared with it. The ratio of the attention"
        " to all others and to oneself is about n^{1−γ(1−ρ)}: hence the cosine depends on (1−γ(1−ρ)) log n"
        " alone, and the width of the transition in γ goes like 1/log n, which is slow: that is measured too."
    ),
    parameters={
        "rhos": [0.1, 0.3, 0.5, 0.8],
        "shares": [0.5, 0.8, 1.0, 1.25, 2.0],
        "n": [1e3, 1e4, 1e5, 1e6, 1e8, 1e10, 1e12, 1e14],
        "from_share": 0.4,
        "to_share": 1.6,
        "points": 401,
        "critical_n": [1e3, 1e6],
        "shown_n": [1e3, 1e6, 1e10, 1e14],
        "direct_rho": 0.3,
        "direct_n": [100, 400, 1600, 2400],
    },
    quick={"direct_n": [100, 400, 800]},
    choices=(
        "ρ, and n up to 10¹⁴; γ as multiples of 1/(1−ρ), of which 0.8 and 1.25 are the nearest besides 1.",
        (
            "Width: how far γ(1−ρ) goes while the cosine falls from three quarters to one quarter of the way"
            " between 1 and ρ."
        ),
        (
            "The layer itself is `nucleate.attention.attend` on x_i = √ρ e_0 + √(1−ρ) e_i, which needs as"
            " many dimensions as tokens; all pairs are compared."
        ),
    ),
    criteria=(
        f"First: agrees if for every ρ and γ tried the cosine is within {LIMIT_ERROR:g} of its limit at the"
        " largest n and never farther from it at a larger n than at a smaller one, and all cosines of the"
        f" layer's outputs are those of the closed form to {DIRECT_ERROR:g}. Second: observed if the exponent"
        f" of log n in the width is −1 to {EXPONENT_ERROR:g} over the upper half of the n, for every ρ."
    ),
    captions={
        "attention-scale": (
            "Left: cosine of two outputs against γ(1−ρ) for several n, in closed form, with the limit in red"
            " and the values of the layer itself as squares. Right: the width of the transition against log n"
            " for several ρ, with lines of slope −1 through the last points."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
