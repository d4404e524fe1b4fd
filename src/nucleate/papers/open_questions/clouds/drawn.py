"""What is drawn: matrices Q, K, V with lambda_max < 0, and the space L around which tokens gather."""

from typing import NamedTuple

import numpy as np

from nucleate.checks import Array

__all__ = ["KINDS", "LAMBDA_MAX", "SYMMETRIC", "Draw", "dominant_space", "drawn_model"]

# of the models, all with lambda_max < 0: what is drawn of Q, K, V, the rest is I and -I
KINDS = ("gradient", "symmetric", "general", "scores", "all")
LAMBDA_MAX = -0.25  # of general V
SYMMETRIC = (-1.5, -0.5)  # eigenvalues of symmetric V are uniform between these


class Draw(NamedTuple):
    """One run."""

    kind: str
    d: int
    beta: float
    n: int
    seed: int


def drawn_model(kind: str, d: int, seed: int) -> tuple[Array, Array, Array]:
    """Q, K, V (d, d) of a kind: Gaussian entries of variance 1/d for what is drawn; general V is moved by a
    multiple of I to LAMBDA_MAX, symmetric V has a random orthonormal basis."""
    rng, one = np.random.default_rng([seed, d]), np.eye(d)
    V, Q, K = rng.standard_normal((3, d, d)) / np.sqrt(d)
    if kind == "symmetric":
        basis = np.linalg.qr(V)[0]  # (d, d)
        V = (basis * rng.uniform(*SYMMETRIC, d)) @ basis.T
    elif kind in ("general", "all"):
        V = V - (np.linalg.eigvals(V).real.max() - LAMBDA_MAX) * one
    else:
        V = -one
    return (Q, K, V) if kind in ("scores", "all") else (one, one, V)


def dominant_space(V: Array) -> Array:
    """An orthonormal basis (d, dim L) of the eigenvectors of V at the largest real part, with their real and
    imaginary parts where they are complex; all of R^d for a multiple of I."""
    if (V == V[0, 0] * np.eye(len(V))).all():
        return np.eye(len(V))
    values, vectors = np.linalg.eig(V)
    top = int(values.real.argmax())
    parts = [vectors[:, top].real] + [vectors[:, top].imag] * int(values[top].imag != 0.0)
    return np.asarray(np.linalg.qr(np.stack(parts, axis=1))[0])
