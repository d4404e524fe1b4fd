"""How the stored counterexamples to Conjecture 1 were made: derived, drawn, or found by a long search.

    python -m nucleate.papers.causal_clustering.conjectures.make_counterexamples FOLDER

makes all of them anew (a few minutes), to compare with those that are stored.
"""

import sys
from pathlib import Path

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.papers.causal_clustering.conjectures.counterexample_search import REGIMES, SearchResult, search
from nucleate.papers.causal_clustering.conjectures.counterexamples import (
    OFF_POLES_DISTANCE,
    Counterexample,
    poles_distance,
    write_counterexample,
)
from nucleate.papers.causal_clustering.conjectures.exact_sinks import FAMILIES, sink_model
from nucleate.papers.causal_clustering.shared.linearisation import find_equilibrium
from nucleate.sphere import retract, uniform
from nucleate.studies.points import stream

__all__ = ["derived_counterexamples"]

SEEDS_TRIED = 1000
SEARCH_SEED, SEARCH_ROUNDS = 1, 60


def derived_counterexamples() -> list[Counterexample]:
    """All of them; each from the first uniform start (seeds 0, 1, ...) that ends off the poles."""
    small, large = 1.0 / 3300.0, 1.0 / 8.5  # gaps between the first two eigenvalues
    identity, scores = (sink_model(sink, 1.0) for sink in FAMILIES)
    assert identity.V is not None
    assert scores.V is not None
    return [
        _first_equilibrium(
            "exact_sink",
            "Q = K = I, β = 0, V = (4 −4; 0 1): tokens rest at (1, 0) and (−24/25, 7/25), to be checked by"
            " hand",
            0.0,
            np.array([[4.0, -4.0], [0.0, 1.0]]),
        ),
        _first_equilibrium(
            "exact_sink_beta_1",
            "Q = K = I, β = 1, V = (λ −4/3; 0 λ−1), λ = (4/3)e^(49/25): tokens rest at (1, 0) and (−24/25,"
            " 7/25)",
            1.0,
            identity.V,
        ),
        _first_equilibrium(
            "exact_sink_scores",
            "KᵀQ = diag(1, 3), β = 1, V = diag(λ, λ−1), λ = (24/25)e^(1323/625): tokens rest at (1, 0) and"
            " (−24/25, 7/25)",
            1.0,
            scores.V,
            np.diag([1.0, 3.0]),
        ),
        _first_equilibrium(
            "first_found",
            "V = diag(1, 0.1), KᵀQ = diag(−1, 1): the one found first",
            10.0,
            np.diag([1.0, 0.1]),
            np.diag([-1.0, 1.0]),
        ),
        _first_equilibrium(
            "positive_definite",
            "V = diag(1, 0.9), KᵀQ = diag(1, 3), positive definite with the eigenvectors of V",
            1.0,
            np.diag([1.0, 0.9]),
            np.diag([1.0, 3.0]),
        ),
        _first_equilibrium(
            "off_diagonal",
            "V = diag(1, 1 − 1/8.5), KᵀQ = I but for 0.3 beside the diagonal, positive definite",
            1.0,
            np.diag([1.0, 1.0 - large]),
            np.array([[1.0, 0.3], [0.3, 1.0]]),
        ),
        _first_equilibrium(
            "non_normal",
            "Q = K = I, two tokens, V with eigenvalues 1 and 0.5 and eigenvectors that are not orthogonal",
            0.1,
            np.array([[1.0, -2.0], [0.0, 0.5]]),
        ),
        _first_equilibrium(
            "non_normal_five_tokens",
            "Q = K = I, β = 1: the fifth token, the first four being at one pole",
            1.0,
            np.array([[1.0, -1.0], [0.0, 0.55]]),
            n=5,
        ),
        _first_equilibrium(
            "non_normal_high_beta",
            "Q = K = I, β = 4: eigenvalues must then be nearly equal, 1 and 1 − 1/3300",
            4.0,
            np.array([[1.0, -2.0 * small], [0.0, 1.0 - small]]),
            t=1e6,
        ),
        _periodic_orbit(
            "periodic_orbit",
            "Gaussian Q and K, V symmetric, d = 3, β = 10: seven tokens reach an equilibrium, the eighth"
            " follows a periodic orbit",
            9,
            712,
            8,
        ),
    ]


def _first_equilibrium(
    name: str, words: str, beta: float, V: Array, K: Array | None = None, n: int = 2, t: float = 2000.0
) -> Counterexample:
    """The first uniform start that ends with a token at an equilibrium off the poles."""
    from nucleate.integrate.simulate import simulate

    model = Attention(beta, K=K, V=V)
    start = np.stack([uniform(n, len(V), seed) for seed in range(SEEDS_TRIED)])  # (b, n, d)
    end = simulate(model, start, t, save=[t]).x[:, -1]  # (b, n, d)
    off = poles_distance(V, end).max(-1) > OFF_POLES_DISTANCE  # (b,)
    if not off.any():
        raise AssertionError(f"{name}: none of {SEEDS_TRIED} starts ends off the poles")
    return Counterexample(name, words, "equilibrium", model, start[off.argmax()], t)


def _periodic_orbit(name: str, words: str, seed: int, run: int, n: int) -> Counterexample:
    """Run number `run` of a random ensemble: V symmetric with dominant eigenvalue 1 and others uniform on
    [0.05, 0.95], Q and K with entries N(0, 1/d)."""
    d, rng = 3, np.random.default_rng(stream(seed, run, 3))
    values = np.concatenate([[1.0], np.sort(rng.uniform(0.05, 0.95, d - 1))[::-1]])
    B = np.linalg.qr(rng.standard_normal((d, d)))[0]
    V = B @ np.diag(values) @ B.T
    Q, K = (rng.standard_normal((d, d)) / np.sqrt(d) for _ in range(2))
    return Counterexample(
        name,
        words,
        "periodic orbit",
        Attention(10.0, Q=Q, K=K, V=V),
        uniform(n, d, stream(seed, run)),
        2000.0,
    )


def as_counterexample(found: SearchResult, name: str, words: str, seed: int) -> Counterexample:
    """A counterexample as a start to follow: earlier tokens near xi and the last near its equilibrium, all
    perturbed a little."""
    earlier = np.repeat(found.setting.earlier, found.setting.count.astype(int), axis=0)  # (k-1, d)
    perturbation = 0.02 * np.random.default_rng(seed).standard_normal((len(earlier) + 1, len(found.x)))
    x0 = retract(np.concatenate([earlier, found.x[None]]) + perturbation)
    identity = np.array_equal(found.setting.A, np.eye(len(found.x)))
    model = Attention(found.setting.beta, Q=None if identity else found.setting.A, V=found.setting.V)
    slowest = find_equilibrium(model, np.concatenate([earlier, found.x[None]])).growth  # of all tokens
    return Counterexample(name, words, "equilibrium", model, x0, float(np.ceil(40.0 / -slowest)))


def main(folder: Path) -> int:
    """All counterexamples anew."""
    for counterexample in derived_counterexamples():
        print(write_counterexample(counterexample, folder))
    for regime in REGIMES:
        found = search(regime, SEARCH_SEED, SEARCH_ROUNDS)
        print(
            f"{regime.name}: least growth {found.growth:.6g} among {found.equilibria} equilibria of"
            f" {found.models} models"
        )
        if found.growth < 0.0:
            words = f"found by optimisation: {regime.words}"
            made = as_counterexample(found, f"searched_{regime.name}", words, SEARCH_SEED)
            print(write_counterexample(made, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
