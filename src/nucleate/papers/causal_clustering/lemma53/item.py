"""Lemma 5.3: causal attention on the circle is a sequential gradient flow; each token goes down its own
energy, and what can be said of one energy for all."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.lemma53.data import FROZEN_TOKENS, run
from nucleate.papers.causal_clustering.lemma53.figures import draw
from nucleate.papers.causal_clustering.lemma53.measures import (
    MIN_RISE,
    energy_depth,
    gradient_ratio,
    rising_energies,
)
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM", "identity_numbers", "slips"]

VELOCITY_ROUNDINGS = 16.0  # error that a velocity may have, in units of max(1, beta) eps
# of the terms compared; differences of fourth order between frames a thousandth apart leave less than 1e-8
BALANCE_ERROR = 1e-6
MIN_ASYMMETRY = 1e-12  # of mixed derivatives: far above rounding
MIN_SUM_RISE = 1e-3  # of a sum of energies, as a share of its terms: far above rounding
MAX_FINAL_SPEED = 1e-9  # largest speed of a token at equilibrium; rounding leaves 1e-12
PRODUCT_ROUNDING = 1e-12  # what rounding may make of a product that is never positive


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """The identity, its printed form, and which energies rise."""
    return (
        identity_numbers(data["identity"])
        | _energy_numbers(data["energies"], p)
        | _sum_numbers(data["sums"])
        | _end_numbers(data["ends"])
    )


def identity_numbers(known: "Dataset") -> dict[str, Number]:
    """How far gradients are from velocities, with the factor 1/beta and without."""
    beta, v = known["beta"].values, known["equation"].values
    allowed = VELOCITY_ROUNDINGS * np.finfo(float).eps * np.maximum(1.0, beta)[:, None, None]  # (betas, 1, 1)
    # (betas, b, n)
    off = {name: np.abs(known[name].values - v) / allowed for name in ("gradient", "compiled", "printed")}
    ratio = np.array([gradient_ratio(known["printed"].values[i], v[i]) for i in range(len(beta))])
    return {
        "velocities": exact(
            v.size, "velocities compared, β from " + f"{beta.min():g} to {beta.max():g}, with frozen tokens"
        ),
        "identity_error": exact(
            off["gradient"].max(),
            f"largest difference of −(∂E_k/∂φ_k)/Z_k from φ_k', in units of {VELOCITY_ROUNDINGS:g} max(1, β)"
            " ε",
        ),
        "compiled_error": exact(off["compiled"].max(), "the same for the compiled kernel"),
        "printed_error": exact(
            off["printed"][beta != 1.0].max(),
            "the same without the factor 1/β, as printed, for β ≠ 1; a misprint if above 1",
            expected=0.0,
        ),
        "printed_ratio": exact(
            np.abs(ratio / beta - 1.0).max(),
            "largest relative difference from β of the printed gradient over φ_k'",
            expected=0.0,
        ),
        "asymmetry": exact(
            known["asymmetry"].values.min(),
            "least asymmetry of ∂(Z_k φ_k')/∂φ_j over all configurations; 0 for a gradient",
        ),
    }


def _energy_numbers(along: "Dataset", p: Parameters) -> dict[str, Number]:
    """Energies along runs."""
    E = along["energy"].values  # (starts, time, n)
    rises = rising_energies(E, p["beta"])  # (starts, n)
    rate, own, brought = (along[name].values for name in ("rate", "own", "brought"))
    gap = np.abs(rate - own - brought) / np.maximum(np.abs(own) + np.abs(brought), 1e-3)
    alone = rises[:, 1]  # token 2 sees only token 1, which never moves
    total = np.diff(E.sum(-1), axis=1) > MIN_RISE * energy_depth(E, p["beta"]).sum()
    return {
        "balance": exact(
            gap.max(),
            "largest error of dE_k/dt = −Z_k φ_k'² + Σ_{j<k} h(φ_j − φ_k) φ_j', of the terms compared",
            expected=0.0,
        ),
        "own_sign": exact(
            (own > PRODUCT_ROUNDING).sum(), "tokens whose own motion raises their energy", expected=0.0
        ),
        "alone_rises": share_of(
            int(alone.sum()),
            len(alone),
            "runs in which the energy of token 2, which sees only token 1, which never moves, rises",
            0.0,
        ),
        "later_rises": mean_of(
            rises[:, 2:].mean(1), "share of tokens from the third on whose energy rises at some time"
        ),
        "last_rises": share_of(
            int(rises[:, -1].sum()),
            len(rises),
            f"runs in which the energy of token {E.shape[-1]} rises at some time",
        ),
        "total_rises": share_of(
            int(total.any(1).sum()), len(total), "runs in which the sum of all energies rises at some time"
        ),
        "done": share_of(
            int(along["done"].values.sum()), along.sizes["start"], f"runs that reached t = {p['t']:g}", 1.0
        ),
    }


def _sum_numbers(found: "Dataset") -> dict[str, Number]:
    """Weighted sums of energies, each where it rises most."""
    rate = found["rate"].values  # (betas, tokens, weights)
    return {
        "sums": exact(
            rate.size,
            "sums E_2 + w(E_3 + … + E_n), w from 1e-6 to 1e6, looked at where token 2 is nearly opposite"
            " token 1 and the others are at rest",
        ),
        "sums_rise": exact(
            (rate > MIN_SUM_RISE).sum(), "of these: rise there at some angle of token 2", expected=rate.size
        ),
        "sums_least": exact(rate.min(), "least rate there, as a share of the terms of the sum"),
    }


def _end_numbers(found: "Dataset") -> dict[str, Number]:
    """Tokens among frozen ones, at the end."""
    at_rest = (found["speed"].values <= MAX_FINAL_SPEED) & (found["done"].values == 1)  # (betas, runs)
    return {
        "at_rest": share_of(
            int(at_rest.sum()),
            at_rest.size,
            f"runs among {FROZEN_TOKENS} frozen tokens anywhere, β = 1, 4 and 9, that reach an equilibrium",
            1.0,
        ),
        "speed_left": exact(found["speed"].values.max(), "largest speed left in these", expected=0.0),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    n = {name: number.value for name, number in numbers.items()}
    same = n["identity_error"] <= 1.0 and n["compiled_error"] <= 1.0
    alone = numbers["alone_rises"].count or (0, 0)
    sequential = (
        n["own_sign"] == 0 and n["balance"] <= BALANCE_ERROR and n["alone_rises"] == 0 and n["done"] == 1
    )
    return (
        Verdict(
            "every token goes down an energy of its own: φ_k' = −(∂E_k/∂φ_k)/Z_k (print corrected: factor"
            " 1/β)",
            "agrees" if same else "disagrees",
            f"over {n['velocities']:.0f} velocities the largest difference is {n['identity_error']:.2f} of"
            f" {VELOCITY_ROUNDINGS:g} max(1, β) roundings; without the factor it is {n['printed_error']:.0e}"
            " of them",
        ),
        Verdict(
            "the gradient flow is sequential: E_k falls by token k's own motion, and rises only by that of"
            " earlier tokens",
            "agrees" if sequential else "disagrees",
            "an identity, by the chain rule from the line above, checked along runs: dE_k/dt splits into"
            f" the two to {n['balance']:.0e}, the first part is never positive; token 2's"
            f" energy rises in {alone[0]} of {alone[1]} runs, that of later tokens at some time in"
            f" {n['later_rises']:.0%} of cases",
        ),
        Verdict(
            "no single energy: true of gradients and of sums of the E_k, not of Lyapunov functions",
            "proved"
            if n["asymmetry"] > MIN_ASYMMETRY and n["sums_rise"] == n["sums"] and n["at_rest"] == 1.0
            else "contradicted",
            "Z_kφ_k' is not the gradient of one function of all tokens, and for n ≥ 3 no sum of the E_k"
            " with positive weights falls along all motions: ∂(Z_k φ_k')/∂φ_j differs from its mirror"
            f" image by {n['asymmetry']:.2g} at least; {n['sums_rise']:.0f} of {n['sums']:.0f} sums rise"
            " where the proof says, and the plain sum of all E_k rises at some time in"
            f" {n['total_rises']:.0%} of runs",
            proof="proofs.md#no-sum-of-the-energies-falls",
        ),
        Verdict(
            "on the circle, β > 0, Q = K = V = I: from every start the tokens converge, and a strict Lyapunov"
            " function exists",
            "proved" if n["at_rest"] == 1.0 else "contradicted",
            f"{(numbers['at_rest'].count or (0, 0))[0]} of {(numbers['at_rest'].count or (0, 0))[1]} runs"
            f" among frozen tokens anywhere converge, to a speed of {n['speed_left']:.0e}; without frozen"
            " tokens the first is one. The function is known to exist, not in closed form",
            proof="proofs.md#a-strict-lyapunov-function-exists",
        ),
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The factor 1/beta."""
    if numbers["printed_error"].value <= 1.0:
        return ()
    evidence = (
        f"without the factor −(∂E_k/∂φ_k)/Z_k is β times φ_k' (to {numbers['printed_ratio'].value:.0e}) at"
        f" every β tried; with it the two are equal to rounding ({numbers['identity_error'].value:.2f} of"
        " what rounding allows)"
    )
    return (
        Slip(
            "Lemma 5.3: the energies E_k without the factor 1/β",
            "E_k = −(1/β)(…) gives causal attention",
            evidence,
        ),
    )


