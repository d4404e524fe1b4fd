"""The energy that full attention never lowers, and causal attention sometimes does."""

import numpy as np

from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of
from nucleate.papers.perspective.energy_rises.data import CASES, run
from nucleate.papers.perspective.energy_rises.figures import draw

__all__ = ["ITEM"]

FALL = 1e-8  # relative, between two frames: β times the error of ten steps of 1e-10


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """In how many runs the energy falls, and how deep, in all three cases."""
    numbers = {}
    names = {"full": "full mask, softmax", "USA": "full mask, exponential weights", "causal": "causal mask"}
    for case in CASES:
        falls = [_falls(data[f"{case}-d{d}"]["energy"].values) for d in p["d"]]  # (betas, runs) each
        deepest = np.concatenate([one.ravel() for one in falls])
        numbers[f"falling_{case}"] = share_of(
            int((deepest > FALL).sum()),
            len(deepest),
            f"{names[case]}: runs in which the energy falls somewhere",
        )
        numbers[f"deepest_{case}"] = exact(
            deepest.max(), f"{names[case]}: deepest fall of the energy between two frames, over its value"
        )
    return numbers


def _falls(energy: np.ndarray) -> np.ndarray:
    """The deepest relative fall between two frames, (beta, run); 0 if it never falls."""
    return np.asarray(np.maximum(-np.diff(energy, axis=-1) / energy[..., :-1], 0.0).max(-1))


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    full, usa, causal = (numbers[f"falling_{case}"] for case in CASES)
    assert full.count is not None
    assert usa.count is not None
    assert causal.count is not None
    deepest = max(numbers["deepest_full"].value, numbers["deepest_USA"].value)
    return (
        Verdict(
            "full attention never lowers the energy Σ e^{β⟨x_i, x_j⟩}, with softmax (SA) or exponential"
            " weights (USA)",
            "agrees" if full.count[0] == usa.count[0] == 0 else "disagrees",
            f"it falls in {full.count[0]} of {full.count[1]} runs with softmax and in {usa.count[0]} of"
            f" {usa.count[1]} with exponential weights, nowhere by more than {deepest:.0e} of its value",
        ),
        Verdict(
            "causal attention does lower that energy, from some uniform starts",
            "observed" if causal.count[0] > 0 else "not observed",
            f"in {causal.count[0]} of {causal.count[1]} runs from the same starts, by up to"
            f" {numbers['deepest_causal'].value:.1e} of its value between two frames",
        ),
    )


ITEM = Item(
    key="energy-rises",
    title="The energy rises",
    cost=Cost(quick=5.0, full=8.0),
    source="the section on the gradient flow",
    statement=(
        "Under the full mask with Q = K = V = I the energy Σ_{i,j} e^{β⟨x_i, x_j⟩} never falls, for softmax"
        " and for exponential weights (there it is a gradient flow)."
    ),
    ours=(
        "Under the causal mask there is no such law: from the same starts the energy is measured too, which"
        " shows that the instrument sees falls where there are some."
    ),
    parameters={
        "Q, K, V": "I",
        "n": 32,
        "d": [3, 8, 128],
        "betas": [0.5, 2.0, 5.0, 9.0],
        "runs": 16,
        "T": 30.0,
        "first": 1e-2,
        "frames": 61,
        "rtol": 1e-10,
        "seed": 1,
    },
    quick={"runs": 6, "d": [3, 8]},
    choices=(
        "n = 32 and T = 30 as in the phase diagram; frames spaced by the logarithm of time.",
        "The energy is normalised, (1/n²) Σ e^{β(⟨x_i, x_j⟩ − 1)}, which is 1 when all tokens are one.",
        "Exponential weights are followed up to T e^{−β}: their velocities are e^β times larger.",
    ),
    criteria=(
        "First: agrees if in no run, with either weights, the energy falls between two frames by more than"
        f" {FALL:g} of its value, which is what the solver's tolerance allows. Second: observed if it does so"
        " in at least one causal run."
    ),
    captions={
        "energy-rises": (
            "The energy over time in d = 3, a line for every run and a colour for every β, under the full"
            " mask with softmax (left) and exponential weights (middle, time in units of e^{−β}), and from"
            " the same starts under the causal mask (right). 1 is one single cluster."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
