"""A head of a real model as a system of tokens: its Q, K, V and effective beta, simulated, and what Table 1
says beside what happened.

V = W_O W_V maps into the range of W_O, so a token never leaves the span of its start and that range: n tokens
live in dimension d_head + n at most, whatever d is.  They are simulated there, in an orthonormal basis, which
changes nothing but the time it takes.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, Window
from nucleate.checks import Array, InputError, check_tokens, finite_number, whole_number
from nucleate.integrate.family import softmax_head
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.kernels.dispatch import drift
from nucleate.models.checkpoint import Source, open_source
from nucleate.models.heads import Factors, HeadSpectrum, full_row, head_spectrum, products, read_factors
from nucleate.models.mapping import find_mapping
from nucleate.models.plan import Plan, make_plan
from nucleate.models.table import region_words, share_words
from nucleate.observe.clusters import clusters
from nucleate.sphere import retract, uniform
from nucleate.theory.atlas import atlas
from nucleate.theory.table import other_model

__all__ = [
    "HeadOutcome",
    "HeadRun",
    "HeadSystem",
    "ReducedSystem",
    "head_attention",
    "head_outcome",
    "head_system",
    "open_heads",
    "simulate_head",
    "simulate_system",
    "system_of",
]

# a token this near to L counts as in L, and tokens in steps of this length as one cluster
NEAR_RADIANS = 0.1
EQUILIBRIUM_SPEED = 1e-3  # radians per e-folding: slower tokens count as at an equilibrium
# how long a run lasts: e-foldings of the gap from lambda_max to the next real part, but no fewer and no more
# than so many of lambda_max
GAP_EFOLDINGS, MIN_EFOLDINGS, MAX_EFOLDINGS = 12.0, 40.0, 1000.0
MIN_RATE = 0.05  # of the spectral radius, where lambda_max is smaller
RELATIVE_TIE = 1e-9  # of the largest modulus: real parts that differ by less are one
RTOL, ATOL = 1e-6, 1e-8

Mask = Literal["causal", "full"] | Window


@dataclass(frozen=True, eq=False)
class ReducedSystem:
    """The system of a head in the few dimensions that its tokens reach."""

    model: Attention
    x0: Array  # (n, s)
    basis: Array | None  # (d, s) orthonormal; None: all d dimensions

    def in_all_dimensions(self, run: Run, model: Attention) -> Run:
        """A run of the reduced system as one in d dimensions, under the whole `model`."""
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
    L: Array  # (d, dim L) orthonormal: the dominant eigenspace of the small product in the space of V
    rate: float  # e-foldings per time
    span: float  # how long a run lasts unless told otherwise

    def attention(self, mask: Mask = "causal") -> Attention:
        """The whole system, with matrices d x d."""
        return self._attention(None, mask)

    def reduced(self, x0: Array, mask: Mask = "causal") -> ReducedSystem:
        """The system and its start x0 (n, d) in the span of the tokens and the range of W_O."""
        x0 = check_tokens("x0", x0)
        if x0.ndim != 2 or x0.shape[1] != self.d:
            raise InputError(
                f"The start must have shape (n, {self.d}), as the model has d = {self.d}, but has shape"
                f" {x0.shape}."
            )
        if self.factors.O.shape[1] + len(x0) >= self.d:
            return ReducedSystem(self.attention(mask), x0, None)
        B = np.linalg.qr(np.concatenate([self.factors.O, x0.T], axis=1))[0]  # (d, d_head + n)
        return ReducedSystem(self._attention(B, mask), retract(x0 @ B), B)

    def _attention(self, B: Array | None, mask: Mask) -> Attention:
        """Q and K are the head's own, scaled alike and filled up with rows of zeros."""
        f = self.factors
        Q, K, V, O = (f.Q, f.K, f.V, f.O) if B is None else (f.Q @ B, f.K @ B, f.V @ B, B.T @ f.O)  # noqa: E741  # (d_head, s) three times, (s, d_head)
        share = (f.scale / self.beta) ** 0.5 if self.beta > 0.0 else 0.0
        fill = ((0, len(O) - len(Q)), (0, 0))
        return Attention(self.beta, np.pad(share * Q, fill), np.pad(share * K, fill), O @ V, mask)


@dataclass(frozen=True)
class HeadOutcome:
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
            f" {share_words(self.near)} of them within {NEAR_RADIANS:g} of L,"
            f" {'at an equilibrium' if self.resting else 'still moving'} (speed {self.speed:.2g})"
        )


@dataclass(frozen=True, eq=False)
class HeadRun:
    """One head, simulated: the run and its outcome.  `print` it to read it."""

    outcome: HeadOutcome
    run: Run

    def __str__(self) -> str:
        return str(self.outcome)


