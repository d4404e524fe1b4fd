"""Random models for Conjectures 1 and 2, and how their runs end."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.attention import Attention
    from nucleate.papers.core.cache import ItemWorkspace

__all__ = [
    "ATTRACTING_ELSEWHERE",
    "FAMILIES_1",
    "FAMILIES_2",
    "NOT_YET_THERE",
    "NO_EQUILIBRIUM",
    "ModelFamily",
    "matrices",
    "model_of",
    "simulate_families",
]

RUNS_PER_BLOCK = 250  # computed and stored at a time
MIN_RUNS = 10
MAX_STEPS = 20_000  # a run that needs more reaches no equilibrium
# the outcome of a run, 0 if it ends as conjectured: at an attracting equilibrium elsewhere; elsewhere, but at
# no attracting one; still moving
ATTRACTING_ELSEWHERE, NOT_YET_THERE, NO_EQUILIBRIUM = 1, 2, 3
Draw = Callable[[np.random.Generator, int, float], Array]


@dataclass(frozen=True)
class ModelFamily:
    """A family of random models."""

    name: str
    words: str
    value: Draw  # of V: generator, d, beta
    scores: str  # "identity", "definite" or "gaussian": K^T Q
    beta: float
    d: int = 3
    n: int = 16
    t: float = 1e6
    share: float = 1.0  # of the runs of a main family

    def runs(self, many: int) -> int:
        """How many, if a main family has `many`."""
        return max(round(self.share * many), MIN_RUNS)


def _rotated(rng: np.random.Generator, T: Array) -> Array:
    """T (d, d) in a random orthonormal basis."""
    B = np.linalg.qr(rng.standard_normal(T.shape))[0]
    return np.asarray(B @ T @ B.T)


def _symmetric(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Eigenvalues 1 and others uniform on [0.05, 0.95]."""
    return _rotated(rng, np.diag([1.0, *rng.uniform(0.05, 0.95, d - 1)]))


