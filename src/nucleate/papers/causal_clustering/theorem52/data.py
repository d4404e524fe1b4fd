"""Tokens among frozen ones, for Theorem 5.2: random and worst placements, where tokens end, and where the
theorem's conditions stand.

Lengths are in units of beta^(-1/2), as in the theorem; N is the number of tokens plus the weights of the
frozen ones.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.theorem52.conditions import (
    CASES,
    CONSTRUCTED,
    Case,
    failure_limit,
    limits,
)
from nucleate.theory.interaction import interaction_slope, strongest_distance

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = [
    "EDGE_SHARE",
    "MAX_MOVING",
    "TOKENS",
    "constructed_case",
    "frozen_angles",
    "moving_cases",
    "moving_tokens",
    "placements",
    "run",
    "sweep",
]

MAX_FROZEN = 6  # tokens in a run
TOKENS = 16
# of the Dirichlet distribution of the room left between frozen tokens: below 1 most gaps are as narrow as
# allowed
GAP_CONCENTRATION = 0.3
BEYOND_C = 1e-9  # relative: gaps exceed c, which is excluded, by so much
FAILURE_MARGIN = 0.02  # relative: how far below and above the failure limit the worst placement is tried
EDGE_SHARE = 0.99  # of the largest N that the conditions allow, where tokens that move make up N
MAX_MOVING = 5000  # tokens: cases that allow more are left out there
DIFFERENCE_STEP = 1e-3  # of second differences, in units of beta^(-1/2): the error is its square


def _points(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _ends(case: Case, theta: Array, a: Array, x0: Array, N: float) -> tuple[Array, Array, Array]:
    """Runs to the end: distance of every token from the nearest frozen one in units of beta^(-1/2), (b, n);
    largest speed left; whether done; (b,)."""
    from nucleate.attention import Attention, Frozen
    from nucleate.integrate.simulate import simulate
    from nucleate.kernels.dispatch import drift
    from nucleate.papers.core.interruption import uninterrupted

    model = Attention(np.full(len(x0), case.beta), frozen=Frozen(_points(theta), a))
    # from opposite a frozen token, the weakest place, it takes e^{2 beta} Z
    end = 100.0 * N * np.exp(2.0 * case.beta)
    run = uninterrupted(simulate(model, x0, end, save=[end]))
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

    m = frozen_count(case)
    theta, a, x0 = np.empty((runs, m)), np.ones((runs, m)), np.empty((runs, TOKENS, 2))
    for run in range(runs):
        rng = np.random.default_rng(stream(seed, run))
        theta[run] = frozen_angles(case, rng)
        a[run, rng.integers(m)] += N - TOKENS - m
        x0[run] = uniform(TOKENS, 2, rng)
    return theta, a, x0


def frozen_count(case: Case) -> int:
    """As many frozen tokens as fit, six at most."""
    return min(MAX_FROZEN, int(2.0 * np.pi * case.beta**0.5 / case.c))


def frozen_angles(case: Case, rng: np.random.Generator) -> Array:
    """Angles (m,) of frozen tokens, most gaps as narrow as c allows."""
    m = frozen_count(case)
    gap = np.full(m, case.c * case.beta**-0.5 * (1.0 + BEYOND_C))
    return np.asarray(
        rng.uniform(0.0, 2.0 * np.pi)
        + np.cumsum(gap + (2.0 * np.pi - gap.sum()) * rng.dirichlet(np.full(m, GAP_CONCENTRATION)))
    )


def random_placements(case: Case, factor: float, runs: int, seed: int) -> "Dataset":
    """Where tokens end among frozen ones, at N = factor times what the conditions allow."""
    import xarray

    N = factor * case.max_N
    away, speed, done = _ends(case, *placements(case, N, runs, seed), N)
    return xarray.Dataset(
        {"away": (("run", "token"), away), "speed": ("run", speed), "done": ("run", done.astype(np.int8))}
    )


def moving_cases() -> tuple[Case, ...]:
    """The cases in which the conditions allow no more tokens than can be followed."""
    return tuple(case for case in CASES if case.max_N <= MAX_MOVING)


def moving_tokens(case: Case, runs: int, seed: int) -> "Dataset":
    """Where tokens end if N is made up of them: n = EDGE_SHARE of what the conditions allow, less the frozen
    ones, which have weight 1 each; uniform starts.  Of every run the farthest token."""
    import xarray

    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    m = frozen_count(case)
    n = int(EDGE_SHARE * case.max_N) - m
    away, speed, done = [], [], []
    for run in range(runs):
        rng = np.random.default_rng(stream(seed, run))
        theta, x0 = frozen_angles(case, rng)[None], uniform(n, 2, rng)[None]
        found = _ends(case, theta, np.ones((1, m)), x0, float(n + m))
        away.append(found[0].max())
        speed.append(found[1][0])
        done.append(found[2][0])
    return xarray.Dataset(
        {
            "away": ("run", np.array(away)),
            "speed": ("run", np.array(speed)),
            "done": ("run", np.array(done, dtype=np.int8)),
        },
        {"N": float(n + m)},
    )


def worst_placement(case: Case) -> "Dataset":
    """One token at a frozen one of weight 1, another frozen one at distance c, with N a little below the
    failure limit and a little above it."""
    import xarray

    theta = np.array([[0.0, case.c * case.beta**-0.5 * (1.0 + BEYOND_C)]] * 2)  # (2, 2)
    N = failure_limit(case) * np.array([1.0 - FAILURE_MARGIN, 1.0 + FAILURE_MARGIN])  # (2,)
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


def energy_at_ball_edge(beta: float, c: float, eps: float, tokens: int) -> dict[str, float]:
    """The energy of a token at the edge of the ball of radius eps around a frozen one, while the tokens of
    the next frozen one are shifted towards it by eps.

    Its second derivative, by differences, in units of that of one token at distance 0; and how far all are
    from frozen tokens in the end.
    """
    from nucleate.attention import Attention, Frozen
    from nucleate.observe.energies import token_energies

    s = beta**-0.5
    theta = np.array([0.0, c * s * (1.0 + BEYOND_C)])  # (2,)
    model = Attention(beta, frozen=Frozen(_points(theta), 1.0))
    phi = np.full(tokens, theta[1] - eps * s)  # (n,)
    at = np.array([eps - DIFFERENCE_STEP, eps, eps + DIFFERENCE_STEP]) * s  # (3,)
    E = [float(token_energies(model, _points(np.append(phi[1:], angle)))[-1]) for angle in at]
    away, speed, done = _ends(
        Case(eps, c, beta),
        theta[None],
        np.ones((1, 2)),
        _points(np.append(phi[1:], at[1]))[None],
        tokens + 2.0,
    )
    return {
        "curvature": (E[0] - 2.0 * E[1] + E[2]) / (DIFFERENCE_STEP * s) ** 2,
        "away": float(away.max()),
        "speed": float(speed[0]),
        "done": float(done[0]),
    }


def constructed_case() -> "Dataset":
    """The constructed case, and the same with an epsilon at which the second condition holds."""
    import xarray

    from nucleate.theory.bounds import frozen_conditions

    values: dict[str, tuple[tuple[()], float]] = {}
    beta, c, tokens = CONSTRUCTED["beta"], CONSTRUCTED["c"], CONSTRUCTED["tokens"]
    for name, eps in (("weak", CONSTRUCTED["eps"]), ("strict", 0.9)):
        conditions = frozen_conditions(beta, c, eps, tokens + 2.0)
        found = energy_at_ball_edge(beta, c, eps, tokens)
        found |= {
            "force": conditions.force,
            "slope": conditions.slope,
            "as_printed": conditions.slope_as_printed,
        }
        values |= {f"{name}_{key}": ((), value) for key, value in found.items()}
    return xarray.Dataset(values)


def run(workspace: "ItemWorkspace") -> "Data":
    """Random placements at several N, worst placements beside the failure limit, a sweep over all parameters,
    the constructed case, and N made up of tokens that move."""
    p = workspace.parameters
    data: dict[str, Any] = {
        "sweep": workspace.dataset(
            "sweep", lambda: sweep(np.geomspace(0.5, 1e3, p["sweep_betas"]), p["sweep_c"], p["sweep_eps"])
        )
    }
    data["constructed"] = workspace.dataset("constructed", constructed_case)
    workspace.progress(0.05, 1.0)
    steps, done = len(CASES) * len(p["factors"]), 0
    for i, case in enumerate(CASES):
        if np.isfinite(failure_limit(case)):
            data[f"{case.name}-edge"] = workspace.dataset(f"{case.name}-edge", partial(worst_placement, case))
        for k, factor in enumerate(p["factors"]):
            name = f"{case.name}-{factor:g}"
            data[name] = workspace.dataset(
                name, partial(random_placements, case, factor, p["runs"], 5200 + 100 * i + k)
            )
            done += 1
            workspace.progress(0.05 + 0.75 * done / steps, 1.0)
    few = moving_cases()
    for i, case in enumerate(few):
        data[f"{case.name}-moving"] = workspace.dataset(
            f"{case.name}-moving", partial(moving_tokens, case, p["moving_runs"], 5290 + i)
        )
        workspace.progress(0.8 + 0.2 * (i + 1) / len(few), 1.0)
    return data
