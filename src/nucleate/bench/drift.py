"""`nucleate bench drift`: velocities, pair by pair against NumPy, JAX and torch, and in linear time on the
circle and the sphere.

In high dimension nearly all the work is two products of matrices, scores and weighted sums: 4 d operations
for every pair.  What they alone would take if the cores did nothing but multiply is the limit there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nucleate import attention
from nucleate.attention import Attention, Frozen
from nucleate.bench.machine import multiply_add
from nucleate.bench.peers import Missing, jax_drift, jax_softmax_drift, numpy_drift
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, peak_memory, time_in_turns
from nucleate.bench.torch_peers import torch_attention
from nucleate.checks import Array
from nucleate.kernels.dispatch import MIN_TILES_DIMENSION, drift, make_system
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.simd import LANES
from nucleate.kernels.team import Team
from nucleate.positions import ALiBi
from nucleate.sphere import retract, uniform

__all__ = ["DriftCase", "circle_section", "exact_rows", "pairwise_section", "sections", "sphere_section"]

Indices = NDArray[np.intp]

OUR_AUTO, SUM_ALONE = "nucleate auto", "the sum alone"
MAX_SMALL_TOKENS = 512  # of a system whose sum takes no longer than what is around it
OUR_PAIRWISE, OUR_SINGLE, OUR_GENERAL = "nucleate pairwise", "nucleate, single", "nucleate, general Q, K, V"
LIMIT, MULTIPLY = "limit: the two products alone", "multiplications"
VELOCITY_ERROR = "largest error"
MAX_FULLY_COMPARED_TOKENS = 4000  # of all runs together; of larger systems only some tokens are
COMPARED_PAIRS = 4e7  # over which the velocities of these sum, about
MIN_COMPARED_TOKENS, MAX_COMPARED_TOKENS = 32, 512
BETA, SPHERE_BETA = 64.0, 16.0
SHARP_BETA = 1e5  # of the circle on a grid
SLOPE = 1e-3  # of ALiBi on the sphere
MAX_SPHERE_ROUNDS = 3  # 100,000 tokens by pairs take seconds
MAX_TOKENS_IN_4 = 300_000  # of d = 4, where a token takes ten times as long as in d = 3
GENERAL_REMARK = (
    "General Q, K, V: random, with β|KᵀQ| as large; the error of each is against its own equation."
)


@dataclass(frozen=True)
class DriftCase:
    """Uniform tokens of S^{d-1}: one system, or several at a time."""

    d: int
    n: int
    runs: int | None = None
    beta: float = BETA

    @property
    def title(self) -> str:
        runs = "" if self.runs is None else f", {self.runs} runs"
        return f"Pairwise drift, d = {self.d}, n = {self.n:,}{runs}, β = {self.beta:g}"

    def tokens(self, seed: int) -> Array:
        """(n, d) or (runs, n, d)"""
        starts = uniform(self.n, self.d, seed, runs=self.runs or 1)  # (runs, n, d)
        return starts[0] if self.runs is None else starts


# In high dimension tokens are far apart: beta = sqrt(d), as in transformers, lets them feel each other.
DRIFT_CASES = (
    DriftCase(2, 200),
    DriftCase(2, 200, 64),
    DriftCase(3, 200, 64),
    DriftCase(2, 4000),
    DriftCase(3, 4000),
    DriftCase(8, 2000, beta=3.0),
    DriftCase(16, 4000, beta=4.0),
    DriftCase(64, 4000, beta=8.0),
    DriftCase(256, 4000, beta=16.0),
    DriftCase(256, 1000, beta=16.0),
    DriftCase(64, 500, 16, beta=8.0),
)
QUICK_DRIFT_CASES = (
    DriftCase(2, 200),
    DriftCase(2, 200, 8),
    DriftCase(3, 200, 8),
    DriftCase(2, 1000),
    DriftCase(3, 1000),
    DriftCase(8, 500, beta=3.0),
    DriftCase(64, 500, beta=8.0),
)
LINEAR_SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_LINEAR_SIZES = (10_000, 30_000, 100_000)


def sections(quick: bool, rounds: int, tell: Tell, seed: int = 0) -> Iterator[Section]:
    """All tables, each as soon as it is measured."""
    for case in QUICK_DRIFT_CASES if quick else DRIFT_CASES:
        yield pairwise_section(case, rounds, tell, seed)
    sizes = QUICK_LINEAR_SIZES if quick else LINEAR_SIZES
    yield circle_section(sizes, rounds, tell, seed)
    for d, some in ((3, sizes), (4, [n for n in sizes if n <= MAX_TOKENS_IN_4])):
        yield sphere_section(tuple(some), min(rounds, MAX_SPHERE_ROUNDS), tell, seed, d)


def pairwise_section(case: DriftCase, rounds: int, tell: Tell, seed: int = 0) -> Section:
    """One case, all contestants."""
    x = case.tokens(seed)
    ready, absent = _contestants(case, x, seed)
    high = case.d >= MIN_TILES_DIMENSION
    timed: dict[str, Callable[[], object]] = {**ready, MULTIPLY: multiply_add} if high else {**ready}
    alone = case.runs is None and case.n <= MAX_SMALL_TOKENS
    if alone:
        timed[SUM_ALONE] = _sum_alone(case, x)
    timings = time_in_turns(timed, rounds, lambda words: tell(f"{case.title}: {words}"))
    tell(f"{case.title}: comparing with the equation")
    truths = {
        name: _exact_sample(_model(name, case, seed), x)
        for name in (OUR_PAIRWISE, OUR_GENERAL)
        if name in ready
    }
    # million, each unordered pair and each token with itself once
    pairs = 1e-6 * (case.runs or 1) * case.n * (case.n + 1) / 2
    rows = []
    for name, call in ready.items():
        where, exact = truths.get(name, truths[OUR_PAIRWISE])
        error = float(np.abs(call()[where] - exact).max())
        rows.append(timed_row(name, timings[name], work=pairs, error=error))
    if alone:
        rows.append(timed_row(SUM_ALONE, timings[SUM_ALONE], work=pairs, note=f"of {OUR_AUTO}"))
    if not high:
        return Section(case.title, "pairs", VELOCITY_ERROR, with_ratios([*rows, *absent], OUR_PAIRWISE))
    rate = multiply_add() / timings[MULTIPLY].best  # billion operations a second
    limit = 1e-3 * 4.0 * case.d * pairs / rate
    rows.append(Row(LIMIT, limit, rate=pairs / limit))
    remark = (
        f"The limit: 4 d operations a pair at {rate:.1f} GFLOP/s, what the cores reach with multiply-adds in"
        f" registers alone. We take {timings[OUR_PAIRWISE].best / limit:.2f} times as long."
    )
    return Section(
        case.title,
        "pairs",
        VELOCITY_ERROR,
        with_ratios([*rows, *absent], OUR_PAIRWISE),
        (remark, GENERAL_REMARK),
        {"gigaflops": rate, "over_limit": timings[OUR_PAIRWISE].best / limit},
    )


def _model(name: str, case: DriftCase, seed: int) -> Attention:
    """Q = K = V = I, or random ones for which scores are as large."""
    if name != OUR_GENERAL:
        return Attention(case.beta)
    Q, K, V = np.random.default_rng(seed).standard_normal((3, case.d, case.d))
    return Attention(case.beta / float(np.linalg.norm(K.T @ Q, 2)), Q, K, V)


def _contestants(case: DriftCase, x: Array, seed: int) -> tuple[dict[str, Callable[[], Array]], list[Row]]:
    """Calls by name, and the rows of peers that are not installed."""
    model = Attention(case.beta)
    ready: dict[str, Callable[[], Array]] = {OUR_PAIRWISE: lambda: drift(model, x, kernel="pairwise")}
    if case.d == 2:
        ready[OUR_AUTO] = lambda: drift(model, x)
    if case.d > 3:
        general = _model(OUR_GENERAL, case, seed)
        ready[OUR_GENERAL] = lambda: drift(general, x)
    peers = {"JAX jit": jax_drift, "JAX jit, softmax": jax_softmax_drift}
    if case.d >= MIN_TILES_DIMENSION:
        single = Attention(case.beta)  # what is set up for a model is kept for one precision
        ready[OUR_SINGLE] = lambda: drift(single, x, precision="single")
        peers["torch attention"] = torch_attention
    ready["NumPy broadcast"] = lambda: numpy_drift(x, case.beta)
    absent = []
    for name, prepare in peers.items():
        try:
            ready[name] = prepare(x, case.beta)
        except Missing as missing:
            absent.append(Row(name, note=str(missing)))
    return ready, absent


def _sum_alone(case: DriftCase, x: Array) -> Callable[[], Array]:
    """What `drift` of one small system spends on its sum: no check, nothing laid out or handed back;
    velocities in the layout of the kernel."""
    team = Team(make_system(model_shape(Attention(case.beta), case.n, case.d), angle=False), 1)
    team.system.places[:] = x.T
    velocity, stop = np.zeros(case.n * case.d + LANES), np.zeros(1, dtype=np.uint8)

    def call() -> Array:
        team.sweep(velocity, stop)
        return velocity

    return call


# Linear time


def circle_section(sizes: tuple[int, ...], rounds: int, tell: Tell, seed: int = 0) -> Section:
    """From the smallest to the largest system: time, its growth, memory, error; general Q, K, V; clustered
    tokens; the sum over pairs."""
    plain = Attention(BETA)
    middle, most = sizes[len(sizes) // 2], sizes[-1]
    systems = {f"nucleate circle, n = {n:,}": (plain, uniform(n, 2, seed)) for n in sizes}
    systems[f"general Q, K, V, n = {most:,}"] = general_model(seed), uniform(most, 2, seed)
    systems[f"clustered, n = {middle:,}"] = plain, clustered(middle, seed)
    systems[f"β = {SHARP_BETA:,.0f}, n = {most:,}"] = Attention(SHARP_BETA), uniform(most, 2, seed)
    remarks = (
        f"General Q, K, V: random, with β|KᵀQ| = {BETA:g}.",
        (
            "Clustered: 99 of 100 tokens in ten clusters of width 0.001; the others are beyond the modes, and"
            " summed over pairs."
        ),
        f"β = {SHARP_BETA:,.0f}: on a grid, as modes would be too many and not exact enough.",
    )
    return _linear_section("circle", systems, sizes, sizes[0], remarks, rounds, tell)


def sphere_section(sizes: tuple[int, ...], rounds: int, tell: Tell, seed: int = 0, d: int = 3) -> Section:
    """The same on the sphere, where K^T Q is a multiple of a rotation."""
    plain, most = Attention(SPHERE_BETA), sizes[-1]
    systems = {f"nucleate sphere, n = {n:,}": (plain, uniform(n, d, seed)) for n in sizes}
    systems[f"rotation Q, general V, n = {most:,}"] = rotating_model(seed, d), uniform(most, d, seed)
    alibi = Attention(SPHERE_BETA, position=ALiBi(SLOPE))
    systems[f"ALiBi, slope {SLOPE:g}, n = {most:,}"] = alibi, uniform(most, d, seed)
    remarks = (f"Rotation: KᵀQ is random and orthogonal, V random, β = {SPHERE_BETA:g}.",)
    return _linear_section("sphere", systems, sizes, sizes[len(sizes) // 2], remarks, rounds, tell)


def _linear_section(
    kernel: Literal["circle", "sphere"],
    systems: dict[str, tuple[Attention, Array]],
    sizes: tuple[int, ...],
    n_by_pairs: int,
    remarks: tuple[str, ...],
    rounds: int,
    tell: Tell,
) -> Section:
    """Systems of a kernel that is linear in n, first those of the given sizes; and one of them by pairs."""
    title = f"{kernel.capitalize()} drift"
    calls = {name: _call(model, x, kernel) for name, (model, x) in systems.items()}
    by_pairs = f"sum over pairs, n = {n_by_pairs:,}"
    same = list(systems)[sizes.index(n_by_pairs)]
    timings = time_in_turns(
        {**calls, by_pairs: _call(*systems[same], "pairwise")},
        rounds,
        lambda words: tell(f"{title}: {words}"),
    )
    rows = []
    for name, (model, x) in systems.items():
        tell(f"{title}: {name}: memory and error")
        where, exact = _exact_sample(model, x)
        error = float(np.abs(calls[name]()[where] - exact).max())
        rows.append(
            replace(
                timed_row(name, timings[name], work=1e-6 * len(x), error=error),
                memory=peak_memory(calls[name]) / len(x),
            )
        )
    slow = timed_row(by_pairs, timings[by_pairs], work=1e-6 * n_by_pairs)
    rows.append(replace(slow, ratio=timings[by_pairs].best / timings[same].best))
    exponent = float(
        np.polyfit(np.log(sizes), np.log([timings[name].best for name in list(systems)[: len(sizes)]]), 1)[0]
    )
    growth = f"Time grows like n^{exponent:.2f} from n = {sizes[0]:,} to {sizes[-1]:,}. {remarks[0]}"
    model, x = next(iter(systems.values()))
    return Section(
        f"{title}, d = {x.shape[1]}, β = {float(model.beta):g}",
        "tokens",
        VELOCITY_ERROR,
        tuple(rows),
        (growth, *remarks[1:]),
        {"exponent": exponent},
    )


def _call(model: Attention, x: Array, kernel: Literal["circle", "sphere", "pairwise"]) -> Callable[[], Array]:
    return lambda: drift(model, x, kernel=kernel)


def rotating_model(seed: int, d: int) -> Attention:
    """A random orthogonal Q and a Gaussian V on the sphere."""
    Q, V = np.random.default_rng(seed).standard_normal((2, d, d))
    return Attention(SPHERE_BETA, np.linalg.qr(Q)[0], V=V)


def general_model(seed: int) -> Attention:
    """Gaussian Q, K, V on the circle, with beta |K^T Q| = BETA: weights as sharp as those of the plain
    model."""
    Q, K, V = np.random.default_rng(seed).standard_normal((3, 2, 2))
    return Attention(BETA / float(np.linalg.norm(K.T @ Q, 2)), Q, K, V)


def clustered(n: int, seed: int) -> Array:
    """(n, 2): 99 of 100 tokens in ten clusters of width 0.001, the others anywhere; in random order."""
    rng = np.random.default_rng(seed)
    angle = rng.choice(rng.uniform(0.0, 2 * np.pi, 10), n) + 1e-3 * rng.standard_normal(n)  # (n,)
    angle = np.where(rng.random(n) < 0.01, rng.uniform(0.0, 2 * np.pi, n), angle)
    return retract(np.stack([np.cos(angle), np.sin(angle)], axis=1))


# The truth


def _exact_sample(model: Attention, x: Array) -> tuple[slice | Indices, Array]:
    """The velocities by the equation, of all tokens where that is cheap, else of some: which, and theirs."""
    if x.ndim == 3:
        runs = slice(0, max(1, MAX_FULLY_COMPARED_TOKENS // x.shape[1]))
        return runs, attention.drift(model, x[runs])
    if len(x) < MAX_FULLY_COMPARED_TOKENS:
        return slice(None), attention.drift(model, x)
    count = int(np.clip(COMPARED_PAIRS / len(x), MIN_COMPARED_TOKENS, MAX_COMPARED_TOKENS)) // 2
    early, anywhere = np.geomspace(1, len(x), count), np.linspace(1, len(x), count)
    rows = np.unique(np.concatenate([early, anywhere]).astype(np.intp)) - 1
    return rows, exact_rows(model, x, rows)


def exact_rows(model: Attention, x: Array, rows: Indices) -> Array:
    """The equation for single tokens k of x (n, d), causal: one token that sees all earlier ones, held in
    place, with what ALiBi leaves of them as weights. (len(rows), d)"""
    slope = model.position.slope if isinstance(model.position, ALiBi) else 0.0

    def one(k: int) -> Array:
        left = np.exp(-slope * np.arange(k, 0.0, -1.0)).clip(np.finfo(float).tiny)  # (k,)
        before = Frozen(x[:k], left) if k else None
        return attention.drift(Attention(model.beta, model.Q, model.K, model.V, frozen=before), x[k : k + 1])[
            0
        ]

    return np.stack([one(int(k)) for k in rows])
