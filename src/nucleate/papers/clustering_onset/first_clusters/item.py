"""How many clusters show first: the distribution of the first large mode."""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.clustering_onset.first_clusters.data import run
from nucleate.papers.clustering_onset.first_clusters.figures import draw
from nucleate.papers.clustering_onset.first_clusters.measures import first_modes, raced_modes
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of
from nucleate.theory.onset import fastest_mode, mode_growth

__all__ = ["ITEM"]

LEAST_PROBABILITY = 0.001  # of a distribution as far off by chance
DRAWS = 20_000  # of which that probability is counted
MEAN_ERROR = 0.10  # of k_max: rates near it hardly differ, and n is finite


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Mean first mode and its most likely value; how likely the race gives counts as far off."""
    numbers = {}
    for beta in p["betas"]:
        found, fastest = data[f"beta{beta:g}"], fastest_mode(beta)
        k = found["k"].values
        first = first_modes(found, p["level"])
        rates = mode_growth(k, beta)
        raced = raced_modes(rates, p["n"], p["level"], p["seed"])
        counts = np.array([float((first == one).sum()) for one in k])
        numbers[f"mean_{beta:g}"] = mean_of(
            first, f"β = {beta:g}: mean mode that shows first", float(raced @ k)
        )
        numbers[f"share_{beta:g}"] = share_of(
            int(counts[fastest - 1]),
            len(first),
            f"β = {beta:g}: runs in which mode {fastest} shows first",
            float(raced[fastest - 1]),
        )
        numbers[f"chance_{beta:g}"] = exact(
            _chance(counts, raced, p["seed"]),
            f"β = {beta:g}: how likely the race of random modes gives counts as far from its own",
            "by drawing",
        )
        for n in (1e6, 1e12, 1e24):
            numbers[f"raced_{beta:g}_{n:.0e}"] = exact(
                float(raced_modes(rates, n, p["level"], p["seed"])[fastest - 1]),
                f"β = {beta:g}: how often mode {fastest} would win the race among {n:.0e} tokens",
                "by drawing",
            )
    return numbers


def _chance(counts: Array, expected: Array, seed: int) -> float:
    """The share of multinomial draws whose distance Σ (count − mean)²/(mean + 1) is at least that of the
    counts."""
    rng, runs = np.random.default_rng(seed + 1), int(counts.sum())
    if runs == 0:
        return 0.0

    def distance(some: Array) -> Array:
        return np.asarray((np.square(some - runs * expected) / (runs * expected + 1.0)).sum(-1))

    drawn = rng.multinomial(runs, expected / expected.sum(), DRAWS).astype(float)  # (draws, k)
    return float((distance(drawn) >= float(distance(counts))).mean())


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    names = [f"{beta:g}" for beta in p["betas"]]
    fastest = {name: fastest_mode(float(name)) for name in names}
    near = all(abs(numbers[f"mean_{name}"].value / fastest[name] - 1.0) <= MEAN_ERROR for name in names)
    raced = all(numbers[f"chance_{name}"].value >= LEAST_PROBABILITY for name in names)
    return (
        Verdict(
            "the number of periods that uniform tokens first show is k_max, that of the fastest mode, on"
            f" average to {MEAN_ERROR:.0%}",
            "agrees" if near else "disagrees",
            f"the mean mode that shows first, n = {p['n']}, is "
            + ", ".join(
                f"{numbers[f'mean_{name}']} (k_max = {fastest[name]}) for β = {name}" for name in names
            )
            + "; the very mode k_max is first in "
            + ", ".join(f"{numbers[f'share_{name}'].value:.0%}" for name in names)
            + " of the runs",
        ),
        Verdict(
            "which mode shows first is a race: random modes of the size n^(−1/2), each growing at its own"
            " rate",
            "observed" if raced else "not observed",
            "chance gives counts as far from those of the race with probability "
            + ", ".join(f"{numbers[f'chance_{name}'].value:.3f}" for name in names)
            + f" for β = {', '.join(names)}; by the race k_max wins in "
            + ", ".join(f"{numbers[f'raced_{name}_1e+12'].value:.0%}" for name in names)
            + " of the runs among 10¹² tokens",
        ),
    )


ITEM = Item(
    key="first-clusters",
    title="How many clusters show first",
    cost=Cost(quick=10.0, full=40.0),
    source="the theorem on periodicity, and the figure at β = 5",
    statement=(
        "As the number of tokens grows, independent uniform tokens on the circle come close to solutions with"
        " k_max periods, k_max being the mode that grows fastest out of the uniform law; the figure shows"
        " three periods at β = 5, from white noise of 1 %."
    ),
    ours=(
        "Among finitely many tokens chance decides: modes near k_max grow nearly as fast, and start by chance"
        " as n^(−1/2) times a complex normal number. If they do not feel each other while they are small, the"
        " first to be large is the winner of a race, whose distribution is known by drawing; k_max wins"
        " always only as log n → ∞."
    ),
    parameters={
        "Q, K, V": "I",
        "mask": "full",
        "d": 2,
        "n": 4000,
        "betas": [5.0, 16.0, 64.0],
        "runs": 128,
        "runs_at_once": 16,
        "level": 0.2,
        "longer": 1.0,
        "frames": 61,
        "bins": 180,
        "rtol": 1e-7,
        "seed": 0,
    },
    quick={"runs": 32, "n": 2000},
    choices=(
        "A mode shows when |(1/n) Σ e^{ikθ_j}| is 0.2; the largest in the first such frame is the first.",
        "The paper starts from a density with noise of 1 %; here the noise is that of n independent tokens.",
    ),
    criteria=(
        f"First: agrees if for every β the mean mode that shows first is k_max to {MEAN_ERROR:.0%}. Second:"
        " observed if for every β the counts of first modes are no farther from those of the race than chance"
        f" makes them with probability {LEAST_PROBABILITY:g}."
    ),
    captions={
        "first-clusters": (
            "Above: the mode of the density that is the first to be large (bars), and the same for random"
            " modes that grow at their own rates (dots); dashed: the fastest mode. Below: the density at the"
            " end, a row for every run, sorted by its first mode and turned so that a peak of it is in the"
            " middle; yellow is four times uniform or more."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
