"""Random models for Conjectures 1 and 2, and how their runs end."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.attention import Attention
    from nucleate.papers.core.cache import Desk

__all__ = ["CONJECTURE1", "CONJECTURE2", "NEAR", "Kind", "family", "model_of"]

BLOCK = 250  # runs that are computed and kept at a time
LEAST = 10
NEAR = 1e-6  # within this of where the conjecture says, a token has ended there
MOST_STEPS = 20_000  # a run that needs more goes round
ATTRACTING, SLOW, MOVING = 1, 2, 3  # what a run that ends elsewhere does

Draw = Callable[[np.random.Generator, int, float], Array]


@dataclass(frozen=True)
class Kind:
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
        return max(round(self.share * many), LEAST)


def _turned(rng: np.random.Generator, T: Array) -> Array:
    """T (d, d) in a random orthonormal basis."""
    B = np.linalg.qr(rng.standard_normal(T.shape))[0]
    return np.asarray(B @ T @ B.T)


def _symmetric(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Eigenvalues 1 and others uniform on [0.05, 0.95]."""
    return _turned(rng, np.diag([1.0, *rng.uniform(0.05, 0.95, d - 1)]))


def _close(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Eigenvalues 1 and others within 0.002 below it."""
    return _turned(rng, np.diag([1.0, *(1.0 - rng.uniform(5e-4, 2e-3, d - 1))]))


def _edge(rng: np.random.Generator, d: int, beta: float) -> Array:
    """The second eigenvalue within 5 % of where a single token at -xi, m <= 3 at xi, loses its stability: 1 -
    m e^{-2 beta}."""
    m = int(rng.integers(1, 4))
    second = min((1.0 - m * np.exp(-2.0 * beta)) * (1.0 + 0.05 * rng.uniform(-1.0, 1.0)), 0.995)
    return _turned(rng, np.diag([1.0, second, *(second * rng.uniform(0.05, 0.95, d - 2))]))


def _leaning(rng: np.random.Generator, d: int, beta: float) -> Array:
    """Independent Gaussian entries, drawn again until all eigenvalues are real and positive, the largest made
    1."""
    while True:
        V = rng.standard_normal((d, d))
        w = np.linalg.eigvals(V)
        if np.abs(w.imag).max() == 0.0 and w.real.min() > 0.0:
            return np.asarray(V / w.real.max())


def _several(rng: np.random.Generator, d: int, beta: float, least: float = 0.1, most: float = 1.5) -> Array:
    """1 twice, and on the orthogonal complement W with <Wz, z> below 1 by `least` to `most` times |z|^2, and
    a random rotation in it."""
    S = np.diag(1.0 - rng.uniform(least, most, d - 2))  # (d-2, d-2)
    G = rng.standard_normal((d - 2, d - 2))
    V = np.eye(d)
    V[2:, 2:] = S + (G - G.T) / 2.0
    return _turned(rng, V)


def _several_close(rng: np.random.Generator, d: int, beta: float) -> Array:
    """The same with <Wz, z> within 0.05 of |z|^2."""
    return _several(rng, d, beta, 0.01, 0.05)


def _several_leaning(rng: np.random.Generator, d: int, beta: float) -> Array:
    """1 twice and other eigenvalues up to 0.8, in eigenvectors that lean: V does not keep the orthogonal
    complement, <Vz, z> may exceed |z|^2."""
    B = np.linalg.qr(rng.standard_normal((d, d)))[0] @ (
        np.eye(d) + 0.5 * rng.standard_normal((d, d)) / np.sqrt(d)
    )
    return np.asarray(B @ np.diag([1.0, 1.0, *rng.uniform(-0.5, 0.8, d - 2)]) @ np.linalg.inv(B))


CONJECTURE1 = (
    Kind("identity", "Q = K = I, V symmetric, β = 1", _symmetric, "identity", 1.0),
    Kind("identity-soft", "Q = K = I, V symmetric, β = 0.1", _symmetric, "identity", 0.1),
    Kind("identity-sharp", "Q = K = I, V symmetric, β = 4", _symmetric, "identity", 4.0),
    Kind(
        "identity-many", "Q = K = I, V symmetric, 128 tokens", _symmetric, "identity", 1.0, n=128, share=0.2
    ),
    Kind(
        "identity-close", "Q = K = I, V symmetric, eigenvalues nearly equal", _close, "identity", 1.0, t=1e8
    ),
    Kind("identity-edge", "Q = K = I, V symmetric, at the edge of stability", _edge, "identity", 1.0, n=4),
    Kind("leaning-soft", "Q = K = I, V not normal, β = 0.1", _leaning, "identity", 0.1),
    Kind("leaning", "Q = K = I, V not normal, β = 1", _leaning, "identity", 1.0),
    Kind("definite", "KᵀQ positive definite, V symmetric, β = 3", _symmetric, "definite", 3.0),
    Kind("gaussian-soft", "Gaussian Q and K, V symmetric, β = 1", _symmetric, "gaussian", 1.0),
    Kind("gaussian", "Gaussian Q and K, V symmetric, β = 3", _symmetric, "gaussian", 3.0),
    Kind("gaussian-sharp", "Gaussian Q and K, V symmetric, β = 10", _symmetric, "gaussian", 10.0),
)
CONJECTURE2 = (
    Kind("identity", "Q = K = I, β = 1", _several, "identity", 1.0, d=4),
    Kind("identity-sharp", "Q = K = I, β = 4", _several, "identity", 4.0, d=4),
    Kind(
        "identity-close",
        "Q = K = I, ⟨Vz, z⟩ close to λ|z|²",
        _several_close,
        "identity",
        1.0,
        d=4,
        n=8,
        t=1e4,
        share=0.5,
    ),
    Kind("definite", "KᵀQ positive definite, β = 2", _several, "definite", 2.0, d=4),
    Kind("gaussian-soft", "Gaussian Q and K, β = 1", _several, "gaussian", 1.0, d=4),
    Kind("gaussian", "Gaussian Q and K, β = 3", _several, "gaussian", 3.0, d=4),
    Kind(
        "gaussian-close",
        "Gaussian Q and K, ⟨Vz, z⟩ close to λ|z|²",
        _several_close,
        "gaussian",
        1.0,
        d=4,
        n=8,
        t=1e4,
        share=0.5,
    ),
    Kind("gaussian-many", "Gaussian Q and K, 128 tokens", _several, "gaussian", 1.0, d=4, n=128, share=0.2),
    Kind(
        "leaning", "beyond it: V does not keep L^⊥, Gaussian Q and K", _several_leaning, "gaussian", 1.0, d=4
    ),
)


def family(desk: "Desk", kind: Kind, seed: int, many: int) -> "Dataset":
    """All runs of a family, block by block from the disk or computed now."""
    import xarray

    count = kind.runs(many)
    blocks = [range(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK)]
    parts = [desk.dataset(f"{kind.name}-{runs[0]:04d}", partial(_block, kind, seed, runs)) for runs in blocks]
    return xarray.concat([part.drop_attrs() for part in parts], "run")


def matrices(kind: Kind, seed: int, runs: range) -> tuple[Array, Array | None, Array | None]:
    """V, Q and K (b, d, d), each run from a stream of its own; None: the identity."""
    from nucleate.studies.points import stream

    d = kind.d
    V = np.stack([kind.value(np.random.default_rng(stream(seed, run, 3)), d, kind.beta) for run in runs])
    if kind.scores == "identity":
        return V, None, None
    Q, K = (
        np.stack(
            [np.random.default_rng(stream(seed, run, i)).standard_normal((d, d)) / np.sqrt(d) for run in runs]
        )
        for i in (1, 2)
    )
    return (V, Q, Q) if kind.scores == "definite" else (V, Q, K)


def model_of(kind: Kind, seed: int, run: int) -> "Attention":
    """The model of one run."""
    from nucleate.attention import Attention

    V, Q, K = matrices(kind, seed, range(run, run + 1))
    return Attention(kind.beta, Q=None if Q is None else Q[0], K=None if K is None else K[0], V=V[0])


def _block(kind: Kind, seed: int, runs: range) -> "Dataset":
    """Some runs: where they start, where they end, and what they do there if that is not where the conjecture
    says."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    V, Q, K = matrices(kind, seed, runs)
    start = np.stack([uniform(kind.n, kind.d, stream(seed, run)) for run in runs])  # (b, n, d)
    run = finished(
        simulate(Attention(kind.beta, Q=Q, K=K, V=V), start, kind.t, save=[kind.t], max_steps=MOST_STEPS)
    )
    done = np.array([status == "done" for status in run.status])  # (b,)
    x = run.x[:, -1]  # (b, n, d) NaN where the end was not reached
    off = np.stack([ends_off(kind, V[i], start[i], x[i]) for i in range(len(runs))])  # (b, n)
    fate, growth = np.zeros(len(runs), dtype=np.int8), np.full(len(runs), np.nan)
    for i in np.nonzero(~(off.max(1) <= NEAR))[0]:
        fate[i], growth[i] = _fate(model_of(kind, seed, runs[i]), x[i], done[i])
    return xarray.Dataset(
        {
            "off": (
                ("run", "token"),
                off,
                {"long_name": "distance from where the conjecture says; NaN: the run went on for ever"},
            ),
            "second": (("run", "coordinate"), x[:, 1], {"long_name": "where the second token ends"}),
            "first": (("run", "coordinate"), x[:, 0], {"long_name": "where the first token ends"}),
            "fate": (
                "run",
                fate,
                {
                    "long_name": (
                        "0: as conjectured; 1: at rest elsewhere, attracting; 2: elsewhere, but not"
                        " attracting; 3: goes on"
                    )
                },
            ),
            "growth": ("run", growth, {"long_name": "largest real part of the rates at the rest"}),
        },
        {"run": np.array(runs)},
    )


def ends_off(kind: Kind, V: Array, start: Array, x: Array) -> Array:
    """The distance of every token x (n, d) from xi or -xi (Conjecture 1), or from the normalised L-component
    of the first (Conjecture 2); (n,)."""
    from nucleate.papers.causal_clustering.conjectures.counterexamples import poles_distance
    from nucleate.theory.atlas import atlas, limit_point

    if kind in CONJECTURE1:
        return poles_distance(V, x)
    return np.asarray(np.linalg.norm(x - limit_point(atlas(V), start[0]), axis=-1))


def _fate(model: "Attention", x: Array, done: bool) -> tuple[int, float]:
    """What tokens that end at x (n, d), not where the conjecture says, do there."""
    from nucleate.papers.causal_clustering.conjectures.counterexamples import RESTING
    from nucleate.papers.causal_clustering.shared.linearisation import equilibrium

    if not done:
        return MOVING, np.nan
    found = equilibrium(model, x)
    if found.speed < RESTING and found.moved < 1e-4 and found.growth < 0.0:
        return ATTRACTING, found.growth
    return SLOW, found.growth
