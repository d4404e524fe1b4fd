"""A head of a real model as a system of tokens: its Q, K, V and effective beta, simulated, and the atlas
beside what happened.

V = W_O W_V maps into the range of W_O, so a token never leaves the span of its start and that range: n tokens
live in dimension d_head + n at most, whatever d is.  They are simulated there, in an orthonormal basis, which
changes nothing but the time it takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, Window
from nucleate.checks import Array, InputError, check_tokens, finite_number, whole_number
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.kernels.dispatch import drift
from nucleate.models.checkpoint import Source, open_source
from nucleate.models.heads import Factors, Reading, full_row, products, read_factors, read_spectrum
from nucleate.models.mapping import find_mapping
from nucleate.models.plan import Plan, make_plan
from nucleate.models.table import region_words, share_words
from nucleate.observe.clusters import clusters
from nucleate.sphere import retract, uniform
from nucleate.theory.atlas import atlas
from nucleate.theory.table import other_model

__all__ = [
    "HeadRun",
    "HeadSystem",
    "Lived",
    "Stage",
    "head_attention",
    "head_system",
    "live_head",
    "live_heads",
    "open_heads",
    "watch",
]

# radians: a token this near to L counts as there, and tokens in steps of this length as one cluster
NEAR = 0.1
SLOW = 1e-3  # radians per e-folding: below this nothing moves that can be seen
# how long: e-foldings of the fastest direction, of the top against the next, and at most of the former
TIMES, GAPS, MOST = 40.0, 12.0, 1000.0
RTOL, ATOL = 1e-6, 1e-8

Mask = Literal["causal", "full"] | Window


@dataclass(frozen=True, eq=False)
class Stage:
    """The same system in the few dimensions that its tokens reach."""

    model: Attention
    x0: Array  # (n, s)
    basis: Array | None  # (d, s) orthonormal; None: all d dimensions

    def lift(self, run: Run, model: Attention) -> Run:
        """The run on this stage as one in d dimensions, under the whole `model`."""
        # (m, n, d)
        return run if self.basis is None else replace(run, model=model, x=retract(run.x @ self.basis.T))


@dataclass(frozen=True, eq=False)
class HeadSystem:
    """One head: its matrices, what Table 1 says of them, and how long it takes to see it."""

    layer: int
    head: int
    d: int
    factors: Factors
    beta: float
    lambda_max: float  # of the small product
    region: str  # of the small product: the row of Table 1, or why there is none
    full_lambda_max: float  # of V itself
    full_row: int | None  # of V itself
    L: Array  # (d, dim L) orthonormal: where the top of the small product lies in the space of V
    rate: float  # e-foldings per time
    span: float  # how long a run lasts unless told otherwise

    def attention(self, mask: Mask = "causal") -> Attention:
        """The whole system, with matrices d x d."""
        return self._attention(None, mask)

    def stage(self, x0: Array, mask: Mask = "causal") -> Stage:
        """The system and its start x0 (n, d) in the span of the tokens and the range of W_O."""
        x0 = check_tokens("x0", x0)
        if x0.ndim != 2 or x0.shape[1] != self.d:
            raise InputError(
                f"The start must have shape (n, {self.d}), as the model has d = {self.d}, but has shape"
                f" {x0.shape}."
            )
        if self.factors.O.shape[1] + len(x0) >= self.d:
            return Stage(self.attention(mask), x0, None)
        B = np.linalg.qr(np.concatenate([self.factors.O, x0.T], axis=1))[0]  # (d, d_head + n)
        return Stage(self._attention(B, mask), retract(x0 @ B), B)

    def _attention(self, B: Array | None, mask: Mask) -> Attention:
        """Q and K are the head's own, scaled alike and filled up with rows of zeros."""
        f = self.factors
        Q, K, V, O = (f.Q, f.K, f.V, f.O) if B is None else (f.Q @ B, f.K @ B, f.V @ B, B.T @ f.O)  # noqa: E741  # (d_head, s) three times, (s, d_head)
        share = (f.scale / self.beta) ** 0.5 if self.beta > 0.0 else 0.0
        fill = ((0, len(O) - len(Q)), (0, 0))
        return Attention(self.beta, np.pad(share * Q, fill), np.pad(share * K, fill), O @ V, mask)


