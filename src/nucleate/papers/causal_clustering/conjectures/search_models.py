"""The counter-examples to Conjecture 1 that are derived or drawn: how each is made.  `nucleate.papers.causal_clustering.conjectures.counterexample_search`
writes them to files."""

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.papers.causal_clustering.conjectures.counterexamples import OFF, Example, poles_distance
from nucleate.sphere import uniform
from nucleate.studies.points import stream

__all__ = ["derived"]

SEEDS = 1000  # uniform starts that are tried


def derived() -> list[Example]:
    """All of them; each from the first uniform start (seeds 0, 1, ...) that ends off the poles."""
    near, steep = 1.0 / 3300.0, 1.0 / 8.5
    return [
        _rest(
            "reported",
            "V = diag(1, 0.1), KᵀQ = diag(−1, 1): the one found first",
            10.0,
            np.diag([1.0, 0.1]),
            np.diag([-1.0, 1.0]),
        ),
        _rest(
            "definite",
            "V = diag(1, 0.9), KᵀQ = diag(1, 3), positive definite with the eigenvectors of V",
            1.0,
            np.diag([1.0, 0.9]),
            np.diag([1.0, 3.0]),
        ),
        _rest(
            "tilted",
            "V = diag(1, 1 − 1/8.5), KᵀQ = I but for 0.3 beside the diagonal, positive definite",
            1.0,
            np.diag([1.0, 1.0 - steep]),
            np.array([[1.0, 0.3], [0.3, 1.0]]),
        ),
        _rest(
            "leaning",
            "Q = K = I, two tokens, V with eigenvalues 1 and 0.5 and eigenvectors that are not orthogonal",
            0.1,
            np.array([[1.0, -2.0], [0.0, 0.5]]),
        ),
        _rest(
            "leaning-five",
            "Q = K = I, β = 1: the fifth token, the first four being at one pole",
            1.0,
            np.array([[1.0, -1.0], [0.0, 0.55]]),
            n=5,
        ),
        _rest(
            "leaning-sharp",
            "Q = K = I, β = 4: eigenvalues must then be nearly equal, 1 and 1 − 1/3300",
            4.0,
            np.array([[1.0, -2.0 * near], [0.0, 1.0 - near]]),
            t=1e6,
        ),
        _round(
            "never-rests",
            "Gaussian Q and K, V symmetric, d = 3, β = 10: seven tokens come to rest, the eighth goes round"
            " for ever",
            9,
            712,
            8,
        ),
    ]


def _rest(
    name: str, words: str, beta: float, V: Array, K: Array | None = None, n: int = 2, t: float = 2000.0
) -> Example:
    """The first uniform start that ends with a token at rest off the poles."""
    from nucleate.integrate.simulate import simulate

    model = Attention(beta, K=K, V=V)
    start = np.stack([uniform(n, len(V), seed) for seed in range(SEEDS)])  # (b, n, d)
    end = simulate(model, start, t, save=[t]).x[:, -1]  # (b, n, d)
    off = poles_distance(V, end).max(-1) > OFF  # (b,)
    if not off.any():
        raise AssertionError(f"{name}: none of {SEEDS} starts ends off the poles")
    return Example(name, words, "rest", model, start[off.argmax()], t)


def _round(name: str, words: str, seed: int, run: int, n: int) -> Example:
    """Run number `run` of a random ensemble: V symmetric with top 1 and others uniform on [0.05, 0.95], Q and
    K with entries N(0, 1/d)."""
    d, rng = 3, np.random.default_rng(stream(seed, run, 3))
    values = np.concatenate([[1.0], np.sort(rng.uniform(0.05, 0.95, d - 1))[::-1]])
    B = np.linalg.qr(rng.standard_normal((d, d)))[0]
    V = B @ np.diag(values) @ B.T
    Q, K = (rng.standard_normal((d, d)) / np.sqrt(d) for _ in range(2))
    return Example(
        name, words, "round", Attention(10.0, Q=Q, K=K, V=V), uniform(n, d, stream(seed, run)), 2000.0
    )
