"""Motions of a block by its equation in NumPy and an ODE solver of SciPy; and by the package, to compare.

A test of a law of the family takes `engine`, one of ENGINES, and asks `flow` for the motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from nucleate.block import Block, block_rates
from nucleate.checks import Array

__all__ = ["ENGINES", "Flow", "equiangular_tokens", "flow"]

# Add "simulate" where nucleate.simulate takes a Block.
ENGINES: Sequence[str] = ("reference", "simulate")


@dataclass(frozen=True, eq=False)
class Flow:
    """Tokens at some times; lengths only of the reference."""

    t: Array  # (m,)
    x: Array  # (m, n, d)
    r: Array | None  # (m, n)


def flow(engine: str, block: Block, x0: Array, t: ArrayLike, rtol: float = 1e-10) -> Flow:
    """The tokens at the times t (m,), the first of which is 0, from x0 (n, d) on."""
    times = np.asarray(t, dtype=float)
    if engine == "reference":
        return _reference(block, x0, times, rtol)
    import nucleate as nc

    run = nc.simulate(block, x0, times[-1], save=times, rtol=rtol, atol=1e-2 * rtol)  # type: ignore[arg-type, unused-ignore]
    assert run.status == "done"
    return Flow(run.t, run.x, None)


def _reference(block: Block, x0: Array, times: Array, rtol: float) -> Flow:
    n, d = x0.shape

    def rates(time: float, state: Array) -> Array:
        velocity, growth = block_rates(block, state[: n * d].reshape(n, d), state[n * d :], time)
        return np.concatenate([velocity.ravel(), growth])  # (n d + n,)

    state = np.concatenate([x0.ravel(), block.radii(n)])  # (n d + n,)
    # "mix" changes its equation at tau, where no step may lie across
    ends = [block.tau] if block.norm == "mix" and 0.0 < block.tau < times[-1] else []
    found, begin = np.empty((len(times), len(state))), 0.0
    found[times == 0.0] = state
    for end in [*ends, times[-1]]:
        here = (times > begin) & (times <= end)
        inside = np.nextafter(end, begin)  # where "mix" is still post
        at = np.union1d(np.minimum(times[here], inside), [inside])
        solved = solve_ivp(rates, (begin, inside), state, "DOP853", t_eval=at, rtol=rtol, atol=1e-2 * rtol)
        assert solved.success, solved.message
        found[here] = solved.y[:, : here.sum()].T  # (m', n d + n)
        state, begin = solved.y[:, -1], end
    x = found[:, : n * d].reshape(-1, n, d)
    return Flow(times, x / np.linalg.norm(x, axis=-1, keepdims=True), found[:, n * d :])


def equiangular_tokens(n: int, rho: float) -> Array:
    """n tokens (n, n) all of whose overlaps are rho."""
    x = np.linalg.cholesky(np.full((n, n), rho) + (1.0 - rho) * np.eye(n))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)
