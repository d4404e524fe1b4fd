"""Models of every kind that a kernel treats apart, how far two kernels may differ on them, small helpers."""

import math
from functools import lru_cache
from typing import Literal

import numpy as np

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import EPS, Array
from nucleate.kernels.circle import TOLERANCE, roundoff, usual_ratio
from nucleate.kernels.simd import LANES
from nucleate.kernels.team import System, Team

__all__ = [
    "GO",
    "MASKS",
    "Mask",
    "circle_bound",
    "models",
    "norms",
    "pairwise_bound",
    "turning",
    "velocities_of",
]

Mask = Literal["causal", "full"] | Window
MASKS: list[Mask] = ["causal", "full", Window(1), Window(2), Window(5), Window(10**6)]
GO = np.zeros(1, dtype=np.uint8)  # a stop flag that nobody sets


def norms(model: Attention, d: int) -> tuple[float, float]:
    """beta |K^T Q| and |V|, the largest over runs."""
    _, Q, K, V = model.parameters(d)
    return float((model.beta * _norm(K.mT @ Q)).max()), float(_norm(V).max())


def _norm(M: Array) -> Array:
    """The spectral norms of matrices (..., d, d)."""
    return _norm_of(M.tobytes(), M.shape)


@lru_cache(64)
def _norm_of(content: bytes, shape: tuple[int, ...]) -> Array:
    """Once for each: the same matrices are in many models, and at d = 520 it takes a tenth of a second."""
    return np.asarray(np.linalg.norm(np.frombuffer(content).reshape(shape), 2, axis=(-2, -1)))


def pairwise_bound(model: Attention, d: int) -> float:
    """The rounding of a score is beta |K^T Q| eps, and its weight moves by as much: both twins keep within
    sixteen times that, times |V|, of 50 digits (test_large_beta), so within twice that of each other."""
    z, v = norms(model, d)
    return 32 * max(1.0, z) * v * EPS


def circle_bound(model: Attention, tolerance: float = TOLERANCE) -> float:
    """What circle.py states: ratio * roundoff(z) * |V| with ratio = max(tolerance / roundoff, usual_ratio);
    and the equation's own rounding."""
    z, v = norms(model, 2)
    return max(tolerance, usual_ratio(z) * roundoff(z)) * v + pairwise_bound(model, 2)


def models(d: int, mask: Mask) -> dict[str, Attention]:
    """One of each kind that a kernel treats apart: V = c I or not, K^T Q = I or not, frozen tokens or not."""
    rng = np.random.default_rng(d)
    Q, K, V = rng.standard_normal((3, d, d)) / math.sqrt(d)
    frozen = Frozen(nc.uniform(11, d, 5), rng.uniform(1.0, 20.0, 11))
    return {
        "plain": Attention(6.0, mask=mask),
        "repulsion": Attention(6.0, V=-2.0 * np.eye(d), mask=mask),
        "V": Attention(6.0, V=V, mask=mask),
        "Q, K, V": Attention(3.0, Q=Q, K=K, V=V, mask=mask),
        "frozen": Attention(6.0, mask=mask, frozen=frozen),
        "everything": Attention(3.0, Q=Q, K=K, V=V, mask=mask, frozen=frozen),
        "beta 0": Attention(0.0, V=V, mask=mask),
    }


def velocities_of(system: System, x: Array) -> Array:
    """The velocities (n, d) of tokens x by a system whose state is coordinates, on one thread."""
    state, velocity = np.concatenate([x.reshape(-1), np.zeros(LANES)]), np.zeros(x.size + LANES)
    team = Team(system, 1)
    team.place(state)
    team.sweep(velocity, GO)
    return velocity[: x.size].reshape(x.shape)


def turning(x: Array, velocity: Array) -> Array:
    """Velocities (n, 2) of points x from their angular velocities."""
    return np.stack([-x[:, 1], x[:, 0]], axis=1) * velocity[:, None]