ITEM = Item(
    key="lemma5.3",
    title="Lemma 5.3: a sequential gradient flow",
    cost=Cost(quick=3.7, full=6.6),
    source="Lemma 5.3",
    statement=(
        "On the circle (d = 2) with Q = K = V = I and frozen tokens θ_j with weights a_j, causal attention is"
        " a sequential gradient flow: φ_k' = −(∂E_k/∂φ_k)/Z_k with E_k = −(Σ_{j<k} e^{β(cos(φ_k−φ_j)−1)} +"
        " Σ_j a_j e^{β(cos(φ_k−θ_j)−1)}), as printed: every token goes down an energy of its own, in which"
        " earlier tokens are given. There is no single energy."
    ),
    ours=(
        "The energies need a factor 1/β. In which sense there is no single energy: no function has Z_kφ_k'"
        " for its gradient, and no weighted sum of the E_k falls along all motions; but a strict"
        " Lyapunov function exists."
    ),
    parameters={
        "d": 2,
        "betas": [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 64.0, 200.0, 1000.0],
        "configurations": 200,
        "n": 32,
        "frozen": FROZEN_TOKENS,
        "beta": 16.0,
        "starts": 128,
        "t": 1e6,
        "sum_tokens": [3, 8],
        "end_runs": 100,
    },
    quick={"configurations": 50, "starts": 32, "end_runs": 20},
    choices=(
        (
            "The configurations: tokens anywhere, half of them within a few β^(−1/2) of another; three frozen"
            " tokens with weights between 1 and 5. Derivatives by a complex step of 1e-30, so that no formula"
            " for them is assumed."
        ),
        (
            "Energies are followed along runs at β = 16 from uniform starts. An energy rises if it does so by"
            " more than a millionth of its depth between frames."
        ),
        (
            "Sums of energies, E_2 + w(E_3 + … + E_n), are looked at where the proof says that they rise:"
            " token 2 nearly opposite token 1, all others between the two on the longer arc."
        ),
        (
            "Ends: 12 tokens from uniform starts among 3 frozen ones anywhere, with weights 1 to 5, none of"
            " Theorem 5.2's conditions asked for, followed to t = 1000 N e^{2β}."
        ),
    ),
    criteria=(
        "First: agrees if −(∂E_k/∂φ_k)/Z_k is the velocity of the equation, and of the compiled kernel, to"
        f" {VELOCITY_ROUNDINGS:g} max(1, β) roundings. Second: agrees if dE_k/dt is the sum of the two parts"
        f" to {BALANCE_ERROR:g}, the first part is never positive, and the energy of token 2, before which"
        " only the first token stands, which never moves, never rises. Third: proved; contradicted unless"
        " the mixed derivatives are asymmetric in every configuration and every weighted sum tried rises"
        " where the proof says, and the fourth is as proved. Fourth: proved; contradicted unless every run"
        f" among frozen tokens comes to rest, to a speed of {MAX_FINAL_SPEED:g}."
    ),
    captions={
        "lemma5.3": (
            "Left: the gradient of E_k over Z_k, as a multiple of the velocity; with the factor 1/β it is 1,"
            " as printed it is β. Middle: energies of some tokens of one run, first dark, last light, red"
            " where they rise. Right: share of runs in which the energy of token k rises at some time."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