@dataclass(frozen=True)
class Lived:
    """What Table 1 says of a head, and where its tokens were in the end.  `print` it to read it."""

    layer: int
    head: int
    beta: float
    lambda_max: float  # of the small product
    # of the small product: the row of Table 1, or why there is none ("mask": the run is not causal)
    region: str
    full_lambda_max: float  # of V itself
    full_row: int | None  # of V itself
    tokens: int
    t: float  # how long it ran
    near: float  # share of tokens within 0.1 of L at the end
    clusters: int  # at the end, joined by steps of at most 0.1
    opposite: bool  # whether they are two and opposite to each other
    speed: float  # of the fastest token at the end
    resting: bool  # whether that is below 0.001 per e-folding
    status: str  # of the run

    @property
    def ended(self) -> str:
        """Where the tokens were: one point, two opposite points, clusters or spread out; and whether all of
        that in L."""
        few = (
            "two opposite points"
            if self.opposite
            else "clusters"
            if 2 * self.clusters <= self.tokens
            else "spread out"
        )
        return ("one point" if self.clusters == 1 else few) + (" in L" if self.near == 1.0 else "")

    @property
    def as_said(self) -> bool | None:
        """Whether it came as rows 1 to 3 of Table 1 say; None for other heads, and where the tokens are
        elsewhere but still on their way."""
        if self.region not in ("1", "2", "3"):
            return None
        there = self.ended == "one point in L" or (
            self.region == "3" and self.ended == "two opposite points in L"
        )
        return there if there or (self.resting and self.status == "done") else None

    def __str__(self) -> str:
        said = {True: ", as the table says", False: ", not what the table says", None: ""}[self.as_said]
        row = (
            f"row {self.full_row}"
            if self.full_row
            else (
                "outside the table, as it has λ_max = 0"
                if self.full_lambda_max == 0.0
                else "outside the table"
            )
        )
        itself = "" if self.region == "mask" else f" (V itself: {row})"
        groups = "1 cluster" if self.clusters == 1 else f"{self.clusters} clusters"
        return (
            f"layer {self.layer}, head {self.head}: λ_max = {self.lambda_max:.4g}, β = {self.beta:.4g}\nTable"
            f" 1        {region_words(self.region)}{itself}\nwhat happened  {self.ended}{said}; at t ="
            f" {self.t:.4g}, {self.status}\n               {self.tokens} tokens in {groups},"
            f" {share_words(self.near)} of them within {NEAR:g} of L,"
            f" {'at rest' if self.resting else 'still moving'} (speed {self.speed:.2g})"
        )


@dataclass(frozen=True, eq=False)
class HeadRun:
    """One head, simulated: the run, and what is to say of it.  `print` it to read it."""

    lived: Lived
    run: Run

    def __str__(self) -> str:
        return str(self.lived)


def head_attention(model: Any, layer: int, head: int, mapping: str | Path | None = None) -> Attention:
    """The system of one head: beta <Qx, Ky> = x^T A y with beta = |A|_2, V = W_O W_V diag(g), causal.  Layers
    and heads count from 0."""
    return head_system(model, layer, head, mapping).attention()


def head_system(
    model: Any, layer: int | None, head: int | None, mapping: str | Path | None = None
) -> HeadSystem:
    """One head of a model, with what Table 1 says of it.  Layers and heads count from 0."""
    source, plan = open_heads(model, mapping)
    there = (
        f"The model has {len(plan.layers)} layer{'s' * (len(plan.layers) > 1)} of {plan.heads} heads, counted"
        " from 0."
    )
    for name, value, count in (("layer", layer, len(plan.layers)), ("head", head, plan.heads)):
        if value is None:
            raise InputError(f"Which {name}? {there}")
        if whole_number(name, value, least=0, help=there) >= count:
            raise InputError(f"{name} must be 0 to {count - 1}, but is {value}. {there}")
    return _system(source, plan, int(layer or 0), int(head or 0))


def live_head(
    model: Any,
    layer: int,
    head: int,
    tokens: int = 256,
    t: float | None = None,
    seed: int = 0,
    mapping: str | Path | None = None,
    save: int = 64,
) -> HeadRun:
    """Let tokens move under one head, from a uniformly random start; t: until it should be seen where they
    go, unless given."""
    system = head_system(model, layer, head, mapping)
    stage, run = _played(system, uniform(tokens, system.d, seed), t, save)
    return HeadRun(watch(system, stage, run), stage.lift(run, system.attention()))


