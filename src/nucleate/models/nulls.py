"""What the heads of a trained model are compared with: two null models, named by what they keep.

At random (Initial) keeps the architecture, its sizes, the spread of its weights at initialisation and the
centring, and destroys all that was trained.  Swapped keeps every trained matrix and gain as it is, with all
directions that the heads of a layer have in common, and destroys one thing: which W_O belongs to which W_V.
A share that differs from the first null was made by training; one that differs from the second, too, was made
by training W_V and W_O of one head for each other.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.checks import Array
from nucleate.models.heads import HeadSpectrum, fold, head_spectrum, read_output, read_values
from nucleate.models.plan import Plan

__all__ = [
    "Initial",
    "Share",
    "Shares",
    "Swapped",
    "initial_heads",
    "measures",
    "swapped_heads",
    "swapped_spectra",
]

MODELS_DRAWN = 1000  # models with as many heads as the trained one, for the interval of a share
MIDDLE = (0.025, 0.975)  # quantiles of that interval


@dataclass(frozen=True)
class Share:
    """A share in a null model: its mean, and the middle 95 % of it in models with as many heads as the
    trained one."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Shares:
    """What a null model says of a model's heads."""

    negative: Share  # of heads with lambda_max < 0
    real: Share  # of heads with a real dominant eigenvalue
    left: Share  # of eigenvalues with negative real part


@dataclass(frozen=True)
class Initial:
    """The same architecture with independent Gaussian weights and gain 1: what its heads look like before
    training."""

    draws: int
    seed: int
    std: float
    output_std: float
    lambda_max: float  # mean
    low: float  # 0.1 quantile
    high: float  # 0.9 quantile
    regions: dict[str, int]  # how many draws are in which
    shares: Shares


@dataclass(frozen=True)
class Swapped:
    """The trained model, each W_V with the W_O of heads of other groups of its layer."""

    pairs: int  # products of a W_V and a W_O
    partners: int  # heads whose W_O each W_V is paired with
    seed: int
    lambda_max: float  # mean
    low: float  # 0.1 quantile
    high: float  # 0.9 quantile
    regions: dict[str, int]  # how many pairs are in which
    shares: Shares


def measures(one: Any) -> tuple[float, float, float]:
    """Of a head, or a spectrum: whether it is negative, whether its dominant eigenvalue is real, and the
    share of its eigenvalues on the left."""
    return float(one.region != "zero" and one.lambda_max < 0.0), float(one.kind == "real"), one.left


def initial_heads(plan: Plan, draws: int, seed: int) -> Initial:
    """Heads with Gaussian W_V and W_O, gain 1 and the same centring."""
    drawn: list[HeadSpectrum] = []
    for i in range(draws):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
        # (d_head, d)
        V = fold(plan.std * rng.standard_normal((plan.head_dim, plan.d)), None, plan.mapping.centred)
        drawn.append(head_spectrum(V @ (plan.output_std * rng.standard_normal((plan.d, plan.head_dim)))))
    heads = len(plan.layers) * plan.heads
    pools = np.tile([measures(one) for one in drawn], (heads, 1, 1))  # (heads, draws, 3)
    return Initial(draws, seed, plan.std, plan.output_std, *_told(drawn), _shares(pools, seed))


def swapped_spectra(
    weights: Any, plan: Plan, i: int, partners: int, seed: int
) -> tuple[list[list[HeadSpectrum]], list[list[HeadSpectrum]]]:
    """For each key-value head of the i-th layer the spectra of its W_V with the W_O of heads of other groups,
    `partners` of them at most, drawn if there are more; and the same in the stored state, if the model is
    post-norm."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, i)))
    found: list[list[HeadSpectrum]] = []
    found_stored: list[list[HeadSpectrum]] = []
    for group in range(plan.key_value_heads):
        others = [head for head in range(plan.heads) if plan.group_of(head) != group]
        if len(others) > partners:
            others = sorted(rng.choice(others, partners, replace=False))
        V, stored = read_values(weights, plan, i, group)  # (d_head, d)
        outputs = (read_output(weights, plan, i, head) for head in others)  # (d, d_head) each, one at a time
        pairs = [(V @ O, None if stored is None else stored @ O) for O in outputs]  # noqa: E741  # the letter of W_O
        found.append([head_spectrum(small) for small, _ in pairs])
        found_stored.append([head_spectrum(small) for _, small in pairs if small is not None])
    return found, found_stored


def swapped_heads(found: list[list[HeadSpectrum]], plan: Plan, seed: int) -> Swapped:
    """The null model out of the spectra of every key-value head of every layer."""
    pools = np.array([[measures(one) for one in pool] for pool in found])  # (layers * groups, partners, 3)
    pools = np.repeat(pools, plan.heads // plan.key_value_heads, axis=0)  # (heads, partners, 3)
    pairs = [one for pool in found for one in pool]
    return Swapped(len(pairs), len(found[0]), seed, *_told(pairs), _shares(pools, seed))


def _told(found: list[HeadSpectrum]) -> tuple[float, float, float, dict[str, int]]:
    """Mean and quantiles of lambda_max, and how many are in which region."""
    lambda_max = np.array([one.lambda_max for one in found])
    low, high = np.quantile(lambda_max, [0.1, 0.9])
    regions = dict(sorted(Counter(one.region for one in found).items()))
    return float(lambda_max.mean()), float(low), float(high), regions


def _shares(pools: Array, seed: int) -> Shares:
    """Each head drawn from its pool, (heads, pool, 3), for many models: means, and the middle 95 %."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0, 0)))
    heads, size, _ = pools.shape
    models = np.empty((MODELS_DRAWN, 3))
    for i in range(MODELS_DRAWN):
        models[i] = pools[np.arange(heads), rng.integers(size, size=heads)].mean(axis=0)
    mean, (low, high) = pools.mean(axis=(0, 1)), np.quantile(models, MIDDLE, axis=0)  # (3,) each
    return Shares(*(Share(float(mean[k]), float(low[k]), float(high[k])) for k in range(3)))