def head_attention(model: Any, layer: int, head: int, mapping: str | Path | None = None) -> Attention:
    """The system of one head, causal: token x_k attends to x_j with the score beta <x_j, A x_k>, A = K^T Q of
    norm 1, and V = W_O W_V diag(gamma) C.  Layers and heads count from 0."""
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
    return system_of(source, plan, int(layer or 0), int(head or 0))


def simulate_head(
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
    reduced, run = simulate_system(system, uniform(tokens, system.d, seed), t, save)
    outcome = head_outcome(system, reduced, run)
    return HeadRun(outcome, reduced.in_all_dimensions(run, system.attention()))


def open_heads(model: Any, mapping: str | Path | None = None) -> tuple[Source, Plan]:
    """A model, and how to read it."""
    source = open_source(model)
    return source, make_plan(
        source.weights, source.config, None if mapping is None else find_mapping(mapping)
    )


def head_outcome(system: HeadSystem, reduced: ReducedSystem, run: Run) -> HeadOutcome:
    """The outcome of a run of the reduced system, by its last frame."""
    x = run.x[-1]  # (n, s)
    L = system.L if reduced.basis is None else reduced.basis.T @ system.L  # (s, dim L)
    inside = np.linalg.norm(x @ L, axis=1)  # (n,) cosine of the angle to L
    label = clusters(x, NEAR_RADIANS)  # (n,)
    model = softmax_head(run.model, "An outcome is told", "Simulate one head.")
    speed = float(np.linalg.norm(drift(model, x), axis=1).max())
    beyond = other_model(model, len(x)) is not None
    return HeadOutcome(
        system.layer,
        system.head,
        system.beta,
        system.lambda_max,
        "mask" if beyond else system.region,
        system.full_lambda_max,
        system.full_row,
        len(x),
        float(run.t[-1]),
        float((inside >= np.cos(NEAR_RADIANS)).mean()),
        int(label.max()) + 1,
        _opposite(x, label),
        speed,
        speed <= EQUILIBRIUM_SPEED * system.rate,
        str(run.status),
    )


def _opposite(x: Array, label: NDArray[np.int64]) -> bool:
    """Whether there are two clusters, on opposite sides."""
    if label.max() != 1:
        return False
    one, two = (x[label == i].mean(0) for i in (0, 1))  # (s,)
    return bool(one @ two <= -np.cos(2.0 * NEAR_RADIANS) * np.linalg.norm(one) * np.linalg.norm(two))


def simulate_system(system: HeadSystem, x0: Array, t: float | None, save: int) -> tuple[ReducedSystem, Run]:
    """A run from x0 (n, d) in the few dimensions that its tokens reach."""
    reduced = system.reduced(x0)
    span = system.span if t is None else finite_number("t", t, above=0.0, help="It is how long to run.")
    # explicit: implicit steps cost d^3
    return reduced, simulate(
        reduced.model, reduced.x0, span, save=save, rtol=RTOL, atol=ATOL, method="explicit"
    )


def system_of(source: Source, plan: Plan, layer: int, head: int) -> HeadSystem:
    """One head of a model that was opened."""
    factors = read_factors(source.weights, plan, layer, head)
    small, beta, _ = products(factors, layer, head)
    found = head_spectrum(small)
    full_lambda_max, row = full_row(found, plan.d)
    basis = _dominant_basis(small, found)  # (d_head, dim L)
    # (d, dim L): V O u = O (V O) u, so O takes the small product's L to that of V
    L = np.linalg.qr(factors.O @ basis)[0]
    rate, gap = _rate(found), _gap(found)
    span = float(np.clip(GAP_EFOLDINGS / max(gap, 1e-300), MIN_EFOLDINGS / rate, MAX_EFOLDINGS / rate))
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


def _dominant_basis(small: Array, found: HeadSpectrum) -> Array:
    """A basis of L for the small product; where rounding hides its blocks, of the dominant eigenvectors."""
    if found.kind != "unclear":
        return atlas(small).basis
    values, vectors = np.linalg.eig(small)
    # (d_head, some)
    dominant = vectors[:, values.real >= found.lambda_max - RELATIVE_TIE * np.abs(values).max()]
    left, size, _ = np.linalg.svd(np.concatenate([dominant.real, dominant.imag], axis=1))
    return np.asarray(left[:, : int((size > RELATIVE_TIE * size[0]).sum())])


def _rate(found: HeadSpectrum) -> float:
    """The rate that sets the time: lambda_max, or a part of the spectral radius where that is much
    smaller."""
    radius = float(np.abs(found.eigenvalues).max())
    return max(abs(found.lambda_max), MIN_RATE * radius) or 1.0


def _gap(found: HeadSpectrum) -> float:
    """From the largest real part of V itself to the next, the 0 of its kernel counted."""
    values = np.append(found.eigenvalues.real, 0.0)  # (d_head + 1,)
    largest = values.max()
    lower = values[values < largest - RELATIVE_TIE * np.abs(found.eigenvalues).max()]
    return float(largest - lower.max()) if lower.size else float(abs(largest))