def live_heads(
    model: Any, tokens: int = 64, t: float | None = None, seed: int = 0, mapping: str | Path | None = None
) -> Iterator[Lived]:
    """The same for every head of a model, one after the other, all from the same start; only what is to say
    of each is kept."""
    source, plan = open_heads(model, mapping)
    x0 = uniform(tokens, plan.d, seed)
    for layer in range(len(plan.layers)):
        for head in range(plan.heads):
            system = _system(source, plan, layer, head)
            yield watch(system, *_played(system, x0, t, 2))
        source.weights.forget()


def open_heads(model: Any, mapping: str | Path | None = None) -> tuple[Source, Plan]:
    """A model, and how to read it."""
    source = open_source(model)
    return source, make_plan(
        source.weights, source.config, None if mapping is None else find_mapping(mapping)
    )


def watch(system: HeadSystem, stage: Stage, run: Run) -> Lived:
    """What is to say of a run on a stage, by its last frame."""
    x = run.x[-1]  # (n, s)
    L = system.L if stage.basis is None else stage.basis.T @ system.L  # (s, dim L)
    inside = np.linalg.norm(x @ L, axis=1)  # (n,) cosine of the angle to L
    label = clusters(x, NEAR)  # (n,)
    speed = float(np.linalg.norm(drift(run.model, x), axis=1).max())
    beyond = other_model(run.model, len(x)) is not None
    return Lived(
        system.layer,
        system.head,
        system.beta,
        system.lambda_max,
        "mask" if beyond else system.region,
        system.full_lambda_max,
        system.full_row,
        len(x),
        float(run.t[-1]),
        float((inside >= np.cos(NEAR)).mean()),
        int(label.max()) + 1,
        _opposite(x, label),
        speed,
        speed <= SLOW * system.rate,
        str(run.status),
    )


def _opposite(x: Array, label: NDArray[np.int64]) -> bool:
    """Whether there are two clusters, on opposite sides."""
    if label.max() != 1:
        return False
    one, two = (x[label == i].mean(0) for i in (0, 1))  # (s,)
    return bool(one @ two <= -np.cos(2.0 * NEAR) * np.linalg.norm(one) * np.linalg.norm(two))


def _played(system: HeadSystem, x0: Array, t: float | None, save: int) -> tuple[Stage, Run]:
    stage = system.stage(x0)
    span = system.span if t is None else finite_number("t", t, above=0.0, help="It is how long to run.")
    # implicit steps cost d^3
    return stage, simulate(stage.model, stage.x0, span, save=save, rtol=RTOL, atol=ATOL, method="explicit")


def _system(source: Source, plan: Plan, layer: int, head: int) -> HeadSystem:
    factors = read_factors(source.weights, plan, layer, head)
    small, beta = products(factors, layer, head)
    found = read_spectrum(small)
    full_lambda_max, row = full_row(found, plan.d)
    top = _top_vectors(small, found)  # (d_head, dim L)
    # (d, dim L): V O u = O (V O) u, so O takes the small product's L to that of V
    L = np.linalg.qr(factors.O @ top)[0]
    rate, gap = _rate(found), _gap(found)
    span = float(np.clip(GAPS / max(gap, 1e-300), TIMES / rate, MOST / rate))
    return HeadSystem(
        layer,
        head,
        plan.d,
        factors,
        beta,
        found.lambda_max,
        found.region,
        full_lambda_max,
        row,
        L,
        rate,
        span,
    )


def _top_vectors(small: Array, found: Reading) -> Array:
    """A basis of L for the small product; where rounding hides its blocks, of the eigenvectors at the top."""
    if found.kind != "unclear":
        return atlas(small).basis
    values, vectors = np.linalg.eig(small)
    top = vectors[:, values.real >= found.lambda_max - 1e-9 * np.abs(values).max()]  # (d_head, some)
    left, size, _ = np.linalg.svd(np.concatenate([top.real, top.imag], axis=1))
    return np.asarray(left[:, : int((size > 1e-9 * size[0]).sum())])


def _rate(found: Reading) -> float:
    """The rate that sets the time: lambda_max, or a part of the spectral radius where that is much
    smaller."""
    radius = float(np.abs(found.eigenvalues).max())
    return max(abs(found.lambda_max), 0.05 * radius) or 1.0


def _gap(found: Reading) -> float:
    """From the largest real part of V itself to the next, the 0 of its kernel counted."""
    values = np.append(found.eigenvalues.real, 0.0)  # (d_head + 1,)
    top = values.max()
    lower = values[values < top - 1e-9 * np.abs(found.eigenvalues).max()]
    return float(top - lower.max()) if lower.size else float(abs(top))
