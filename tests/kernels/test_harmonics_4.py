"""The harmonics of d = 4 in NumPy: their number, that they are orthogonal, and that sums over them
are sums of weights."""

import numpy as np

import nucleate as nc
from nucleate.checks import EPS
from nucleate.kernels.harmonics import count_of_degree, degrees
from nucleate.kernels.harmonics_4 import field, harmonic_sums, norms, triples_of


def test_every_degree_has_as_many_harmonics_as_there_are() -> None:
    """A power of 0 has no imaginary part."""
    P, Q, k = triples_of(9)
    numbers = np.where(P > 0, 2, 1) * np.where(Q > 0, 2, 1)
    found = np.bincount(P + Q + 2 * k, numbers)
    np.testing.assert_array_equal(found, count_of_degree(np.arange(10), 4))


def test_harmonics_are_orthogonal_and_their_mean_squares_are_those_of_kappa() -> None:
    L = 6
    P, Q, k = triples_of(L)
    # exact on the sphere to degree 2 L: Gauss's rule in s = |a|^2 - |b|^2, and even angles
    s, weight = np.polynomial.legendre.leggauss(L + 1)
    angle = 2.0 * np.pi * np.arange(2 * L + 1) / (2 * L + 1)
    height, first, second = (axis.ravel() for axis in np.meshgrid(s, angle, angle, indexing="ij"))
    weight = np.repeat(weight / 2.0 / len(angle) ** 2, len(angle) ** 2)
    a, b = np.sqrt((1.0 + height) / 2.0), np.sqrt((1.0 - height) / 2.0)
    x = np.stack([a * np.cos(first), a * np.sin(first), b * np.cos(second), b * np.sin(second)], axis=1)
    # sums of one token each, weight 1
    Y = np.stack([harmonic_sums(one[None], np.ones(1), L) for one in x], axis=-1)  # (rows, 4, points)
    flat = Y.reshape(-1, len(x))
    gram = (flat * weight) @ flat.T
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-14
    twice = np.where(P > 0, 2.0, 1.0) * np.where(Q > 0, 2.0, 1.0)
    # of the real parts: 1 / twice of the mean square of q(s) |a|^P |b|^Q
    mean = np.diag(gram).reshape(-1, 4)[:, 0] * twice
    np.testing.assert_allclose(norms(L).kappa, twice / (count_of_degree(P + Q + 2 * k, 4) * mean), rtol=1e-12)


def test_sums_over_harmonics_are_sums_of_weights() -> None:
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 40)
    # tokens where one of the two powers is 0 are ordinary ones
    x, y = np.concatenate([nc.uniform(36, 4, seed=1), np.eye(4)]), nc.uniform(9, 4, seed=2)
    for z in (0.0, 1e-200, 1e-3, 1.0, 16.0):
        L = degrees(z, 4)
        Z, output = field(harmonic_sums(x, weight, L), z, L, y)
        w = np.exp(z * (y @ x.T - 1.0)) * weight  # (9, 40)
        # a few roundings of every token, and what beta |<y, x>| rounds
        np.testing.assert_allclose(Z, w.sum(1), rtol=0, atol=40 * 40 * EPS, err_msg=f"{z}")
        np.testing.assert_allclose(output, w @ x, rtol=0, atol=40 * 40 * EPS, err_msg=f"{z}")


def test_many_tokens_are_summed_in_parts() -> None:
    x, weight, L = nc.uniform(3000, 4, seed=3), np.ones(3000), 12
    parts = [harmonic_sums(x[k : k + 100], weight[:100], L) for k in range(0, 3000, 100)]
    np.testing.assert_allclose(harmonic_sums(x, weight, L), np.sum(parts, axis=0), rtol=0, atol=3000 * EPS)
