"""Tokens among frozen ones, for Theorem 5.2: random and worst placements, where tokens end, and where the
theorem's conditions stand.

Lengths are in units of beta^(-1/2), as in the theorem; N is the number of tokens plus the weights of the
frozen ones.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.theory.interaction import interaction, interaction_slope, strongest_distance

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "CASES",
    "MADE",
    "TOKENS",
    "Case",
    "concave",
    "edge",
    "endings",
    "families",
    "fold",
    "limits",
    "made",
    "placements",
    "rest",
    "sweep",
    "worst",
]

# the first condition holds, and the second only as printed
MADE: dict[str, Any] = {"beta": 64.0, "c": 6.5, "eps": 0.99, "tokens": 70}
MOST = 6  # frozen tokens in a run
TOKENS = 16
# of the Dirichlet distribution of the room left between frozen tokens: below 1 most gaps are as narrow as
# allowed
GATHER = 0.3
NARROW = 1e-9  # by which gaps exceed c, which is excluded
NEAR_EDGE = 0.02  # how far beside the edge the worst placement is tried
STEP = 1e-3  # of second differences, in units of beta^(-1/2): the error is its square


@dataclass(frozen=True)
class Case:
    """One choice of epsilon, c and beta."""

    eps: float
    c: float
    beta: float

    @property
    def name(self) -> str:
        """For files and numbers."""
        return f"eps{self.eps:g}-c{self.c:g}-beta{self.beta:g}"

    @property
    def words(self) -> str:
        """For people."""
        return f"ε = {self.eps:g}, c = {self.c:g}, β = {self.beta:g}"

    @property
    def most(self) -> float:
        """N up to which both conditions hold, with the sign that the proof needs."""
        return float(min(limits(self.beta, self.c, self.eps)))


CASES = (Case(0.1, 6.5, 16.0), Case(0.1, 6.5, 64.0), Case(0.05, 6.0, 64.0), Case(0.3, 5.5, 64.0))


def limits(beta: float, c: float | Array, eps: float | Array) -> tuple[Array, Array]:
    """N up to which the first condition holds, and up to which the second does (0 where it holds for
    none)."""
    s = beta**-0.5
    force = interaction(np.asarray(eps) * s, beta) / interaction((c - 1.0 - 2.0 * np.asarray(eps)) * s, beta)
    slope = interaction_slope(np.asarray(eps) * s, beta) / -interaction_slope(
        (c - 2.0 * np.asarray(eps)) * s, beta
    )
    return np.asarray(force), np.maximum(slope, 0.0)


def fold(case: Case) -> tuple[float, float]:
    """(displacement, weight) at which a token of a frozen one of weight 1 is torn away by another of that
    weight at distance c: then h(y) = A h(c - y) has a double root, where h(y)/h(c - y) is largest.  A token
    of no frozen one stays farther away than this."""
    from scipy.optimize import minimize_scalar

    s = case.beta**-0.5
    top = float(strongest_distance(case.beta)) / s
    found = minimize_scalar(
        lambda y: (
            -float(np.log(interaction(y * s, case.beta)) - np.log(interaction((case.c - y) * s, case.beta)))
        ),
        bounds=(1e-6, top),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x), float(np.exp(-found.fun))


def edge(case: Case) -> float:
    """N at which, in the worst placement, a token rests at distance epsilon: h(eps) = A h(c - eps); infinite
    if it is torn away before."""
    if fold(case)[0] <= case.eps:
        return np.inf
    s = case.beta**-0.5
    return 2.0 + float(interaction(case.eps * s, case.beta) / interaction((case.c - case.eps) * s, case.beta))


def rest(case: Case, A: Array) -> Array:
    """Where a token of a frozen one of weight 1 rests if one of weight A stands at distance c, in units of
    beta^(-1/2); NaN if it is torn away."""
    from scipy.optimize import brentq

    s, (y, most) = case.beta**-0.5, fold(case)

    def pull(at: float, weight: float) -> float:
        return float(interaction(at * s, case.beta) - weight * interaction((case.c - at) * s, case.beta))

    return np.array([brentq(pull, 0.0, y, args=(weight,)) if weight < most else np.nan for weight in A])


def _points(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _ends(case: Case, theta: Array, a: Array, x0: Array, N: float) -> tuple[Array, Array, Array]:
    """Runs to the end: distance of every token from the nearest frozen one in units of beta^(-1/2), (b, n);
    largest speed left; whether done; (b,)."""
    from nucleate.attention import Attention, Frozen
    from nucleate.integrate.simulate import simulate
    from nucleate.kernels.dispatch import drift
    from nucleate.papers.core.cache import finished

    model = Attention(np.full(len(x0), case.beta), frozen=Frozen(_points(theta), a))
    # from opposite a frozen token, the weakest place, it takes e^{2 beta} Z
    end = 100.0 * N * np.exp(2.0 * case.beta)
    run = finished(simulate(model, x0, end, save=[end]))
    x = run.x[:, -1]  # (b, n, 2)
    # (b, n, m)
    away = np.angle(np.exp(1j * (np.arctan2(x[..., 1], x[..., 0])[:, :, None] - theta[:, None, :])))
    done = np.array([status == "done" for status in run.status])
    return np.abs(away).min(-1) * case.beta**0.5, np.linalg.norm(drift(model, x), axis=-1).max(1), done


def placements(case: Case, N: float, runs: int, seed: int) -> tuple[Array, Array, Array]:
    """Random starts among frozen tokens: their angles and weights (b, m), and tokens (b, n, 2).  Gaps mostly
    as narrow as allowed, one weight heavy."""
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    m = min(MOST, int(2.0 * np.pi * case.beta**0.5 / case.c))
    theta, a, x0 = np.empty((runs, m)), np.ones((runs, m)), np.empty((runs, TOKENS, 2))
    for run in range(runs):
        rng = np.random.default_rng(stream(seed, run))
        gap = np.full(m, case.c * case.beta**-0.5 * (1.0 + NARROW))
        theta[run] = rng.uniform(0.0, 2.0 * np.pi) + np.cumsum(
            gap + (2.0 * np.pi - gap.sum()) * rng.dirichlet(np.full(m, GATHER))
        )
        a[run, rng.integers(m)] += N - TOKENS - m
        x0[run] = uniform(TOKENS, 2, rng)
    return theta, a, x0


def endings(case: Case, factor: float, runs: int, seed: int) -> "Dataset":
    """Where tokens end among frozen ones, at N = factor times what the conditions allow."""
    import xarray

    N = factor * case.most
    away, speed, done = _ends(case, *placements(case, N, runs, seed), N)
    return xarray.Dataset(
        {"away": (("run", "token"), away), "speed": ("run", speed), "done": ("run", done.astype(np.int8))}
    )


def worst(case: Case) -> "Dataset":
    """One token at a frozen one of weight 1, another frozen one at distance c, with N a little below the edge
    and a little above it."""
    import xarray

    theta = np.array([[0.0, case.c * case.beta**-0.5 * (1.0 + NARROW)]] * 2)  # (2, 2)
    N = edge(case) * np.array([1.0 - NEAR_EDGE, 1.0 + NEAR_EDGE])  # (2,)
    # (2, 2) one token, one light frozen token, the rest is the heavy one
    a = np.stack([np.ones(2), N - 2.0], axis=1)
    away, speed, done = _ends(case, theta, a, _points(np.zeros((2, 1))), float(N[1]))
    return xarray.Dataset(
        {"away": ("side", away[:, 0]), "speed": ("side", speed), "done": ("side", done.astype(np.int8))},
        {"N": ("side", N)},
    )


def sweep(beta: Array, cs: int, epsilons: int) -> "Dataset":
    """Over beta, c and eps: whether the second condition, as printed and with its sign, ever asks for more
    than the first, and what a smaller eps gives.

    N of at least 2 (one token, one frozen token) that the first condition allows is what is looked at; the
    worst such N is the limit itself.
    """
    import xarray

    rows = []
    for b in beta:
        s = b**-0.5
        for c in np.linspace(2.0, min(np.pi / s, 12.0), cs + 1)[1:]:
            eps = np.linspace(0.0, (c - 2.0) / 2.0, epsilons + 2)[1:-1]  # (epsilons,)
            force, slope = limits(b, c, eps)
            g, far = interaction_slope(eps * s, b), interaction_slope((c - 2.0 * eps) * s, b)
            allowed, small = force >= 2.0, eps * s < strongest_distance(b)
            # (epsilons,) what the best smaller eps allows
            room = np.maximum.accumulate(np.minimum(force, slope)) / force
            refused = allowed & (slope < force)
            rows.append(
                (
                    allowed.sum(),
                    (allowed & small).sum(),
                    (allowed & small & ~(force * far < g)).sum(),
                    (refused & small).sum(),
                    eps[refused].min(initial=np.inf),
                    room[refused].min(initial=np.inf),
                )
            )
    names = ("allowed", "small", "printed_refuses", "sign_refuses", "least_eps", "room")
    return xarray.Dataset(
        {
            name: ("point", np.array(column, dtype=np.float64))
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }
    )


def concave(beta: float, c: float, eps: float, tokens: int) -> dict[str, float]:
    """The energy of a token at the edge of the ball of radius eps around a frozen one, while the tokens of
    the next frozen one lean towards it by eps.

    Its second derivative, by differences, in units of that of one token at distance 0; and how far all are
    from frozen tokens in the end.
    """
    from nucleate.attention import Attention, Frozen
    from nucleate.observe.energies import token_energies

    s = beta**-0.5
    theta = np.array([0.0, c * s * (1.0 + NARROW)])  # (2,)
    model = Attention(beta, frozen=Frozen(_points(theta), 1.0))
    phi = np.full(tokens, theta[1] - eps * s)  # (n,)
    at = np.array([eps - STEP, eps, eps + STEP]) * s  # (3,)
    E = [float(token_energies(model, _points(np.append(phi[1:], angle)))[-1]) for angle in at]
    away, speed, done = _ends(
        Case(eps, c, beta),
        theta[None],
        np.ones((1, 2)),
        _points(np.append(phi[1:], at[1]))[None],
        tokens + 2.0,
    )
    return {
        "curvature": (E[0] - 2.0 * E[1] + E[2]) / (STEP * s) ** 2,
        "away": float(away.max()),
        "speed": float(speed[0]),
        "done": float(done[0]),
    }


def made() -> "Dataset":
    """The made case, and the same with an epsilon at which the second condition holds."""
    import xarray

    from nucleate.theory.bounds import frozen_conditions

    told: dict[str, tuple[tuple[()], float]] = {}
    for name, eps in (("weak", MADE["eps"]), ("strict", 0.9)):
        conditions = frozen_conditions(MADE["beta"], MADE["c"], eps, MADE["tokens"] + 2.0)
        found = concave(MADE["beta"], MADE["c"], eps, MADE["tokens"])
        found |= {
            "force": conditions.force,
            "slope": conditions.slope,
            "as_printed": conditions.slope_as_printed,
        }
        told |= {f"{name}_{key}": ((), value) for key, value in found.items()}
    return xarray.Dataset(told)


def families(factors: list[float]) -> dict[str, list[float]]:
    """Inside the conditions, at their edge, outside."""
    return {
        "inside": [factor for factor in factors if factor < 0.95],
        "edge": [factor for factor in factors if 0.95 <= factor < 1.0],
        "outside": [factor for factor in factors if factor >= 1.0],
    }
