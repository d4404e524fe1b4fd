"""The equilibria of a token if all earlier ones are at xi, the dominant eigenvector of V (ours; derived in
docs/conjectures.md).

V has real eigenvalues lambda_1 > lambda_2 > ...; only the plane of xi and the second eigenvector counts.
There, at the angle alpha from xi,
    alpha' = -(1 - a) (lambda_1 - lambda_2) sin(alpha) H(alpha),
    H = m r e^{-beta s} + cos(alpha) + l sin(alpha),
r = lambda_1 / (lambda_1 - lambda_2), m earlier tokens, a their share of the attention, A = K^T Q, s = s(x) =
<x - xi, A x>, and l, the non-normality of V: V = (lambda_1, l (lambda_1 - lambda_2); 0, lambda_2) in an
orthonormal basis of the plane.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nucleate.checks import Array, InputError

__all__ = ["Plane", "equilibria_in_plane", "log_F", "plane_of"]

GRID_POINTS = 4001  # angles at which a sign of H is looked at, on either side
MAX_EXPONENT = 700.0  # e^709 is the largest double


@dataclass(frozen=True, eq=False)
class Plane:
    """What V, Q and K are in the plane of the first two eigenvectors."""

    ratio: float  # r
    non_normality: float  # l; 0 if the first two eigenvectors are at right angles
    gap: float  # lambda_1 - lambda_2
    A: Array  # (2, 2) K^T Q in the plane
    beta: float
    basis: Array  # (d, 2) orthonormal, xi first

    def exponent(self, alpha: ArrayLike) -> Array:
        """beta s: how much more token k attends to itself than to one at xi."""
        x = self._x(alpha)  # (..., 2)
        return np.asarray(self.beta * ((x - [1.0, 0.0]) * (x @ self.A.T)).sum(-1))

    def exponent_slope(self, alpha: ArrayLike) -> Array:
        """Its derivative."""
        x = self._x(alpha)
        along = np.stack([-x[..., 1], x[..., 0]], axis=-1)  # (..., 2)
        return np.asarray(
            self.beta * ((along * (x @ self.A.T)).sum(-1) + ((x - [1.0, 0.0]) * (along @ self.A.T)).sum(-1))
        )

    def H(self, alpha: ArrayLike, m: float = 1.0) -> Array:
        """Zero at the equilibria off the poles."""
        return np.asarray(
            m * self.ratio * _exp(-self.exponent(alpha)) + np.cos(alpha) + self.non_normality * np.sin(alpha)
        )

    def slope(self, alpha: ArrayLike, m: float = 1.0) -> Array:
        """dH / d alpha."""
        pull = m * self.ratio * _exp(-self.exponent(alpha))
        return np.asarray(
            -self.exponent_slope(alpha) * pull - np.sin(alpha) + self.non_normality * np.cos(alpha)
        )

    def velocity(self, alpha: ArrayLike, m: float = 1.0) -> Array:
        """alpha'."""
        own_share = 1.0 / (1.0 + m * _exp(-self.exponent(alpha)))  # 1 - a
        return np.asarray(-own_share * self.gap * np.sin(alpha) * self.H(alpha, m))

    def point(self, alpha: float) -> Array:
        """The token, (d,)."""
        return np.asarray(self.basis @ [np.cos(alpha), np.sin(alpha)])

    def _x(self, alpha: ArrayLike) -> Array:
        return np.stack([np.cos(alpha), np.sin(alpha)], axis=-1)


@dataclass(frozen=True)
class PlaneEquilibrium:
    """An equilibrium off the poles."""

    alpha: float  # from xi
    rate: float  # of small perturbations within the plane; negative: attracting


def plane_of(V: ArrayLike, K: ArrayLike | None, Q: ArrayLike | None, beta: float) -> Plane:
    """The plane of V's first two eigenvectors; its eigenvalues must be real and the first two distinct."""
    V = np.asarray(V, dtype=np.float64)
    w, vectors = np.linalg.eig(V)
    if np.abs(w.imag).max() > 0.0:
        raise InputError(
            "V must have real eigenvalues, but some are complex. The plane of the first two eigenvectors is"
            " not one then."
        )
    order = np.argsort(-w.real)
    first, second = vectors[:, order[0]].real, vectors[:, order[1]].real
    across = second - (first @ second) * first
    basis = np.stack([first, across / np.linalg.norm(across)], axis=1)  # (d, 2)
    gap = float(w.real[order[0]] - w.real[order[1]])
    eye = np.eye(len(V))
    A = (eye if K is None else np.asarray(K)).T @ (eye if Q is None else np.asarray(Q))  # (d, d)
    return Plane(
        float(w.real[order[0]]) / gap,
        float(basis[:, 0] @ V @ basis[:, 1]) / gap,
        gap,
        basis.T @ A @ basis,
        beta,
        basis,
    )


def equilibria_in_plane(plane: Plane, m: float = 1.0) -> list[PlaneEquilibrium]:
    """All equilibria of a token after m others at xi, off the poles and off where H only touches zero."""
    from scipy.optimize import brentq

    away = np.unique(
        np.concatenate(
            [
                np.linspace(0.0, np.pi, GRID_POINTS)[1:-1],
                np.geomspace(1e-9, 1e-3, 60),
                np.pi - np.geomspace(1e-9, 1e-3, 60),
            ]
        )
    )
    found = []
    for side in (away, -away[::-1]):
        H = plane.H(side, m)  # (points,)
        angles = [
            brentq(lambda at: float(plane.H(at, m)), side[i], side[i + 1], xtol=1e-15, rtol=1e-14)
            for i in np.nonzero(H[:-1] * H[1:] < 0.0)[0]
        ]
        angles += list(side[1:-1][(H[1:-1] == 0.0) & (H[:-2] * H[2:] < 0.0)])  # on a point of the grid
        for alpha in map(float, angles):
            own_share = 1.0 / (1.0 + m * float(_exp(-plane.exponent(alpha))))
            rate = -own_share * plane.gap * float(np.sin(alpha) * plane.slope(alpha, m))
            found.append(PlaneEquilibrium(alpha, rate))
    return found


def log_F(plane: Plane, phi: ArrayLike) -> Array:
    """log F at the angle phi from -xi, F = e^{beta s} (cos phi + l sin phi); NaN where F is not positive.

    It is an equilibrium iff m r = F, and attracts iff F rises away from phi = 0.
    """
    alpha = np.pi + np.asarray(phi, dtype=np.float64)
    facing = -np.cos(alpha) - plane.non_normality * np.sin(alpha)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            np.where(facing > 0.0, plane.exponent(alpha) + np.log(np.maximum(facing, 1e-300)), np.nan)
        )


def _exp(value: Array) -> Array:
    return np.asarray(np.exp(np.clip(value, -MAX_EXPONENT, MAX_EXPONENT)))
