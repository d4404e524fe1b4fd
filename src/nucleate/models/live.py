"""A head of a real model as a system of tokens: its Q, K, V and effective beta, simulated, and the atlas beside what happened."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array, InputError, finite_number, whole_number
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.kernels import drift
from nucleate.models.checkpoint import open_source
from nucleate.models.heads import Factors, Reading, read_factors, read_spectrum
from nucleate.models.mapping import find_mapping
from nucleate.models.plan import Plan, make_plan
from nucleate.models.table import region_words
from nucleate.observe.clusters import count_clusters
from nucleate.sphere import uniform
from nucleate.theory.atlas import atlas

__all__ = ["HeadRun", "head_attention", "live_head", "live_heads"]

NEAR = 0.1  # radians: a token this near to L counts as there, and tokens in steps of this length as one cluster
TIMES = 40.0  # e-foldings of the fastest direction that a run lasts unless told otherwise


@dataclass(frozen=True, eq=False)
class HeadRun:
    """One head, simulated: what Table 1 says of it, and what happened.  `print` it to read it."""

    layer: int
    head: int
    beta: float
    lambda_max: float  # of the small product
    region: str  # of the small product: the row of Table 1, or why there is none
    run: Run
    near: float  # share of tokens within 0.1 of L at the end
    clusters: int  # at the end, joined by steps of at most 0.1
    speed: float  # of the fastest token at the end

    def __str__(self) -> str:
        return (
            f"layer {self.layer}, head {self.head}: λ_max = {self.lambda_max:.4g}, β = {self.beta:.4g}\n"
            f"Table 1        {region_words(self.region)}\n"
            f"what happened  at t = {self.run.t[-1]:.4g}: {self.clusters} clusters, {self.near:.0%} of the tokens within {NEAR:g} of L, "
            f"fastest speed {self.speed:.2g}; {self.run.status}"
        )


def head_attention(model: Any, layer: int, head: int, mapping: str | Path | None = None) -> Attention:
    """The system of one head: beta <Qx, Ky> = x^T A y with beta = |A|_2, V = W_O W_V diag(g), causal.  Layers and heads count from 0."""
    source, plan = _opened(model, mapping)
    return _attention(_checked_factors(source.weights, plan, layer, head), plan.d)


def live_head(
    model: Any, layer: int, head: int, tokens: int = 256, t: float | None = None, seed: int = 0, mapping: str | Path | None = None, save: int = 64
) -> HeadRun:
    """Let tokens move under one head, from a uniformly random start; t: as long as 40 e-foldings of its fastest direction, unless given."""
    source, plan = _opened(model, mapping)
    factors = _checked_factors(source.weights, plan, layer, head)
    return _lived(factors, plan, layer, head, tokens, t, seed, save)


def live_heads(model: Any, tokens: int = 64, t: float | None = None, seed: int = 0, mapping: str | Path | None = None) -> Iterator[HeadRun]:
    """The same for every head of a model, one after the other, all from the same start; two frames are kept of each."""
    source, plan = _opened(model, mapping)
    for layer in range(len(plan.layers)):
        for head in range(plan.heads):
            yield _lived(read_factors(source.weights, plan, layer, head), plan, layer, head, tokens, t, seed, 2)
        source.weights.forget()


def _opened(model: Any, mapping: str | Path | None) -> tuple[Any, Plan]:
    source = open_source(model)
    return source, make_plan(source.weights, source.config, None if mapping is None else find_mapping(mapping))


def _checked_factors(weights: Any, plan: Plan, layer: int, head: int) -> Factors:
    for name, value, count in (("layer", layer, len(plan.layers)), ("head", head, plan.heads)):
        if whole_number(name, value, least=0, help="They are counted from 0.") >= count:
            raise InputError(f"{name} must be 0 to {count - 1}, but is {value}. They are counted from 0.")
    return read_factors(weights, plan, layer, head)


def _attention(factors: Factors, d: int) -> Attention:
    """Q and K are the head's own, scaled alike and filled up with rows of zeros to d x d."""
    beta = factors.beta()
    share = (factors.scale / beta) ** 0.5 if beta > 0.0 else 0.0
    fill = ((0, d - len(factors.Q)), (0, 0))
    return Attention(beta, np.pad(share * factors.Q, fill), np.pad(share * factors.K, fill), factors.O @ factors.V)


def _lived(factors: Factors, plan: Plan, layer: int, head: int, tokens: int, t: float | None, seed: int, save: int) -> HeadRun:
    small = factors.small()
    found, model = read_spectrum(small), _attention(factors, plan.d)
    span = TIMES / _fastest(found) if t is None else finite_number("t", t, above=0.0, help="It is how long to run.")
    run = simulate(model, uniform(tokens, plan.d, seed), span, save, rtol=1e-6, atol=1e-8)
    x = run.x[-1]  # (n, d)
    L = np.linalg.qr(factors.O @ atlas(small).basis)[0]  # (d, dim L): V O u = O (V O) u, so O takes the small product's L to that of V
    inside = np.linalg.norm(x @ L, axis=1)  # (n,) cosine of the angle to L
    speed = float(np.linalg.norm(drift(model, x), axis=1).max())
    return HeadRun(layer, head, float(model.beta), found.lambda_max, found.region, run, _share(inside), int(count_clusters(x, NEAR)), speed)


def _share(inside: Array) -> float:
    return float((inside >= np.cos(NEAR)).mean())


def _fastest(found: Reading) -> float:
    """The rate that sets the time: lambda_max, or a part of the spectral radius where that is much smaller."""
    radius = float(np.abs(found.eigenvalues).max())
    return max(abs(found.lambda_max), 0.05 * radius) or 1.0