def _nearly_equal(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Eigenvalues 1 and others within 0.002 below it."""
    return _rotated(rng, np.diag([1.0, *(1.0 - rng.uniform(5e-4, 2e-3, d - 1))]))


def _near_instability(rng: np.random.Generator, d: int, beta: float) -> Array:
    """The second eigenvalue within 5 % of where a single token at -xi, m <= 3 at xi, loses its stability: 1 -
    m e^{-2 beta}."""
    m = int(rng.integers(1, 4))
    second = min((1.0 - m * np.exp(-2.0 * beta)) * (1.0 + 0.05 * rng.uniform(-1.0, 1.0)), 0.995)
    return _rotated(rng, np.diag([1.0, second, *(second * rng.uniform(0.05, 0.95, d - 2))]))


def _non_normal(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Independent Gaussian entries, drawn again until all eigenvalues are real and positive, the largest made
    1."""
    while True:
        V = rng.standard_normal((d, d))
        w = np.linalg.eigvals(V)
        if np.abs(w.imag).max() == 0.0 and w.real.min() > 0.0:
            return np.asarray(V / w.real.max())


def _multiple(rng: np.random.Generator, d: int, beta: float, low: float = 0.1, high: float = 1.5) -> Array:
    """1 twice, and on the orthogonal complement W with <Wz, z> below 1 by `low` to `high` times |z|^2, and
    a random rotation in it."""
    S = np.diag(1.0 - rng.uniform(low, high, d - 2))  # (d-2, d-2)
    G = rng.standard_normal((d - 2, d - 2))
    V = np.eye(d)
    V[2:, 2:] = S + (G - G.T) / 2.0
    return _rotated(rng, V)


def _multiple_nearly_equal(rng: np.random.Generator, d: int, beta: float) -> Array:
    """The same with <Wz, z> within 0.05 of |z|^2."""
    return _multiple(rng, d, beta, 0.01, 0.05)


def _multiple_symmetric(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Symmetric: 1 twice and other eigenvalues uniform on [-0.5, 0.95]."""
    return _rotated(rng, np.diag([1.0, 1.0, *rng.uniform(-0.5, 0.95, d - 2)]))


def _multiple_non_normal(rng: np.random.Generator, d: int, beta: float) -> Array:
    """1 twice and other eigenvalues up to 0.8, with eigenvectors that are not orthogonal: V does not keep the
    orthogonal complement, <Vz, z> may exceed |z|^2."""
    B = np.linalg.qr(rng.standard_normal((d, d)))[0] @ (
        np.eye(d) + 0.5 * rng.standard_normal((d, d)) / np.sqrt(d)
    )
    return np.asarray(B @ np.diag([1.0, 1.0, *rng.uniform(-0.5, 0.8, d - 2)]) @ np.linalg.inv(B))


FAMILIES_1 = (
    ModelFamily("identity", "Q = K = I, V symmetric, β = 1", _symmetric, "identity", 1.0),
    ModelFamily("identity-low-beta", "Q = K = I, V symmetric, β = 0.1", _symmetric, "identity", 0.1),
    ModelFamily("identity-high-beta", "Q = K = I, V symmetric, β = 4", _symmetric, "identity", 4.0),
    ModelFamily(
        "identity-many", "Q = K = I, V symmetric, 128 tokens", _symmetric, "identity", 1.0, n=128, share=0.2
    ),
    ModelFamily(
        "identity-close",
        "Q = K = I, V symmetric, eigenvalues nearly equal",
        _nearly_equal,
        "identity",
        1.0,
        t=1e8,
    ),
    ModelFamily(
        "identity-edge",
        "Q = K = I, V symmetric, at the edge of stability",
        _near_instability,
        "identity",
        1.0,
        n=4,
    ),
    ModelFamily("non-normal-low-beta", "Q = K = I, V not normal, β = 0.1", _non_normal, "identity", 0.1),
    ModelFamily("non-normal", "Q = K = I, V not normal, β = 1", _non_normal, "identity", 1.0),
    ModelFamily("definite", "KᵀQ positive definite, V symmetric, β = 3", _symmetric, "definite", 3.0),
    ModelFamily("gaussian-low-beta", "Gaussian Q and K, V symmetric, β = 1", _symmetric, "gaussian", 1.0),
    ModelFamily("gaussian", "Gaussian Q and K, V symmetric, β = 3", _symmetric, "gaussian", 3.0),
    ModelFamily("gaussian-high-beta", "Gaussian Q and K, V symmetric, β = 10", _symmetric, "gaussian", 10.0),
)
FAMILIES_2 = (
    ModelFamily("identity", "Q = K = I, β = 1", _multiple, "identity", 1.0, d=4),
    ModelFamily("identity-high-beta", "Q = K = I, β = 4", _multiple, "identity", 4.0, d=4),
    ModelFamily(
        "identity-close",
        "Q = K = I, ⟨Vz, z⟩ close to λ|z|²",
        _multiple_nearly_equal,
        "identity",
        1.0,
        d=4,
        n=8,
        t=1e4,
        share=0.5,
    ),
    ModelFamily(
        "identity-symmetric",
        "Q = K = I, V symmetric, β = 1",
        _multiple_symmetric,
        "identity",
        1.0,
        d=4,
        share=0.5,
    ),
    ModelFamily("definite", "KᵀQ positive definite, β = 2", _multiple, "definite", 2.0, d=4),
    ModelFamily("gaussian-low-beta", "Gaussian Q and K, β = 1", _multiple, "gaussian", 1.0, d=4),
    ModelFamily("gaussian", "Gaussian Q and K, β = 3", _multiple, "gaussian", 3.0, d=4),
    ModelFamily(
        "gaussian-close",
        "Gaussian Q and K, ⟨Vz, z⟩ close to λ|z|²",
        _multiple_nearly_equal,
        "gaussian",
        1.0,
        d=4,
        n=8,
        t=1e4,
        share=0.5,
    ),
    ModelFamily(
        "gaussian-circle", "Gaussian Q and K, d = dim L + 1", _multiple, "gaussian", 3.0, d=3, share=0.5
    ),
    ModelFamily(
        "gaussian-many", "Gaussian Q and K, 128 tokens", _multiple, "gaussian", 1.0, d=4, n=128, share=0.2
    ),
    ModelFamily(
        "non-normal",
        "beyond it: V does not keep L^⊥, Gaussian Q and K",
        _multiple_non_normal,
        "gaussian",
        1.0,
        d=4,
    ),
)


def simulate_families(
    workspace: "ItemWorkspace", families: tuple[ModelFamily, ...], share_of_item: float
) -> "dict[str, Dataset]":
    """All runs of every family, block by block from the disk or computed now."""
    p, data = workspace.parameters, {}
    for i, family in enumerate(families):
        compute = partial(_block, family, p["seed"])
        data[family.name] = workspace.blocks(family.name, family.runs(p["runs"]), RUNS_PER_BLOCK, compute)
        workspace.progress(share_of_item * (i + 1), len(families))
    return data


def matrices(family: ModelFamily, seed: int, runs: range) -> tuple[Array, Array | None, Array | None]:
    """V, Q and K (b, d, d), each run from a stream of its own; None: the identity."""
    from nucleate.studies.points import stream

    d = family.d
    V = np.stack([family.value(np.random.default_rng(stream(seed, run, 3)), d, family.beta) for run in runs])
    if family.scores == "identity":
        return V, None, None
    Q, K = (
        np.stack(
            [np.random.default_rng(stream(seed, run, i)).standard_normal((d, d)) / np.sqrt(d) for run in runs]
        )
        for i in (1, 2)
    )
    return (V, Q, Q) if family.scores == "definite" else (V, Q, K)


def model_of(family: ModelFamily, seed: int, run: int) -> "Attention":
    """The model of one run."""
    from nucleate.attention import Attention

    V, Q, K = matrices(family, seed, range(run, run + 1))
    return Attention(family.beta, Q=None if Q is None else Q[0], K=None if K is None else K[0], V=V[0])


def _block(family: ModelFamily, seed: int, runs: range) -> "Dataset":
    """Some runs: where they start, where they end, and what they do there if that is not where the conjecture
    says."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    V, Q, K = matrices(family, seed, runs)
    start = np.stack([uniform(family.n, family.d, stream(seed, run)) for run in runs])  # (b, n, d)
    run = uninterrupted(
        simulate(Attention(family.beta, Q=Q, K=K, V=V), start, family.t, save=[family.t], max_steps=MAX_STEPS)
    )
    done = np.array([status == "done" for status in run.status])  # (b,)
    x = run.x[:, -1]  # (b, n, d) NaN where the end was not reached
    off = np.stack([end_distances(family, V[i], start[i], x[i]) for i in range(len(runs))])  # (b, n)
    outcome, growth = np.zeros(len(runs), dtype=np.int8), np.full(len(runs), np.nan)
    for i in np.nonzero(~(off.max(1) <= END_DISTANCE))[0]:
        outcome[i], growth[i] = _outcome(model_of(family, seed, runs[i]), x[i], done[i])
    return xarray.Dataset(
        {
            "off": (
                ("run", "token"),
                off,
                {"long_name": "distance from where the conjecture says; NaN: the run went on for ever"},
            ),
            "second": (("run", "coordinate"), x[:, 1], {"long_name": "where the second token ends"}),
            "first": (("run", "coordinate"), x[:, 0], {"long_name": "where the first token ends"}),
            "outcome": (
                "run",
                outcome,
                {
                    "long_name": (
                        "0: as conjectured; 1: at an attracting equilibrium elsewhere; 2: elsewhere, but not"
                        " attracting; 3: goes on"
                    )
                },
            ),
            "growth": ("run", growth, {"long_name": "largest real part of the rates at the equilibrium"}),
        },
        {"run": np.array(runs)},
    )


def end_distances(family: ModelFamily, V: Array, start: Array, x: Array) -> Array:
    """The distance of every token x (n, d) from xi or -xi (Conjecture 1), or from the normalised L-component
    of the first (Conjecture 2); (n,)."""
    from nucleate.papers.causal_clustering.conjectures.counterexamples import poles_distance
    from nucleate.theory.atlas import atlas, limit_point

    if family in FAMILIES_1:
        return poles_distance(V, x)
    return np.asarray(np.linalg.norm(x - limit_point(atlas(V), start[0]), axis=-1))


def _outcome(model: "Attention", x: Array, done: bool) -> tuple[int, float]:
    """What tokens that end at x (n, d), not where the conjecture says, do there."""
    from nucleate.papers.causal_clustering.conjectures.counterexamples import EQUILIBRIUM_SPEED
    from nucleate.papers.causal_clustering.shared.linearisation import find_equilibrium

    if not done:
        return NO_EQUILIBRIUM, np.nan
    found = find_equilibrium(model, x)
    if found.speed < EQUILIBRIUM_SPEED and found.moved < 1e-4 and found.growth < 0.0:
        return ATTRACTING_ELSEWHERE, found.growth
    return NOT_YET_THERE, found.growth
