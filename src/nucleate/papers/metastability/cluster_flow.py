"""Tokens on the circle under full attention, Q = K = V = I, over times like e^{beta}: tokens that have met
stay together, so that each cluster is followed as one point with a mass.

    phi_i' = sum_j m_j e^{beta (cos(phi_j - phi_i) - 1)} sin(phi_j - phi_i) / D_i,

m_j the number of tokens of cluster j; D_i = n for exponential weights (USA, in time units of e^{-beta}), and
sum_j m_j e^{beta (cos(phi_j - phi_i) - 1)} for softmax (SA).  Time is also measured by the length u of the
way that all tokens go together, du = (sum_i m_i phi_i'^2)^{1/2} dt, in which velocities of e^{-100} are no
smaller than others; on the solver's own clock no distance of two clusters changes by more than a factor e
per unit, so that they come together exponentially and never cross.  What is followed are the distances of
neighbours, all others being sums of them: as differences of angles they would have lost half of their digits
when two clusters touch.  Two clusters nearer than `touching` are one from then on, at their centre of mass;
what that neglects is of the size of `touching`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array

__all__ = ["ClusterFlow", "cluster_energy", "cluster_velocity", "follow_clusters"]

Weights = Literal["softmax", "exponential"]
TOUCHING = 1e-7  # of beta^(-1/2): two clusters so near are one
RTOL, ATOL = 1e-10, 1e-12  # of u, of one angle, and of time in its own unit
GAP_ATOL = 1e-8  # of the distances, over `touching`
FRAMES_PER_STAGE = 400
LONGEST_STAGE = 1e4  # on the clock of a stage, where a distance falls by e in about 1


@dataclass(frozen=True, eq=False)
class ClusterFlow:
    """The life of a start until all tokens are one."""

    length: Array  # (frames,) of the way u
    energy: Array  # (frames,)
    angles: Array  # (frames, n) of every token
    merge_time: Array  # (n - 1,) of every merge; of USA in units of e^{-beta}
    merge_length: Array  # (n - 1,) the same on the clock u
    merged: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # the two sets of tokens that met


def cluster_velocity(phi: Array, m: Array, beta: float, weights: Weights) -> Array:
    """phi' of clusters at the angles phi (k,) with masses m (k,)."""
    return _velocity(phi[None, :] - phi[:, None], m, beta, weights)


def _velocity(apart: Array, m: Array, beta: float, weights: Weights) -> Array:
    """The same from phi_j - phi_i, (k, k)."""
    with np.errstate(under="ignore"):
        w = m * np.exp(beta * (np.cos(apart) - 1.0))  # (k, k)
    total = w.sum(-1) if weights == "softmax" else m.sum()
    return np.asarray((w * np.sin(apart)).sum(-1) / total)


def cluster_energy(phi: Array, m: Array, beta: float) -> Array:
    """(1/n^2) sum_{i,j} m_i m_j e^{beta (cos(phi_i - phi_j) - 1)}: phi (..., k) -> (...)."""
    apart = phi[..., :, None] - phi[..., None, :]  # (..., k, k)
    with np.errstate(under="ignore"):
        w = np.exp(beta * (np.cos(apart) - 1.0))
    return np.asarray((m[:, None] * m * w).sum((-1, -2)) / m.sum() ** 2)


def follow_clusters(phi: ArrayLike, beta: float, weights: Weights = "exponential") -> ClusterFlow:
    """From the angles of n tokens, (n,), within half a circle, until all are one."""
    phi = np.asarray(phi, dtype=np.float64)
    m = np.ones(len(phi))
    members: list[tuple[int, ...]] = [(i,) for i in range(len(phi))]
    length, time, place = 0.0, 0.0, phi.copy()
    lengths, energies, angles, times, at, merged = [], [], [], [], [], []
    while len(place) > 1:
        u, way, lasted = _stage(place, m, beta, weights)
        lengths.append(length + u)
        energies.append(cluster_energy(way, m, beta))
        angles.append(_of_tokens(way, members, len(phi)))
        length, time, place = length + u[-1], time + lasted, way[-1]
        order = np.argsort(place)
        i = int(np.diff(place[order]).argmin())
        one, other = sorted((int(order[i]), int(order[i + 1])))
        place[one] = (m[one] * place[one] + m[other] * place[other]) / (m[one] + m[other])
        m[one] += m[other]
        merged.append((members[one], members[other]))
        members[one] = tuple(sorted(members[one] + members[other]))
        place, m = np.delete(place, other), np.delete(m, other)
        del members[other]
        times.append(time)
        at.append(length)
    return ClusterFlow(
        np.concatenate(lengths),
        np.concatenate(energies),
        np.concatenate(angles),
        np.array(times),
        np.array(at),
        tuple(merged),
    )


def _of_tokens(way: Array, members: list[tuple[int, ...]], n: int) -> Array:
    """Angles of clusters (frames, k) as those of their tokens, (frames, n)."""
    found = np.empty((len(way), n))
    for cluster, tokens in enumerate(members):
        found[:, tokens] = way[:, cluster : cluster + 1]
    return found


def _stage(phi: Array, m: Array, beta: float, weights: Weights) -> tuple[Array, Array, float]:
    """Until two clusters touch: the clock from 0 (frames,), the angles (frames, k), and the time it took."""
    from scipy.integrate import solve_ivp

    touching, k = TOUCHING * beta**-0.5, len(phi)
    order = np.argsort(phi)
    masses = m[order]  # (k,)
    # phi_j - phi_i as sums of the distances of neighbours, (k, k, k - 1)
    i, j, g = np.ogrid[:k, :k, : k - 1]
    between = ((i <= g) & (g < j)).astype(float) - ((j <= g) & (g < i))

    def speed(gaps: Array) -> tuple[Array, float]:
        v = _velocity(between @ gaps, masses, beta, weights)  # (k,)
        largest = np.abs(v).max()  # squares of e^{-400} would be zero
        return v, float(largest * np.sqrt(masses @ (v / largest) ** 2))

    gaps = np.diff(phi[order])  # (k - 1,)
    unit = 1.0 / speed(gaps)[1]  # of time, in this stage

    def rate(_: float, y: Array) -> Array:
        """Of the distances, the first angle, u and the time, on the clock of this stage."""
        v, s = speed(y[: k - 1])
        closing = np.diff(v)  # (k - 1,)
        relative = np.linalg.norm(closing / y[: k - 1])  # per time
        return np.concatenate([closing, [v[0], s, 1.0 / unit]]) / relative

    def gap(_: float, y: Array) -> float:
        return float(y[: k - 1].min() - touching)

    gap.terminal = True  # type: ignore[attr-defined]  # as the solver wants it
    start = np.concatenate([gaps, [phi[order[0]], 0.0, 0.0]])
    atol = np.concatenate([np.full(k - 1, GAP_ATOL * touching), np.full(3, ATOL)])
    found = solve_ivp(
        rate, (0.0, LONGEST_STAGE), start, "DOP853", events=gap, dense_output=True, rtol=RTOL, atol=atol
    )
    assert found.status == 1, f"no two clusters met: {found.message}"
    assert found.sol is not None
    y = found.sol(np.linspace(0.0, found.t[-1], FRAMES_PER_STAGE))  # (k + 2, frames)
    y[:, -1] = found.y[:, -1]
    way = np.empty((FRAMES_PER_STAGE, k))
    way[:, order] = (y[k - 1] + np.concatenate([np.zeros((1, FRAMES_PER_STAGE)), y[: k - 1].cumsum(0)])).T
    return y[k], way, float(y[k + 1, -1]) * unit
