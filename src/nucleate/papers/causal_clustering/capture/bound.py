"""How far tokens can have moved, by the proof in docs/capture.md; Q = K = V = I.

With w(y) = e^{beta <x, y>}, Phi its mean over uniform y, and D and N the means of w(y) and of w(y) P_x y over
tokens 1 to k at time 0,
    eta_k = sup over x of (|N| + |D - Phi|) / Phi,      L = (1 + beta h(tau*)) e^beta / Phi,
the largest displacement E_k(t) of token k up to time t obeys
    E_k(t) <= integral over s from 0 to t of ( eta_k + (L/k) sum_{j<=k} E_j(s) ).
"""

import numpy as np

from nucleate.checks import Array

__all__ = ["displacement_bound", "grid", "lipschitz_constant", "unevenness", "weight_over_mean"]

LAST_TERM = 1e-12  # of the series, against its sum
GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0


def weight_over_mean(beta: float, d: int) -> float:
    """e^beta / Phi: the largest weight over the mean weight of uniform tokens."""
    from scipy.special import gamma, ive

    half = d / 2.0 - 1.0
    return 1.0 / float(gamma(d / 2.0) * (2.0 / beta) ** half * ive(half, beta))


def lipschitz_constant(beta: float, d: int) -> float:
    """L = (1 + beta h(tau*)) e^beta / Phi."""
    from nucleate.theory.interaction import interaction, strongest_distance

    steepest = beta * float(interaction(strongest_distance(beta), beta))
    return (1.0 + steepest) * weight_over_mean(beta, d)


def grid(d: int, points: int) -> Array:
    """Points spread evenly on the circle or the sphere, (points, d)."""
    i = np.arange(points)
    if d == 2:
        angle = 2.0 * np.pi * i / points
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    z = 1.0 - (2.0 * i + 1.0) / points  # a spiral with steps of the golden angle
    angle, r = 2.0 * np.pi * i / GOLDEN, np.sqrt(1.0 - z**2)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def unevenness(start: Array, beta: float, x: Array) -> Array:
    """eta_k for every k, (n,): start (n, d), the supremum taken over the points x (p, d) only, which makes
    the bound smaller."""
    n, d = start.shape
    k, over = np.arange(1.0, n + 1.0), weight_over_mean(beta, d)
    worst = np.zeros(n)
    for one in x:
        near = start @ one  # (n,)
        weight = np.exp(beta * (near - 1.0)) * over  # (n,) over their mean
        pull = np.cumsum(weight[:, None] * (start - near[:, None] * one), axis=0)  # (n, d)
        worst = np.maximum(worst, np.linalg.norm(pull, axis=1) / k + np.abs(np.cumsum(weight) / k - 1.0))
    return worst


def displacement_bound(eta: Array, constant: float, t: float) -> Array:
    """The solution of the inequality with equality, (n,): sum over i of L^i t^{i+1} / (i+1)! times the i-th
    mean over j <= k of eta."""
    k = np.arange(1.0, len(eta) + 1.0)
    term = eta * t
    total, i = term.copy(), 1
    while (term > LAST_TERM * total).any():
        i += 1
        term = constant * t / i * (np.cumsum(term) / k)
        total += term
    return np.asarray(total)
